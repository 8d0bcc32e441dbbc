"""The array engine: questions answered on the view of a release, without a database."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.query import bounds, expectation
from hedgerow.query.bounds import Interval
from hedgerow.query.cells import totals
from hedgerow.query.evidence import Hits, Ints, Values
from hedgerow.query.expectation import Spread
from hedgerow.query.known import known_estimate
from hedgerow.query.numbers import numbers_of, values_of
from hedgerow.query.question import Aggregate, Bound, Column, Truth, columns_of
from hedgerow.query.result import Estimate, Result, Rounding
from hedgerow.query.view import View

__all__ = ["ArrayEngine", "Selection", "estimate", "hits_of", "select"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows that satisfy what is known, and the cell of each; without GROUP BY there is one cell, None."""

    rows: NDArray[np.bool_]
    cells: int
    cell: Ints | None
    keys: dict[str, pa.Array]


class ArrayEngine:
    """Answers questions about one release."""

    def __init__(self, view: View) -> None:
        self._view = view

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        selection = select(self._view, bound)
        hits = hits_of(self._view, selection)
        estimates = {
            aggregate.alias: self._estimate(bound, aggregate, selection, hits) for aggregate in bound.aggregates
        }
        result = Result(selection.keys, estimates)
        return result if not bound.groups or isinstance(bound.hidden, Truth) else self._possible(bound, hits, result)

    def _estimate(self, bound: Bound, aggregate: Aggregate, selection: Selection, hits: Hits) -> Estimate:
        column = aggregate.column
        if isinstance(bound.hidden, Truth) and self._is_known(bound, aggregate):
            return known_estimate(self._view, aggregate, selection.rows, selection.cell, selection.cells)
        values = self._values(bound, column if isinstance(column, Column) else None)
        if isinstance(column, Column) and aggregate.function != "count":
            numbers = numbers_of(self._view, column.name)
            rounding, slack = numbers.rounding(aggregate.function), numbers.slack
        else:
            rounding, slack = Rounding.WHOLE, Fraction(0)
        return estimate(aggregate.function, hits, values, rounding, slack)

    def _is_known(self, bound: Bound, aggregate: Aggregate) -> bool:
        """Tell whether every assignment gives the same answer by construction."""
        if not bound.hides(aggregate):
            return True
        return aggregate.function == "count" and not self._view.has_missing(_name(aggregate.column))

    def _values(self, bound: Bound, column: Column | None) -> Values:
        """Values that count: those that satisfy the hidden condition and, inside an aggregate, are not missing."""
        name = column.name if column is not None else min(columns_of(bound.hidden))
        if isinstance(bound.hidden, Truth):
            keep = np.ones(len(self._view.codes(name).domain) + 1, dtype=np.bool_)
        else:
            keep = self._view.truth(name, bound.hidden)
        if column is not None:
            keep[-1] = not self._view.has_missing(name)
        return values_of(self._view, name, keep)

    def _possible(self, bound: Bound, hits: Hits, result: Result) -> Result:
        """Leave out cells that are empty under every assignment; SQL would not list them."""
        most = bounds.count(hits, self._values(bound, None)).upper
        return result.take(np.flatnonzero(np.array(most, dtype=np.int64)))


def estimate(function: str, hits: Hits, values: Values, rounding: Rounding, slack: Fraction) -> Estimate:
    """Bounds and expectation of one aggregate over hidden values."""
    interval, spread = _answer(function, hits, values)
    unit = Fraction(1) if function == "count" else values.unit
    widths = None
    if slack and function in ("sum", "avg"):
        numbers = totals(hits, hits.upper) if function == "sum" else [1] * hits.cells
        widths = [slack * number for number in numbers]
    return Estimate(
        [None if tick is None else tick * unit for tick in interval.lower],
        [None if tick is None else tick * unit for tick in interval.upper],
        (spread.mean * float(unit) if unit >= 1 else spread.mean / float(1 / unit)).tolist(),
        (spread.std * float(unit) if unit >= 1 else spread.std / float(1 / unit)).tolist(),
        interval.exact,
        rounding,
        widths,
    )


def _answer(function: str, hits: Hits, values: Values) -> tuple[Interval, Spread]:
    if function in ("min", "max"):
        name = "minimum" if function == "min" else "maximum"
        interval = getattr(bounds, name)(hits, values)
        return interval, getattr(expectation, name)(hits, values, interval)
    name = {"count": "count", "sum": "total", "avg": "average"}[function]
    return getattr(bounds, name)(hits, values), getattr(expectation, name)(hits, values)


def select(view: View, bound: Bound) -> Selection:
    """Find the rows that satisfy what is known, and their cells."""
    rows = view.rows_where(bound.known)
    if not bound.groups:
        return Selection(rows, 1, None, {})
    codes = [(view.codes(column.name).codes[rows], len(view.codes(column.name).domain) + 1) for column in bound.groups]
    cell, cells = functools.reduce(_combined, codes[1:], _compact(*codes[0]))
    sample = np.empty(cells, dtype=np.int64)
    sample[cell] = np.flatnonzero(rows)
    keys = {key.alias: view.array(_name(key.column)).take(pa.array(sample)) for key in bound.keys}
    return Selection(rows, cells, cell, keys)


def _name(column: Any) -> str:
    assert isinstance(column, Column)
    return column.name


def _combined(left: tuple[Ints, int], right: tuple[NDArray[Any], int]) -> tuple[Ints, int]:
    """Number the pairs that occur, in order."""
    return _compact(left[0] * right[1] + right[0], left[1] * right[1])


def _compact(codes: NDArray[Any], width: int) -> tuple[Ints, int]:
    """Renumber codes below `width` so that only those that occur have a number."""
    if width > 4 * len(codes) + 2**16:
        found, numbers = np.unique(codes, return_inverse=True)
        return numbers.astype(np.int64, copy=False), len(found)
    occurs = np.bincount(codes, minlength=width) > 0
    return (np.cumsum(occurs) - 1)[codes], int(occurs.sum())


def hits_of(view: View, selection: Selection) -> Hits:
    """Count the selected rows per cell and group."""
    if selection.cell is None:
        running = np.zeros(len(selection.rows) + 1, dtype=np.int32)
        np.cumsum(selection.rows, out=running[1:])
        counts = np.diff(running[view.offsets])
        group = np.flatnonzero(counts)
        number = counts[group].astype(np.int64)
        return Hits(1, np.zeros(len(group), dtype=np.int64), group, number, number, number)
    pairs, number = _counted(selection, view)
    cell, group = np.divmod(pairs, max(len(view.offsets) - 1, 1))
    return Hits(selection.cells, cell, group, number, number, number)


def _counted(selection: Selection, view: View) -> tuple[Ints, Ints]:
    assert selection.cell is not None
    groups = len(view.offsets) - 1
    pairs = selection.cell * groups + view.groups[selection.rows]
    if selection.cells * groups > 8 * len(pairs) + 2**16:
        found, number = np.unique(pairs, return_counts=True)
        return found, number
    counts = np.bincount(pairs, minlength=selection.cells * groups)
    found = np.flatnonzero(counts)
    return found, counts[found]
