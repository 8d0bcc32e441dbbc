"""How arrays answer a question: the engine, the plan of an answer, and the source of the forms permuted and separated.

Other forms differ in what their source tells: which rows a condition on open columns selects, and which values a
group's rows draw. Their sources and plans are made from these.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import DecimalGrid
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.aggregates.covariance import Covariance
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.evidence.crossing import CodedPairs, Crossing
from hedgerow.query.evidence.groups import Evidence, Hits, Ints, Values, in_parts
from hedgerow.query.evidence.known import known_estimate
from hedgerow.query.evidence.regroup import HiddenKey, branches, matched_rows, rows_by_cell
from hedgerow.query.evidence.rows import (
    Chosen,
    Numbers,
    Selection,
    hits_of,
    hits_within,
    numbers_of,
    select,
    values_at,
    values_of,
)
from hedgerow.query.evidence.view import View, missing_rows, view_of
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Arithmetic,
    Bound,
    Column,
    Predicate,
    Truth,
    columns_of,
    conjuncts,
    wording_of,
)

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["ArrayEngine", "Plan", "RowPlan", "RowSource", "Source", "WholeRelease", "estimate_from", "with_rows"]

_DIRECT = ("count", "sum", "avg", "min", "max")


class Plan(Protocol):
    """What an engine needs to know to answer one question."""

    keys: dict[str, pa.Array]
    cells: int
    grouped: list[str]
    """The columns of GROUP BY in the order in which they sort the cells."""

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """The answer, where it is the same under every assignment."""

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """Rows hit and values drawn; None asks for the rows themselves."""

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column; None where it only counts."""

    def crossed(self, aggregate: Aggregate) -> Estimate | None:
        """The answer, where rows and hidden values have to be looked at in pairs."""

    def ratio(self, upper: Aggregate, lower: Aggregate) -> Estimate | None:
        """The quotient of two sums, where it has better bounds than the quotient of their bounds."""

    def looks_at_pairs(self, aggregate: Aggregate) -> bool:
        """Tell whether `crossed` may have the answer."""

    def code_pairs(self, aggregate: Aggregate) -> CodedPairs | None:
        """The pairs themselves, where those of several parts together have the answer."""

    def covariance(self, aggregate: Aggregate) -> Covariance | None:
        """An aggregate of two columns, where its sums add up; None where there is no such answer."""

    def finished(self, aggregate: Aggregate, found: Estimate) -> Estimate:
        """The answer as it is handed over."""


class Source(ABC):
    """What a form tells about a question."""

    def __init__(self, view: View) -> None:
        self.view = view

    @abstractmethod
    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""

    def domain(self, name: str) -> pa.Array | None:
        """The values of a column that have ticks; None where these do not depend on the rows."""
        return self.view.codes(name).domain

    def take_part(self, whole: WholeRelease) -> None:
        """Take units, places and what is doubtful from the release of which this is a part."""
        self.view = self.view.within(whole.grids, whole.domains)

    def doubtful(self) -> frozenset[str]:
        """Columns that are not published as the release says: none, unless a form tells more."""
        return frozenset()


