"""Partitions under frequency l-diversity: laws, feasibility at the border, random draws, edges."""

import functools
import itertools
import random
from collections import Counter

import numpy as np
import pytest

from hedgerow.criteria.proximity import same_value
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.partition.anatomy import _admissible, anatomize, anatomize_several
from hedgerow.partition.permutation import ncp_split, round_robin
from hedgerow.partition.proximity import proximity_split
from hedgerow.randomness import seeded_keys


def coordinates(rows, columns=3, seed=0):
    """Quasi-identifiers for rows: random codes below five."""
    return np.random.default_rng(seed).integers(0, 5, (columns, rows)).astype(np.int32), [5] * columns


def by_ncp(sensitive, *, l, keys=seeded_keys(1)):  # noqa: E741, B008
    """Split by certainty penalty on random quasi-identifiers."""
    quasi, sizes = coordinates(len(sensitive))
    return ncp_split(quasi, sizes, sensitive, l=l, keys=keys)


def by_medians(sensitive, *, l, keys=seeded_keys(1)):  # noqa: E741, B008
    """Split at medians of random quasi-identifiers."""
    quasi, sizes = coordinates(len(sensitive))
    return proximity_split(quasi, sizes, sensitive, same_value(int(sensitive.max()) + 1), m=l, keys=keys)


PARTITIONS = [anatomize, round_robin, by_ncp, by_medians]
BLIND = [anatomize, round_robin]


def check(labels, sensitive, l):  # noqa: E741
    """Every row has a group, groups are numbered without gaps, l times any value fits its group."""
    assert set(labels.tolist()) == set(range(labels.max() + 1))
    for group in range(labels.max() + 1):
        counts = Counter(sensitive[labels == group].tolist())
        assert l * max(counts.values()) <= sum(counts.values())


@pytest.mark.parametrize("partition", PARTITIONS)
def test_feasible_exactly_when_the_most_frequent_value_fits(partition):
    """On a thousand random tables around the border, equality included, which the printed test refuses."""
    source, works = random.Random(11), 0
    for _ in range(600):
        l, extra = source.randint(2, 4), source.randint(-1, 1)  # noqa: E741
        most = source.randint(1, 4)
        others = [v for v in range(1, 9) for _ in range(source.randint(0, most))]
        column = [0] * most + others[: max(0, (l - 1) * most + extra)]
        sensitive = np.array(source.sample(column, len(column)), np.int32)
        feasible = l * np.bincount(sensitive).max() <= len(sensitive)
        works += feasible
        if feasible:
            check(partition(sensitive, l=l), sensitive, l)
        else:
            best = len(sensitive) // np.bincount(sensitive).max()
            hint = rf"largest [lm] that works is {best}" if best > 1 else "no [lm] works"
            with pytest.raises(Infeasible, match=rf"{hint}|needs groups of {l} rows"):
                partition(sensitive, l=l)
    assert 120 < works < 480


@pytest.mark.parametrize("partition", PARTITIONS)
def test_groups_are_as_small_as_they_can_be(partition):
    """Between l and 2l - 1 rows; Anatomy's all have l but for a few."""
    sensitive = np.random.default_rng(2).integers(0, 12, 300).astype(np.int32)
    sizes = np.bincount(partition(sensitive, l=4))
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    if partition is anatomize:
        assert (sizes - 4).sum() < 4


@pytest.mark.parametrize("partition", PARTITIONS)
def test_compiled_equals_plain(partition, monkeypatch):
    """The same random numbers give the same groups from the loops as written and from the compiled ones."""
    from hedgerow import kernel
    from hedgerow.partition import permutation, proximity

    sensitive = np.random.default_rng(3).integers(0, 30, 700).astype(np.int32)
    plain = partition(sensitive, l=3, keys=seeded_keys(5))
    for module in (kernel, permutation, proximity):
        monkeypatch.setattr(module, "SMALL", 0)
    for module in (permutation, proximity):
        monkeypatch.setattr(module, "cores", lambda: 1)
    assert partition(sensitive, l=3, keys=seeded_keys(5)).tolist() == plain.tolist()


def posterior(partition, column, l, runs):  # noqa: E741
    """How often each row shares its group with each value's row, over all assignments and many random draws."""
    seen = Counter()
    for assignment in set(itertools.permutations(column)):
        sensitive = np.array(assignment, np.int32)
        for _ in range(runs):
            labels = partition(sensitive, l=l)
            seen[groups_and_values(labels, sensitive), assignment] += 1
    return seen


def groups_and_values(labels, sensitive):
    """What is published: the groups of rows, and the values of each."""
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    return tuple(sorted((tuple(g.tolist()), tuple(sorted(sensitive[g].tolist()))) for g in groups))


@pytest.mark.parametrize("partition", BLIND)
def test_blind_partitions_tell_nothing_beyond_the_group(partition):
    """Whoever knows the algorithm and all but the random draws still gives each row c/N for each value of its group."""
    seen = posterior(partition, [0, 0, 1, 1, 2], 2, 40)
    worlds = Counter()
    for (published, assignment), times in seen.items():
        worlds[published, assignment] += times
    for published in {published for published, _ in worlds}:
        total = sum(times for (other, _), times in worlds.items() if other == published)
        for rows, values in published:
            for row, value in itertools.product(rows, set(values)):
                hits = sum(t for (other, a), t in worlds.items() if other == published and a[row] == value)
                share = values.count(value) / len(values)
                assert abs(hits - share * total) < 6 * (total * share * (1 - share)) ** 0.5 + 1


