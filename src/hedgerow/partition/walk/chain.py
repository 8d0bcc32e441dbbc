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

Values move among the whole points x with A x <= b around a known one ([Xue 2011], sections 2 and 4): the original point
lies inside; every direction is a whole vector inside the affine hull, so a walk along them keeps equations exactly.
Values are whole multiples of a unit, so a property either holds or does not: no rounding takes part. Localities never
force an equation: bending the values (x to x - c x^2) loosens every locality that is tight. Only properties that a
user adds can; then the walk stays in the affine hull, along a basis of its whole vectors. It takes O(m n) memory for m
properties of n values.

A walk starts at the point with the largest least slack, found by one linear program per batch of polytopes (about a
millisecond each for 20 values). The point satisfies every property exactly; it is the original one where the deepest
point, rounded to whole units, does not. The paper starts from the original values, which lie in a corner where whole
numbers leave slacks of zero. A program in floating point cannot harm: its answer only chooses a start, and which
properties are equations decides only along which whole vectors the walk may step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import InputError, ParameterError
from hedgerow.kernel import SMALL, kernel


@dataclass(frozen=True, eq=False)
class System:
    """Properties as rows of `coefficients @ x <= bounds`; `kinds` says where each comes from."""

    coefficients: Ints
    bounds: Ints
    kinds: NDArray[np.str_]

    def slacks(self, point: Ints) -> Ints:
        """How far each property is from breaking at a point."""
        return self.bounds - self.coefficients @ point

    def keeps(self, point: Ints) -> bool:
        """Whether every property holds at a point."""
        return bool((self.slacks(point) >= 0).all())


@dataclass(frozen=True, eq=False)
class Polytope:
    """A system, a point that satisfies it, and whole vectors that span its affine hull (None: the whole space)."""

    system: System
    point: Ints
    hull: Ints | None = field(default=None)

    @property
    def basis(self) -> Ints:
        """The spanning vectors of the affine hull, a row each."""
        return np.eye(len(self.point), dtype=np.int64) if self.hull is None else self.hull

    @property
    def pinned(self) -> Bools:
        """Values that the hull leaves in their place."""
        return np.logical_not(self.basis.any(axis=0))


def directions(polytope: Polytope) -> Ints:
    """Where the walk may step, a row each: single values, everything from a value on, and the hull's own basis.

    Moving one value at a time mixes slowly because its neighbours hold it back; moving all values from one on
    changes a single gap, which they do not resist.
    """
    size = len(polytope.point)
    single, tails = np.eye(size, dtype=np.int64), np.triu(np.ones((size, size), np.int64))
    plain = np.concatenate([single[:-1], tails])
    if polytope.hull is None:
        return plain
    normals = np.array(kernel_basis(polytope.hull), object).reshape(-1, size)  # these may leave 64 bits
    return np.concatenate([polytope.hull, plain[~(plain @ normals.T).any(axis=1)]])


def kernel_basis(equations: Ints) -> list[list[int]]:
    """A basis of the whole vectors x with `equations @ x = 0`, by column operations of determinant one."""
    count, size = equations.shape
    columns: list[list[int]] = [equations[:, n].tolist() for n in range(size)]
    moves = [[int(n == m) for m in range(size)] for n in range(size)]
    first = 0
    for row in range(count):
        while sum(columns[n][row] != 0 for n in range(first, size)) > 1:
            _reduce(columns, moves, row, first)
        pivot = next((n for n in range(first, size) if columns[n][row]), None)
        if pivot is not None:
            for pair in (columns, moves):
                pair[first], pair[pivot] = pair[pivot], pair[first]
            first += 1
    return moves[first:]


def _reduce(columns: list[list[int]], moves: list[list[int]], row: int, first: int) -> None:
    """One round of Euclid's algorithm on a row: subtract the smallest entry's column from the others."""
    least = min((n for n in range(first, len(columns)) if columns[n][row]), key=lambda n: abs(columns[n][row]))
    for n in range(first, len(columns)):
        if n != least and columns[n][row]:
            times = columns[n][row] // columns[least][row]
            for pair in (columns, moves):
                pair[n] = _minus(pair[n], times, pair[least])


def _minus(one: list[int], times: int, other: list[int]) -> list[int]:
    return [a - times * b for a, b in zip(one, other, strict=True)]


def sparse_rows(matrix: Ints) -> tuple[NDArray[Any], NDArray[Any], Ints]:
    """The nonzero entries of each row: where each row starts, the columns, the entries."""
    rows, columns = np.nonzero(matrix)
    starts = np.append(0, np.cumsum(np.count_nonzero(matrix, axis=1)))
    return starts, columns, matrix[rows, columns]


_WIDEST = 2**62


def deepest_points(polytopes: Sequence[Polytope]) -> list[Ints]:
    """A start for each polytope; they are solved together, which spares most of the solver's overhead."""
    problems = [_scale(polytope) for polytope in polytopes]
    found = _solve_together([(rows, slacks) for rows, slacks, _ in problems])
    scales = [scale for _, _, scale in problems]
    return [_round_point(*each) for each in zip(polytopes, found, scales, strict=True)]


def in_affine_hull(polytope: Polytope) -> Polytope:
    """Find the properties that hold with equality everywhere, and the whole vectors that keep them so.

    Only those that are tight at the known point can: one program over them finds all. The largest sum of t with
    A y + t <= 0, 0 <= t <= 1 has t = 0 exactly where no y loosens a property, for any y may be made longer.
    """
    tight = polytope.system.coefficients[polytope.system.slacks(polytope.point) == 0]
    if not len(tight):
        return polytope
    linprog, sparse = _solver()
    count, size = tight.shape
    matrix = sparse.hstack([sparse.csr_matrix(tight / _heights(tight)), sparse.eye(count)])
    cost = np.append(np.zeros(size), -np.ones(count))
    limits = [(None, None)] * size + [(0, 1)] * count
    solved = linprog(cost, A_ub=matrix.tocsr(), b_ub=np.zeros(count), bounds=limits, method="highs")
    if solved.x is None:
        return polytope
    equations = solved.x[size:] < 0.5
    if not equations.any():
        return polytope
    basis = kernel_basis(tight[equations])
    _require_small(basis, polytope.system.coefficients)
    return replace(polytope, hull=np.array(basis, np.int64).reshape(-1, size))


