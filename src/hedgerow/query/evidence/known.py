"""Aggregates of columns that are published as they are: exact answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import Ints, best, totals
from hedgerow.query.evidence.ragged import float_sums
from hedgerow.query.evidence.rows import Numbers, Selection, numbers_of
from hedgerow.query.evidence.view import View
from hedgerow.query.sql.question import Aggregate, Column

__all__ = ["known_estimate"]

Exact = list[Fraction | None]


@dataclass(frozen=True, eq=False)
class _KnownRows:
    """Selected rows sorted by cell; `group` holds their codes, so that reductions can look values up."""

    cells: int
    cell: Ints
    group: Ints


def known_estimate(view: View, aggregate: Aggregate, selection: Selection) -> Estimate:
    """Aggregate the selected rows themselves."""
    if not isinstance(aggregate.column, Column):
        return _count(selection.counts.tolist())
    codes, cell, cells = view.codes(aggregate.column.name), selection.cell, selection.cells
    chosen = codes.codes[selection.index].astype(np.int64)
    present = chosen < len(codes.domain)
    owner = np.zeros(len(chosen), dtype=np.int64) if cell is None else cell
    order = np.argsort(owner[present], kind="stable") if cells > 1 else np.arange(int(present.sum()))
    entries = _KnownRows(cells, owner[present][order], chosen[present][order])
    if aggregate.function == "count":
        return _count(totals(entries, np.ones(len(entries.cell), dtype=np.int64)))
    numbers = numbers_of(view, aggregate.column.name)
    return replace(_numeric(aggregate.function, entries, numbers), domain=numbers.domain)


def _count(counts: list[int]) -> Estimate:
    exact: Exact = [Fraction(number) for number in counts]
    return _certain(exact, Rounding.WHOLE)


def _numeric(function: str, rows: _KnownRows, numbers: Numbers) -> Estimate:
    number = totals(rows, np.ones(len(rows.cell), dtype=np.int64))
    if numbers.is_rounded and function in ("min", "max"):
        ends = _ends(function, rows)
        floats = numbers.floats_at(np.array([code or 0 for code in ends], dtype=np.int64)).floats.tolist()
        chosen = [None if code is None else Fraction(number) for code, number in zip(ends, floats, strict=True)]
        return _certain(chosen, Rounding.NEAREST)
    estimate = _certain(_aggregate(function, rows, numbers, number), numbers.rounding(function))
    if function in ("min", "max"):
        return estimate
    times = number if function == "sum" else [1] * rows.cells
    slack, shake = ([each * n for n in times] if each else None for each in (numbers.slack, numbers.shake))
    return replace(estimate, slack=slack, shake=shake)


def _aggregate(function: str, rows: _KnownRows, numbers: Numbers, number: list[int]) -> Exact:
    unit = numbers.unit
    if function in ("min", "max"):
        return [None if code is None else int(numbers.lows[code]) * unit for code in _ends(function, rows)]
    if numbers.is_rounded:
        sums = float_sums(numbers.floats_at(rows.group).floats, lambda digits: totals(rows, digits))
    else:
        sums = [s * unit for s in totals(rows, numbers.lows[rows.group])]
    return [(s / n if function == "avg" else s) if n else None for s, n in zip(sums, number, strict=True)]


def _ends(function: str, rows: _KnownRows) -> list[int | None]:
    """The least or the greatest code of each cell; codes ascend as values do."""
    choose = np.minimum if function == "min" else np.maximum
    return best(choose, rows, np.ones(len(rows.cell), dtype=np.bool_), lambda codes: codes)


def _certain(exact: Exact, rounding: Rounding) -> Estimate:
    nothing = [0.0] * len(exact)
    return Estimate(exact, exact, nothing, nothing, [True] * len(exact), rounding, is_known=True)
