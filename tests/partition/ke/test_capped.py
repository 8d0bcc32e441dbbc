"""Capped (k,e): every group holds, the least total range of every partition of tiny tables, linear on large ones."""

from collections import Counter

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.criteria.ke import latest_start
from hedgerow.partition.ke import ke_sum
from hedgerow.partition.ke.capped import (
    best_capped,
    ke_capped,
    largest_l,
    least_largest_capped,
    most_capped,
    share_ends,
)
from tests.support.exhaustive import set_partitions


def holds(group, k, e, l):  # noqa: E741
    """The definition."""
    counts = Counter(group)
    return len(counts) >= k and max(group) - min(group) >= e and l * max(counts.values()) <= len(group)


def least(values, k, e, l):  # noqa: E741
    """The least total range by trying everything, None where no partition holds."""
    good = (split for split in set_partitions(values) if all(holds(group, k, e, l) for group in split))
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


def cuts(values):
    """Every cut of the distinct values into runs, as lists of rows."""
    distinct = sorted(set(values))
    for mask in range(2 ** (len(distinct) - 1)):
        runs, start = [], 0
        for i in range(1, len(distinct) + 1):
            if i == len(distinct) or mask >> (i - 1) & 1:
                runs.append([value for value in values if distinct[start] <= value <= distinct[i - 1]])
                start = i
        yield runs


@pytest.mark.parametrize("seed", range(40))
def test_no_cut_between_values_is_better(seed):
    """Against every cut of up to eight values: the least largest range with most groups, and most groups at all."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        values = np.sort(rng.choice(rng.integers(1, 30, 8), int(rng.integers(4, 16)))).tolist()
        k, e, l = int(rng.integers(2, 4)), int(rng.integers(0, 5)), int(rng.integers(2, 4))  # noqa: E741
        positions, counts = np.unique(np.array(values), return_counts=True)
        good = [runs for runs in cuts(values) if all(holds(run, k, e, l) for run in runs)]
        assert bool(good) == holds(values, k, e, l)
        for objective in ("max", "count"):
            if not good:
                with pytest.raises(hr.Infeasible):
                    ke_capped(positions, counts, k=k, e=e, l=l, objective=objective)
                continue
            found = groups_of(ke_capped(positions, counts, k=k, e=e, l=l, objective=objective), positions)
            assert all(holds(group, k, e, l) for group in found)
            assert sorted(value for group in found for value in group) == values
            latest = latest_start(positions, k=k, e=e)
            least = min(max(run[-1] - run[0] for run in runs) for runs in good)
            assert least_largest_capped(positions - positions[0], counts, latest, l) == least
            allowed = [r for r in good if objective == "count" or max(run[-1] - run[0] for run in r) <= least]
            most = max(map(len, allowed))
            total = min(sum(run[-1] - run[0] for run in runs) for runs in allowed if len(runs) == most)
            widest = least if objective == "max" else positions[-1] - positions[0]
            starts, i, sizes = (
                most_capped(positions - positions[0], counts, latest, l, int(widest)),
                len(counts) - 1,
                [],
            )
            while i >= 0:
                sizes.append(int(positions[i] - positions[starts[i]]))
                i = int(starts[i]) - 1
            assert (len(sizes), sum(sizes)) == (most, total)
            assert len(found) >= most
            if objective == "max":
                assert max(max(group) - min(group) for group in found) <= least


def test_too_many_values_for_a_square_are_refused_with_the_remedy(monkeypatch):
    """The largest number is named, and the objective that has none."""
    monkeypatch.setattr("hedgerow.partition.ke.capped.MOST_VALUES", 5)
    positions, counts = np.arange(8), np.full(8, 2)
    with pytest.raises(hr.ParameterError, match="at most 5 distinct values, and there are 8; objective 'sum'"):
        ke_capped(positions, counts, k=2, e=1, l=2, objective="max")
    ke_capped(positions, counts, k=2, e=1, l=2)


@pytest.mark.parametrize("objective", ["sum", "max", "count"])
@pytest.mark.parametrize("refine", ["none", "quasi"])
def test_every_capped_release_verifies(objective, refine):
    """Published with each objective, refined or not: k, e and the cap hold in the bytes; refining gives more groups."""
    import pyarrow as pa

    rng = np.random.default_rng(3)
    table = pa.table({"q": rng.integers(0, 40, 3000), "s": np.minimum(rng.geometric(0.1, 3000), 30)})
    schema = hr.Schema(quasi=["q"], sensitive="s")
    release = hr.KEAnonymity(3, 2, objective=objective, refine=refine, l=3).publish(table, schema)
    release.verify()
    assert release.guarantee.parameters["l"] == 3
    coarse = hr.KEAnonymity(3, 2, objective=objective, l=3).publish(table, schema)
    assert release.groups > coarse.groups or refine == "none"


@pytest.mark.parametrize("objective", ["max_overlap", "random"])
def test_objectives_without_a_cap_say_why(objective):
    """No silent neglect of the cap."""
    with pytest.raises(hr.ParameterError, match="'l' goes with objective 'sum', 'max' or 'count'"):
        hr.KEAnonymity(2, 1, objective=objective, l=2)
