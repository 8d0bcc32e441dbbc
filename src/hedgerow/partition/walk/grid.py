"""The grid on which a column is published: value = origin + unit * tick, ticks being whole numbers.

Guarantee  a published value is the exact decimal that it prints, so that a property which holds in ticks holds in print
Cost       O(u) on u distinct values

Whole numbers, decimals and dates keep their own unit; numbers are whole by their values, because a column with gaps
often comes as floats. Other floats, and whole numbers that may become decimals, get a unit of about a billionth of
their range, and at least as fine as the values themselves where 15 digits allow that. Whatever lies between the
declared bounds may be published, so it has to fit as well.
"""

from __future__ import annotations

import datetime
import math
import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import SchemaError
from hedgerow.exact import as_fraction, column_line, column_numbers, decimal_places

if TYPE_CHECKING:
    from hedgerow.schema import Domain

__all__ = ["Grid", "bounds_of", "grid_of"]

_STEPS = 9
"""Decimal digits of a range that has no unit of its own."""

_MOST_DIGITS = 15
_MOST_PLACES = 300  # a finer unit would not be a float itself
_HUGE = 1e300
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
            return np.rint((where.positions - float(self.origin)) / float(self.unit)).astype(np.int64)
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
        if self.origin == 0 and self.unit.numerator == 1 and self.unit.denominator <= 10**22:
            # Both operands are exact, so the quotient is the float that prints the decimal.
            return ticks / float(self.unit.denominator)
        return np.array([float(self.origin + int(tick) * self.unit) for tick in ticks])


def grid_of(name: str, domain: pa.Array, declared: Domain, *, whole: bool) -> Grid:
    """Choose the grid of a column from its distinct values and its declared domain; a step starts at `low`, or at 0."""
    kind = domain.type
    numbers, unit = column_numbers(domain, name)
    low, high = bounds_of(declared)
    ends = [as_fraction(numbers[n].item()) * unit for n in (0, -1)] + [end for end in (low, high) if end is not None]
    if pa.types.is_date32(kind):
        grid = Grid(Fraction(0), unit, kind)
    elif declared.step is not None:
        grid = Grid(low or Fraction(0), as_fraction(declared.step), kind)
        _require_written(name, unit, grid, ends)
    elif pa.types.is_decimal(kind) or (whole and pa.types.is_integer(kind)):
        grid = Grid(Fraction(0), unit, kind)
    else:
        grid = Grid(Fraction(0), _fine_unit(name, numbers.astype(np.float64), ends, whole), pa.float64())
    if max(abs(end - grid.origin) / grid.unit for end in ends) >= _MOST_TICKS:
        raise SchemaError(
            f"'{name}' spans too many units of its grid; give the column in larger units, or a narrower domain."
        )
    return _with_room(grid, ends)


def bounds_of(declared: Domain) -> tuple[Fraction | None, Fraction | None]:
    """The declared bounds as numbers, dates in days."""
    low, high = (
        (bound - datetime.date(1970, 1, 1)).days if isinstance(bound, datetime.date) else bound
        for bound in (declared.low, declared.high)
    )
    return (None if low is None else as_fraction(low)), (None if high is None else as_fraction(high))


def _fine_unit(name: str, values: NDArray[np.float64], ends: list[Fraction], whole: bool) -> Fraction:
    """A power of ten: fine enough for the values, coarse enough to print them exactly."""
    with np.errstate(over="ignore"):
        width, largest = min(float(np.ptp(values)), sys.float_info.max), float(np.abs(values).max())
    own = decimal_places(values)
    wanted = _STEPS - math.ceil(math.log10(width)) if width else 0
    alone, possible = (_most_places(size) for size in (largest, max(map(abs, ends))))
    if possible < min(alone, wanted if own is None else own):
        raise SchemaError(f"The domain of '{name}' is too wide to print its values in 15 digits; narrow it.")
    if whole and own == 0:
        return Fraction(1)
    places = min(max(wanted, possible if own is None else own), possible, _MOST_PLACES)
    return Fraction(10) ** -places


def _most_places(largest: float | Fraction) -> int:
    """The decimal places that 15 digits leave to a number of this size."""
    return _MOST_DIGITS - 1 - math.floor(math.log10(min(largest, _HUGE))) if largest else _MOST_DIGITS


def _require_written(name: str, unit: Fraction, grid: Grid, ends: list[Fraction]) -> None:
    """A declared step must lead to values that the column's type can hold."""
    if pa.types.is_floating(grid.type):
        unit = Fraction(10) ** -_most_places(max(map(abs, ends)))
    if any((part / unit).denominator != 1 for part in (grid.origin, grid.unit)):
        raise SchemaError(
            f"The domain of '{name}' has steps that its type {grid.type} cannot hold; declare other ones, or none."
        )


def _with_room(grid: Grid, ends: list[Fraction]) -> Grid:
    """Decimals get the digits that their bounds need."""
    if not pa.types.is_decimal(grid.type):
        return grid
    scale = grid.type.scale
    digits = len(str(max(abs(math.trunc(end * 10**scale)) for end in ends)))
    return replace(grid, type=pa.decimal128(max(grid.type.precision, digits), scale))
