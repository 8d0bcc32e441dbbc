"""The grid on which a column is published: value = origin + unit * tick, ticks being whole numbers.

Guarantee  a published value is the exact decimal that it prints, so that a property which holds in ticks holds in print
Cost       O(u) on u distinct values

Whole numbers, decimals and dates keep their own unit. Floats, and whole numbers that may become decimals, get a unit of
about a billionth of their range, and at least as fine as the values themselves where 15 digits allow that.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import SchemaError
from hedgerow.exact import as_fraction, column_line, column_numbers, decimal_places

__all__ = ["Grid", "grid_of"]

_STEPS = 9
"""Decimal digits of a range that has no unit of its own."""

_MOST_DIGITS = 15
_MOST_TICKS = 2**57


@dataclass(frozen=True)
class Grid:
    """Where published values may lie, and their Arrow type."""

    origin: Fraction
    unit: Fraction
    type: pa.DataType

    def ticks(self, domain: pa.Array) -> NDArray[np.int64]:
        """The nearest tick of each of a column's ascending values, each counted from the grid's origin."""
        where = column_line(domain)
        if where.positions.dtype.kind == "f":
            return np.rint(where.positions / float(self.unit)).astype(np.int64)
        scale, shift = where.unit / self.unit, self.origin / self.unit
        if scale.denominator == shift.denominator == 1:
            return np.array([t * scale.numerator - shift.numerator for t in where.positions.tolist()], np.int64)
        return np.array([round(t * scale - shift) for t in where.positions.tolist()], np.int64)

    def first_at(self, value: Fraction) -> int:
        """The first tick that is not below a value."""
        return math.ceil((value - self.origin) / self.unit)

    def values(self, ticks: NDArray[np.int64]) -> pa.Array:
        """What is published for each tick."""
        if pa.types.is_floating(self.type):
            return pa.array(self._floats(ticks), pa.float64())
        exact = [self.origin + int(tick) * self.unit for tick in ticks]
        if pa.types.is_date32(self.type):
            return pa.array([datetime.date(1970, 1, 1) + datetime.timedelta(int(day)) for day in exact], self.type)
        if pa.types.is_decimal(self.type):
            scale = self.type.scale
            return pa.array([Decimal(int(value * 10**scale)).scaleb(-scale) for value in exact], self.type)
        return pa.array([int(value) for value in exact], self.type)

    def _floats(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.origin == 0 and self.unit.numerator == 1:
            # Both operands are exact, so the quotient is the float that prints the decimal.
            return ticks / float(self.unit.denominator)
        return np.array([float(self.origin + int(tick) * self.unit) for tick in ticks])


def grid_of(name: str, domain: pa.Array, *, whole: bool, step: object = None, low: object = None) -> Grid:
    """Choose the grid of a column from its distinct values; a declared `step` starts at `low`, or at 0."""
    kind = domain.type
    numbers, unit = column_numbers(domain, name)
    if step is not None and low is not None:
        grid = Grid(as_fraction(low), as_fraction(step), kind)
    elif step is not None and not pa.types.is_date32(kind):
        grid = Grid(Fraction(0), as_fraction(step), kind)
    elif pa.types.is_date32(kind) or pa.types.is_decimal(kind) or (whole and pa.types.is_integer(kind)):
        grid = Grid(Fraction(0), unit, kind)
    else:
        grid = Grid(Fraction(0), _fine_unit(numbers.astype(np.float64)), pa.float64())
    _require_fits(name, numbers, unit, grid)
    return grid


def _fine_unit(values: NDArray[np.float64]) -> Fraction:
    """A power of ten: fine enough for the values, coarse enough to print them exactly."""
    width, largest = float(np.ptp(values)), float(np.abs(values).max())
    own = decimal_places(values)
    wanted = _STEPS - math.ceil(math.log10(width)) if width else 0
    possible = _MOST_DIGITS - 1 - math.floor(math.log10(largest)) if largest else _MOST_DIGITS
    places = min(max(wanted, possible if own is None else own), possible, _MOST_DIGITS)
    return Fraction(10) ** -places


def _require_fits(name: str, numbers: NDArray[Any], unit: Fraction, grid: Grid) -> None:
    ends = [as_fraction(numbers[n].item()) * unit - grid.origin for n in (0, -1)]
    if max(abs(end) / grid.unit for end in ends) >= _MOST_TICKS:
        raise SchemaError(f"'{name}' spans too many units of its grid; give the column in larger units.")
