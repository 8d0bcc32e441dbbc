"""The walk: uniform where it can be checked, inside always, and refusing where it cannot move."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from hedgerow.errors import Infeasible
from hedgerow.partition.walk.chain import (
    Polytope,
    PreparedWalk,
    System,
    WalkResult,
    _walk,
    deepest_points,
    effective_sizes,
    in_affine_hull,
    walk,
)
from hedgerow.partition.walk.parallel import _judge, _set_out, walk_blocks
from hedgerow.partition.walk.plan import TickRelation, blocks
from hedgerow.partition.walk.segments import localities, runs, sample
from hedgerow.randomness import seeded_keys

ALPHA = 1e-4


def _box(sides, extra=(), bounds=()):
    """Whole points 0 <= x <= side, with further rows."""
    single = np.eye(len(sides), dtype=np.int64)
    rows = np.concatenate([single, -single, np.array(extra, np.int64).reshape(-1, len(sides))])
    limits = np.concatenate([sides, np.zeros(len(sides), np.int64), np.array(bounds, np.int64)])
    return Polytope(System(rows, limits, np.full(len(rows), "bound")), np.zeros(len(sides), np.int64))


def _draws(polytope, count, *, apart=20, seed=0):
    course = PreparedWalk.of(polytope)
    keys = seeded_keys(seed)(course.sweep * apart * count)
    return walk(course, polytope.point, keys, states=count).trace


def _is_uniform_over_points(polytope, count, *, apart=20, seed=0):
    trace = _draws(polytope, count, apart=apart, seed=seed)
    system = polytope.system
    spans = [range(int(side) + 1) for side in system.bounds[: len(polytope.point)]]
    points = [p for p in itertools.product(*spans) if system.keeps(np.array(p))]
    index = {point: n for n, point in enumerate(points)}
    hits = np.bincount([index[tuple(state)] for state in trace.tolist()], minlength=len(points))
    return len(points), stats.chisquare(hits).pvalue


def test_uniform_on_an_interval_of_whole_numbers():
    """Each of eleven points is hit equally often."""
    size, p = _is_uniform_over_points(_box([10]), 4000)
    assert size == 11
    assert p > ALPHA


def test_uniform_on_a_cube():
    """Each point of a cube of 5 x 5 x 5 is hit equally often."""
    size, p = _is_uniform_over_points(_box([4, 4, 4]), 20000)
    assert size == 125
    assert p > ALPHA


def test_uniform_on_a_simplex():
    """Each point of x + y + z <= 7 is hit equally often, corners included."""
    size, p = _is_uniform_over_points(_box([7, 7, 7], [[1, 1, 1]], [7]), 20000, apart=40)
    assert size == 120
    assert p > ALPHA


def test_uniform_on_a_slice():
    """With an equation the walk stays on it and is uniform there."""
    polytope = _box([6, 6, 6], [[1, 1, 1], [-1, -1, -1]], [9, -9])
    polytope = in_affine_hull(Polytope(polytope.system, np.array([3, 3, 3])))
    size, p = _is_uniform_over_points(polytope, 10000, apart=40)
    assert size == 37
    assert p > ALPHA


def test_uniform_on_ordered_values_with_a_locality():
    """With order, bounds and x1 - x0 >= x2 - x1 every whole point is hit equally often."""
    polytope = _box([5, 5, 5], [[1, -1, 0], [0, 1, -1], [1, -2, 1]], [0, 0, 0])
    size, p = _is_uniform_over_points(polytope, 20000, apart=60)
    assert size > 25
    assert p > ALPHA


@pytest.mark.parametrize("size", [2, 6])
def test_a_fine_grid_is_as_good_as_real_numbers(size):
    """Marginals of a fine cube are uniform, those of a fine simplex Beta(1, n): the continuous answers."""
    fine = 10**12
    cube = _draws(_box([fine] * size), 3000)
    assert min(stats.kstest(column / fine, "uniform").pvalue for column in cube.T) > ALPHA
    simplex = _draws(_box([fine] * size, [[1] * size], [fine]), 3000, apart=60)
    assert min(stats.kstest(column / fine, stats.beta(1, size).cdf).pvalue for column in simplex.T) > ALPHA


def _age_blocks(share=0.1, values=range(17, 57)):
    distinct = np.array(values)
    cut = runs(distinct, np.arange(len(distinct), dtype=np.int32), segment=20, low=17, high=56)
    return list(blocks(cut, sample(localities(cut.values, cut.offsets), share, keys=seeded_keys(2))))


def test_every_point_on_the_way_keeps_every_property():
    """No state of a walk over consecutive ages breaks a property."""
    for block in _age_blocks():
        course = PreparedWalk.of(block.polytope)
        walked = walk(course, block.polytope.point, seeded_keys(3)(course.sweep * 256))
        assert all(block.polytope.system.keeps(state) for state in walked.trace)
        assert np.array_equal(walked.trace[-1], walked.point)


def test_two_chains_from_different_starts_agree():
    """Started at the original and at the deepest point, walks over integer ages have the same distribution."""
    for block in _age_blocks():
        course = PreparedWalk.of(block.polytope)
        starts = (block.polytope.point, deepest_points([block.polytope])[0])
        traces = [
            walk(course, start, seeded_keys(7 + n)(course.sweep * 40 * 1500), states=1500).trace
            for n, start in enumerate(starts)
        ]
        for one, other in zip(*(trace[100:].T for trace in traces), strict=True):
            top = max(one.max(), other.max()) + 1
            table = np.array([np.bincount(one, minlength=top), np.bincount(other, minlength=top)])
            table = table[:, table.sum(axis=0) > 20]
            assert table.shape[1] > 1
            assert stats.chi2_contingency(table).pvalue > 1e-6


def test_compiled_equals_plain():
    """The compiled walk takes the steps that the plain one takes."""
    block = _age_blocks()[0]
    course, keys = PreparedWalk.of(block.polytope), seeded_keys(4)(390)
    results = []
    for run in (_walk.plain, _walk.compiled):
        point, slacks = block.polytope.point.copy(), block.polytope.system.slacks(block.polytope.point)
        trace = np.empty((10, len(point)), np.int64)
        run(point, slacks, course.touched, course.moved, keys, 10, trace)
        results.append((point, slacks, trace))
    assert np.array_equal(results[0][1], block.polytope.system.slacks(results[0][0]))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_effective_size_of_known_chains():
    """Independent draws are worth their number, a slow autoregression what theory says, a constant nothing."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 1))
    slow = np.zeros((4000, 1))
    for n in range(1, 4000):
        slow[n] = 0.9 * slow[n - 1] + noise[n]
    trace = np.rint(1e6 * np.hstack([noise, slow, np.zeros((4000, 1))])).astype(np.int64)
    free, bound, fixed = effective_sizes(trace)
    assert 3000 < free <= 4000
    assert 4000 / 19 / 1.6 < bound < 4000 / 19 * 1.6
    assert fixed == 0


