"""The room in which substituted values may move: whole points x with A x <= b around a known one.

Source     preserving properties of interest, sections 2 and 4
Guarantee  the original point lies inside; every direction is a whole vector inside the affine hull, so a walk along
           them keeps equations exactly
Cost       O(m n) memory for m properties of n values

Values are whole multiples of a unit, so a property either holds or does not: no rounding takes part. Localities never
force an equation: bending the values (x to x - c x^2) loosens every locality that is tight. Only properties that a
user adds can; then the walk stays in the affine hull, along a basis of its whole vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Polytope", "System", "directions", "kernel_basis"]


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
