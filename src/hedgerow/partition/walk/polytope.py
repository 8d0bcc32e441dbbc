"""The room in which substituted values may move: whole points x with A x <= b around a known one.

Source     [Xue 2011], sections 2 and 4
Guarantee  the original point lies inside; every direction is a whole vector inside the affine hull, so a walk along
           them keeps equations exactly
Cost       O(m n) memory for m properties of n values

Values are whole multiples of a unit, so a property either holds or does not: no rounding takes part. Localities never
force an equation: bending the values (x to x - c x^2) loosens every locality that is tight. Only properties that a
user adds can; then the walk stays in the affine hull, along a basis of its whole vectors.

Where a walk starts: the point with the largest least slack, found by linear programming.

Source     [Xue 2011], section 4, and methods for interior points of polyhedra
Guarantee  the returned point satisfies every property exactly; it is the original one where the deepest point, rounded
           to whole units, does not
Cost       one linear program per batch of polytopes (about a millisecond each for 20 values)
Deviates   the paper starts from the original values, which lie in a corner where whole numbers leave slacks of zero

A program in floating point cannot harm: its answer only chooses a start, and which properties are equations decides
only along which whole vectors the walk may step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import InputError, ParameterError

__all__ = ["Polytope", "System", "deepest_points", "directions", "in_affine_hull", "kernel_basis"]


@dataclass(frozen=True, eq=False)
class System:
    """Properties as rows of `coefficients @ x <= bounds`; `kinds` says where each comes from."""

    coefficients: NDArray[np.int64]
    bounds: NDArray[np.int64]
    kinds: NDArray[np.str_]

    def slacks(self, point: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far each property is from breaking at a point."""
        return self.bounds - self.coefficients @ point

    def keeps(self, point: NDArray[np.int64]) -> bool:
        """Whether every property holds at a point."""
        return bool((self.slacks(point) >= 0).all())


@dataclass(frozen=True, eq=False)
class Polytope:
    """A system, a point that satisfies it, and whole vectors that span its affine hull (None: the whole space)."""

    system: System
    point: NDArray[np.int64]
    hull: NDArray[np.int64] | None = field(default=None)

    @property
    def basis(self) -> NDArray[np.int64]:
        """The spanning vectors of the affine hull, a row each."""
        return np.eye(len(self.point), dtype=np.int64) if self.hull is None else self.hull

    @property
    def pinned(self) -> NDArray[np.bool_]:
        """Values that the hull leaves in their place."""
        return np.logical_not(self.basis.any(axis=0))


def directions(polytope: Polytope) -> NDArray[np.int64]:
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


def kernel_basis(equations: NDArray[np.int64]) -> list[list[int]]:
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


def sparse_rows(matrix: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """The nonzero entries of each row: where each row starts, the columns, the entries."""
    rows, columns = np.nonzero(matrix)
    starts = np.append(0, np.cumsum(np.count_nonzero(matrix, axis=1)))
    return starts, columns, matrix[rows, columns]


_WIDEST = 2**62


def deepest_points(polytopes: Sequence[Polytope]) -> list[NDArray[np.int64]]:
    """A start for each polytope; they are solved together, which spares most of the solver's overhead."""
    problems = [_scaled(polytope) for polytope in polytopes]
    found = _solve_together([(rows, slacks) for rows, slacks, _ in problems])
    scales = [scale for _, _, scale in problems]
    return [_rounded(*each) for each in zip(polytopes, found, scales, strict=True)]


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


def _require_small(basis: list[list[int]], coefficients: NDArray[np.int64]) -> None:
    """What a step along the basis does to any property must fit 64 bits."""
    longest = max((abs(entry) for vector in basis for entry in vector), default=0)
    if longest * int(_heights(coefficients).max()) >= _WIDEST:
        raise ParameterError("Given equations have coefficients too large for a column; use fewer or rounder ones.")


def _scaled(polytope: Polytope) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The rows that change inside the hull, in its coordinates, scaled to slacks of at most one."""
    rows = polytope.system.coefficients @ polytope.basis.T
    changing = rows.any(axis=1)
    heights = _heights(polytope.system.coefficients[changing])
    slacks = polytope.system.slacks(polytope.point)[changing] / heights[:, 0]
    scale = _top(slacks)
    return rows[changing] / heights, slacks / scale, scale


def _heights(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weight of each row, as a column: a property says the same when it is divided by it."""
    weights: NDArray[np.float64] = np.abs(rows).sum(axis=1, keepdims=True).astype(float)
    return weights


def _solve_together(problems: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
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


def _rounded(polytope: Polytope, found: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    steps = np.rint(found * scale).astype(np.int64)
    point: NDArray[np.int64] = polytope.point + steps @ polytope.basis
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
