"""Cut a column into segments of a few values that are walked independently.

Source     [Xue 2011], section 4.2
Guarantee  every row belongs to exactly one variable, equal values of a segment are one variable, and any choice of
           values within `lows` and `highs` keeps the order of runs
Cost       O(u) for runs of u distinct values, O(n log n) for n rows that are scattered
Deviates   equal values are merged, else integer columns leave no room to move; runs stay in cells of their own, else
           localities, which do not change when a segment is moved and stretched, would let it fill the whole domain

`runs` cuts the sorted distinct values. `scattered` deals the rows to segments at random, so that a segment spans the
domain and the order of rows in different segments is not kept: more distortion, and ranks that reveal less. Dealt
`in_order`, segments are blocks of consecutive rows, as in the paper.

Localities of sorted values: which of two neighbours on either side of a value lies nearer to it.

Source     [Xue 2011], section 3.1
Guarantee  for i < j < k every relation between d_j - d_i and d_k - d_j follows from the ones returned and the order
Cost       O(n^2) time on a segment of n values with a pointer that moves one way; memory of the result
Deviates   the printed search starts over for every pair; a relation with k = j says nothing and is left out

For i < j the breakpoint 2 d_j - d_i parts the values above d_j into those at most as far from d_j as d_i is and those
farther away. The last of the first and the first of the second give the two relations that imply all others. Both
are linear because the order of the three values is known, which is why the order has to be kept with them.

A column is published on a grid: value = origin + unit * steps, in whole steps. So a published value is the exact
decimal that it prints, and a property which holds in steps holds in print. Whole numbers, decimals and dates keep their
own unit; numbers are whole by their values, because a column with gaps often comes as floats. Other floats, and whole
numbers that may become decimals, get a unit of about a billionth of their range, and at least as fine as the values
themselves where 15 digits allow that. Whatever lies between the declared bounds may be published, so it has to fit as
well.
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

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import SchemaError
from hedgerow.exact import as_fraction, column_line, column_numbers, decimal_places
from hedgerow.kernel import SMALL, kernel
from hedgerow.randomness import Keys, system_keys

if TYPE_CHECKING:
    from hedgerow.schema import Domain

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

    def ticks(self, domain: pa.Array) -> Ints:
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

    def values(self, ticks: Ints) -> pa.Array:
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

    def _floats(self, ticks: Ints) -> Floats:
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


def _fine_unit(name: str, values: Floats, ends: list[Fraction], whole: bool) -> Fraction:
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


@dataclass(frozen=True, eq=False)
class Segments:
    """Variables, segment after segment and ascending inside each: original value, least and greatest allowed value.

    `variables[row]` is the variable of a row; `offsets` are the borders of the segments.
    """

    values: Ints
    lows: Ints
    highs: Ints
    offsets: Ints
    variables: NDArray[np.int32]


def runs(distinct: Ints, codes: NDArray[np.int32], *, segment: int, low: int, high: int) -> Segments:
    """Cut ascending distinct values into runs of nearly equal length, at most `segment`; `codes` are the rows'."""
    offsets = _even_cuts(len(distinct), segment)
    cells = np.diff(offsets)
    inner = offsets[1:-1]
    # Half-way between neighbours: both sides may come equally close, and neither can reach the other.
    border = distinct[inner - 1] + (distinct[inner] - distinct[inner - 1]) // 2
    lows, highs = np.append(low, border + 1), np.append(border, high)
    return Segments(distinct, np.repeat(lows, cells), np.repeat(highs, cells), offsets, codes)


