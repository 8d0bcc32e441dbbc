"""Sums of products without rounding: numbers in digits so short that floating point adds their products exactly.

Source     own; the idea of splitting is that of [Ozaki 2012]
Guarantee  all sums here are exact, so that no order of rows, groups or parts changes a digit of them
Cost       that of the float product for numbers of together 33 bits and 2^20 rows; times the pairs of digits otherwise

A float that lies on no decimal grid is taken as the binary fraction that it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import line
from hedgerow.query.evidence.groups import Floats, Ints

__all__ = ["Digits", "gram", "side_by_side", "sum_of_floats", "sum_of_squares", "sum_of_wholes"]

_BASE_BITS = 16
_MANTISSA = 53
_MOST_DIGITS = 16
_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class Digits:
    """Columns of numbers, each `unit` times the sum of `parts[k] * 2^(16 k)`: whole floats, one column per number kept.

    One part holds any number of up to `bits` bits; several parts hold 16 bits each and a sign.
    """

    parts: tuple[NDArray[np.float64], ...]
    bits: int
    units: tuple[Fraction, ...] = (Fraction(1),)

    @staticmethod
    def of_column(numbers: NDArray[np.float64] | NDArray[np.int64], unit: Fraction = Fraction(1)) -> Digits:
        """Read one column of whole numbers times a unit, or of floats."""
        where = line(numbers)
        if where.positions.dtype.kind == "i":
            return Digits._of_whole(where.positions.astype(np.int64), where.unit * unit)
        return Digits._of_floats(where.positions.astype(np.float64), unit)

    @staticmethod
    def _of_whole(ticks: Ints, unit: Fraction) -> Digits:
        bits = int(np.abs(ticks).max(initial=0)).bit_length()
        if bits <= _MANTISSA:
            return Digits((ticks.astype(np.float64)[:, None],), bits, (unit,))
        low = ticks & (2**32 - 1)
        return Digits((low.astype(np.float64)[:, None], (ticks >> 32).astype(np.float64)[:, None]), 32, (unit,))._split(
            32
        )

    @staticmethod
    def _of_floats(floats: Floats, unit: Fraction) -> Digits:
        """Split binary fractions from the highest digit to the lowest; every difference is exact."""
        _, exponents = np.frexp(floats[floats != 0.0])
        lowest, highest = (int(exponents.min()) - _MANTISSA, int(exponents.max())) if len(exponents) else (0, 0)
        size = -(-(highest - lowest) // _BASE_BITS)
        if size > _MOST_DIGITS or abs(lowest) > 900 or highest > 900:
            raise QueryError("numbers of so different sizes cannot be added exactly; give the column in other units")
        rest, parts = floats, []
        for place in reversed(range(size)):
            scale = math.ldexp(1.0, lowest + _BASE_BITS * place)
            digit = np.trunc(rest / scale)
            rest = rest - digit * scale
            parts.append(digit[:, None])
        step = Fraction(2) ** lowest
        return Digits(tuple(reversed(parts)) or (floats[:, None],), _BASE_BITS, (unit * step,))

    def _split(self, width: int) -> Digits:
        """Parts of `width` bits each become parts of 16."""
        pieces = -(-width // _BASE_BITS)
        return Digits(tuple(piece for part in self.parts for piece in _pieces(part, pieces)), _BASE_BITS, self.units)

    def short(self) -> Digits:
        """The same numbers in parts of 16 bits."""
        return self if len(self.parts) > 1 or self.bits <= _BASE_BITS else self._split(self.bits)

    @property
    def floats(self) -> Floats:
        """The nearest floats of the whole numbers, without their units: one column each."""
        found: Floats = self.parts[-1]
        for part in self.parts[-2::-1]:
            found = found * 2.0**_BASE_BITS + part
        return found

    @property
    def is_sharp(self) -> bool:
        """Tell whether `floats` are the numbers themselves."""
        return len(self.parts) == 1

    def take(self, rows: NDArray[np.bool_] | Ints) -> Digits:
        """Some rows."""
        return Digits(tuple(part[rows] for part in self.parts), self.bits, self.units)

    def times(self, other: Digits) -> Digits:
        """The product with one column, row by row."""
        units = tuple(unit * other.units[0] for unit in self.units)
        if len(self.parts) == len(other.parts) == 1 and self.bits + other.bits <= _MANTISSA:
            return Digits((self.parts[0] * other.parts[0],), self.bits + other.bits, units)
        mine, its = self.short(), other.short()
        sums = [np.zeros(self.parts[0].shape) for _ in range(len(mine.parts) + len(its.parts) + 1)]
        for k, left in enumerate(mine.parts):
            for m, right in enumerate(its.parts):
                sums[k + m] += left * right
        parts, carry = [], np.zeros(self.parts[0].shape)
        for part in sums:
            whole = part + carry
            carry = np.trunc(whole / 2.0**_BASE_BITS)
            parts.append(whole - carry * 2.0**_BASE_BITS)
        return Digits(tuple(parts), _BASE_BITS, units)


def _pieces(part: NDArray[np.float64], pieces: int) -> list[NDArray[np.float64]]:
    """Digits of whole floats, lowest first; all have the sign of their number."""
    found = []
    for _ in range(pieces):
        carry = np.trunc(part / 2.0**_BASE_BITS)
        found.append(part - carry * 2.0**_BASE_BITS)
        part = carry
    return found


def side_by_side(columns: list[Digits]) -> Digits:
    """Several columns in one, with as many parts as the longest needs."""
    if not all(len(column.parts) == 1 for column in columns):
        columns = [column.short() for column in columns]
    length = max(len(column.parts) for column in columns)
    nothing = np.zeros((len(columns[0].parts[0]), 1))
    padded = [(*column.parts, *([nothing] * (length - len(column.parts)))) for column in columns]
    parts = tuple(_stack(part) for part in zip(*padded, strict=True))
    units = tuple(unit for column in columns for unit in column.units)
    return Digits(parts, max(column.bits for column in columns), units)


def _stack(columns: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    """Columns beside each other, each in one piece of memory."""
    stacked = np.empty((len(columns[0]), len(columns)), order="F")
    for place, column in enumerate(columns):
        stacked[:, place] = column[:, 0]
    return stacked


def gram(left: Digits, right: Digits) -> list[list[int]]:
    """The sums over rows of products of every left with every right column, as whole numbers of the products' units."""
    rows = len(left.parts[0])
    if len(left.parts) == len(right.parts) == 1 and left.bits + right.bits <= _MANTISSA - 8:
        step = 2 ** min(_MANTISSA - left.bits - right.bits, 30)
    else:
        left, right, step = left.short(), right.short(), _ROWS
    total = [[0] * right.parts[0].shape[1] for _ in range(left.parts[0].shape[1])]
    for start in range(0, max(rows, 1), step):
        chunk = slice(start, start + step)
        for k, mine in enumerate(left.parts):
            for m, its in enumerate(right.parts):
                for a, line_of in enumerate((mine[chunk].T @ its[chunk]).tolist()):
                    for b, number in enumerate(line_of):
                        total[a][b] += int(number) << (_BASE_BITS * (k + m))
    return total


def sum_of_wholes(numbers: Ints) -> int:
    """The sum of 64-bit whole numbers, however large."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & (2**32 - 1)).sum())


def sum_of_squares(numbers: Ints) -> int:
    """The sum of the squares of 64-bit whole numbers, however large."""
    if int(np.abs(numbers).max(initial=0)) ** 2 * len(numbers) < 2**63:
        return int(numbers @ numbers)
    # Half by quarter, so that no product leaves 64 bits.
    high, low = np.divmod(np.abs(numbers), 2**32)
    products = ((high, high, 64), (high, low, 33), (low, low, 0))
    return sum(
        sum_of_wholes(left * quarter) << (shift + step)
        for left, right, shift in products
        for quarter, step in ((right >> 16, 16), (right & 0xFFFF, 0))
    )


def sum_of_floats(numbers: Floats) -> Fraction:
    """The sum of floats, added by their exponents."""
    shares, exponents = np.frexp(numbers)
    whole = np.ldexp(shares, _MANTISSA).astype(np.int64)
    total = Fraction(0)
    for exponent in np.unique(exponents).tolist():
        total += sum_of_wholes(whole[exponents == exponent]) * Fraction(2) ** (exponent - _MANTISSA)
    return total
