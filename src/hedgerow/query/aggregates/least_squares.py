"""Ordinary least squares with a hidden outcome: every coefficient is linear in it, so it has bounds.

Source     own
Guarantee  the coefficients of the true table lie inside the bounds, for the exact solution of the normal equations
Cost       the normal equations in whole numbers, one sort inside groups and one exact product per coefficient

The coefficients are b = (X' W X)^-1 X' W y. The matrix is inverted in fractions, so nothing is lost where regressors
nearly depend on each other, and those that do depend are found and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hedgerow.query.aggregates.linear import Linear, LinearBounds
from hedgerow.query.aggregates.precise import Digits, gram

__all__ = ["DependentColumns", "coefficients", "inverse"]


@dataclass
class DependentColumns(Exception):
    """Regressors of which one is a sum of multiples of the others: their places."""

    places: list[int]


def coefficients(linear: Linear, weights: Digits | None) -> list[LinearBounds]:
    """Bound every coefficient; `linear.columns` are the regressors, `weights` one column for the same rows."""
    regressors = linear.columns
    weighted = regressors if weights is None else regressors.times(weights)
    factors = inverse(gram(weighted, regressors))
    sums = replace(linear, columns=weighted)
    # Whole numbers of units cancel except for those of the coefficient's own column.
    return [_in_units(sums.bounds(row), unit) for row, unit in zip(factors, regressors.units, strict=True)]


def _in_units(found: LinearBounds, unit: Fraction) -> LinearBounds:
    scale = float(unit)
    return LinearBounds(found.lower / unit, found.upper / unit, found.expected / scale, found.std / scale, found.exact)


def inverse(matrix: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Invert a symmetric matrix of whole numbers exactly. Raises DependentColumns where it cannot be."""
    size = len(matrix)
    rows = [[*line, *(int(place == other) for other in range(size))] for place, line in enumerate(matrix)]
    before = 1
    for step in range(size):
        # A Gram matrix has a zero on its eliminated diagonal exactly where a column depends on those before it.
        if rows[step][step] == 0:
            raise DependentColumns(_dependent(matrix, step))
        pivot = rows[step][step]
        for place in range(size):
            if place != step:
                lead = rows[place][step]
                rows[place] = [
                    (pivot * mine - lead * other) // before for mine, other in zip(rows[place], rows[step], strict=True)
                ]
        before = pivot
    return [[Fraction(number, before) for number in line[size:]] for line in rows]


def _dependent(matrix: Sequence[Sequence[int]], step: int) -> list[int]:
    """The column that depends on those before it, and those that it depends on."""
    if step == 0:
        return [0]
    before = inverse([line[:step] for line in matrix[:step]])
    mix = [sum(factor * matrix[k][step] for k, factor in enumerate(line)) for line in before]
    return [*(place for place, share in enumerate(mix) if share), step]
