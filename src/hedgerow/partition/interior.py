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

from hedgerow.errors import InputError
from hedgerow.partition.polytope import Polytope, kernel_basis

__all__ = ["deepest_points", "in_affine_hull"]


def deepest_points(polytopes: Sequence[Polytope]) -> list[NDArray[np.int64]]:
    """A start for each polytope; they are solved together, which spares most of the solver's overhead."""
    problems = [_scaled(polytope) for polytope in polytopes]
    found = _solve_together([(rows, slacks) for rows, slacks, _ in problems])
    scales = [scale for _, _, scale in problems]
    return [_rounded(*each) for each in zip(polytopes, found, scales, strict=True)]


def in_affine_hull(polytope: Polytope) -> Polytope:
    """Find the properties that hold with equality everywhere, and the whole vectors that keep them so.

    One program finds them all: the largest sum of t with A y + t <= s z, 0 <= t <= 1, z >= 1 has t = 0 exactly there.
    """
    linprog, sparse = _solver()
    coefficients = polytope.system.coefficients.astype(float)
    slacks = polytope.system.slacks(polytope.point).astype(float)
    rows, size = coefficients.shape
    matrix = sparse.hstack([sparse.csr_matrix(coefficients), sparse.eye(rows), -_column(slacks / _top(slacks), sparse)])
    cost = np.concatenate([np.zeros(size), -np.ones(rows), [0.0]])
    limits = [(None, None)] * size + [(0, 1)] * rows + [(1, None)]
    solved = linprog(cost, A_ub=matrix.tocsr(), b_ub=np.zeros(rows), bounds=limits, method="highs")
    if solved.x is None:
        return polytope
    equations = solved.x[size : size + rows] < 0.5
    if not equations.any():
        return polytope
    basis = kernel_basis(polytope.system.coefficients[equations])
    return replace(polytope, hull=np.array(basis, np.int64).reshape(-1, size))


def _scaled(polytope: Polytope) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The rows that change inside the hull, in its coordinates, scaled to slacks of at most about one."""
    weights = np.abs(polytope.system.coefficients).sum(axis=1)
    rows = polytope.system.coefficients @ polytope.basis.T
    slacks = polytope.system.slacks(polytope.point)
    changing = rows.any(axis=1)
    scale = _top(slacks)
    heights = weights[changing, None].astype(float)
    return rows[changing] / heights, slacks[changing] / (scale * heights[:, 0]), scale


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


def _column(array: NDArray[np.float64], sparse: Any) -> Any:
    return sparse.csr_matrix(array[:, None])


def _solver() -> tuple[Any, Any]:
    try:
        from scipy import sparse
        from scipy.optimize import linprog
    except ImportError:
        raise InputError("The random walk needs SciPy's linear programming: pip install 'hedgerow[opt]'.") from None
    return linprog, sparse
