"""The split under (eps,m)-anonymity: laws, feasibility at the border, fast and plain, and what it leaks."""

import itertools
import random

import numpy as np
import pytest

from hedgerow.criteria.groupwise import groups_of
from hedgerow.criteria.proximity import EpsM, absolute, general, largest_m, one_sided, relative
from hedgerow.errors import Infeasible
from hedgerow.exact import line
from hedgerow.partition import proximity
from hedgerow.partition.proximity import proximity_split
from hedgerow.randomness import seeded_keys

NEAR = (absolute(1), absolute("2.5"), one_sided(0, 3), relative("0.4"), general(lambda v: (v - 1, v + 2)))


def drawn(source):
    """A random small table: codes of the quasi-identifiers, their sizes, sensitive values as codes and domain."""
    rows, columns = source.randint(1, 24), source.randint(1, 3)
    sizes = [source.randint(1, 6) for _ in range(columns)]
    quasi = np.array([[source.randrange(size) for _ in range(rows)] for size in sizes], np.int32)
    values, codes = np.unique([source.randint(-10, 14) for _ in range(rows)], return_inverse=True)
    return quasi, sizes, codes.astype(np.int32), line(values)


@pytest.mark.parametrize("finest", [True, False])
def test_every_group_is_good_and_feasibility_is_the_theorems(finest):
    """On 1,000 random tables, m around the largest that works, all kinds of neighbourhoods, both ways of dealing."""
    source = random.Random(1)
    for turn in range(1000):
        quasi, sizes, codes, where = drawn(source)
        counts, reach = np.bincount(codes), NEAR[turn % len(NEAR)].reach(where)
        m = max(1, largest_m(reach, counts) + source.choice([-1, 0, 0, 1]))
        if m > largest_m(reach, counts):
            with pytest.raises(Infeasible, match=r"largest m that works|no m works"):
                proximity_split(quasi, sizes, codes, reach, m=m, finest=finest)
            continue
        labels = proximity_split(quasi, sizes, codes, reach, m=m, finest=finest)
        assert set(labels.tolist()) == set(range(labels.max() + 1))
        assert EpsM(reach, m).holds(groups_of(labels, codes, counts)).all()
        assert np.bincount(labels).min() >= m
        assert not finest or np.bincount(labels).max() < 2 * m


def table(rows, columns=4):
    """A correlated table of a few thousand rows."""
    rng = np.random.default_rng(2)
    quasi = rng.integers(0, 40, (columns, rows)).astype(np.int32)
    values, codes = np.unique(quasi[0] * 50 + rng.integers(0, 3000, rows), return_inverse=True)
    return quasi, [40] * columns, codes.astype(np.int32), line(values)


def test_compiled_equals_plain_on_one_core_or_two(monkeypatch):
    """The same random numbers give the same groups."""
    quasi, sizes, codes, where = table(900)
    reach = absolute(30).reach(where)
    plain = proximity_split(quasi, sizes, codes, reach, m=3, keys=seeded_keys(3))
    monkeypatch.setattr(proximity, "SMALL", 0)
    for subtree in (1 << 16, 64):
        monkeypatch.setattr(proximity, "_SUBTREE", subtree)
        assert proximity_split(quasi, sizes, codes, reach, m=3, keys=seeded_keys(3)).tolist() == plain.tolist()


def plain_loss(quasi, cut_column, cut, places):
    """Extents of both sides in all columns, times their rows."""
    total = 0.0
    for side in (quasi[cut_column] <= cut, quasi[cut_column] > cut):
        total += side.sum() * sum(np.ptp(line[c[side]]) for c, line in zip(quasi, places, strict=True))
    return total


