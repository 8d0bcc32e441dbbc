"""Decimal numbers as SQL has them: those between two values, where a column's type has no room for them, and keys.

Half way between 39.97 and 40.00 lies 39.985. PostgreSQL says so; DuckDB keeps the digits of the column and says 39.98,
and it computes the place between the two values in floating point, so that 4.90 may come as 4.89. Moments are kept to
the microsecond. Bounds of interpolated quantiles of decimals, and of means of moments, enclose both numbers, and are
called exact only where both are the same: whoever compares is right.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.sql.kinds import MOST_DIGITS
from hedgerow.query.sql.question import WIDE, Bound

__all__ = ["as_decimals", "cut_results", "spell_keys"]

_NEAR, _NEAR_MOMENT = Fraction(1, 10**12), Fraction(1, 10**15)
"""How far floats may be off, as a share of a number; moments are some 10^15 microseconds."""
_FINEST = 2**20
"""Fractions of quantiles whose product with any number of rows is a float without rounding have such a divisor."""


def spell_keys(bound: Bound, result: Result) -> Result:
    """Write keys that a question computes as the decimal numbers that SQL takes them for."""
    scales = [(key.alias, key.scale_in(bound.derived)) for key in bound.keys if key.alias in result.keys]
    found = {name: as_decimals(result.keys[name], scale) for name, scale in scales if scale is not None}
    return replace(result, keys=result.keys | found) if found else result


def as_decimals(floats: pa.Array, scale: int) -> pa.Array:
    """The decimal numbers that floats are nearest to, of fifteen digits where these are enough."""
    steps = [None if value is None else round(Fraction(value) * 10**scale) for value in floats.to_pylist()]
    digits = max([scale, MOST_DIGITS, *(len(str(abs(step))) for step in steps if step is not None)])
    values = [None if step is None else Decimal(step).scaleb(-scale, WIDE) for step in steps]
    return pa.array(values, pa.decimal128(digits, scale))


def cut_results(bound: Bound, result: Result) -> Result:
    """Widen what has no room in its type."""
    changed: dict[str, Estimate] = {}
    for item in bound.aggregates:
        found = result.estimates[item.alias]
        if found.is_bounded and item.scale is not None:
            share = item.fraction or Fraction(0)
            is_plain = share.denominator & (share.denominator - 1) == 0 and share.denominator <= _FINEST
            near = _NEAR_MOMENT if found.rounding is Rounding.VALUE else _NEAR
            changed[item.alias] = _cut(found, Fraction(1, 10**item.scale), Fraction(0) if is_plain else near)
    return replace(result, estimates=result.estimates | changed) if changed else result


def _cut(found: Estimate, unit: Fraction, near: Fraction) -> Estimate:
    """Let bounds enclose the numbers with the digits after the unit cut off, or rounded."""
    lower = [None if end is None else math.floor((end - abs(end) * near) / unit) * unit for end in found.lower]
    upper = [None if end is None else math.ceil((end + abs(end) * near) / unit) * unit for end in found.upper]
    is_same = [a == b and c == d for a, b, c, d in zip(lower, found.lower, upper, found.upper, strict=True)]
    reached = [True] * len(lower) if found.reached is None else found.reached
    is_printed = found.rounding is Rounding.NEAREST
    return replace(
        found,
        lower=lower,
        upper=upper,
        exact=[flag and same for flag, same in zip(found.exact, is_same, strict=True)],
        reached=[flag and same for flag, same in zip(reached, is_same, strict=True)],
        rounding=Rounding.OUTWARD if is_printed else found.rounding,
    )
