"""Which published rows a question touches: for sure, possibly, and with which chance; and their cells.

Where quasi-identifiers are published as they are the three agree. A selection keeps the rows that are possible.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.query.evidence.events import Events
from hedgerow.query.evidence.groups import Floats, Hits, Ints
from hedgerow.query.evidence.tally import MANY, count_entries
from hedgerow.query.evidence.view import Codes, View

__all__ = ["Chosen", "Selection", "hits_of", "hits_within", "select", "uncertain_hits"]

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

    def among(self, mask: Mask) -> Selection:
        """Only the rows that are marked as well, in the same cells."""
        cell = None if self.cell is None else self.cell[mask[self.rows]]
        return Selection(self.rows & mask, self.cells, cell, self.keys)


def select(view: View, rows: Mask, groups: Sequence[str], keys: dict[str, str]) -> Selection:
    """Number the cells of rows by GROUP BY columns; `keys` tells which columns to show under which name."""
    if not groups:
        return Selection(rows, 1, None, {})
    index = np.flatnonzero(rows)
    codes = [(view.codes(name).codes[index], len(view.codes(name).domain) + 1) for name in groups]
    cell, cells = functools.reduce(_combined, codes[1:], compact(*codes[0]))
    sample = np.empty(cells, dtype=np.int64)
    sample[cell] = index
    return Selection(rows, cells, cell, {alias: _shown(view.codes(name), sample) for alias, name in keys.items()})


def _shown(codes: Codes, rows: Ints) -> pa.Array:
    """Values of a column at a few rows."""
    # Looked up in the distinct values: a position past their end is a missing value, which Arrow takes as null.
    places = codes.codes[rows].astype(np.int64)
    return codes.domain.take(pa.array(places, mask=places == len(codes.domain)))


def _combined(left: tuple[Ints, int], right: tuple[NDArray[Any], int]) -> tuple[Ints, int]:
    """Number the pairs that occur, in order."""
    return compact(left[0] * right[1] + right[0], left[1] * right[1])


def compact(codes: NDArray[Any], width: int) -> tuple[Ints, int]:
    """Renumber codes below `width` so that only those that occur have a number."""
    if width > 4 * len(codes) + 2**16:
        found, numbers = np.unique(codes, return_inverse=True)
        return numbers.astype(np.int64, copy=False), len(found)
    occurs = np.bincount(codes, minlength=width) > 0
    return (np.cumsum(occurs) - 1)[codes], int(occurs.sum())


def hits_of(view: View, selection: Selection) -> Hits:
    """Count the selected rows per cell and group."""
    if selection.cell is None:
        counts = np.diff(_marked_before(selection.rows, view.offsets))
        group = np.flatnonzero(counts)
        return Hits.exactly(1, np.zeros(len(group), dtype=np.int64), group, counts[group])
    if len(selection.cell) > MANY:
        return count_entries(selection.index, selection.cell, view.groups, selection.cells)
    pairs, number = _counted(selection, view)
    cell, group = np.divmod(pairs, max(len(view.offsets) - 1, 1))
    return Hits.exactly(selection.cells, cell, group, number)


def _marked_before(rows: Mask, places: Ints) -> Ints:
    """How many rows are marked before each place: bits of whole words, counted once, and of the word it lies in."""
    bits = np.packbits(rows, bitorder="little")
    words = np.zeros(len(rows) // 64 + 1, dtype=np.uint64)
    words.view(np.uint8)[: len(bits)] = bits
    before = np.zeros(len(words), dtype=np.int64)
    np.cumsum(np.bitwise_count(words[:-1]), out=before[1:])
    word, bit = places >> 6, (places & 63).astype(np.uint64)
    below = (np.uint64(1) << bit) - np.uint64(1)
    result: Ints = before[word] + np.bitwise_count(words[word] & below)
    return result


def _counted(selection: Selection, view: View) -> tuple[Ints, Ints]:
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
