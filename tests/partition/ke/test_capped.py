"""Capped (k,e): every group holds, the least total range of every partition of tiny tables, linear on large ones."""

from collections import Counter

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.partition.ke import ke_sum
from hedgerow.partition.ke.capped import best_capped, ke_capped, largest_l, share_ends


def partitions(rows):
    """Every partition of a few rows into groups."""
    if not rows:
        yield []
        return
    for smaller in partitions(rows[1:]):
        yield [[rows[0]], *smaller]
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [rows[0], *group], *smaller[i + 1 :]]


def holds(group, k, e, l):  # noqa: E741
    """The definition."""
    counts = Counter(group)
    return len(counts) >= k and max(group) - min(group) >= e and l * max(counts.values()) <= len(group)


def least(values, k, e, l):  # noqa: E741
    """The least total range by trying everything, None where no partition holds."""
    good = (split for split in partitions(values) if all(holds(group, k, e, l) for group in split))
    return min((sum(max(g) - min(g) for g in split) for split in good), default=None)


def groups_of(pieces, positions):
    """The values of each group."""
    found = {}
    for value, group, count in zip(pieces.values, pieces.groups, pieces.counts, strict=True):
        found.setdefault(int(group), []).extend([int(positions[value])] * int(count))
    return list(found.values())


@pytest.mark.parametrize("seed", range(40))
def test_no_partition_of_a_tiny_table_has_less_total_range(seed):
    """Against every set partition of up to eight rows, infeasible tables included; groups hold and add up."""
    rng = np.random.default_rng(seed)
    for _ in range(4):
        values = np.sort(rng.choice(rng.integers(1, 12, 5), int(rng.integers(2, 9)))).tolist()
        k, e, l = int(rng.integers(2, 4)), int(rng.integers(0, 4)), int(rng.integers(2, 4))  # noqa: E741
        positions, counts = np.unique(np.array(values), return_counts=True)
        best = least(values, k, e, l)
        if best is None:
            with pytest.raises(hr.Infeasible):
                ke_capped(positions, counts, k=k, e=e, l=l)
            continue
        found = groups_of(ke_capped(positions, counts, k=k, e=e, l=l), positions)
        assert all(holds(group, k, e, l) for group in found)
        assert sorted(value for group in found for value in group) == values
        assert sum(max(g) - min(g) for g in found) == best


@pytest.mark.parametrize("seed", range(10))
def test_larger_tables_hold_and_a_cap_only_costs(seed):
    """Skewed counts: every group holds, all rows are there, and the total range is not below that without a cap."""
    rng = np.random.default_rng(seed)
    positions, counts = np.unique(rng.geometric(0.02, 4000), return_counts=True)
    for l in (2, 4, largest_l(counts)):  # noqa: E741
        pieces = ke_capped(positions, counts, k=3, e=5, l=l)
        found = groups_of(pieces, positions)
        assert all(holds(group, 3, 5, l) for group in found)
        assert np.bincount(pieces.values, pieces.counts).tolist() == counts.tolist()
        free = groups_of(ke_sum(positions, counts, k=3, e=5), positions)
        assert sum(max(g) - min(g) for g in found) >= sum(max(g) - min(g) for g in free)


def test_compiled_and_plain_agree():
    """The compiled loops give the same cuts."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 60, 300)
    line, latest = np.cumsum(rng.integers(1, 9, 300)) * 301, np.maximum(np.arange(300) - 4, -1)
    starts = best_capped.plain(line, counts, latest, 5)
    assert starts.tolist() == best_capped.compiled(line, counts, latest, 5).tolist()
    runs = (np.array([0]), np.array([299]), counts, latest, 5)
    for plain, compiled in zip(share_ends.plain(*runs), share_ends.compiled(*runs), strict=True):
        assert plain.tolist() == compiled.tolist()


def test_a_refusal_names_the_largest_l():
    """Seven of ten rows have one value: no cap of a half can hold; where a third can, it is named."""
    with pytest.raises(hr.Infeasible, match="no l of 2 or more"):
        ke_capped(np.array([1, 2, 3, 4]), np.array([7, 1, 1, 1]), k=2, e=0, l=2)
    with pytest.raises(hr.Infeasible, match="l = 3 is the largest"):
        ke_capped(np.array([1, 2, 3, 4]), np.array([3, 2, 2, 2]), k=2, e=0, l=4)
