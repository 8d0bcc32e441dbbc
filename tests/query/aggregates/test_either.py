"""Values under `known OR hidden`, against every assignment and against the transportation problem."""

import itertools
import math
import random
import statistics
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.query.aggregates.either import Either, _least_totals, _moments
from hedgerow.query.aggregates.mixed import AddedPairs, Pairs


def _draw(rng, entries, largest=6):
    """Entries of several cells: values ascending, marks, rows that must and rows that may count."""
    cell = sorted(rng.randrange(3) for _ in range(entries))
    sizes = [rng.randrange(1, largest) for _ in range(entries)]
    end = np.cumsum(sizes)
    ticks = np.concatenate([sorted(rng.randrange(-5, 6) for _ in range(size)) for size in sizes])
    must = [rng.randrange(1, size + 1) for size in sizes]
    may = [rng.randrange(size - m + 1) for size, m in zip(sizes, must, strict=True)]
    marked = np.array([rng.random() < 0.5 for _ in range(int(end[-1]))])
    return Either(3, np.array(cell), end - sizes, end, np.array(must), np.array(may), ticks, marked)


def _worlds(either, e):
    """The counted values of entry e in every assignment."""
    places = range(either.start[e], either.end[e])
    must, may = int(either.must[e]), int(either.may[e])
    for order in itertools.permutations(places, must + may):
        yield [int(either.ticks[p]) for i, p in enumerate(order) if i < must or either.marked[p]]


def _pairs(either):
    """The same as pairs of rows and values, each row and each value by itself."""
    rows, values, pairs, add, met = [0], [0], [0], [], []
    for e in range(len(either.cell)):
        own = range(either.start[e], either.end[e])
        kinds = [True] * int(either.must[e]) + [False] * int(either.may[e])
        rows.append(rows[-1] + len(kinds))
        values.append(values[-1] + len(own))
        pairs.append(pairs[-1] + len(kinds) * len(own))
        met += [sure or bool(either.marked[p]) for sure in kinds for p in own]
        add += [int(either.ticks[p]) for _ in kinds for p in own]
    edges = [np.array(numbers) for numbers in (rows, values, pairs)]
    low, sure = np.array(add), np.array(met)
    return Pairs(
        3, either.cell, *edges, np.ones(rows[-1], int), np.ones(values[-1], int), low, low, sure, sure
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_every_assignment_lies_inside_and_the_ends_are_reached(seed):
    """Numbers, sums, averages, means and deviations over all assignments of one or two groups."""
    rng = random.Random(seed)
    either = _draw(rng, 2, largest=5)
    either = replace(either, cells=1, cell=np.zeros(2, int))
    worlds = [one + two for one, two in itertools.product(*(list(_worlds(either, e)) for e in range(2)))]
    for bounds, found in (
        (either.numbers(), [Fraction(len(world)) for world in worlds]),
        (either.sums(), [Fraction(sum(world)) for world in worlds]),
        (either.averages(), [Fraction(sum(world), len(world)) for world in worlds]),
    ):
        assert (bounds.lower, bounds.upper) == ([min(found)], [max(found)])
    for expected, found in (
        (either.expect(), [sum(world) for world in worlds]),
        (either.expect_number(), [len(world) for world in worlds]),
        (either.expect(np.array([1.5])), [sum(value - 1.5 for value in world) for world in worlds]),
    ):
        assert math.isclose(expected[0][0], statistics.fmean(found), abs_tol=1e-9)
        assert math.isclose(expected[1][0], statistics.pvariance(found), abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_transportation_problem(seed):
    """Larger groups in several cells: the same bounds and the same moments as by pairs."""
    either = _draw(random.Random(f"pairs {seed}"), 7, largest=12)
    other = AddedPairs(_pairs(either))
    used = sorted(set(either.cell.tolist()))
    for mine, theirs in (
        (either.numbers(), other.numbers()),
        (either.sums(), other.sums()),
        (either.averages() if len(used) == 3 else None, other.averages()),
    ):
        for cell in used if mine is not None else ():
            assert (mine.lower[cell], mine.upper[cell]) == (theirs.lower[cell], theirs.upper[cell])
    for minus in (None, np.array([0.5, -2.0, 3.0])):
        for mine, theirs in zip(either.expect(minus), other.expect(minus), strict=True):
            assert np.allclose(mine, theirs)


def test_compiled_loops_do_the_same():
    """On the same numbers, bit by bit."""
    either = _draw(random.Random(5), 60, largest=12)
    shape = np.stack([either.start, either.end, either.must, either.may])
    for sign in (3, -3):
        given = (shape, either.ticks, either.marked, np.full(60, sign), np.full(60, 2))
        assert all(map(np.array_equal, _least_totals.plain(*given), _least_totals.compiled(*given)))
    given = (shape, either.ticks, either.marked, np.full(60, 0.5))
    assert all(map(np.allclose, _moments.plain(*given), _moments.compiled(*given)))


def test_numbers_beyond_64_bits_are_left_to_others():
    """No sum is wrapped."""
    either = _draw(random.Random(1), 3)
    wide = replace(either, ticks=either.ticks * 2**60)
    assert wide.sums() is None
    assert wide.averages() is None
