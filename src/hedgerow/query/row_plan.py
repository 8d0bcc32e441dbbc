"""How a question is answered over published rows: which evidence speaks for each aggregate.

The forms permuted, separated, generalized and disguised differ in two things only, which a `Source` tells: which rows
a condition on open columns selects, and which values a group's rows draw.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.branches import branches
from hedgerow.query.evidence import Hits, Ints, Values
from hedgerow.query.known import known_estimate
from hedgerow.query.numbers import Numbers, numbers_of, values_at, values_of
from hedgerow.query.question import And, Column, Predicate, Truth, columns_of
from hedgerow.query.regroup import by_value, in_parts, matched_rows, rows_by_cell
from hedgerow.query.result import Estimate
from hedgerow.query.rows import Chosen, hits_of, hits_within, select
from hedgerow.query.statement import Aggregate, Bound
from hedgerow.query.view import View

__all__ = ["Plan", "RowPlan", "RowSource"]

_DIRECT = ("count", "sum", "avg", "min", "max")


class Plan(Protocol):
    """What an engine needs to know to answer one question."""

    keys: dict[str, pa.Array]
    cells: int

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """The answer, where it is the same under every assignment."""

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """Rows hit and values drawn; None asks for the rows themselves."""

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column; None where it only counts."""