def test_effective_size_is_its_definition():
    """Of short traces of several values: pairs of correlations are added while a pair is positive, column by column."""
    trace = np.random.default_rng(1).integers(0, 9, (6, 40)).cumsum(axis=0)
    for column, found in zip(trace.T, effective_sizes(trace), strict=True):
        away = column - column.mean()
        lags = [float(away[: 6 - lag] @ away[lag:]) for lag in range(6)]
        pairs = [lags[0] + lags[1], lags[2] + lags[3], lags[4] + lags[5]]
        positive = list(itertools.takewhile(lambda pair: pair > 0, pairs))
        assert found == pytest.approx(min(6, 6 / max(2 * sum(positive) / lags[0] - 1, 1 / 6)))


def test_integer_ages_move_and_a_seed_fixes_where():
    """Consecutive ages, on which the printed walk stands still, are walked and end away from where they were."""
    block_list = _age_blocks()
    ends = [walk_blocks(block_list, column="age", keys=seeded_keys(5)) for _ in range(2)]
    for trip, again in zip(*ends, strict=True):
        assert np.array_equal(trip.point, again.point)
        assert trip.block.polytope.system.keeps(trip.point)
        assert (trip.point != trip.block.polytope.point).mean() > 0.4
        assert trip.effective >= 16


