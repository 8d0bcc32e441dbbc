"""Arithmetic between aggregates: intervals of fractions, and first-order means and deviations."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from hedgerow.errors import QueryError
from hedgerow.query.result import Estimate, Rounding

__all__ = ["combined", "constant"]

_SMALLEST = Fraction(1, 10**300)
Ends = tuple[Fraction, Fraction]


def constant(value: object, cells: int) -> Estimate:
    """A number as an estimate without doubt."""
    assert isinstance(value, int | float | Decimal), "only numbers are computed with"
    exact = Fraction(value)
    if exact and not _SMALLEST < abs(exact) < 1 / _SMALLEST:
        raise QueryError("numbers between aggregates must lie between 1e-300 and 1e300 in size")
    rounding = Rounding.WHOLE if exact.denominator == 1 else Rounding.OUTWARD
    return Estimate([exact] * cells, [exact] * cells, [float(exact)] * cells, [0.0] * cells, [True] * cells, rounding)


def combined(operator: str, left: Estimate, right: Estimate) -> Estimate:
    """Combine two estimates cell by cell; dividing by what may be zero gives NULL."""
    is_count = right.rounding is Rounding.WHOLE
    pairs = [_ends(operator, a, b, is_count) for a, b in zip(left.widened(), right.widened(), strict=True)]
    middles = [_middle(operator, *cell) for cell in zip(left.means(), right.means(), left.std, right.std, strict=True)]
    is_whole = operator != "/" and left.rounding is Rounding.WHOLE and right.rounding is Rounding.WHOLE
    is_bounded = left.is_bounded and right.is_bounded
    return Estimate(
        [None if pair is None else pair[0] for pair in pairs],
        [None if pair is None else pair[1] for pair in pairs],
        [mean for mean, _ in middles],
        [std for _, std in middles],
        [a and b and pair is not None for a, b, pair in zip(left.exact, right.exact, pairs, strict=True)],
        Rounding.WHOLE if is_whole else Rounding.OUTWARD,
        is_bounded=is_bounded,
        reached=_reached(left, right, operator == "/"),
    )


def _reached(left: Estimate, right: Estimate, divides: bool) -> list[bool]:
    """Two open numbers need not take their ends together; one alone can, unless it divides and may be zero."""
    flags = []
    for cell, ends in enumerate(right.widened()):
        spans_zero = divides and not right.exact[cell] and (ends is None or ends[0] <= 0 <= ends[1])
        own = [side.reached is None or side.reached[cell] for side in (left, right) if not side.exact[cell]]
        flags.append(len(own) <= 1 and all(own) and not spans_zero)
    return flags


def _ends(operator: str, left: Ends | None, right: Ends | None, is_whole: bool) -> Ends | None:
    if left is None or right is None:
        return None
    if operator == "/":
        corners = [a / b for a in left for b in _divisors(right, is_whole)]
        return (min(corners), max(corners)) if corners else None
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _divisors(ends: Ends, is_whole: bool) -> list[Fraction]:
    """The divisors that matter: the ends, and around zero the nearest whole numbers; none where there is no nearest.

    Zero itself gives NULL, of which bounds do not speak.
    """
    low, high = ends
    if not low <= 0 <= high:
        return [low, high]
    whole = (low, Fraction(-1), Fraction(1), high)
    return [number for number in whole if number and low <= number <= high] if is_whole else []


def _middle(operator: str, left: float, right: float, left_std: float, right_std: float) -> tuple[float, float]:
    if operator in "+-":
        return (left + right if operator == "+" else left - right), left_std + right_std
    if operator == "*":
        return left * right, abs(right) * left_std + abs(left) * right_std
    if right == 0 or math.isnan(right):
        return math.nan, math.nan
    return left / right, left_std / abs(right) + abs(left) * right_std / right**2
