"""Questions to scattered releases: every column is shuffled on its own, so a group tells only counts per column.

Source     [Li 2015], section 4.2
Guarantee  the true answer lies inside the bounds; they are reached, because any overlap between the two ends of
           max(0, n_1 + ... + n_d - (d-1)N) .. min(n_1, ..., n_d) occurs in some assignment
Cost       O(n) per column named
Deviates   OR and NOT are answered, too, and the variance of the number of rows; each column may be named in one place

All columns are alike: the one that is aggregated gives the values, the others the rows hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate
from hedgerow.query.evidence.events import Events, Leaves, events_of_number
from hedgerow.query.evidence.groups import Hits, Ints, Values, runs_of
from hedgerow.query.evidence.permuted import Plan, Source
from hedgerow.query.evidence.rows import Numbers, compact, numbers_of, values_at, values_of
from hedgerow.query.evidence.view import View, evaluate, view_of
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Bound,
    Column,
    Expression,
    Predicate,
    columns_of,
    conjuncts,
    spoken,
)

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["ScatteredSource"]

_MOST_ENTRIES = 20_000_000
_APART = (
    "the columns of this release are shuffled apart: {}; name every column in one place and compare it with constants, "
    "or ask about each alternative and add the answers"
)


class ScatteredSource(Source):
    """A release whose columns are shuffled apart."""

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""
        return _ScatteredPlan(self.view, bound)


class _ScatteredPlan:
    """The answer to one question."""

    def __init__(self, view: View, bound: Bound) -> None:
        self._view, self._bound = view, bound
        self._sizes = np.diff(view.offsets)
        for expression in bound.derived.values():
            if len(self._units(expression)) > 1:
                raise QueryError(_APART.format("an expression cannot combine two of them"))
        view.derive(bound.derived)
        parts = [part for whole in (bound.known, bound.hidden, bound.mixed) for part in conjuncts(whole)]
        self._parts = [part for part in parts if columns_of(part)]
        # A condition that names no column holds for every row or for none.
        self._is_never = not all(evaluate(part, {}, 1)[0].as_py() for part in parts if not columns_of(part))
        self._check_places()
        self._cell, self._group, self._number, self.keys, self.cells = self._entries()
        self.grouped = [column.name for column in bound.groups]

    @property
    def _leaves(self) -> Leaves:
        """Made anew each time: kept, it and the plan would hold each other."""
        advice = _APART.format("a comparison cannot name two of them")
        return Leaves(self._sizes, self._units, self._decide, advice)

    def ratio(self, upper: Aggregate, lower: Aggregate) -> Estimate | None:
        """No better than the quotient of the two."""
        return None

    def code_pairs(self, aggregate: Aggregate) -> None:
        """Nothing is looked at in pairs."""

    def covariance(self, aggregate: Aggregate) -> None:
        """No columns are looked at together."""

    def looks_at_pairs(self, aggregate: Aggregate) -> bool:
        """Columns that are shuffled apart never meet."""
        return False

    def finished(self, aggregate: Aggregate, found: Estimate) -> Estimate:
        """As it was found."""
        return found

    def crossed(self, aggregate: Aggregate) -> Estimate | None:
        """Columns that are shuffled apart never meet: expressions of two are refused above."""
        if aggregate.other is not None:
            raise QueryError(_APART.format(f"{aggregate.function.upper()} cannot combine two of them"))
        return None

    def _unit(self, name: str) -> str:
        """The published column that stands for those with which a column lies in one row: mostly that column alone."""
        derived = self._bound.derived
        column = min(columns_of(derived[name])) if name in derived else name
        return self._view.sensitive[0] if self._view.paired and column in self._view.sensitive else column

    def _units(self, node: Predicate | Expression) -> frozenset[str]:
        return frozenset(self._unit(name) for name in columns_of(node))

    def _check_places(self) -> None:
        names = [name for part in self._leaves.merge(self._parts) for name in self._units(part)]
        keys = [self._unit(column.name) for column in self._bound.groups]
        if len(set(names)) < len(names) or len(set(keys)) < len(keys):
            raise QueryError(_APART.format("a condition cannot return to one of them"))

    def _entries(self) -> tuple[Ints, Ints, list[Ints], dict[str, pa.Array], int]:
        """One entry per group and combination of keys in it, with the number of rows of each key."""
        groups = len(self._sizes)
        group, cell, cells = np.arange(groups), np.zeros(groups, dtype=np.int64), 1
        numbers: list[Ints] = []
        chosen: list[Ints] = []
        for column in self._bound.groups:
            width, runs, count, first = self._runs(column.name)
            if int((first[group + 1] - first[group]).sum()) > _MOST_ENTRIES:
                raise QueryError("GROUP BY has too many combinations over this release; group by fewer columns")
            entry, run = runs_of(group, first)
            cell, cells = compact(cell[entry] * width + runs[run] % width, cells * width)
            group, numbers = group[entry], [*(number[entry] for number in numbers), count[run]]
            chosen = [*(code[entry] for code in chosen), runs[run] % width]
        order = np.argsort(cell, kind="stable")
        keys = self._keys(cell, cells, chosen)
        return cell[order], group[order], [number[order] for number in numbers], keys, cells

    def _runs(self, name: str) -> tuple[int, Ints, Ints, Ints]:
        """The values of a key in each group that satisfy the condition on its column, and the rows of each."""
        codes = self._view.codes(name)
        width = len(codes.domain) + 1
        rows = self._mark(self._unit(name))
        keys, count = np.unique(self._view.groups[rows] * width + codes.codes[rows], return_counts=True)
        return width, keys, count, np.searchsorted(keys, np.arange(len(self._sizes) + 1) * width)

    def _mark(self, unit: str) -> np.ndarray:
        own = [part for part in self._parts if self._units(part) == {unit}]
        return self._view.rows_where(And(tuple(own))) if own else np.ones(self._view.num_rows, dtype=np.bool_)

    def _keys(self, cell: Ints, cells: int, chosen: Sequence[Ints]) -> dict[str, pa.Array]:
        sample = np.zeros(cells, dtype=np.int64)
        sample[cell] = np.arange(len(cell))
        keys = {}
        for key in self._bound.keys:
            assert isinstance(key.column, Column), "bound"
            domain = self._view.codes(key.column.name).domain
            code = chosen[self._bound.groups.index(key.column)][sample] if len(cell) else sample
            keys[key.alias] = pa.concat_arrays([domain, pa.nulls(1, domain.type)]).take(pa.array(code))
        return keys

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """Nothing is known by itself here; bounds that agree say so."""
        return None

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column."""
        if not isinstance(aggregate.column, Column) or aggregate.function == "count":
            return None
        return numbers_of(self._view, aggregate.column.name)

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """Rows hit by the conditions on other columns, and the values of the aggregate's own."""
        column = aggregate.column if aggregate is not None else None
        name = column.name if isinstance(column, Column) else None
        own = {self._unit(name)} if name is not None else set()
        keys = {self._unit(column.name) for column in self._bound.groups}
        if own & keys:
            raise QueryError(f"{spoken(name)} is in GROUP BY, or published beside what is; aggregate another column")
        others = [part for part in self._parts if not self._units(part) <= own | keys]
        if any(self._units(part) & (own | keys) for part in others):
            raise QueryError(
                _APART.format("the one that is aggregated or grouped by cannot stand in an OR with others")
            )
        return self._hits(others), self._blank() if name is None else self._values(name)

    def _hits(self, parts: list[Predicate]) -> Hits:
        events = self._leaves.all(parts).at(self._group)
        size = self._sizes[self._group]
        for number in self._number:
            events = events.join(events_of_number(number, size), size)
        expected, variance = events.moments(size)
        certain = bool(np.array_equal(events.low, events.high))
        middle, spread = (events.low, None) if certain else (expected, variance)
        hits = Hits(self.cells, self._cell, self._group, events.low, events.high, middle, spread)
        return hits.only((events.high > 0) & (not self._is_never))

    def _decide(self, node: Predicate, wanted: bool) -> Events:
        """A condition on columns that lie in one row: its rows are counted."""
        rows = self._view.rows_where(node, wanted)
        return events_of_number(np.bincount(self._view.groups[rows], minlength=len(self._sizes)), self._sizes)

    def _values(self, name: str) -> Values:
        rows = self._mark(self._unit(name))
        codes = self._view.codes(name)
        own = [part for part in self._parts if self._units(part) == {self._unit(name)}]
        if name not in self._bound.derived and all(columns_of(part) == {name} for part in own):
            keep = self._view.truth(name, And(tuple(own))) if own else np.ones(len(codes.domain) + 1, dtype=np.bool_)
            return values_of(self._view, name, np.append(keep[:-1], keep[-1] and not self._view.has_missing(name)))
        return values_at(self._view, name, rows & (codes.codes < len(codes.domain)))

    def _blank(self) -> Values:
        nothing = np.zeros(self._view.num_rows, dtype=np.int64)
        return Values(self._view.offsets, self._sizes, nothing, nothing, Fraction(1))


def source(release: Release) -> ScatteredSource:
    """What the form tells about questions."""
    return ScatteredSource(view_of(release))