class ArrayEngine:
    """Answers questions about one release."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        plan = self._source.plan(bound)
        estimates = {item.alias: _answer(plan, item) for item in bound.aggregates}
        estimates |= _ratios(plan, bound, estimates)
        result = Result(plan.keys, estimates, plan.cells)
        if not bound.groups:
            return result
        # Cells that are empty under every assignment are not listed, as SQL would not list them.
        count = Aggregate("count", None, "")
        return with_rows(result, _answer(plan, count))


def with_rows(result: Result, rows: Estimate) -> Result:
    """The cells that may have a row, and whether each of them has one for sure, from how many rows they have."""
    if not rows.is_bounded:
        return result
    sure = [number is None or number >= 1 for number in rows.lower]
    result = result if all(sure) else replace(result, sure=sure)
    possible = np.array([number is None or number > 0 for number in rows.upper], dtype=np.bool_)
    return result if possible.all() else result.take(np.flatnonzero(possible))


def _ratios(plan: Plan, bound: Bound, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """Quotients of two sums that are both open: their best ratios, and not ratios of their bounds."""
    items = {item.alias: item for item in bound.aggregates}
    found: dict[str, Estimate] = {}
    for computed in bound.outcome.computed:
        node = computed.expression
        if not isinstance(node, Arithmetic) or node.operator != "/":
            continue
        names = [getattr(side, "text", "") for side in (node.left, node.right)]
        if all(name in items for name in names) and not any(all(estimates[name].exact) for name in names):
            ratio = plan.ratio(items[names[0]], items[names[1]])
            found |= {} if ratio is None else {computed.alias: ratio}
    return found


def _answer(plan: Plan, item: Aggregate) -> Estimate:
    found = plan.crossed(item) or plan.known(item)
    if found is None:
        evidence = Evidence.of(*plan.evidence(item if item.column is not None else None))
        found = estimate_from(evidence, plan, item)
    return plan.finished(item, found)


def estimate_from(evidence: Evidence, plan: Plan, item: Aggregate) -> Estimate:
    """The answer that follows from evidence, in the units of the plan."""
    numbers = plan.numbers(item)
    if numbers is None:
        found = AGGREGATES[item.function].estimate(evidence, Rounding.WHOLE, Fraction(0))
    else:
        rounding, room = numbers.rounding(item.function), numbers.shake if evidence.is_rounded else numbers.slack
        found = AGGREGATES[item.function].estimate(evidence, rounding, room, item.fraction, numbers.domain)
    # Known and hidden parts that OR joins are bounded way by way, and these need not be best together.
    is_sharp = getattr(plan, "is_sharp", True)
    return found if is_sharp or found.reached is not None else replace(found, reached=list(found.exact))


@dataclass(frozen=True, eq=False)
class WholeRelease:
    """What a part must know of its release.

    The units of columns, the distinct values of those whose places count, and columns that some part does not publish
    as the release says.
    """

    grids: Mapping[str, DecimalGrid]
    domains: Mapping[str, pa.Array]
    doubtful: frozenset[str] = frozenset()


class RowPlan:
    """The answer to one question over one source of rows."""

    def __init__(self, source: RowSource, bound: Bound) -> None:
        self._source, self._bound, self._view = source, bound, source.view
        self._view.derive(bound.derived)
        self._base = None if bound.is_crossed else _hidden_base(bound, self._view.paired)
        self._chosen = source.choose(bound.known)
        self._hidden_key = next((column.name for column in bound.groups if column.name in bound.bases), None)
        open_groups = [column.name for column in bound.groups if column.name not in bound.bases]
        self._check_open(open_groups)
        if self._hidden_key is not None and (bound.is_crossed or any(map(bound.crosses, bound.aggregates))):
            raise QueryError(
                f"GROUP BY of the sensitive column '{self._hidden_key}' does not go with expressions that mix "
                "sensitive and other columns; ask about each of its values with WHERE"
            )
        self.grouped = open_groups if self._hidden_key is None else [*open_groups, self._hidden_key]
        shown = {key.alias: key.column.name for key in bound.keys if isinstance(key.column, Column)}
        open_keys = {alias: name for alias, name in shown.items() if name in open_groups}
        self._selection = select(self._view, self._chosen.possible, open_groups, open_keys)
        self.keys, self.cells = self._selection.keys, self._selection.cells
        self._split = self._by_hidden_key([alias for alias, name in shown.items() if name not in open_groups])

    def _check_open(self, names: list[str]) -> None:
        closed = next((name for name in names if not self._source.is_open(name)), None)
        if closed is not None:
            closed = min(columns_of(self._bound.derived[closed])) if closed in self._bound.derived else closed
            raise QueryError(
                f"'{closed}' is published as ranges, so rows have no single value to group by; ask about ranges of it "
                "with WHERE, or group by another column"
            )

    def _by_hidden_key(self, aliases: list[str]) -> HiddenKey | None:
        """Split the cells by the values of a hidden GROUP BY column, and add these to the keys."""
        name = next((column.name for column in self._bound.groups if column.name in self._bound.bases), None)
        if name is None or self._base is None:
            return None
        marked = [(hits, self._source.marked(self._base, condition)) for hits, condition in self._branches]
        split = HiddenKey(self._view, name, marked)
        keys = {alias: column.take(pa.array(split.old)) for alias, column in self.keys.items()}
        keys |= dict.fromkeys(aliases, split.values)
        self.keys = {key.alias: keys[key.alias] for key in self._bound.keys}
        self.cells = len(split.old)
        return split

    @functools.cached_property
    def _hits(self) -> Hits:
        return hits_within(self._view, self._selection, self._chosen)

    @functools.cached_property
    def _branches(self) -> list[tuple[Hits, Predicate]]:
        """Rows hit and what their hidden values must satisfy: once, or for each way to decide the known parts."""
        if isinstance(self._bound.mixed, Truth):
            return [(self._hits, self._bound.hidden)]
        assert self._base is not None, "a condition that mixes has a hidden side"
        found: list[tuple[Hits, Predicate]] = []
        hidden = frozenset(self._view.sensitive) if self._view.paired else frozenset([self._base])
        for branch, left in branches(self._source, self._bound.mixed, hidden):
            chosen = self._chosen.both(branch)
            hits = hits_within(self._view, self._selection.among(chosen.possible), chosen)
            found.append((hits, And((self._bound.hidden, left))))
        nobody = self._selection.among(np.zeros(self._view.num_rows, dtype=np.bool_))
        return found or [(hits_of(self._view, nobody), Truth(True))]

    @property
    def is_sharp(self) -> bool:
        """Tell whether no condition joins known and hidden parts."""
        return isinstance(self._bound.mixed, Truth)

    def numbers(self, aggregate: Aggregate) -> Numbers | None:
        """The ticks of the aggregate's column."""
        if not isinstance(aggregate.column, Column) or aggregate.function == "count":
            return None
        return self._source.numbers(aggregate.column.name)

    def known(self, aggregate: Aggregate) -> Estimate | None:
        """Aggregates of open columns, and counts of rows, where no condition is hidden."""
        name = aggregate.column.name if isinstance(aggregate.column, Column) else None
        if not self._bound.is_free or self._split is not None or self._chosen.sure is not None:
            return None
        is_open = name is None or (name not in self._bound.bases and self._source.is_open(name))
        is_counted = aggregate.function == "count" and name is not None and not self._source.may_miss(name)
        if aggregate.function not in _DIRECT or not (is_open or is_counted):
            return None
        chosen = Aggregate("count", None, "") if is_counted else aggregate
        return known_estimate(self._view, chosen, self._selection)

    def finished(self, aggregate: Aggregate, found: Estimate) -> Estimate:
        """As it was found."""
        return found

    def code_pairs(self, aggregate: Aggregate) -> CodedPairs | None:
        """The pairs of rows and hidden values; None where the answer is not theirs alone."""
        is_mixed = self._bound.is_crossed or self._bound.crosses(aggregate)
        if aggregate.other is not None or not is_mixed or self._is_ranged(aggregate):
            return None
        return self._source.crossing(self._bound, self._selection, self._chosen).code(aggregate)

    def looks_at_pairs(self, aggregate: Aggregate) -> bool:
        """Tell whether rows and hidden values are looked at in pairs."""
        bound = self._bound
        is_mixed = aggregate.other is not None or bound.is_crossed or bound.crosses(aggregate)
        return is_mixed or self._is_ranged(aggregate) or self._may_join_by_or(aggregate)

    def crossed(self, aggregate: Aggregate) -> Estimate | None:
        """Aggregates of expressions that mix hidden and open columns, or under conditions that compare them."""
        if aggregate.other is not None:
            return self.covariance(aggregate).estimate(aggregate.function)
        if not self._bound.is_crossed and not self._bound.crosses(aggregate) and not self._is_ranged(aggregate):
            return self._joined_by_or(aggregate)
        return self._source.crossing(self._bound, self._selection, self._chosen).estimate(aggregate)

    def _is_ranged(self, aggregate: Aggregate) -> bool:
        return self._split is None and self._source.is_ranged(aggregate, is_free=self._bound.is_free)

    def _may_join_by_or(self, aggregate: Aggregate) -> bool:
        is_plain = self._split is None and self._chosen.sure is None and aggregate.function in ("count", "sum", "avg")
        if isinstance(self._bound.mixed, Truth) or not is_plain or not self._are_open(columns_of(self._bound.mixed)):
            return False
        name = aggregate.column.name if isinstance(aggregate.column, Column) else None
        return name is None or name in self._bound.bases or self._source.is_open(name)

    def _joined_by_or(self, aggregate: Aggregate) -> Estimate | None:
        """Conditions that join known and hidden parts: pairs have the best bounds, where there are not too many."""
        if not self._may_join_by_or(aggregate):
            return None
        try:
            return self._source.crossing(self._bound, self._selection, self._chosen).estimate(aggregate)
        except QueryError:
            return None

    def _are_open(self, names: frozenset[str]) -> bool:
        return all(name in self._bound.bases or self._source.is_open(name) for name in names)

    def ratio(self, upper: Aggregate, lower: Aggregate) -> Estimate | None:
        """The quotient of two sums that share rows, where pairs of rows and hidden values tell; None elsewhere."""
        sides = [side.column for side in (upper, lower) if side.function == "sum" and isinstance(side.column, Column)]
        if len(sides) < 2 or self._split is not None or self._chosen.sure is not None:
            return None
        nodes = [self._bound.derived.get(side.name, side) for side in sides]
        names = frozenset().union(*map(columns_of, (*nodes, self._bound.hidden, self._bound.mixed)))
        hidden = names & frozenset(self._view.sensitive)
        if not hidden or not self._are_open(names) or (len(hidden) > 1 and not self._view.paired):
            return None
        try:
            return self._source.crossing(self._bound, self._selection, self._chosen).ratio(nodes[0], nodes[1])
        except QueryError:
            # Too many pairs, or no values one by one: the quotient of bounds holds as well.
            return None

    def covariance(self, aggregate: Aggregate) -> Covariance:
        """An aggregate of two columns, of which one may be hidden."""
        names = [side.name for side in (aggregate.column, aggregate.other) if isinstance(side, Column)]
        hidden = [name for name in names if name in self._bound.bases]
        what = aggregate.function.upper()
        if len(hidden) > 1:
            raise QueryError(f"{what} of two sensitive columns has no bound; one of the two must be a known column")
        if not self._bound.is_free or self._split is not None:
            raise QueryError(
                f"under a condition on, or GROUP BY of, a sensitive column {what} has no bound; leave it out"
            )
        closed = [name for name in names if name not in hidden and not self._source.is_open(name)]
        if closed or self._chosen.sure is not None:
            raise QueryError(f"{what} needs columns and conditions that are published as values, not as ranges")
        view = self._source.hidden_view(hidden[0]) if hidden else self._view
        concealed = hidden[0] if hidden else None
        return Covariance(self._view, view, self._selection, names[0], names[1], concealed)

    def evidence(self, aggregate: Aggregate | None) -> tuple[Hits, Values]:
        """Rows hit and values drawn."""
        column = aggregate.column if aggregate is not None else None
        name = column.name if isinstance(column, Column) else None
        if self._split is not None:
            return self._in_split_cells(self._split, name)
        if name is None or name in self._bound.bases:
            return self._draw(name)
        return self._open_values(name)

    def _in_split_cells(self, split: HiddenKey, name: str | None) -> tuple[Hits, Values]:
        if name is None:
            return split.evidence()
        if name not in self._bound.bases:
            raise QueryError(
                f"only COUNT is supported when grouping by a sensitive column; {wording_of(name)} cannot be bounded "
                "there"
            )
        return split.evidence(name, self._source.numbers(name))

    def _draw(self, name: str | None) -> tuple[Hits, Values]:
        """Hidden values, or the rows themselves."""
        base = self._base or (self._bound.bases[name] if name is not None else None)
        if base is None:
            sizes = np.diff(self._view.offsets)
            return self._hits, _blank(self._view.offsets, sizes)
        target, is_aggregated = (base, False) if name is None else (name, True)
        return in_parts(
            [
                (hits, self._source.values(target, base, condition, aggregated=is_aggregated))
                for hits, condition in self._branches
            ]
        )

    def _open_values(self, name: str) -> tuple[Hits, Values]:
        """Values of an open column at rows that are hit for sure, or perhaps."""
        if not self._source.is_open(name):
            self._require_free(name)
            return self._closed_values(name)
        ticks = self._source.numbers(name)
        if not self._bound.is_free:
            return self._match(name, ticks)
        chosen = self._chosen
        if chosen.sure is None or chosen.chance is None:
            hits = hits_of(self._view, self._selection)
            values = rows_by_cell(self._view, self._selection, hits, name, ticks)
            return Hits.exactly(hits.cells, hits.cell, np.arange(len(hits.cell)), hits.lower), values
        return in_parts([self._at(name, ticks, chosen.sure, None), self._at(name, ticks, ~chosen.sure, chosen)])

    def _closed_values(self, name: str) -> tuple[Hits, Values]:
        """Values of a column that is published as ranges: conditions on it alone decide which values count."""
        parts = conjuncts(self._bound.known)
        own = tuple(part for part in parts if columns_of(part) == {name})
        others = tuple(part for part in parts if columns_of(part) != {name})
        rest = self._source.choose(And(others) if others else Truth(True))
        hits = hits_within(self._view, self._selection, rest) if own else self._hits
        return hits, self._source.values(name, name, And(own) if own else Truth(True), aggregated=True)

    def _at(self, name: str, ticks: Numbers, rows: NDArray[np.bool_], chosen: Chosen | None) -> tuple[Hits, Values]:
        """Evidence of some of the rows, each entry a group of its own; there are as many entries for all."""
        every = hits_of(self._view, self._selection)
        part = self._selection.among(rows)
        values = rows_by_cell(self._view, part, every, name, ticks)
        hits = hits_of(self._view, part) if chosen is None else hits_within(self._view, part, chosen)
        width = max(len(self._view.offsets) - 1, 1)
        entry = np.searchsorted(every.cell * width + every.group, hits.cell * width + hits.group)
        return Hits(hits.cells, hits.cell, entry, hits.lower, hits.upper, hits.expected, hits.variance), values

    def _match(self, name: str, ticks: Numbers) -> tuple[Hits, Values]:
        self._require_free(name, also=isinstance(self._bound.mixed, Truth) and self._chosen.sure is None)
        assert self._base is not None, "a hidden condition has a base"
        counted = self._source.values(self._base, self._base, self._bound.hidden, aggregated=False)
        return matched_rows(self._view, self._selection, self._hits, counted, name, ticks)

    def _require_free(self, name: str, *, also: bool = False) -> None:
        if not self._bound.is_free and not also:
            raise QueryError(
                f"under this condition on a sensitive column {wording_of(name)} has no bound; ask for COUNT(*), or for "
                "aggregates of the sensitive column, or leave the condition out"
            )


