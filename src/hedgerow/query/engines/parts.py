"""Questions to a bundle in parts, answered with the memory of one part where the parts' answers add up.

Guarantee  bounds are those of the same release in one file: COUNT, SUM and AVG under conditions that are decided row by
           row are sums over groups, and every group lies in one part. All other questions read the whole release
Cost       one pass over the parts for each question; another one where floats need the unit of the whole column
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.exact import DecimalGrid, as_fraction, column_grid
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.evidence.permuted import ArrayEngine
from hedgerow.query.evidence.view import fresh_source, view_of
from hedgerow.query.sql.question import NUMBERS, Aggregate, Bound, Column, Kind
from hedgerow.release import Release
from hedgerow.release.bundle import PartedTables

__all__ = ["PartsEngine"]

_ROWS = Aggregate("count", None, "number of rows")
_FUNCTIONS = ("count", "sum", "avg")


@dataclass
class _Sum:
    """One aggregate in one cell, added up over the parts."""

    lower: Fraction | None = None
    upper: Fraction | None = None
    expected: float = 0.0
    variance: float = 0.0
    slack: Fraction = Fraction(0)
    is_exact: bool = True

    def add(self, part: Estimate, cell: int) -> None:
        """Add a part's answer; NULL adds nothing."""
        lower, upper = part.lower[cell], part.upper[cell]
        if lower is None or upper is None:
            return
        self.lower, self.upper = (self.lower or Fraction(0)) + lower, (self.upper or Fraction(0)) + upper
        self.expected += float((lower + upper) / 2) if part.exact[cell] else part.expected[cell]
        self.variance += 0.0 if part.exact[cell] else part.std[cell] ** 2
        self.slack += part.slack[cell] if part.slack is not None else Fraction(0)
        self.is_exact &= part.exact[cell]