@pytest.mark.parametrize("partition", BLIND)
def test_equal_rows_join_groups_by_secret_coins(partition):
    """Each of three rows of a value joins the group of a given row equally often: the first has no privilege."""
    sensitive, met = np.array([0, 0, 0, 1, 2, 3, 4, 5, 6], np.int32), np.zeros(3)
    for _ in range(900):
        labels = partition(sensitive, l=3)
        met += labels[:3] == labels[3]
    assert ((met - met.mean()) ** 2 / met.mean()).sum() < 20


def test_several_columns_are_each_diverse():
    """Every column satisfies l-diversity, and feasibility is that of the columns one by one."""
    source, works = random.Random(13), 0
    for _ in range(400):
        rows, l = source.randint(1, 24), source.randint(2, 3)  # noqa: E741
        columns = [np.array([source.randint(0, 5) for _ in range(rows)], np.int32) for _ in range(2)]
        feasible = all(l * np.bincount(c).max() <= rows for c in columns)
        works += feasible
        if not feasible:
            with pytest.raises(Infeasible):
                anatomize_several(columns, l=l)
            continue
        labels = anatomize_several(columns, l=l)
        for column in columns:
            check(labels, column, l)
    assert works > 100


def test_several_columns_of_a_large_table():
    """Nearly all groups have l rows, and what is left over merges with few of them."""
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, size, 20_000).astype(np.int32) for size in (12, 30)]
    labels = anatomize_several(columns, l=5)
    sizes = np.bincount(labels)
    assert (sizes == 5).mean() > 0.95
    for column in columns:
        table = np.zeros((len(sizes), 30), np.int64)
        np.add.at(table, (labels, column), 1)
        assert (5 * table.max(axis=1) <= sizes).all()


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("l", [0, -1, 2.5, True, "3", None])
def test_bad_parameters_are_refused(partition, l):  # noqa: E741
    """Each is one sentence that names l."""
    with pytest.raises(ParameterError, match=r"'[lm]' must be"):
        partition(np.array([0, 1], np.int32), l=l)


@functools.cache
def wide():
    """Twenty thousand rows of forty quasi-identifiers."""
    rng = np.random.default_rng(6)
    return rng.integers(0, 9, (40, 20_000)).astype(np.int32), rng.integers(0, 20, 20_000).astype(np.int32)


@pytest.mark.parametrize("columns", [1, 40])
def test_one_or_forty_quasi_identifiers(columns):
    """Masks hold 32 columns at a time; forty take two passes."""
    quasi, sensitive = wide()
    for labels in (
        ncp_split(quasi[:columns].copy(), [9] * columns, sensitive, l=4),
        proximity_split(quasi[:columns].copy(), [9] * columns, sensitive, same_value(20), m=4),
    ):
        assert np.bincount(labels).min() >= 4


def test_rows_that_are_all_alike_or_all_different():
    """Equal quasi-identifiers cannot be divided; a million codes are divided over bins."""
    sensitive = np.tile(np.arange(10, dtype=np.int32), 400)
    alike = np.zeros((2, 4000), np.int32)
    different = np.random.default_rng(7).permutation(1_000_000)[:4000].astype(np.int32)[None, :]
    for quasi, sizes in ((alike, [1, 1]), (different, [1_000_000])):
        for labels in (
            ncp_split(quasi, sizes, sensitive, l=5),
            proximity_split(quasi, sizes, sensitive, same_value(10), m=5),
        ):
            assert np.bincount(labels).min() >= 5
    order = np.argsort(different[0])
    near = proximity_split(different, [1_000_000], sensitive, same_value(10), m=5)
    spans = [np.ptp(np.flatnonzero(near[order] == g)) for g in range(200)]
    assert np.median(spans) < 100


def test_a_sensitive_column_of_a_million_values():
    """Every value once: as many groups as l rows fit."""
    sensitive = np.random.default_rng(8).permutation(1_000_000).astype(np.int32)
    for partition in BLIND:
        assert np.bincount(partition(sensitive, l=4)).tolist() == [4] * 250_000


def test_near_groups_lose_less_than_blind_ones():
    """On correlated data: medians at most the paper's preprocessing, and that far less than dealing blindly."""
    rng = np.random.default_rng(9)
    quasi = rng.integers(0, 64, (3, 6000)).astype(np.int32)
    sensitive = ((quasi[0] // 8 + rng.integers(0, 12, 6000)) % 20).astype(np.int32)

    def loss(labels):
        return sum(np.ptp(c[labels == g]) for g in range(labels.max() + 1) for c in quasi)

    blind, penalty = loss(round_robin(sensitive, l=4)), loss(ncp_split(quasi, [64] * 3, sensitive, l=4))
    near = loss(proximity_split(quasi, [64] * 3, sensitive, same_value(20), m=4))
    assert near <= penalty * 1.02
    assert penalty < blind / 2


def test_a_row_that_is_left_over_joins_any_admissible_group_equally_often():
    """Groups 1 and 3 of five have the value already; keys over their whole range reach the other three alike."""
    taken = np.array([1, -1, 3], np.int32)
    keys = [place << 54 for place in range(1024)]
    chosen = np.bincount([_admissible(taken, 5, key) for key in keys], minlength=5)
    assert chosen[[1, 3]].tolist() == [0, 0]
    assert np.ptp(chosen[[0, 2, 4]]) <= 1
