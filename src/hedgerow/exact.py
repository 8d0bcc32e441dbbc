"""Numbers as exact integers, so that no privacy threshold is decided by floating-point rounding.

A column of numbers is read as whole multiples of a unit: salaries in units of 1, prices in units of 1/100, dates in
days. A float stands for the shortest decimal that it prints. Thresholds come as text, integers, decimals or floats
and become fractions. Floats that share no decimal unit of at most 15 digits (results of computations) stay floats, and
are compared without loss of digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import is_numeric, one_array
from hedgerow.errors import SchemaError

MAX_TICK = 2**62
"""Differences of two ticks must fit a signed 64-bit integer."""

_MOST_PLACES = 15
_MOST_EXPONENT = 400


def as_fraction(number: object) -> Fraction:
    """Read a number exactly: floats by the shortest decimal they print. Raises ValueError for anything else."""
    if isinstance(number, bool):
        raise ValueError("a truth value is not a number")
    if isinstance(number, int | Fraction | np.integer):
        return Fraction(int(number)) if not isinstance(number, Fraction) else number
    if isinstance(number, float | np.floating):
        number = repr(float(number))
    if isinstance(number, str | Decimal):
        try:
            exact = Decimal(number)
        except InvalidOperation as error:
            raise ValueError("not a decimal number") from error
        # A power of ten of a million digits is finite, too, but nobody's threshold: it would stall the process.
        if exact.is_finite() and abs(exact.adjusted()) <= _MOST_EXPONENT:
            return Fraction(exact)
    raise ValueError("not a finite number")


def fraction_text(number: Fraction) -> str:
    """Write a fraction so that `Fraction` reads it back: as a decimal if it has one, else as a ratio."""
    rest, places = number.denominator, 0
    while rest % 10 == 0 or rest % 2 == 0 or rest % 5 == 0:
        rest, places = rest // (10 if rest % 10 == 0 else 2 if rest % 2 == 0 else 5), places + 1
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    digits = str(abs((number * 10**places).numerator)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if number < 0 else "") + (f"{whole}.{part}" if part else whole)


def float_below(number: Fraction) -> float:
    """The largest float that is not above `number`."""
    nearest = _nearest(number)
    return nearest if math.isfinite(nearest) and Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """The smallest float that is not below `number`."""
    return -float_below(-number)


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def decimal_places(values: NDArray[np.float64]) -> int | None:
    """The fewest decimal places that write every value exactly as it prints, or None above 15 digits."""
    for places in range(_MOST_PLACES + 1):
        scale = 10.0**places
        scaled = np.rint(values * scale)
        if scaled.size and np.abs(scaled).max() >= 10.0**_MOST_PLACES:
            return None
        # Both operands are exact, so the division is the float nearest to the decimal: equality means "prints like it".
        if np.array_equal(scaled / scale, values):
            return places
    return None


@dataclass(frozen=True)
class Line:
    """Where a domain's values lie on the line: `positions * unit`, ascending as the values are.

    `positions` are 64-bit integers, or floats with unit 1 where no common decimal unit exists.
    """

    positions: NDArray[np.int64] | NDArray[np.float64]
    unit: Fraction

    def distance(self, number: Fraction) -> Fraction:
        """Express a distance given in the column's own terms in units of `positions`."""
        return number / self.unit


def line(values: NDArray[Any]) -> Line:
    """Place numbers on an exact line: integers as they are, floats on their decimal grid where they have one."""
    if values.dtype.kind in "iu":
        if values.size and (values.max() >= MAX_TICK or values.min() <= -MAX_TICK):
            raise SchemaError("whole numbers must lie within ±2^62; give the column in larger units")
        return Line(values.astype(np.int64, copy=False), Fraction(1))
    floats = values.astype(np.float64)
    places = decimal_places(floats)
    if places is None:
        return Line(floats, Fraction(1))
    return Line(np.rint(floats * 10.0**places).astype(np.int64), Fraction(1, 10**places))


def column_numbers(column: pa.Array | pa.ChunkedArray, name: str = "column") -> tuple[NDArray[Any], Fraction]:
    """Read an Arrow column without missing values as numbers and their unit: decimals unscaled, dates in days."""
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).to_numpy().astype(np.int64), Fraction(1)
    if pa.types.is_decimal128(kind):
        return _read_unscaled(column, name), Fraction(1, 10**kind.scale)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.to_numpy()), Fraction(1)
    instead = " Cut the times to dates, or count hours or minutes." if pa.types.is_timestamp(kind) else ""
    raise SchemaError(f"'{name}' holds {kind}; distances need numbers or dates.{instead}")


def _read_unscaled(column: pa.Array | pa.ChunkedArray, name: str) -> NDArray[np.int64]:
    """Read the integers behind decimals: Arrow stores them as 128-bit little-endian numbers."""
    whole = one_array(column)
    words = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)[whole.offset : whole.offset + len(whole)]
    low, high = words[:, 0], words[:, 1]
    if (high != low >> 63).any() or (np.abs(low) >= MAX_TICK).any():
        raise SchemaError(f"'{name}' has decimals of more than 18 digits; give it in larger units.")
    return low.copy()


def floats_of(numbers: Any) -> Any:
    """Arrow numbers, or one of them, as the nearest floats; Arrow's own cast misses those of one decimal in eight."""
    is_decimal = pa.types.is_decimal(numbers.type)
    floats = pc.cast(pc.cast(numbers, pa.string()) if is_decimal else numbers, pa.float64(), safe=False)
    return pc.add(floats, 0.0)  # SQL has one zero


