"""Releases whose values were changed (perturbed, swapped, substituted): estimates, and no bounds.

Source     [Li 2008], section 7 (retention); the other forms are read as they are published
Guarantee  none: the published values are not the true ones, and no bound on the difference is published
Cost       that of the plain question

Under retention a value is the true one with chance p and drawn uniformly from a domain otherwise. COUNT with a
condition on that column, or per value of it, is estimated without bias by inverting this. Everything else is what the
published rows say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import Hits, Values
from hedgerow.query.evidence.known import known_estimate
from hedgerow.query.evidence.permuted import Plan, Source
from hedgerow.query.evidence.regroup import rows_by_cell
from hedgerow.query.evidence.rows import Numbers, hits_of, numbers_of, select
from hedgerow.query.evidence.view import View, evaluate, values, view_of
from hedgerow.query.sql.question import Aggregate, And, Bound, Column, Expression, Predicate, Truth, columns_of
from hedgerow.release.forms.perturbed import inverted_count

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["AlteredSource"]

_DIRECT = ("count", "sum", "avg", "min", "max")


class AlteredSource(Source):
    """Rows whose values were changed."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self._retention = _Retention.of(release)

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""
        return _AlteredPlan(self.view, bound, self._retention)


class _Retention:
    """How a column was replaced: kept with chance p, else drawn from a domain."""

    def __init__(self, column: str, p: Fraction, domain: pa.Array) -> None:
        self.column, self.p, self._domain = column, p, domain

    @staticmethod
    def of(release: Release) -> _Retention | None:
        """Read it from the release, None where values were changed in another way."""
        p, domain = release.guarantee.parameters.get("p"), release.tables.get("domain")
        if release.guarantee.criterion != "retention" or p is None or domain is None:
            return None
        (name,) = release.guarantee.columns
        return _Retention(name, Fraction(p), pa.concat_arrays(domain.column(name).chunks))

    def shares(self, condition: Predicate, keys: list[Expression], wanted: list[tuple[Any, ...]]) -> list[Fraction]:
        """For each wanted tuple of values of `keys`, the part of the domain that gives it and satisfies a condition."""
        known, size = {self.column: self._domain}, len(self._domain)
        truth = evaluate(condition, known, size).fill_null(False).to_pylist()
        found = zip(*(values(key, known, size).to_pylist() for key in keys), strict=True) if keys else [()] * size
        number = Counter(key for key, is_true in zip(found, truth, strict=True) if is_true)
        return [Fraction(number[key], size) for key in wanted]


class _AlteredPlan:
    """The answer to one question: the plain one, marked as an estimate."""

    def __init__(self, view: View, bound: Bound, retention: _Retention | None) -> None:
        self._view, self._bound, self._retention = view, bound, retention
        view.derive(bound.derived)
        rows = view.rows_where(And((bound.known, bound.hidden, bound.mixed)))
        groups = [column.name for column in bound.groups]
        shown = {key.alias: key.column.name for key in bound.keys if isinstance(key.column, Column)}
        self._selection = select(view, rows, groups, shown)
        self.keys, self.cells, self.grouped = self._selection.keys, self._selection.cells, groups

    def looks_at_pairs(self, aggregate: Aggregate) -> bool:
        """Rows are taken as they are published; a count that is inverted needs all of them."""
        return self._changed_keys(aggregate) is not None

    def ratio(self, upper: Aggregate, lower: Aggregate) -> Estimate | None:
        """No better than the quotient of the two."""
        return None

    def code_pairs(self, aggregate: Aggregate) -> None:
        """Nothing is looked at in pairs."""

    def covariance(self, aggregate: Aggregate) -> None:
        """No columns are looked at together."""

    def crossed(self, aggregate: Aggregate) -> Estimate | None:
        """Rows are taken as they are published."""
        if aggregate.other is not None:
            raise QueryError(f"values were changed in this release, so that {aggregate.function.upper()} has no bound")
        return None

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """What the rows say."""
        if aggregate.function not in _DIRECT:
            return None
        return known_estimate(self._view, aggregate, self._selection)

    def finished(self, aggregate: Aggregate, found: Estimate) -> Estimate:
        """The same without bounds, which published values do not give."""
        return _without_bounds(found, self._invert_counts(aggregate, found))

    def _invert_counts(self, aggregate: Aggregate, found: Estimate) -> list[float] | None:
        """Counts that depend on the retained column, through a condition or a key, in every cell."""
        retention, bound, changed = self._retention, self._bound, self._changed_keys(aggregate)
        if changed is None or retention is None:
            return None
        sample = self._sample()
        wanted = list(zip(*(self._view.array(name).take(sample).to_pylist() for name in changed), strict=True))
        keys = [self._view.derived.get(name, self._view.column(name)) for name in changed]
        shares = retention.shares(bound.hidden, keys, wanted if changed else [()] * self.cells)
        selected = self._count_selected([name for name in self.grouped if name not in changed], sample)
        cells = zip(found.lower, selected, shares, strict=True)
        return [inverted_count(float(seen or 0), float(rows), p=retention.p, share=part) for seen, rows, part in cells]

    def _changed_keys(self, aggregate: Aggregate) -> list[str] | None:
        """Keys that read the retained column, where a count depends on it alone; None where none is to be inverted."""
        retention, bound = self._retention, self._bound
        if retention is None or aggregate.function != "count" or not isinstance(bound.mixed, Truth):
            return None
        changed = [name for name in self.grouped if retention.column in self._reads(name)]
        asked = columns_of(bound.hidden).union(*(self._reads(name) for name in changed))
        return changed if asked == {retention.column} else None

    def _reads(self, name: str) -> frozenset[str]:
        return columns_of(self._view.derived.get(name, self._view.column(name)))

    def _sample(self) -> pa.Array:
        """One row of each cell."""
        rows = np.zeros(self.cells, dtype=np.int64)
        if self._selection.cell is not None:
            rows[self._selection.cell] = self._selection.index
        return pa.array(rows)

    def _count_selected(self, groups: list[str], sample: pa.Array) -> list[int]:
        """How many rows satisfy the known condition with the open keys of each cell."""
        every = select(self._view, self._view.rows_where(self._bound.known), groups, {})
        if every.cell is None:
            return [int(every.rows.sum())] * self.cells
        cell = np.zeros(self._view.num_rows, dtype=np.int64)
        cell[every.index] = every.cell
        number: list[int] = np.bincount(every.cell, minlength=every.cells)[cell[sample.to_numpy()]].tolist()
        return number

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """The rows of each cell as a group of its own."""
        hits = hits_of(self._view, self._selection)
        own = Hits.exactly(hits.cells, hits.cell, np.arange(len(hits.cell)), hits.lower)
        column = aggregate.column if aggregate is not None else None
        assert isinstance(column, Column), "COUNT(*) is answered directly"
        return own, rows_by_cell(self._view, self._selection, hits, column.name, numbers_of(self._view, column.name))

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column."""
        return numbers_of(self._view, aggregate.column.name) if isinstance(aggregate.column, Column) else None


def _without_bounds(found: Estimate, better: list[float] | None) -> Estimate:
    """Take the bounds off."""
    middles = [float("nan") if a.expected is None else a.expected for a in found.answers]
    if found.rounding is not Rounding.VALUE:
        middles = [float(middle) for middle in middles]
    nothing = [float("nan")] * len(middles)
    return replace(found, expected=better or middles, std=nothing, is_bounded=False, exact=[False] * len(middles))


source = AlteredSource
"""What the form tells about questions."""
