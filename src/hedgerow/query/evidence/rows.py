"""Rows and values, group by group: the rows that match, and the numbers of a published column in exact units."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError, SchemaError
from hedgerow.exact import DecimalGrid, as_fraction, ticks
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.answer import Rounding
from hedgerow.query.evidence.events import Events
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values
from hedgerow.query.evidence.ragged import Ragged
from hedgerow.query.evidence.tally import MANY, count_entries, count_marked
from hedgerow.query.evidence.view import Codes, View
from hedgerow.query.sql.question import NUMBERS, Kind

__all__ = [
    "Chosen",
    "Numbers",
    "Selection",
    "bits_of",
    "hits_of",
    "hits_within",
    "numbers_of",
    "ordered_rows",
    "row_order",
    "select",
    "sorted_codes",
    "ticks_in",
    "ticks_of",
    "uncertain_hits",
    "values_at",
    "values_of",
]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column's distinct values between ticks, and what its sums owe to floating point.

    Dates are days and timestamps microseconds. Texts and truth values are their places in `domain`, which order them;
    floats that lie on no decimal grid come with theirs, because ticks do not tell all of them apart.
    """

    lows: Ints
    highs: Ints
    unit: Fraction
    kind: Kind
    domain: pa.Array | None = None
    grid: DecimalGrid | None = None
    places: Ints | None = None
    """Where the values of a part are in the `domain` of the whole."""

    @property
    def is_rounded(self) -> bool:
        """Tell whether the values lie on no decimal grid."""
        return self.lows is not self.highs

    @property
    def slack(self) -> Fraction:
        """Most that a published float, summed, may differ from the decimal that it prints: zero on whole numbers."""
        if self.kind is not Kind.FLOAT or self.unit.denominator == 1 or self.is_rounded:
            return Fraction(0)
        if self.grid is not None:
            return as_fraction(float(self.grid.largest)) / 2**52
        return int(np.abs(self.lows).max(initial=0)) * self.unit / 2**52

    @property
    def shake(self) -> Fraction:
        """Most that a database errs for each of the rounded values that it adds up."""
        if not self.is_rounded:
            return Fraction(0)
        return int(np.abs(self.highs).max(initial=0) + np.abs(self.lows).max(initial=0)) * self.unit / 2**52

    def rounding(self, function: str) -> Rounding:
        """Say how bounds of an aggregate of this column become numbers."""
        gives = AGGREGATES[function].gives
        if self.kind not in NUMBERS and (gives is Gives.VALUE or (gives is Gives.MEAN and self.kind is Kind.TIME)):
            return Rounding.VALUE
        is_whole = self.kind is Kind.INT and gives in (Gives.TOTAL, Gives.VALUE)
        if gives is Gives.NUMBER or is_whole:
            return Rounding.WHOLE
        # A decimal is a value, too, but the float nearest to it may lie on the wrong side of it.
        is_published = gives is Gives.VALUE and self.kind is not Kind.DECIMAL and not self.is_rounded
        return Rounding.NEAREST if is_published else Rounding.OUTWARD

    def floats_at(self, codes: Ints) -> Ragged:
        """Rounded values as they were published, by their codes; missing ones are no numbers of their own."""
        assert self.domain is not None, "rounded values come with the list of them"
        labels: Ints = codes if self.places is None else np.append(self.places, 0)[codes]
        floats = np.asarray(self.domain.to_numpy(zero_copy_only=False), np.float64)
        return Ragged(labels, np.append(floats, 0.0)[labels])

    def part(self, places: Ints) -> Numbers:
        """The values at some places, as those of a part."""
        lows = self.lows[places]
        return replace(self, lows=lows, highs=self.highs[places] if self.is_rounded else lows, places=places)

    def at(self, codes: Ints) -> tuple[Ints, Ints, Ragged | None]:
        """Lows, highs and rounded values themselves, by their codes."""
        lows = self.lows[codes]
        return (lows, self.highs[codes], self.floats_at(codes)) if self.is_rounded else (lows, lows, None)


def numbers_of(view: View, name: str) -> Numbers:
    """Return the ticks of a column's distinct values."""
    numbers: Numbers = view.remember(
        f"numbers of {name}", lambda: ticks_in(view, name, view.codes(name).domain, view.column(name).kind)
    )
    return numbers


def ticks_in(view: View, name: str, found: pa.Array, kind: Kind) -> Numbers:
    """The ticks of values of a column: those that they have in the whole release, if the view is a part of it."""
    whole, grid = view.domains.get(name), view.grids.get(name)
    if whole is None:
        return ticks_of(found, kind, grid)
    places = pc.index_in(found, value_set=whole).to_numpy(zero_copy_only=False).astype(np.int64)
    return ticks_of(whole, kind, grid).part(places)