def test_masks_give_the_loss_of_every_cut():
    """One pass over masks equals measuring both sides of each cut."""
    source = np.random.default_rng(4)
    for columns in (1, 3, 35):
        quasi = source.integers(0, 7, (columns, 30)).astype(np.int32)
        places = [np.linspace(0, 1, 7)] * columns
        codes = np.arange(30, dtype=np.int32)
        starts = np.arange(columns) * 7
        rules = proximity.NeighbourRules(np.concatenate(places), starts, codes, codes, 31, True)
        rows = proximity.SortedRows(quasi.copy(), codes.copy(), codes.copy())
        scratch = proximity.buffers_for(rows, rules, 30)
        # No cut can be taken with m this large, so all losses stay readable as they are tried.
        for column in range(columns):
            proximity._count.plain(quasi[column], scratch, column)
        for begin in range(0, columns, 32):
            proximity._collect.plain(rows.points, scratch, begin, 0, 30)
            for column in range(begin, min(begin + 32, columns)):
                seen = proximity._loss.plain(rules, scratch, column, 2 * (column - begin), 30)
                assert seen == pytest.approx(plain_loss(quasi, column, scratch.cut[column], places))


def test_dealing_finely_loses_no_more_than_dealing_as_printed():
    """More and smaller groups from the same parts."""
    quasi, sizes, codes, where = table(3000)
    reach = absolute(30).reach(where)
    labels = {finest: proximity_split(quasi, sizes, codes, reach, m=4, finest=finest) for finest in (True, False)}
    groups = {finest: found.max() + 1 for finest, found in labels.items()}
    losses = {
        finest: sum(np.ptp(c[found == g]) * (found == g).sum() for g in range(found.max() + 1) for c in quasi)
        for finest, found in labels.items()
    }
    assert groups[True] > groups[False]
    assert losses[True] <= losses[False]


def split_proximitys(sensitive, seed):
    """Seven rows in a line, eps = 1, m = 2."""
    values, codes = np.unique(sensitive, return_inverse=True)
    quasi = np.arange(7, dtype=np.int32)[None, :]
    reach = absolute(1).reach(line(values))
    return proximity_split(quasi, [7], codes.astype(np.int32), reach, m=2, keys=seeded_keys(seed))


PUBLISHED = {(0, 2, 3): (0, 2, 4), (1, 5): (1, 4), (4, 6): (0, 2)}


def test_seven_rows_show_what_minimality_tells():
    """A promise of 1/2 becomes certainty for whoever knows the algorithm: row 1 has 4.

    The release is {0,2,3}: {0,2,4}, {1,5}: {1,4}, {4,6}: {0,2}. Had row 1 the value 1, the table could have been
    divided in the middle, and no group would reach across it.
    """
    possible = []
    for dealt in itertools.product(*(itertools.permutations(values) for values in PUBLISHED.values())):
        world = dict(zip(itertools.chain(*PUBLISHED), itertools.chain(*dealt), strict=True))
        sensitive = [world[row] for row in range(7)]
        seen = set()
        for seed in range(60):
            labels = split_proximitys(sensitive, seed)
            seen.add(frozenset(tuple(np.flatnonzero(labels == g).tolist()) for g in range(labels.max() + 1)))
        if frozenset(PUBLISHED) in seen:
            possible.append(sensitive)
    assert possible, "the release must be possible at all"
    assert {sensitive[1] for sensitive in possible} == {4}


def test_large_parts_that_nothing_divides_stay_whole_runs(monkeypatch):
    """People who all look alike are dealt to groups by one thread, however few rows it may take alone."""
    _, _, codes, where = table(60)
    quasi, reach = np.zeros((2, 60), np.int32), absolute(30).reach(where)
    expected = proximity_split(quasi, [1, 1], codes, reach, m=3, keys=seeded_keys(3))
    monkeypatch.setattr(proximity, "_SUBTREE", 8)
    assert proximity_split(quasi, [1, 1], codes, reach, m=3, keys=seeded_keys(3)).tolist() == expected.tolist()


def test_columns_of_far_more_values_than_rows_have_room():
    """Working memory follows the rows of a part, however many values a column has, in plain loops and compiled ones."""
    rng = np.random.default_rng(5)
    quasi = rng.integers(0, 5000, (2, 120)).astype(np.int32)
    codes, where = np.arange(120, dtype=np.int32), line(np.arange(120))
    reach = absolute(1).reach(where)
    labels = proximity_split(quasi, [5000, 5000], codes, reach, m=4)
    assert EpsM(reach, 4).holds(groups_of(labels, codes, np.ones(120, np.int64))).all()
    assert np.bincount(labels).min() >= 4
