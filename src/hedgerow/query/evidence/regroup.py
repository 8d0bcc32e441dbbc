"""Groups made for one question, so that everything is answered by the same few functions.

The bounds of `aggregates` hold for any groups that draw independently. So a question whose rows do not draw alike is
put as if each kind of row had a group of its own: rows under different conditions, rows that end in different result
rows, values that are known to be in one. Where two such groups share the values of one published group, treating them
as independent only adds assignments: the bounds stay true, and may be wider than the best.

GROUP BY of a hidden column splits every result row by the values that its rows may have. A condition such as
`age < 30 OR salary > 100` needs both what is known of a row and its hidden value: once the known parts are decided for
a row, what is left speaks of the hidden value alone. Rows for which the same is left form a branch. Where it is open
how a part is decided for a row, the row is possible in several.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.evidence.groups import Hits, Ints, Values, different, in_parts, matches, runs_of
from hedgerow.query.evidence.rows import Chosen, Numbers, Selection, compact
from hedgerow.query.evidence.view import View, missing_rows
from hedgerow.query.sql.question import And, Not, Or, Predicate, Truth, columns_of

__all__ = ["Chooser", "HiddenKey", "branches", "by_value", "matched_rows", "rows_by_cell"]

Mask = NDArray[np.bool_]
_ONE = Fraction(1)


def by_value(
    view: View, hits: Hits, key: str, rows: Mask, ticks: Numbers | None = None, name: str = ""
) -> tuple[Hits, Values, Ints, Ints]:
    """Split every cell by the values of a hidden column; `rows` marks the values that count.

    Returns the hits and values (of column `name`, if given), and for every new cell the old one and the key's code.
    """
    codes = view.codes(key)
    width = len(codes.domain) + 1
    listed = np.flatnonzero(rows)
    owner = view.groups[listed] * width + codes.codes[listed]
    if name:
        inner = view.codes(name).codes[listed].astype(np.int64)
        order = np.lexsort((inner, owner))
        owner, inner = owner[order], inner[order]
    else:
        owner, inner = np.sort(owner), np.zeros(len(listed), dtype=np.int64)
    starts = np.flatnonzero(np.concatenate((np.ones(min(len(owner), 1), dtype=np.bool_), owner[1:] != owner[:-1])))
    runs = owner[starts]
    group, code = np.divmod(runs, width)
    lows, highs, ragged = ticks.at(inner) if ticks is not None else (inner, inner, None)
    offsets, unit = np.append(starts, len(listed)), _ONE if ticks is None else ticks.unit
    values = Values(offsets, np.diff(view.offsets)[group], lows, highs, unit, ragged=ragged)
    entry, run = runs_of(hits.group, np.searchsorted(group, np.arange(len(view.offsets))))
    cell, cells = compact(hits.cell[entry] * width + code[run], hits.cells * width)
    old, keys = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    old[cell], keys[cell] = hits.cell[entry], code[run]
    order = np.argsort(cell, kind="stable")
    return _move(hits, cells, cell[order], run[order], entry[order]), values, old, keys


def _move(hits: Hits, cells: int, cell: Ints, group: Ints, entry: Ints) -> Hits:
    """The same numbers of rows, in other cells and groups."""
    variance = None if hits.variance is None else hits.variance[entry]
    return Hits(cells, cell, group, hits.lower[entry], hits.upper[entry], hits.expected[entry], variance)


def matched_rows(
    view: View, selection: Selection, hits: Hits, counted: Values, name: str, ticks: Numbers
) -> tuple[Hits, Values]:
    """Evidence about a known column under a hidden condition: some of the rows hit match it, any of them.

    `counted` are the hidden values that satisfy the condition.
    """
    least, most = matches(hits, counted)
    moments, size = counted.moments, counted.sizes[hits.group]
    share = moments.share[hits.group]
    variance = hits.expected * (size - hits.expected) / np.maximum(size - 1, 1) * moments.counts[hits.group]
    entries = np.arange(len(hits.group))
    found = Hits(hits.cells, hits.cell, entries, least, most, hits.expected * share, variance)
    return found, rows_by_cell(view, selection, hits, name, ticks)


def rows_by_cell(view: View, selection: Selection, hits: Hits, name: str, ticks: Numbers) -> Values:
    """The values of a known column at the rows of each entry of `hits`, as groups of their own."""
    rows = selection.index
    cell = np.zeros(len(rows), dtype=np.int64) if selection.cell is None else selection.cell
    width = max(len(view.offsets) - 1, 1)
    entry = np.searchsorted(hits.cell * width + hits.group, cell * width + view.groups[rows])
    codes = view.codes(name)
    present = codes.codes[rows] < len(codes.domain)
    counts = np.bincount(entry[present], minlength=len(hits.group))
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    sizes = np.bincount(entry, minlength=len(hits.group))
    # One sort of (entry, code) in a single integer; the entry drops out again.
    ascending = np.sort(entry[present] * len(codes.domain) + codes.codes[rows[present]])
    lows, highs, ragged = ticks.at(ascending - np.repeat(np.arange(len(counts)), counts) * len(codes.domain))
    return Values(offsets, sizes, lows, highs, ticks.unit, ragged=ragged)


class HiddenKey:
    """The cells of a hidden column `key`: of each the cell that it is part of (`old`) and the key's value."""

    def __init__(self, view: View, key: str, pieces: list[tuple[Hits, NDArray[np.bool_]]]) -> None:
        """Take pieces of rows hit, each with the published values that its rows may take."""
        self._view, self._key, self._pieces = view, key, pieces
        self._width = len(view.codes(key).domain) + 1
        self._split = [by_value(view, hits, key, marked) for hits, marked in pieces]
        self._cells = different(np.concatenate([old * self._width + code for _, _, old, code in self._split]))

    @property
    def old(self) -> Ints:
        """The cell of which each is a part."""
        return self._cells // self._width

    @property
    def values(self) -> pa.Array:
        """The value of the key in each cell."""
        domain = self._view.codes(self._key).domain
        return pa.concat_arrays([domain, pa.nulls(1, domain.type)]).take(pa.array(self._cells % self._width))

    def evidence(self, name: str = "", ticks: Numbers | None = None) -> tuple[Hits, Values]:
        """Rows hit and values drawn: those of a column `name`, where present, or the rows themselves."""
        if not name:
            return self._rows
        missing = missing_rows(self._view, name)
        return self._together(
            [by_value(self._view, hits, self._key, marked & ~missing, ticks, name) for hits, marked in self._pieces]
        )

    @functools.cached_property
    def _rows(self) -> tuple[Hits, Values]:
        return self._together(self._split)

    def _together(self, split: list[tuple[Hits, Values, Ints, Ints]]) -> tuple[Hits, Values]:
        return in_parts([(self._number_cells(hits, old, code), values) for hits, values, old, code in split])

    def _number_cells(self, hits: Hits, old: Ints, code: Ints) -> Hits:
        """Number cells over all pieces; some have no value that is present."""
        place = np.searchsorted(self._cells, old * self._width + code)
        return Hits(
            len(self._cells), place[hits.cell], hits.group, hits.lower, hits.upper, hits.expected, hits.variance
        )