def ticks_of(domain: pa.Array, kind: Kind, grid: DecimalGrid | None = None) -> Numbers:
    """Return the ticks of an array without missing values; of a `grid`, where they are a part of its column."""
    if kind in (Kind.DATE, Kind.TIME):
        moments = domain.cast(pa.int32() if kind is Kind.DATE else pa.int64()).to_numpy(zero_copy_only=False)
        days = moments.astype(np.int64)
        return Numbers(days, days, Fraction(1), kind, domain)
    if kind not in NUMBERS:
        places = np.arange(len(domain), dtype=np.int64)
        return Numbers(places, places, Fraction(1), kind, domain)
    if kind is Kind.DECIMAL:
        steps = _decimal_steps(domain)
        return Numbers(steps, steps, Fraction(1, 10**domain.type.scale), kind)
    try:
        lows, highs, unit = ticks(domain.to_numpy(zero_copy_only=False), grid)
    except SchemaError as error:
        raise QueryError(str(error)) from None
    if np.array_equal(lows, highs) and (grid is None or grid.places is not None):
        return Numbers(lows, lows, unit, kind, grid=grid)
    return Numbers(lows, highs, unit, kind, domain, grid)


def _decimal_steps(domain: pa.Array) -> Ints:
    """Read 128-bit decimals as 64-bit numbers of steps of their last digit."""
    halves = np.frombuffer(domain.buffers()[1], dtype=np.int64)[2 * domain.offset : 2 * (domain.offset + len(domain))]
    low, high = halves[0::2], halves[1::2]
    if np.any(high != low >> 63):
        raise QueryError("decimals beyond 18 digits cannot be summed exactly here; publish the column in larger units")
    return low.copy()


def values_of(view: View, name: str, keep: NDArray[np.bool_] | None = None) -> Values:
    """Return each group's values of a column; `keep` marks the distinct values (missing last) that count."""
    codes = sorted_codes(view, name)
    values: Values = view.remember(f"values of {name}", lambda: _values(view, name, codes))
    return values if keep is None or keep.all() else values.kept(keep[codes])


def sorted_codes(view: View, name: str) -> Ints:
    """Codes of the column, ascending inside each group, missing last; sorted when first asked."""
    codes: Ints = view.remember(f"sorted codes of {name}", lambda: _sorted_codes(view, name))
    return codes


def _sorted_codes(view: View, name: str) -> Ints:
    codes = view.codes(name)
    width = len(codes.domain) + 1
    # One sort of (group, code) in a single integer; the group drops out again.
    ascending: Ints = np.sort(view.groups * width + codes.codes)
    ascending -= view.groups * width
    return ascending


def _values(view: View, name: str, codes: Ints) -> Values:
    sizes = np.diff(view.offsets)
    numbers = numbers_of(view, name)
    lows, highs, ragged = _with_missing(numbers, codes)
    return Values(view.offsets, sizes, lows, highs, numbers.unit, ragged=ragged)


def _with_missing(numbers: Numbers, codes: Ints) -> tuple[Ints, Ints, Ragged | None]:
    """Lows, highs and floats; missing values never count in sums, but conditions on them can be counted."""
    lows = np.append(numbers.lows, 0)[codes]
    if not numbers.is_rounded:
        return lows, lows, None
    return lows, np.append(numbers.highs, 0)[codes], numbers.floats_at(codes)