def test_values_that_hardly_leave_their_place_are_refused():
    """With half of all localities consecutive whole numbers have almost no room, and the walk says so."""
    with pytest.raises(Infeasible, match=r"cannot move .* values of 'age'"):
        walk_blocks(_age_blocks(share=0.5), column="age", keys=seeded_keys(6))


def test_values_without_any_room_are_refused():
    """A strict order of consecutive whole numbers pins all of them, and the walk says so."""
    cut = runs(np.arange(10), np.arange(10, dtype=np.int32), segment=20, low=0, high=9)
    chosen = sample(localities(cut.values, cut.offsets), 0.1, keys=seeded_keys(2))
    strict = [TickRelation((n, n + 1), (1, -1), -1) for n in range(9)]
    with pytest.raises(Infeasible, match="cannot move 10 values of 'age'"):
        walk_blocks(list(blocks(cut, chosen, strict)), column="age", keys=seeded_keys(6))


def test_a_walk_that_is_too_short_is_refused():
    """A few steps do not mix, and the message says how far they came."""
    fine = [v * 10**6 for v in range(17, 57)]
    cut = runs(np.array(fine), np.arange(40, dtype=np.int32), segment=20, low=fine[0], high=fine[-1])
    found = list(blocks(cut, sample(localities(cut.values, cut.offsets), 0.5, keys=seeded_keys(2))))
    with pytest.raises(Infeasible, match=r"has not mixed in 1,0.. steps"):
        walk_blocks(found, column="age", steps=1000, keys=seeded_keys(6))


def test_a_value_that_stands_still_away_from_home_has_not_mixed():
    """The start of a walk is no draw: a value that never leaves it fails the gate, wherever the start was."""
    block = _age_blocks()[0]
    (trip,) = _set_out([block])
    trace = np.random.default_rng(3).integers(100, 200, (256, len(trip.point)))
    good = _judge(trip, WalkResult(trace[-1], trace, effective_sizes(trace)), 1)
    assert good.is_mixed
    trace[:, 4] = 150
    assert not _judge(trip, WalkResult(trace[-1], trace, effective_sizes(trace)), 1).is_mixed


@pytest.mark.parametrize(("at_home", "stuck"), [(0.8, 0), (0.95, 1)])
def test_one_value_that_hardly_leaves_home_stops_its_block(at_home, stuck):
    """However well the others mix, a value that is at its original in more than nine states of ten is counted."""
    (trip,) = _set_out([_age_blocks()[0]])
    rng = np.random.default_rng(4)
    trace = rng.integers(100, 200, (256, len(trip.point)))
    trace[rng.random(256) < at_home, 7] = trip.course.polytope.point[7]
    judged = _judge(trip, WalkResult(trace[-1], trace, effective_sizes(trace)), 1)
    assert (judged.stuck, judged.is_mixed) == (stuck, not stuck)


def test_given_relations_hold_and_pinned_values_do_not_stop_the_walk():
    """A sum that is kept exactly over two segments holds at the end, and a value that it pins stays."""
    values = np.arange(0, 120, 3)
    cut = runs(values, np.arange(40, dtype=np.int32), segment=20, low=0, high=120)
    chosen = sample(localities(cut.values, cut.offsets), 0.05, keys=seeded_keys(2))
    total = int(values[5] + values[25])
    given = [TickRelation((5, 25), (1, 1), total), TickRelation((5, 25), (-1, -1), -total)]
    given += [TickRelation((30,), (1,), 90), TickRelation((30,), (-1,), -90)]
    (trip,) = walk_blocks(list(blocks(cut, chosen, given)), column="x", keys=seeded_keys(9))
    assert trip.point[5] + trip.point[25] == total
    assert trip.point[30] == 90
    assert trip.pinned == 1
    assert trip.block.polytope.system.keeps(trip.point)
