"""Feasibility exactly as the theorems say: thousands of random tables around the border, per partition.

Tables are drawn by their counts: the most frequent value gets about as many rows as the border allows, one less, or one
more. Partitions are called on codes, so that a table takes about a millisecond.
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from hedgerow.criteria.groupwise import All, KAnonymity, groups_of, one_group
from hedgerow.criteria.l_diversity import DistinctDiversity, FrequencyDiversity
from hedgerow.criteria.proximity import EpsM, absolute, relative, same_value
from hedgerow.errors import Infeasible
from hedgerow.exact import line
from hedgerow.partition.anatomy import anatomize
from hedgerow.partition.full_domain import full_domain, plain_ladder
from hedgerow.partition.microaggregate import microaggregate
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.partition.permutation import ncp_split, round_robin
from hedgerow.partition.proximity import proximity_split
from hedgerow.randomness import seeded_keys

TABLES = 2500
KEYS = seeded_keys(1)
LADDERS = [plain_ladder(5)] * 2
FEWER = 600
QUASI = np.random.default_rng(0).integers(0, 5, (2, 64)).astype(np.int32)
HALVES = QUASI // 3


def columns(seed, *, tables=TABLES):
    """Yield a demand l and a column whose most frequent value needs exactly its share, a row less or a row more."""
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        l, most = int(rng.integers(2, 5)), int(rng.integers(1, 5))  # noqa: E741
        rest = max(0, (l - 1) * most + int(rng.integers(-1, 2)))
        others = np.repeat(np.arange(1, 9), rng.integers(0, most + 1, 8))[:rest]
        column = np.append(np.zeros(most, np.int64), others)
        _, codes = np.unique(rng.permutation(column), return_inverse=True)
        yield l, codes.astype(np.int32)


def by_ncp(codes, l):  # noqa: E741
    """Split by certainty penalty."""
    return ncp_split(QUASI[:, : len(codes)], [5, 5], codes, l=l, keys=KEYS)


def by_medians(codes, l):  # noqa: E741
    """Split at medians, a value being near itself alone."""
    return proximity_split(QUASI[:, : len(codes)], [5, 5], codes, same_value(int(codes.max()) + 1), m=l, keys=KEYS)


def by_mondrian(codes, l):  # noqa: E741
    """Cut at medians under frequency l-diversity."""
    return mondrian(QUASI[:, : len(codes)].copy(), [5, 5], codes, FrequencyDiversity(l), keys=KEYS)


def by_levels(codes, l, *, suppression=0):  # noqa: E741
    """Publish whole columns as they are or not at all, under frequency l-diversity."""
    return full_domain(HALVES[:, : len(codes)], LADDERS, codes, FrequencyDiversity(l), suppression=suppression).labels


PARTITIONS = {
    "anatomize": lambda codes, l: anatomize(codes, l=l, keys=KEYS),  # noqa: E741
    "round_robin": lambda codes, l: round_robin(codes, l=l, keys=KEYS),  # noqa: E741
    "ncp_split": by_ncp,
    "proximity_split": by_medians,
    "mondrian": by_mondrian,
    "full_domain": by_levels,
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_frequency_diversity_is_feasible_exactly_when_the_most_frequent_value_fits(name):
    """Of 2,500 tables those with l times the most frequent value within the rows work, and no others."""
    works = 0
    for l, codes in columns(len(name)):  # noqa: E741
        counts = np.bincount(codes)
        if l * counts.max() > len(codes):
            with pytest.raises(Infeasible):
                PARTITIONS[name](codes, l)
            continue
        works += 1
        labels = PARTITIONS[name](codes, l)
        assert FrequencyDiversity(l).holds(groups_of(labels, codes, counts)).all()
    assert 0.2 * TABLES < works < 0.8 * TABLES


@pytest.mark.parametrize("criterion", [KAnonymity(4), All(KAnonymity(3), DistinctDiversity(3))], ids=["k", "k and l"])
def test_mondrian_is_feasible_exactly_when_the_whole_table_satisfies_a_monotone_criterion(criterion):
    """Of 2,500 tables of about as many rows and values as asked."""
    works = 0
    for _, codes in columns(7):
        counts = np.bincount(codes)
        quasi = QUASI[:, : len(codes)].copy()
        if not criterion.holds(one_group(counts)).all():
            with pytest.raises(Infeasible):
                mondrian(quasi, [5, 5], codes, criterion, keys=KEYS)
            continue
        works += 1
        labels = mondrian(quasi, [5, 5], codes, criterion, keys=KEYS)
        assert criterion.holds(groups_of(labels, codes, counts)).all()
    assert 0.2 * TABLES < works < 0.95 * TABLES


@pytest.mark.parametrize(
    ("around", "radius"),
    [(absolute(1), lambda v: 1), (relative("0.4"), lambda v: 0.4 * abs(v) + 1e-9)],
    ids=["absolute", "relative"],
)
def test_proximity_is_feasible_exactly_when_m_covers_fit(around, radius):
    """Of 2,500 tables, values of both signs, m about rows over the largest one-sided cover, found by brute force."""
    rng, works = np.random.default_rng(3), 0
    for _ in range(TABLES):
        values = np.sort(rng.integers(-9, 10, int(rng.integers(1, 15))))
        # Equal values are neighbours on either side: one of their rows has all of them before it, one behind it.
        most = max(
            max(((values >= v - radius(v)) & (values <= v)).sum(), ((values <= v + radius(v)) & (values >= v)).sum())
            for v in values.tolist()
        )
        m = max(1, len(values) // most + int(rng.integers(-1, 2)))
        domain, codes = np.unique(values, return_inverse=True)
        codes, near = codes.astype(np.int32), around.reach(line(domain))
        quasi = QUASI[:, : len(codes)]
        if m * most > len(values):
            with pytest.raises(Infeasible):
                proximity_split(quasi, [5, 5], codes, near, m=m, keys=KEYS)
            continue
        works += 1
        labels = proximity_split(quasi, [5, 5], codes, near, m=m, keys=KEYS)
        assert EpsM(near, m).holds(groups_of(labels, codes, np.bincount(codes))).all()
    assert 0.2 * TABLES < works < 0.95 * TABLES


def suppressed(codes, l):  # noqa: E741
    """The fewest rows in bad groups over the four ways to publish two columns or not, counted row by row."""
    fewest = len(codes)
    for shown in product((False, True), repeat=2):
        groups = {}
        for row, code in enumerate(codes.tolist()):
            cell = tuple(int(HALVES[column, row]) for column in range(2) if shown[column])
            groups.setdefault(cell, []).append(code)
        fewest = min(
            fewest, sum(len(group) for group in groups.values() if l * max(Counter(group).values()) > len(group))
        )
    return fewest


@pytest.mark.parametrize("suppression", ["0.4", "0.6"])
def test_levels_are_feasible_exactly_when_some_combination_holds_back_few_enough(suppression):
    """Of 600 tables, with frequency l-diversity, where a finer combination may hold back less than a coarser one."""
    works = rescued = 0
    for l, codes in columns(11, tables=FEWER):  # noqa: E741
        needed = suppressed(codes, l)
        if needed > int(float(suppression) * len(codes)):
            with pytest.raises(Infeasible):
                by_levels(codes, l, suppression=suppression)
            continue
        works += 1
        labels = by_levels(codes, l, suppression=suppression)
        kept = labels >= 0
        rescued += not kept.all()
        assert needed <= (~kept).sum() <= float(suppression) * len(codes)
        assert FrequencyDiversity(l).holds(groups_of(labels[kept], codes[kept], np.bincount(codes))).all()
    assert 0.2 * FEWER < works < 0.95 * FEWER
    assert rescued > 0


@pytest.mark.parametrize("suppression", ["0", "0.4"])
def test_k_anonymity_by_levels_is_feasible_exactly_when_there_are_k_rows(suppression):
    """Of 600 tables of about k rows: holding back never helps, since the coarsest levels hold back nobody."""
    rng, works = np.random.default_rng(5), 0
    for _ in range(FEWER):
        k = int(rng.integers(2, 9))
        codes = np.zeros(max(1, k + int(rng.integers(-2, 3))), np.int32)
        quasi = rng.integers(0, 5, (2, len(codes))).astype(np.int32)
        if len(codes) < k:
            with pytest.raises(Infeasible):
                full_domain(quasi, LADDERS, codes, KAnonymity(k), suppression=suppression)
            continue
        works += 1
        labels = full_domain(quasi, LADDERS, codes, KAnonymity(k), suppression=suppression).labels
        assert np.bincount(labels[labels >= 0]).min() >= k
    assert 0.2 * FEWER < works < 0.8 * FEWER


@pytest.mark.parametrize("width", [1, 2])
def test_means_are_feasible_exactly_when_there_are_k_rows(width):
    """Of 2,500 tables around k and around 2k rows, many of them with equal rows: groups have k to 2k-1 rows."""
    rng, works = np.random.default_rng(6), 0
    for _ in range(TABLES):
        k = int(rng.integers(2, 9))
        points = rng.integers(0, 4, (max(1, int(rng.integers(1, 3)) * k + int(rng.integers(-2, 3))), width)).astype(
            float
        )
        if len(points) < k:
            with pytest.raises(Infeasible):
                microaggregate(points, k=k, keys=KEYS)
            continue
        works += 1
        sizes = np.bincount(microaggregate(points, k=k, keys=KEYS))
        assert sizes.min() >= k
        assert sizes.max() < 2 * k
    assert 0.2 * TABLES < works < 0.9 * TABLES