def _hidden_base(bound: Bound, paired: bool) -> str | None:
    """The sensitive column on which conditions and GROUP BY depend: one alone, unless they are published in pairs."""
    hidden = frozenset(bound.bases.values())
    names = (columns_of(bound.hidden) | columns_of(bound.mixed)) & hidden
    names |= {bound.bases[column.name] for column in bound.groups if column.name in bound.bases}
    if (len(names) > 1 and not paired) or sum(column.name in bound.bases for column in bound.groups) > 1:
        raise QueryError("conditions and GROUP BY may name one sensitive column; ask about each alone")
    for aggregate in bound.aggregates if names and not paired else ():
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


class RowSource(Source):
    """Rows whose open columns are published as they are, and whose hidden values are shuffled inside groups."""

    closed: frozenset[str] = frozenset()
    """Columns that rows do not have a value of."""

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""
        return RowPlan(self, bound)

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which a condition on open columns is true, or false, or unknown."""
        return Chosen(self.view.rows_that_are(wanted, condition))

    def is_open(self, name: str) -> bool:
        """Tell whether a column, or all that it is computed from, can be read row by row."""
        expression = self.view.derived.get(name)
        return not ({name} if expression is None else columns_of(expression)) & self.closed

    def is_ranged(self, aggregate: Aggregate, *, is_free: bool) -> bool:
        """Tell whether what is aggregated is known as a range in each row."""
        return False

    def hidden_view(self, name: str) -> View:
        """Where the values of a hidden column are: beside the rows."""
        return self.view

    def may_miss(self, name: str) -> bool:
        """Tell whether some value of a column may be missing: it may where rows cannot be looked at."""
        return not self.is_open(name) or self.view.has_missing(name)

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column."""
        return numbers_of(self.view, name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values of a hidden column that satisfy a condition; inside an aggregate only present ones."""
        if not columns_of(condition) <= {base} or not self._comes_from(name, base):
            rows = self.view.rows_where(condition)  # columns in pairs: a row of values is decided as a whole
            return values_at(self.view, name, rows & ~missing_rows(self.view, name) if aggregated else rows)
        keep = _keep(self.view, base, condition)
        if name == base:
            if aggregated:
                keep = np.append(keep[:-1], keep[-1] and not self.view.has_missing(name))
            return values_of(self.view, name, keep)
        rows = keep[self.view.codes(base).codes]
        return values_at(self.view, name, rows & ~missing_rows(self.view, name) if aggregated else rows)

    def _comes_from(self, name: str, base: str) -> bool:
        return name == base or (name in self.view.derived and columns_of(self.view.derived[name]) == {base})

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and hidden values in pairs; several hidden columns only where they are shuffled as one."""
        asked = [item.column for item in bound.aggregates if item.column is not None]
        nodes = [bound.hidden, bound.mixed, *bound.derived.values(), *asked]
        names = sorted(frozenset().union(*map(columns_of, nodes)) & frozenset(self.view.sensitive))
        if len(names) > 1 and not self.view.paired:
            listed = " and ".join(f"'{name}'" for name in names)
            raise QueryError(f"{listed} are shuffled apart, so that no expression of both has a bound; ask about each")
        return Crossing(bound, self.view, self.hidden_view(names[0]) if names else self.view, selection)

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Published values of a hidden column that satisfy a condition."""
        if not columns_of(condition) <= {base}:
            return self.view.rows_where(condition)
        marked: NDArray[np.bool_] = _keep(self.view, base, condition)[self.view.codes(base).codes]
        return marked


def _keep(view: View, base: str, condition: Predicate) -> NDArray[np.bool_]:
    if condition == Truth(True):
        return np.ones(len(view.codes(base).domain) + 1, dtype=np.bool_)
    kept: NDArray[np.bool_] = view.truth(base, condition)
    return kept


def source(release: Release) -> RowSource:
    """What the form tells about questions."""
    return RowSource(view_of(release))