def values_at(view: View, name: str, rows: NDArray[np.bool_]) -> Values:
    """Return each group's values of a column at the marked rows only; the others do not count."""
    codes, numbers = view.codes(name), numbers_of(view, name)
    places = codes.codes[rows].astype(np.int64)
    width = len(codes.domain) + 1
    keys = np.sort(view.groups[rows] * width + places)
    owner, code = np.divmod(keys, width)
    counts = np.bincount(owner, minlength=len(view.offsets) - 1)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    lows, highs, ragged = _with_missing(numbers, code)
    return Values(offsets, np.diff(view.offsets), lows, highs, numbers.unit, ragged=ragged)


Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows that satisfy a condition: `possible` ones, those among them that are `sure`, and the chance of each row.

    None stands for "the same as possible". `events` tells, per group, how many of its rows have the properties of which
    nobody knows which rows have them; it is None where rows are decided one by one.
    """

    possible: Mask
    sure: Mask | None = None
    chance: Floats | None = None
    events: Events | None = None

    def both(self, other: Chosen) -> Chosen:
        """Rows that satisfy another condition as well, each independently of the first."""
        possible = self.possible & other.possible
        if self.sure is None and other.sure is None:
            return Chosen(possible)
        (sure, chance), (also_sure, other_chance) = self.odds, other.odds
        # Two kinds of events at once would need to know whether they are of the same columns.
        events = self.events if other.sure is None else other.events if self.sure is None else None
        return Chosen(possible, sure & also_sure, chance * other_chance, events)

    @property
    def odds(self) -> tuple[Mask, Floats]:
        """The rows that are sure, and the chance of each row."""
        if self.sure is None or self.chance is None:
            return self.possible, self.possible.astype(np.float64)
        return self.sure, self.chance


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows that satisfy what is known, and the cell of each; without GROUP BY there is one cell, None."""

    rows: Mask
    cells: int
    cell: Ints | None
    keys: dict[str, pa.Array]

    @functools.cached_property
    def index(self) -> Ints:
        """The numbers of the rows; gathering by numbers is several times faster than by a mask."""
        return np.flatnonzero(self.rows)

    @functools.cached_property
    def counts(self) -> Ints:
        """How many rows each cell has."""
        if self.cell is None:
            return np.array([np.count_nonzero(self.rows)])
        return np.bincount(self.cell, minlength=self.cells)

    def among(self, mask: Mask) -> Selection:
        """Only the rows that are marked as well, in the same cells."""
        cell = None if self.cell is None else self.cell[mask[self.rows]]
        return Selection(self.rows & mask, self.cells, cell, self.keys)


def select(view: View, rows: Mask, groups: Sequence[str], keys: dict[str, str]) -> Selection:
    """Number the cells of rows by GROUP BY columns; `keys` tells which columns to show under which name."""
    if not groups:
        return Selection(rows, 1, None, {})
    index, columns = np.flatnonzero(rows), [view.codes(name) for name in groups]
    if math.prod(column.width for column in columns) <= 4 * len(index) + 2**16:
        cell, counts, places = _number_cells(index, columns)
    else:
        codes = [(column.codes[index], column.width) for column in columns]
        cell, cells = functools.reduce(_combine, codes[1:], compact(*codes[0]))
        sample = np.empty(cells, dtype=np.int64)
        sample[cell] = index
        counts, places = np.bincount(cell, minlength=cells), [column.codes[sample] for column in columns]
    shown = {name: column.at(place) for name, column, place in zip(groups, columns, places, strict=True)}
    selection = Selection(rows, len(counts), cell, {alias: shown[name] for alias, name in keys.items()})
    vars(selection).update(index=index, counts=counts)  # what was needed here is not computed again
    return selection


def _number_cells(index: Ints, columns: list[Codes]) -> tuple[Ints, Ints, list[Ints]]:
    """The cell of each row, the number of rows of each cell, and the codes of each column in the cells."""
    cell = columns[0].codes[index].astype(np.int64)
    for column in columns[1:]:
        cell *= column.width
        cell += column.codes[index]
    counts = np.bincount(cell)
    found = np.flatnonzero(counts)
    if len(found) < len(counts):  # the others do not occur
        cell = (np.cumsum(counts > 0) - 1)[cell]
    places = np.unravel_index(found, [max(column.width, 1) for column in columns])
    return cell, counts[found], list(places)


def _combine(left: tuple[Ints, int], right: tuple[NDArray[Any], int]) -> tuple[Ints, int]:
    """Number the pairs that occur, in order."""
    return compact(left[0] * right[1] + right[0], left[1] * right[1])


def compact(codes: NDArray[Any], width: int) -> tuple[Ints, int]:
    """Renumber codes below `width` so that only those that occur have a number."""
    if width > 4 * len(codes) + 2**16:
        found, numbers = np.unique(codes, return_inverse=True)
        return numbers.astype(np.int64, copy=False), len(found)
    occurs = np.bincount(codes, minlength=width) > 0
    return (np.cumsum(occurs) - 1)[codes], int(occurs.sum())


def row_order(view: View, name: str) -> Ints:
    """All rows by group and the value of a column; sorted when first asked."""

    def sort() -> Ints:
        codes = view.codes(name)
        return np.argsort(view.groups * (len(codes.domain) + 1) + codes.codes, kind="stable")

    order: Ints = view.remember(f"order of {name}", sort)
    return order