def _require_small(basis: list[list[int]], coefficients: Ints) -> None:
    """What a step along the basis does to any property must fit 64 bits."""
    longest = max((abs(entry) for vector in basis for entry in vector), default=0)
    if longest * int(_heights(coefficients).max()) >= _WIDEST:
        raise ParameterError("Given equations have coefficients too large for a column; use fewer or rounder ones.")


def _scale(polytope: Polytope) -> tuple[Floats, Floats, float]:
    """The rows that change inside the hull, in its coordinates, scaled to slacks of at most one."""
    rows = polytope.system.coefficients @ polytope.basis.T
    changing = rows.any(axis=1)
    heights = _heights(polytope.system.coefficients[changing])
    slacks = polytope.system.slacks(polytope.point)[changing] / heights[:, 0]
    scale = _top(slacks)
    return rows[changing] / heights, slacks / scale, scale


def _heights(rows: Ints) -> Floats:
    """The weight of each row, as a column: a property says the same when it is divided by it."""
    weights: Floats = np.abs(rows).sum(axis=1, keepdims=True).astype(float)
    return weights


def _solve_together(problems: Sequence[tuple[Floats, Floats]]) -> list[Floats]:
    """Maximize each problem's least slack in one block-diagonal program; zeros where the solver gives up."""
    linprog, sparse = _solver()
    widths = [rows.shape[1] for rows, _ in problems]
    ends = np.cumsum([width + 1 for width in widths])
    matrix = sparse.block_diag([np.hstack([rows, np.ones((len(rows), 1))]) for rows, _ in problems], format="csr")
    cost = np.zeros(matrix.shape[1])
    cost[ends - 1] = -1.0
    limits = np.tile([-np.inf, np.inf], (len(cost), 1))
    limits[ends - 1] = [0.0, 1.0]
    slacks = np.concatenate([slacks for _, slacks in problems])
    solved = linprog(cost, A_ub=matrix, b_ub=slacks, bounds=limits, method="highs")
    point = np.zeros(len(cost)) if solved.x is None else solved.x
    return [point[end - 1 - width : end - 1] for end, width in zip(ends, widths, strict=True)]


def _round_point(polytope: Polytope, found: Floats, scale: float) -> Ints:
    steps = np.rint(found * scale).astype(np.int64)
    point: Ints = polytope.point + steps @ polytope.basis
    return point if polytope.system.keeps(point) else polytope.point


def _top(slacks: NDArray[Any]) -> float:
    return float(max(slacks.max(initial=0), 1))


def _solver() -> tuple[Any, Any]:
    try:
        from scipy import sparse
        from scipy.optimize import linprog
    except ImportError:
        raise InputError("The random walk needs SciPy's linear programming: pip install 'hedgerow[opt]'.") from None
    return linprog, sparse


STATES = 256
"""States of a walk that are kept to judge how well it mixes."""


@dataclass(frozen=True, eq=False)
class PreparedWalk:
    """A polytope made ready to walk: what each direction does to the values and to the slacks."""

    polytope: Polytope
    ways: Ints
    touched: tuple[Ints, Ints, Ints]
    moved: tuple[Ints, Ints, Ints]

    @classmethod
    def of(cls, polytope: Polytope) -> PreparedWalk:
        """Work out the directions of a polytope."""
        ways = directions(polytope)
        return cls(polytope, ways, sparse_rows(ways @ polytope.system.coefficients.T), sparse_rows(ways))

    @property
    def sweep(self) -> int:
        """Steps until every direction had its turn, and so keys per sweep."""
        return len(self.ways)


@dataclass(frozen=True, eq=False)
class WalkResult:
    """Where a walk arrived, the states that it passed at equal distances, and what they are worth for each value."""

    point: Ints
    trace: Ints
    effective: Floats


def walk(course: PreparedWalk, start: Ints, keys: NDArray[np.uint64], *, states: int = STATES) -> WalkResult:
    """Walk from `start`, which must satisfy every property, one step per key in whole sweeps."""
    point, slacks = start.copy(), course.polytope.system.slacks(start)
    sweeps = len(keys) // course.sweep
    trace = np.empty((min(states, sweeps), len(point)), np.int64)
    # The work is the touched properties of every sweep; the length of an array does not tell whether compiling pays.
    run = _walk.plain if sweeps * len(course.touched[1]) <= SMALL else _walk.compiled
    run(point, slacks, course.touched, course.moved, keys, sweeps, trace)
    return WalkResult(point, trace, effective_sizes(trace))


@kernel
def _walk(
    point: Ints,
    slacks: Ints,
    touched_by: tuple[Ints, Ints, Ints],
    moved_by: tuple[Ints, Ints, Ints],
    keys: NDArray[np.uint64],
    sweeps: int,
    trace: Ints,
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


def effective_sizes(trace: Ints) -> Floats:
    """Estimate for each column of `trace` (states x values) its number of independent draws; 0 if it never moves."""
    centred = trace - trace.mean(axis=0)
    result = np.zeros(trace.shape[1])
    _effective_sizes(np.ascontiguousarray(centred.T).ravel(), trace.shape[0], result)
    return result


@kernel
def _effective_sizes(centred: Floats, states: int, result: Floats) -> None:
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