class RowSource:
    """Rows whose open columns are published as they are, and whose hidden values are shuffled inside groups."""

    def __init__(self, view: View) -> None:
        self.view = view

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""
        return RowPlan(self, bound)

    def choose(self, condition: Predicate) -> Chosen:
        """Rows that satisfy a condition on open columns."""
        return Chosen(self.view.rows_where(condition))

    def is_open(self, name: str) -> bool:
        """Tell whether a column that is not hidden can be read row by row."""
        return True

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column."""
        return numbers_of(self.view, name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values of a hidden column that satisfy a condition; inside an aggregate only present ones."""
        keep = _kept(self.view, base, condition)
        if name == base:
            if aggregated:
                keep = np.append(keep[:-1], keep[-1] and not self.view.has_missing(name))
            return values_of(self.view, name, keep)
        rows = keep[self.view.codes(base).codes]
        return values_at(self.view, name, rows & ~_missing(self.view, name) if aggregated else rows)

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Published values of a hidden column that satisfy a condition."""
        marked: NDArray[np.bool_] = _kept(self.view, base, condition)[self.view.codes(base).codes]
        return marked


def _kept(view: View, base: str, condition: Predicate) -> NDArray[np.bool_]:
    if condition == Truth(True):
        return np.ones(len(view.codes(base).domain) + 1, dtype=np.bool_)
    kept: NDArray[np.bool_] = view.truth(base, condition)
    return kept


def _missing(view: View, name: str) -> NDArray[np.bool_]:
    codes = view.codes(name)
    missing: NDArray[np.bool_] = codes.codes == len(codes.domain)
    return missing


class RowPlan:
    """The answer to one question over one source of rows."""

    def __init__(self, source: RowSource, bound: Bound) -> None:
        self._source, self._bound, self._view = source, bound, source.view
        self._view.derive(bound.derived)
        self._base = _hidden_base(bound)
        self._chosen = source.choose(bound.known)
        self._hidden_key = next((column.name for column in bound.groups if column.name in bound.bases), None)
        open_groups = [column.name for column in bound.groups if column.name not in bound.bases]
        self._check_open(open_groups)
        shown = {key.alias: key.column.name for key in bound.keys if isinstance(key.column, Column)}
        open_keys = {alias: name for alias, name in shown.items() if name in open_groups}
        self._selection = select(self._view, self._chosen.possible, open_groups, open_keys)
        self.keys, self.cells = self._selection.keys, self._selection.cells
        if self._hidden_key is not None:
            self._split_keys(self._hidden_key, [alias for alias, name in shown.items() if name == self._hidden_key])

    def _check_open(self, names: list[str]) -> None:
        closed = next((name for name in names if not self._source.is_open(name)), None)
        if closed is not None:
            raise QueryError(
                f"'{closed}' is published as ranges, so rows have no single value to group by; ask about ranges of it "
                "with WHERE, or group by another column"
            )

    def _split_keys(self, name: str, aliases: list[str]) -> None:
        """Add the values of a hidden GROUP BY column to the keys."""
        _, _, old, code = by_value(self._view, self._hits, name, self._marked)
        domain = self._view.codes(name).domain
        values = pa.concat_arrays([domain, pa.nulls(1, domain.type)]).take(pa.array(code))
        keys = {alias: column.take(pa.array(old)) for alias, column in self.keys.items()}
        keys |= dict.fromkeys(aliases, values)
        self.keys = {key.alias: keys[key.alias] for key in self._bound.keys}
        self.cells = len(old)

    @functools.cached_property
    def _hits(self) -> Hits:
        return hits_within(self._view, self._selection, self._chosen)

    @property
    def _marked(self) -> NDArray[np.bool_]:
        assert self._base is not None, "a hidden key has a base"
        return self._source.marked(self._base, self._bound.hidden)

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column."""
        if not isinstance(aggregate.column, Column) or aggregate.function == "count":
            return None
        return self._source.numbers(aggregate.column.name)

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """Aggregates of open columns, and counts of rows, where no condition is hidden."""
        name = aggregate.column.name if isinstance(aggregate.column, Column) else None
        if not self._bound.is_free or self._hidden_key is not None or self._chosen.sure is not None:
            return None
        is_open = name is None or (name not in self._bound.bases and self._source.is_open(name))
        is_counted = aggregate.function == "count" and name is not None and not self._may_miss(name)
        if aggregate.function not in _DIRECT or not (is_open or is_counted):
            return None
        selection = self._selection
        chosen = Aggregate("count", None, "") if is_counted else aggregate
        return known_estimate(self._view, chosen, selection.rows, selection.cell, selection.cells)

    def _may_miss(self, name: str) -> bool:
        return self._source.is_open(name) and self._view.has_missing(name)

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """Rows hit and values drawn."""
        column = aggregate.column if aggregate is not None else None
        name = column.name if isinstance(column, Column) else None
        if self._hidden_key is not None:
            return self._by_hidden_key(name)
        if name is None or name in self._bound.bases:
            return self._drawn(name)
        return self._open_values(name)

    def _by_hidden_key(self, name: str | None) -> tuple[Hits, Values]:
        if name is not None and name not in self._bound.bases:
            raise QueryError(f"under GROUP BY of a sensitive column '{name}' has no bound; COUNT has")
        assert self._hidden_key is not None, "asked for"
        rows = self._marked
        if name is None:
            return by_value(self._view, self._hits, self._hidden_key, rows)[:2]
        hits, values, old, code = by_value(
            self._view,
            self._hits,
            self._hidden_key,
            rows & ~_missing(self._view, name),
            self._source.numbers(name),
            name,
        )
        return self._placed(hits, old, code), values

    def _placed(self, hits: Hits, old: Ints, code: Ints) -> Hits:
        """Number cells as the keys do: some have no value that is present."""
        assert self._hidden_key is not None, "asked for"
        _, _, all_old, all_code = by_value(self._view, self._hits, self._hidden_key, self._marked)
        width = len(self._view.codes(self._hidden_key).domain) + 1
        place = np.searchsorted(all_old * width + all_code, old * width + code)
        return Hits(self.cells, place[hits.cell], hits.group, hits.lower, hits.upper, hits.expected, hits.variance)

    def _drawn(self, name: str | None) -> tuple[Hits, Values]:
        """Hidden values, or the rows themselves."""
        base = self._base or (self._bound.bases[name] if name is not None else None)
        if base is None:
            sizes = np.diff(self._view.offsets)
            return self._hits, _blank(self._view.offsets, sizes)
        target = base if name is None else name
        if isinstance(self._bound.mixed, Truth):
            values = self._source.values(target, base, self._bound.hidden, aggregated=name is not None)
            return self._hits, values
        parts = []
        for rows, left in branches(self._view, self._bound.mixed, base):
            condition = And((self._bound.hidden, left))
            values = self._source.values(target, base, condition, aggregated=name is not None)
            parts.append((hits_of(self._view, self._selection.among(rows)), values))
        nobody = hits_of(self._view, self._selection.among(np.zeros(self._view.num_rows, dtype=np.bool_)))
        return in_parts(parts or [(nobody, self._source.values(target, base, Truth(True), aggregated=False))])

    def _open_values(self, name: str) -> tuple[Hits, Values]:
        """Values of an open column at rows that are hit for sure, or perhaps."""
        if not self._source.is_open(name):
            self._require_free(name)
            return self._hits, self._source.values(name, name, Truth(True), aggregated=True)
        ticks = self._source.numbers(name)
        if not self._bound.is_free:
            return self._matched(name, ticks)
        chosen = self._chosen
        if chosen.sure is None or chosen.chance is None:
            hits = hits_of(self._view, self._selection)
            values = rows_by_cell(self._view, self._selection, hits, name, ticks)
            return Hits.exactly(hits.cells, hits.cell, np.arange(len(hits.cell)), hits.lower), values
        return in_parts([self._at(name, ticks, chosen.sure, None), self._at(name, ticks, ~chosen.sure, chosen)])

    def _at(self, name: str, ticks: Numbers, rows: NDArray[np.bool_], chosen: Chosen | None) -> tuple[Hits, Values]:
        """Evidence of some of the rows, each entry a group of its own; there are as many entries for all."""
        every = hits_of(self._view, self._selection)
        part = self._selection.among(rows)
        values = rows_by_cell(self._view, part, every, name, ticks)
        hits = hits_of(self._view, part) if chosen is None else hits_within(self._view, part, chosen)
        width = max(len(self._view.offsets) - 1, 1)
        entry = np.searchsorted(every.cell * width + every.group, hits.cell * width + hits.group)
        return Hits(hits.cells, hits.cell, entry, hits.lower, hits.upper, hits.expected, hits.variance), values

    def _matched(self, name: str, ticks: Numbers) -> tuple[Hits, Values]:
        self._require_free(name, also=isinstance(self._bound.mixed, Truth) and self._chosen.sure is None)
        assert self._base is not None, "a hidden condition has a base"
        counted = self._source.values(self._base, self._base, self._bound.hidden, aggregated=False)
        return matched_rows(self._view, self._selection, self._hits, counted, name, ticks)

    def _require_free(self, name: str, *, also: bool = False) -> None:
        if not self._bound.is_free and not also:
            raise QueryError(
                f"under this condition on a sensitive column '{name}' has no bound; ask for COUNT(*), or for "
                "aggregates of the sensitive column, or leave the condition out"
            )


def _hidden_base(bound: Bound) -> str | None:
    """The one sensitive column on which conditions and GROUP BY depend."""
    hidden = frozenset(bound.bases.values())
    names = (columns_of(bound.hidden) | columns_of(bound.mixed)) & hidden
    names |= {bound.bases[column.name] for column in bound.groups if column.name in bound.bases}
    if len(names) > 1 or sum(column.name in bound.bases for column in bound.groups) > 1:
        raise QueryError("conditions and GROUP BY may name one sensitive column; ask about each alone")
    for aggregate in bound.aggregates if names else ():
        name = aggregate.column.name if isinstance(aggregate.column, Column) else ""
        if bound.bases.get(name, min(names)) not in names:
            raise QueryError(
                f"under a condition on the sensitive column '{min(names)}' other sensitive columns have no bound; "
                "ask COUNT(*), or leave the condition out"
            )
    return min(names, default=None)


def _blank(offsets: Ints, sizes: Ints) -> Values:
    """Values that only count."""
    nothing = np.zeros(int(sizes.sum()), dtype=np.int64)
    return Values(offsets, sizes, nothing, nothing, Fraction(1))
