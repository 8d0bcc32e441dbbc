"""Groups made for one question, so that everything is answered by the same few functions.

The bounds of `bounds` hold for any groups that draw independently. So a question whose rows do not draw alike is put as
if each kind of row had a group of its own: rows under different conditions, rows that end in different cells, values
that are known to be in a cell. Where two such groups share the values of one published group, treating them as
independent only adds assignments: the bounds stay true, and may be wider than the best.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.query.evidence.groups import Hits, Ints, Values, joined, matches, runs_of
from hedgerow.query.evidence.rows import Numbers, Selection, compact
from hedgerow.query.evidence.view import View

__all__ = ["by_value", "in_parts", "matched_rows", "rows_by_cell"]

Mask = NDArray[np.bool_]
_ONE = Fraction(1)


def in_parts(parts: list[tuple[Hits, Values]]) -> tuple[Hits, Values]:
    """Several pieces of evidence about the same cells as one."""
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(len(values.sizes) for _, values in parts)])
    whole = [hits for hits, _ in parts]
    cell = np.concatenate([hits.cell for hits in whole])
    order = np.argsort(cell, kind="stable")
    group = np.concatenate([hits.group + first[n] for n, hits in enumerate(whole)])[order]
    lower, upper, expected = (
        np.concatenate([getattr(hits, name) for hits in whole])[order] for name in ("lower", "upper", "expected")
    )
    is_exact = all(hits.variance is None for hits in whole)
    spread = [np.zeros(len(hits.cell)) if hits.variance is None else hits.variance for hits in whole]
    variance = None if is_exact else np.concatenate(spread)[order]
    hits = Hits(whole[0].cells, cell[order], group, lower, upper, expected, variance)
    return hits, joined([values for _, values in parts])


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
    inner = view.codes(name).codes[listed].astype(np.int64) if name else np.zeros(len(listed), dtype=np.int64)
    order = np.lexsort((inner, owner))
    runs, starts = np.unique(owner[order], return_index=True)
    group, code = np.divmod(runs, width)
    lows, highs, labels = ticks.at(inner[order]) if ticks is not None else (inner[order], inner[order], None)
    offsets, unit = np.append(starts, len(listed)), _ONE if ticks is None else ticks.unit
    values = Values(offsets, np.diff(view.offsets)[group], lows, highs, unit, labels=labels)
    entry, run = runs_of(hits.group, np.searchsorted(group, np.arange(len(view.offsets))))
    cell, cells = compact(hits.cell[entry] * width + code[run], hits.cells * width)
    old, keys = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    old[cell], keys[cell] = hits.cell[entry], code[run]
    order = np.argsort(cell, kind="stable")
    return _moved(hits, cells, cell[order], run[order], entry[order]), values, old, keys


def _moved(hits: Hits, cells: int, cell: Ints, group: Ints, entry: Ints) -> Hits:
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
    rows = np.flatnonzero(selection.rows)
    cell = np.zeros(len(rows), dtype=np.int64) if selection.cell is None else selection.cell
    width = max(len(view.offsets) - 1, 1)
    entry = np.searchsorted(hits.cell * width + hits.group, cell * width + view.groups[rows])
    codes = view.codes(name)
    code = codes.codes[rows].astype(np.int64)
    present = code < len(codes.domain)
    order = np.lexsort((code[present], entry[present]))
    counts = np.bincount(entry[present], minlength=len(hits.group))
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    sizes = np.bincount(entry, minlength=len(hits.group))
    lows, highs, labels = ticks.at(code[present][order])
    return Values(offsets, sizes, lows, highs, ticks.unit, labels=labels)