@dataclass
class _Cells:
    """The cells of all parts by their keys, and for each its sums by alias."""

    names: list[str]
    sums: dict[tuple[Any, ...], dict[str, _Sum]] = field(default_factory=dict)
    known: dict[str, bool] = field(default_factory=dict)
    roundings: dict[str, Rounding] = field(default_factory=dict)
    kinds: dict[str, pa.DataType] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Add the answer of one part."""
        keys = list(zip(*(result.keys[name].to_pylist() for name in self.names), strict=True)) if self.names else [()]
        self.kinds |= {name: result.keys[name].type for name in self.names}
        for alias, estimate in result.estimates.items():
            self.known[alias] = self.known.get(alias, True) and estimate.is_known
            self.roundings.setdefault(alias, estimate.rounding)
            for cell, key in enumerate(keys):
                self.sums.setdefault(key, {}).setdefault(alias, _Sum()).add(estimate, cell)


class PartsEngine:
    """Answers questions about a bundle in parts."""

    def __init__(self, release: Release, whole: Callable[[], ArrayEngine]) -> None:
        """Questions that parts cannot answer on their own go to `whole`, which reads all of them."""
        assert isinstance(release.tables, PartedTables)
        self._release, self._tables, self._whole = release, release.tables, whole
        self._grids: dict[str, DecimalGrid] = {}

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        if not self._adds_up(bound):
            return self._whole().run(bound)
        names = [item.column.name for item in bound.aggregates if isinstance(item.column, Column)]
        self._find_grids([name for name in names if self._kind(name) is Kind.FLOAT])
        means = [item.column for item in bound.aggregates if item.function == "avg"]
        full = {column.name for column in means if isinstance(column, Column)} | ({*names} & {*bound.bases})
        asked = replace(bound, aggregates=tuple(_summed(bound)))
        aliases = {key.column.name: key.alias for key in bound.keys if isinstance(key.column, Column)}
        cells = _Cells([aliases[column.name] for column in bound.groups])
        for part in self._parts():
            if any(view_of(part).has_missing(name) for name in full):  # then a mean has fewer values than rows
                return self._whole().run(bound)
            # The source is not remembered: a view and a source that know each other would outlive their part.
            cells.add(ArrayEngine(fresh_source(part)).run(asked))
            del part
        return self._result(bound, cells)

    def _adds_up(self, bound: Bound) -> bool:
        """Tell whether answers of parts add up to that of the whole."""
        form = self._release.form
        is_certain = form.has_groups and form.keeps_rows and bound.is_free and not bound.outcome.computed
        shown = {key.column.name for key in bound.keys if isinstance(key.column, Column)}
        grouped = {column.name for column in bound.groups}
        is_keyed = all(isinstance(key.column, Column) for key in bound.keys) and grouped == shown
        is_keyed = is_keyed and not grouped & bound.bases.keys()
        return is_certain and is_keyed and all(self._is_summed(bound, item) for item in bound.aggregates)

    def _is_summed(self, bound: Bound, item: Aggregate) -> bool:
        if item.function not in _FUNCTIONS or item.other is not None:
            return False
        if item.column is None:
            return True
        is_published = isinstance(item.column, Column) and item.column.name not in bound.derived
        if not is_published or not isinstance(item.column, Column):
            return False
        return item.function == "count" or self._kind(item.column.name) in NUMBERS

    def _kind(self, name: str) -> Kind:
        return view_of(self._tables.first).columns[name].kind

    def _find_grids(self, names: list[str]) -> None:
        """The units of columns of floats are those of all parts."""
        missing = [name for name in names if name not in self._grids]
        for part in self._tables.parts() if missing else ():
            for name in missing:
                column = self._column(part, name)
                if column is not None and (grid := column_grid(column)) is not None:
                    self._grids[name] = grid.merge(self._grids[name]) if name in self._grids else grid

    def _column(self, part: Release, name: str) -> pa.ChunkedArray | None:
        return next((table.column(name) for table in part.tables.values() if name in table.column_names), None)

    def _parts(self) -> Iterator[Release]:
        for part in self._tables.parts():
            numbered = replace(part, grids=self._grids)
            del part
            yield numbered
            del numbered

    def _result(self, bound: Bound, cells: _Cells) -> Result:
        keys = {name: [key[place] for key in cells.sums] for place, name in enumerate(cells.names)}
        found = pa.table({name: pa.array(column, cells.kinds[name]) for name, column in keys.items()})
        order = np.arange(len(cells.sums))
        if cells.names and cells.sums:
            order = pc.sort_indices(found, sort_keys=[(name, "ascending") for name in cells.names]).to_numpy()
        sums = list(cells.sums.values())
        ordered = [sums[place] for place in order.tolist()]
        estimates = {item.alias: self._estimate(item, ordered, cells) for item in bound.aggregates}
        shown = {name: found.column(name).combine_chunks().take(pa.array(order)) for name in cells.names}
        aliases = {key.column.name: key.alias for key in bound.keys if isinstance(key.column, Column)}
        named = {key.alias: shown[aliases[key.column.name]] for key in bound.keys if isinstance(key.column, Column)}
        return Result(named, estimates, len(ordered))

    def _estimate(self, item: Aggregate, cells: list[dict[str, _Sum]], found: _Cells) -> Estimate:
        sums = [cell[item.alias] for cell in cells]
        slack = [one.slack for one in sums] if any(one.slack for one in sums) else None
        known, rounding = found.known[item.alias], found.roundings[item.alias]
        lower, upper = [one.lower for one in sums], [one.upper for one in sums]
        expected, std = [one.expected for one in sums], [one.variance**0.5 for one in sums]
        if item.function == "avg":
            rows = [cell[_ROWS.alias].lower or Fraction(0) for cell in cells]
            lower, upper = _divided(lower, rows), _divided(upper, rows)
            expected, std = ([x / max(float(n), 1.0) for x, n in zip(xs, rows, strict=True)] for xs in (expected, std))
            assert isinstance(item.column, Column)
            rounding, slack = Rounding.OUTWARD, self._slack(item.column.name, len(sums))
        is_exact = [one.is_exact for one in sums]
        return Estimate(lower, upper, expected, std, is_exact, rounding, slack, is_known=known)

    def _slack(self, name: str, cells: int) -> list[Fraction] | None:
        """What a mean of floats owes to floating point, as for the whole column."""
        grid = self._grids.get(name)
        if grid is None or grid.places in (None, 0):
            return None
        return [as_fraction(float(grid.largest)) / 2**52] * cells


def _divided(ends: list[Fraction | None], rows: list[Fraction]) -> list[Fraction | None]:
    return [end / number if end is not None and number else None for end, number in zip(ends, rows, strict=True)]


def _summed(bound: Bound) -> Iterator[Aggregate]:
    """The aggregates to ask each part: an average is a sum and a number of rows."""
    for item in bound.aggregates:
        yield replace(item, function="sum") if item.function == "avg" else item
    if any(item.function == "avg" for item in bound.aggregates):
        yield _ROWS