def deal_to_segments(
    distinct: Ints, codes: NDArray[np.int32], *, segment: int, low: int, high: int, keys: Keys = system_keys
) -> Segments:
    """Deal rows to segments of nearly equal size, at most `segment`, at random; equal values of a segment merge."""
    cuts = _even_cuts(len(codes), segment)
    dealt = np.empty(len(codes), np.int64)
    dealt[np.argsort(keys(len(codes)))] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    pairs, variables = np.unique(dealt * len(distinct) + codes, return_inverse=True)
    sizes = np.bincount(pairs // len(distinct), minlength=len(cuts) - 1)
    values = distinct[pairs % len(distinct)]
    return Segments(
        values,
        np.full(len(values), low),
        np.full(len(values), high),
        np.append(0, np.cumsum(sizes)),
        variables.astype(np.int32),
    )


def in_order(count: int) -> NDArray[np.uint64]:
    """Keys that deal rows to segments in the order in which they come: blocks of consecutive rows."""
    return np.arange(count, dtype=np.uint64)


def keep_sides(segments: Segments, firsts: Ints) -> Segments:
    """Narrow the bounds so that every value stays on its side of each threshold, given by the first value above it."""
    lows, highs = segments.lows.copy(), segments.highs.copy()
    for first in firsts:
        above = segments.values >= first
        np.maximum(lows, first, out=lows, where=above)
        np.minimum(highs, first - 1, out=highs, where=~above)
    return replace(segments, lows=lows, highs=highs)


def _even_cuts(count: int, most: int) -> Ints:
    """Borders of the fewest parts of at most `most` things, their sizes differing by at most one."""
    parts = -(-count // most)
    return np.arange(parts + 1, dtype=np.int64) * count // parts


@dataclass(frozen=True, eq=False)
class Localities:
    """Relations of values i < j < k: d_j - d_i >= d_k - d_j where `nearer`, d_j - d_i <= d_k - d_j elsewhere.

    `triples` are positions in the array of all values; `offsets` tell which relations belong to which segment.
    """

    triples: NDArray[np.int32]
    nearer: Bools
    offsets: Ints

    def __len__(self) -> int:
        return len(self.nearer)


def localities(values: Ints, offsets: Ints) -> Localities:
    """Find the informative localities of each segment `offsets[s]:offsets[s + 1]` of strictly ascending values."""
    # The work is quadratic in the segments, so the length of the arrays does not tell whether compiling pays.
    pairs = int((np.diff(offsets) ** 2).sum()) // 2
    extract = _extract.plain if pairs <= SMALL else _extract.compiled
    counts = np.zeros(len(offsets) - 1, np.int64)
    extract(values, offsets, counts, np.empty((0, 3), np.int32), np.empty(0, np.bool_))
    starts = np.append(0, np.cumsum(counts))
    triples, nearer = np.empty((int(starts[-1]), 3), np.int32), np.empty(int(starts[-1]), np.bool_)
    extract(values, offsets, counts, triples, nearer)
    return Localities(triples, nearer, starts)


def sample(found: Localities, share: float, *, keys: Keys) -> Localities:
    """Keep a uniformly random `share` of each segment's localities, rounded to the nearest whole number."""
    sizes = np.diff(found.offsets)
    wanted = np.rint(share * sizes).astype(np.int64)
    # One sort by segment and, inside it, by 40 random bits: a third of the time of a sort by two columns.
    segments = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    order = np.argsort((segments << np.uint64(40)) | (keys(len(found)) >> np.uint64(24)))
    rank = np.arange(len(found)) - np.repeat(found.offsets[:-1], sizes)
    chosen = np.sort(order[rank < np.repeat(wanted, sizes)])
    return Localities(found.triples[chosen], found.nearer[chosen], np.append(0, np.cumsum(wanted)))


@kernel
def _extract(values: Ints, offsets: Ints, counts: Ints, triples: NDArray[np.int32], nearer: Bools) -> None:
    """Count the localities of each segment, and write them down where there is room for them."""
    room = len(nearer) > 0
    place = 0
    for segment in range(len(offsets) - 1):
        first, last = offsets[segment], offsets[segment + 1]
        begun = place
        for j in range(first + 1, last - 1):
            beyond = last  # the first value above the breakpoint; it falls as i, and with it d_i, rises
            for i in range(first, j):
                while beyond > j + 1 and values[beyond - 1] - values[j] > values[j] - values[i]:
                    beyond -= 1
                for k, is_nearer in ((beyond - 1, True), (beyond, False)):
                    if j < k < last:
                        if room:
                            triples[place, 0], triples[place, 1], triples[place, 2] = i, j, k
                            nearer[place] = is_nearer
                        place += 1
        counts[segment] = place - begun
