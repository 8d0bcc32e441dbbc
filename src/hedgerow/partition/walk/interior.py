"""Where a walk starts: the point with the largest least slack, found by linear programming.

Source     preserving properties of interest, section 4, and methods for interior points of polyhedra
Guarantee  the returned point satisfies every property exactly; it is the original one where the deepest point, rounded
           to whole units, does not
Cost       one linear program per batch of polytopes (about a millisecond each for 20 values)
Deviates   the paper starts from the original values, which lie in a corner where whole numbers leave slacks of zero

A program in floating point cannot harm: its answer only chooses a start, and which properties are equations decides
only along which whole vectors the walk may step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import InputError, ParameterError
from hedgerow.partition.walk.polytope import Polytope, kernel_basis

__all__ = ["deepest_points", "in_affine_hull"]

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