_MOST = 5


class Chooser(Protocol):
    """What tells which rows satisfy a condition on open columns."""

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which the condition is true, or false, or unknown."""


def branches(source: Chooser, condition: Predicate, hidden: frozenset[str]) -> Iterator[tuple[Chosen, Predicate]]:
    """Rows, and what is left of the condition for them; rows for which nothing is left to be true are left out."""
    parts = list(dict.fromkeys(_known_parts(condition, hidden)))
    if len(parts) > _MOST:
        raise QueryError(
            f"a condition that mixes '{min(hidden)}' with other columns by OR may have {_MOST} parts on the others; "
            "ask about each alternative and add the answers"
        )
    found = [{value: source.choose(part, value) for value in (True, False, None)} for part in parts]
    for values in itertools.product((True, False, None), repeat=len(parts)):
        chosen = functools.reduce(Chosen.both, (each[value] for each, value in zip(found, values, strict=True)))
        left = _decide(condition, dict(zip(parts, values, strict=True)))
        if chosen.possible.any() and left not in (Truth(False), Truth(None)):
            yield chosen, left


def _known_parts(node: Predicate, hidden: frozenset[str]) -> Iterator[Predicate]:
    """The largest parts that say nothing of a hidden column."""
    if not hidden & columns_of(node):
        yield node
    elif isinstance(node, And | Or):
        for operand in node.operands:
            yield from _known_parts(operand, hidden)
    elif isinstance(node, Not):
        yield from _known_parts(node.operand, hidden)


def _decide(node: Predicate, values: dict[Predicate, bool | None]) -> Predicate:
    """Put the values of the known parts in their places, and cut what no longer matters."""
    if node in values:
        return Truth(values[node])
    if isinstance(node, Not):
        inner = _decide(node.operand, values)
        return Truth(None if inner.value is None else not inner.value) if isinstance(inner, Truth) else Not(inner)
    if not isinstance(node, And | Or):
        return node
    operands = tuple(_decide(operand, values) for operand in node.operands)
    settles = isinstance(node, Or)
    if Truth(settles) in operands:
        return Truth(settles)
    rest = tuple(operand for operand in operands if operand != Truth(not settles))
    if all(operand == Truth(None) for operand in rest):
        return Truth(None) if rest else Truth(not settles)
    return rest[0] if len(rest) == 1 else type(node)(rest)