def ordered_rows(view: View, selection: Selection, name: str) -> tuple[Ints, Ints]:
    """Selected rows by cell, group and the value of a column; and their cells."""
    order = row_order(view, name)
    rows = order if selection.rows.all() else order[np.flatnonzero(selection.rows[order])]
    if selection.cell is None:
        return rows, np.zeros(len(rows), dtype=np.int64)
    every = np.zeros(view.num_rows, dtype=np.int64)
    every[selection.index] = selection.cell
    small = np.uint16 if selection.cells < 2**16 else np.int64  # short numbers are sorted by counting
    by_cell = np.argsort(every[rows].astype(small), kind="stable")
    return rows[by_cell], every[rows[by_cell]]


def hits_of(view: View, selection: Selection) -> Hits:
    """Count the selected rows per cell and group."""
    if selection.cell is None and len(view.offsets) > MANY:
        return count_marked(*bits_of(selection.rows), view.offsets)
    if selection.cell is None:
        counts = np.diff(_marked_before(selection.rows, view.offsets))
        group = np.flatnonzero(counts)
        return Hits.exactly(1, np.zeros(len(group), dtype=np.int64), group, counts[group])
    if len(selection.cell) > MANY:
        return count_entries(selection.index, selection.cell, view.groups, selection.cells)
    pairs, number = _count(selection, view)
    cell, group = np.divmod(pairs, max(len(view.offsets) - 1, 1))
    return Hits.exactly(selection.cells, cell, group, number)


def bits_of(rows: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], Ints]:
    """Marks as bits of words, and how many there are before each word."""
    bits = np.packbits(rows, bitorder="little")
    words = np.zeros(len(rows) // 64 + 1, dtype=np.uint64)
    words.view(np.uint8)[: len(bits)] = bits
    before = np.zeros(len(words), dtype=np.int64)
    np.cumsum(np.bitwise_count(words[:-1]), out=before[1:])
    return words, before


def _marked_before(rows: Mask, places: Ints) -> Ints:
    """How many rows are marked before each place: bits of whole words, counted once, and of the word it lies in."""
    words, before = bits_of(rows)
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    below = (np.uint64(1) << bit) - np.uint64(1)
    result: Ints = before[word] + np.bitwise_count(words[word] & below)
    return result


def _count(selection: Selection, view: View) -> tuple[Ints, Ints]:
    assert selection.cell is not None
    groups = len(view.offsets) - 1
    pairs = selection.cell * groups + view.groups[selection.index]
    if selection.cells * groups > 8 * len(pairs) + 2**16:
        found, number = np.unique(pairs, return_counts=True)
        return found, number
    counts = np.bincount(pairs, minlength=selection.cells * groups)
    found = np.flatnonzero(counts)
    return found, counts[found]


def hits_within(view: View, selection: Selection, chosen: Chosen) -> Hits:
    """Count the selected rows per cell and group: those that are sure, those that are possible, those to expect."""
    most = hits_of(view, selection)
    if chosen.sure is None or chosen.chance is None:
        return most
    if chosen.events is not None:
        return _among(most, chosen.events.at(most.group), np.diff(view.offsets)[most.group])
    rows = selection.rows
    cell = np.zeros(int(rows.sum()), dtype=np.int64) if selection.cell is None else selection.cell
    width = max(len(view.offsets) - 1, 1)
    entry = np.searchsorted(most.cell * width + most.group, cell * width + view.groups[rows])
    sure = np.bincount(entry, chosen.sure[rows], minlength=len(most.group)).astype(np.int64)
    return uncertain_hits(most, sure, entry, chosen.chance[rows])


def _among(most: Hits, events: Events, size: Ints) -> Hits:
    """Hits among the rows that are possible: those of the group that are not among them may have the property, too."""
    lower = np.maximum(events.low - (size - most.upper), 0)
    upper = np.minimum(events.high, most.upper)
    if np.array_equal(lower, upper):
        return Hits.exactly(most.cells, most.cell, most.group, lower).only(upper > 0)
    expected, variance = events.moments(most.upper)
    return Hits(most.cells, most.cell, most.group, lower, upper, expected, variance).only(upper > 0)


def uncertain_hits(most: Hits, sure: Ints, entry: Ints, chance: Floats) -> Hits:
    """Hits between `sure` and `most`; rows are hit independently of each other, each with its chance."""
    expected = np.bincount(entry, chance, minlength=len(most.group))
    variance: Floats = np.bincount(entry, chance * (1.0 - chance), minlength=len(most.group)).astype(np.float64)
    return Hits(most.cells, most.cell, most.group, sure, most.upper, expected, variance)
