"""A random walk over the whole points of a polytope, whose long-run distribution is uniform.

Source     [Xue 2011], section 4; hit-and-run [Smith 1984] with a fixed set of directions
Guarantee  every point on the way satisfies every property exactly; each step leaves the uniform distribution over the
           points that the directions connect as it is
Cost       per step two passes over the properties that the direction touches, which is a small part of them
Deviates   the whole chord through the point, both ways: the printed half chord piles up at the border; single values
           and tails of values instead of random directions, because they touch few properties, stay on whole points and
           reach the same effective sample size many times faster; directions in turn, so that all of a 64-bit key
           goes into the length of the step

How many independent draws a trace is worth, and whether every value has moved.

Source     [Geyer 1992]: initial positive sequence
Guarantee  none; an estimate of the effective sample size from one trace
Cost       O(t l) for a trace of t states whose correlations die out after l
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.walk.polytope import Polytope, directions, sparse_rows

__all__ = ["STATES", "Course", "Walked", "effective_sizes", "walk"]

STATES = 256
"""States of a walk that are kept to judge how well it mixes."""


@dataclass(frozen=True, eq=False)
class Course:
    """A polytope made ready to walk: what each direction does to the values and to the slacks."""

    polytope: Polytope
    ways: NDArray[np.int64]
    touched: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    moved: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, polytope: Polytope) -> Course:
        """Work out the directions of a polytope."""
        ways = directions(polytope)
        return cls(polytope, ways, sparse_rows(ways @ polytope.system.coefficients.T), sparse_rows(ways))

    @property
    def sweep(self) -> int:
        """Steps until every direction had its turn, and so keys per sweep."""
        return len(self.ways)


@dataclass(frozen=True, eq=False)
class Walked:
    """Where a walk arrived, the states that it passed at equal distances, and what they are worth for each value."""

    point: NDArray[np.int64]
    trace: NDArray[np.int64]
    effective: NDArray[np.float64]


def walk(course: Course, start: NDArray[np.int64], keys: NDArray[np.uint64], *, states: int = STATES) -> Walked:
    """Walk from `start`, which must satisfy every property, one step per key in whole sweeps."""
    point, slacks = start.copy(), course.polytope.system.slacks(start)
    sweeps = len(keys) // course.sweep
    trace = np.empty((min(states, sweeps), len(point)), np.int64)
    # The work is the touched properties of every sweep; the length of an array does not tell whether compiling pays.
    run = _walk.plain if sweeps * len(course.touched[1]) <= SMALL else _walk.compiled
    run(point, slacks, course.touched, course.moved, keys, sweeps, trace)
    return Walked(point, trace, effective_sizes(trace))


@kernel
def _walk(
    point: NDArray[np.int64],
    slacks: NDArray[np.int64],
    touched_by: tuple[Ints, Ints, Ints],
    moved_by: tuple[Ints, Ints, Ints],
    keys: NDArray[np.uint64],
    sweeps: int,
    trace: NDArray[np.int64],
) -> None:
    """Move `point` one random step along each direction, sweep after sweep, and keep evenly spaced states in `trace`.

    `touched_by` lists the properties that each direction changes, with rates; `moved_by` its values, with amounts.
    """
    touched_starts, touched, rates = touched_by
    moved_starts, moved, amounts = moved_by
    ways = len(touched_starts) - 1
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    kept = 0
    for sweep in range(sweeps):
        for way in range(ways):
            back, forth = 1 << 61, 1 << 61
            for place in range(touched_starts[way], touched_starts[way + 1]):
                rate, slack = rates[place], slacks[touched[place]]
                # Nearly all rates are one or two, and a division costs more than everything else in a step.
                size = rate if rate > 0 else -rate
                reach = slack if size == 1 else (slack >> 1 if size == 2 else slack // size)
                if rate > 0:
                    forth = min(forth, reach)
                else:
                    back = min(back, reach)
            # The upper 64 bits of key times the number of points on the chord.
            points = np.uint64(back + forth + 1)
            key = keys[sweep * ways + way]
            upper, lower = key >> half, key & low_half
            middle = upper * (points & low_half) + ((lower * (points & low_half)) >> half)
            rest = lower * (points >> half) + (middle & low_half)
            step = np.int64(upper * (points >> half) + (middle >> half) + (rest >> half)) - back
            if step != 0:
                for place in range(touched_starts[way], touched_starts[way + 1]):
                    slacks[touched[place]] -= rates[place] * step
                for place in range(moved_starts[way], moved_starts[way + 1]):
                    point[moved[place]] += amounts[place] * step
        while kept < len(trace) and (kept + 1) * sweeps <= (sweep + 1) * len(trace):
            trace[kept] = point
            kept += 1


def effective_sizes(trace: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate for each column of `trace` (states x values) its number of independent draws; 0 if it never moves."""
    centred = trace - trace.mean(axis=0)
    result = np.zeros(trace.shape[1])
    _effective_sizes(np.ascontiguousarray(centred.T).ravel(), trace.shape[0], result)
    return result


@kernel
def _effective_sizes(centred: NDArray[np.float64], states: int, result: NDArray[np.float64]) -> None:
    """Add up correlations in pairs while a pair is positive: noise beyond that point would only blur the sum."""
    for column in range(len(result)):
        first = column * states
        variance = 0.0
        for n in range(states):
            variance += centred[first + n] * centred[first + n]
        if variance == 0.0:
            continue
        correlation, lag = 0.0, 0
        while lag + 1 < states:
            pair = 0.0
            for n in range(states - lag):
                pair += centred[first + n] * centred[first + n + lag]
            for n in range(states - lag - 1):
                pair += centred[first + n] * centred[first + n + lag + 1]
            if pair <= 0.0:
                break
            correlation += pair / variance
            lag += 2
        # The sum counts lag 0 once and every other lag on one side only.
        result[column] = min(states / max(2.0 * correlation - 1.0, 1.0 / states), float(states))