def column_line(column: pa.Array | pa.ChunkedArray, name: str = "column") -> Line:
    """Place an Arrow column of numbers, decimals or dates on an exact line."""
    numbers, unit = column_numbers(column, name)
    where = line(numbers)
    return Line(where.positions, where.unit * unit)


def require_ticks(column: pa.Array | pa.ChunkedArray, name: str) -> None:
    """Raise SchemaError where a column of numbers cannot be summed exactly; columns of anything else pass."""
    kind = column.type
    if not is_numeric(kind):
        return
    numbers, _ = column_numbers(column, name)
    try:
        ticks(numbers)
    except SchemaError as error:
        raise SchemaError(f"'{name}': {error}, or as text if it is no quantity.") from None


def without_exponent(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the power of two that leaves no size above 1, so that differences and squares cannot overflow."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))


@dataclass(frozen=True)
class DecimalGrid:
    """How a column of numbers lies on a decimal grid, so that the parts of a table can share the whole table's unit.

    `places` are its decimal places, None for floats without a common one; `largest` is its greatest size, in steps of
    `places` for whole numbers and decimals. What `merge` gives of two parts is what their rows together would give.
    """

    kind: str
    places: int | None
    largest: int | float
    has_missing: bool = False

    def merge(self, other: DecimalGrid) -> DecimalGrid:
        """The grid of both parts."""
        if self.kind != other.kind:
            raise SchemaError("parts of one column are of different types")
        largest, has_missing = max(self.largest, other.largest), self.has_missing or other.has_missing
        places = None if self.places is None or other.places is None else max(self.places, other.places)
        if self.kind == "float" and places is not None and not _is_short(largest, places):
            places = None
        return DecimalGrid(self.kind, places, largest, has_missing)

    @property
    def fits(self) -> bool:
        """Return whether every number is a 64-bit number of steps, and sums of them can be bounded."""
        if self.kind == "float":
            return self.places is not None or abs(_ragged_places(float(self.largest))) <= _MOST_RAGGED
        return self.largest < (MAX_TICK if self.kind == "int" else 2**63)

    @property
    def unit(self) -> Fraction:
        """The unit of the ticks."""
        places = _ragged_places(float(self.largest)) if self.places is None else self.places
        return Fraction(10) ** -places

    @property
    def steps(self) -> int:
        """The greatest size in units, or a little more."""
        return (
            int(self.largest) if self.kind != "float" else math.ceil(as_fraction(float(self.largest)) / self.unit) + 1
        )


def _is_short(largest: float, places: int) -> bool:
    return abs(float(np.rint(largest * 10.0**places))) < 10.0**_MOST_PLACES


def column_grid(*columns: pa.Array | pa.ChunkedArray) -> DecimalGrid | None:
    """The grid of columns of one type; None for columns that hold no numbers."""
    kind = columns[0].type
    has_missing = any(column.null_count for column in columns)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        ends = [end for column in columns for end in pc.min_max(column).values() if end.is_valid]
        scale = 0 if pa.types.is_integer(kind) else kind.scale
        sizes = [abs(int(Decimal(end.as_py()).scaleb(scale, _WIDE))) for end in ends]
        return DecimalGrid(
            "decimal" if scale or pa.types.is_decimal(kind) else "int", scale, max(sizes, default=0), has_missing
        )
    if not pa.types.is_floating(kind):
        return None
    numbers = np.concatenate([np.asarray(column.drop_null().to_numpy(), np.float64) for column in columns])
    return DecimalGrid("float", decimal_places(numbers), float(np.abs(numbers).max(initial=0.0)), has_missing)


_WIDE = Context(prec=80)
_MOST_RAGGED = 290


def _ragged_places(largest: float) -> int:
    """15 significant digits of the largest value: far finer than any bound anyone reads, and sums of a group fit."""
    return _MOST_PLACES - 1 - math.floor(math.log10(largest))


def ticks(
    values: NDArray[Any], grid: DecimalGrid | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Fraction]:
    """Enclose numbers between integers: `low * unit <= value <= high * unit`, equal where the value is on the grid.

    The unit is that of a `grid` where these are some of its numbers.
    """
    if grid is not None and not grid.fits:
        raise SchemaError("numbers of the column are too large or too small; give the column in other units")
    if grid is not None and grid.kind == "float" and grid.places is not None:
        exact = np.rint(values.astype(np.float64) * 10.0**grid.places).astype(np.int64)
        return exact, exact, grid.unit
    where = line(values) if grid is None or grid.kind != "float" else Line(values.astype(np.float64), Fraction(1))
    if where.positions.dtype.kind == "i":
        exact = where.positions.astype(np.int64, copy=False)
        return exact, exact, where.unit
    places = _ragged_places(float(np.abs(where.positions).max(initial=0.0)) if grid is None else float(grid.largest))
    if abs(places) > _MOST_RAGGED:
        raise SchemaError(
            "numbers must be zero or lie between 1e-270 and 1e270 in size; give the column in other units"
        )
    # The product errs by at most 3 parts in 2^53 of 10^15 steps, so half a step on either side always encloses it.
    steps = where.positions * 10.0**places
    return np.floor(steps - 0.5).astype(np.int64), np.ceil(steps + 0.5).astype(np.int64), Fraction(10) ** -places
