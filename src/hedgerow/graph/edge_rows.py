"""The edges of a release one by one: which satisfy a condition certainly and which may, and the numbers they carry.

A column that was disguised is published as an interval. A comparison of it with a constant is certainly true where it
is so for all of the interval, and may be true where it is so for a part; AND, OR and NOT follow from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Bools, Ints
from hedgerow.errors import QueryError
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.graph.question import interval_columns
from hedgerow.graph.weighted import EdgeNumbers
from hedgerow.query.evidence.rows import ticks_of
from hedgerow.query.evidence.view import evaluate, values
from hedgerow.query.sql.question import (
    NUMBERS,
    And,
    Column,
    Compare,
    Expression,
    In,
    Kind,
    Not,
    Or,
    Predicate,
    Truth,
    columns_of,
    kind_of,
)

_GAPS = "values of '{}' of the edges that too few nodes share were left out: compare it with constants"
_INTERVAL = "'{}' of the edges is published as intervals: compare it with constants, or aggregate it by itself"


@dataclass(frozen=True, eq=False)
class EdgeMarks:
    """Edges that satisfy a condition certainly, and those that may."""

    must: Bools
    may: Bools

    @property
    def is_all(self) -> bool:
        """Whether every edge counts."""
        return bool(self.must.all())

    @property
    def is_sure(self) -> bool:
        """Whether it is known of each edge if it counts."""
        return np.array_equal(self.must, self.may)

    def both(self, other: Bools | None) -> EdgeMarks:
        """Edges that satisfy something else too."""
        return self if other is None else EdgeMarks(self.must & other, self.may & other)


@dataclass(frozen=True, eq=False)
class EdgeTicks:
    """Values as whole numbers of a unit; texts, dates and truth values come with the list, or the type, of values."""

    lows: Ints
    highs: Ints
    unit: Fraction
    kind: Kind
    domain: pa.Array | None = None


def ticks_of_column(array: pa.Array, expression: Expression) -> EdgeTicks:
    """The values of an array without missing values as whole numbers of a unit; texts by their alphabetical place."""
    kind = kind_of(expression)
    assert kind is not None
    if kind in NUMBERS:
        found = ticks_of(array, kind)
        return EdgeTicks(found.lows, found.lows if found.lows is found.highs else found.highs, found.unit, kind)
    if kind in (Kind.DATE, Kind.TIME):
        found = ticks_of(array, kind)
        return EdgeTicks(found.lows, found.lows, Fraction(1), kind, array)
    domain = array.unique()
    domain = domain.take(pc.sort_indices(domain))
    places = np.asarray(pc.index_in(array, value_set=domain).to_numpy(zero_copy_only=False), np.int64)
    return EdgeTicks(places, places, Fraction(1), kind, domain)


class EdgeRows:
    """The edges of a release, in the order in which they are published."""

    def __init__(self, release: GroupedGraph) -> None:
        self.release = release
        self.table = release.tables["edges"]
        self.intervals = {f"edges.{name}" for name in interval_columns(release)}
        has_cap = int(release.guarantee.parameters.get("edge_k", 1)) > 1
        self.gapped = {f"edges.{name}" for name in release.edge_columns if has_cap and self.table[name].null_count}

    @property
    def has_repeats(self) -> bool:
        """Whether some pair has several edges."""
        return len(self.release.pairs[0]) < int(self.table.num_rows)

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        left, right = (ends.astype(np.int64) for ends in self.release.ends)
        return left, right

    def _array(self, name: str) -> pa.Array:
        return self.table.column(name.removeprefix("edges.")).combine_chunks()

    def values(self, expression: Expression) -> pa.Array:
        """The value of an expression of certain columns, edge by edge."""
        names = columns_of(expression)
        if unsure := names & self.intervals:
            raise QueryError(_INTERVAL.format(min(unsure).removeprefix("edges.")))
        if left_out := names & self.gapped:
            raise QueryError(_GAPS.format(min(left_out).removeprefix("edges.")))
        return values(expression, {name: self._array(name) for name in names}, self.table.num_rows)

    def ticks(self, expression: Expression, kept: Bools) -> tuple[EdgeTicks, Bools]:
        """The values of the kept edges that have one as whole numbers of a unit, and which these are."""
        if isinstance(expression, Column) and expression.name in self.intervals:
            low, high = (self._array(f"{expression.name}_{end}").filter(pa.array(kept)) for end in ("from", "to"))
            both = ticks_of_column(pa.concat_arrays([low, high]), expression)
            half = len(low)
            domain = low if expression.kind in (Kind.DATE, Kind.TIME) else both.domain
            return EdgeTicks(both.lows[:half], both.highs[half:], both.unit, both.kind, domain), kept
        array = self.values(expression)
        has_value = kept & np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return ticks_of_column(array.filter(pa.array(has_value)), expression), has_value

    def numbers(self, marks: EdgeMarks, ticks: EdgeTicks | None = None, kept: Bools | None = None) -> EdgeNumbers:
        """The edges that may count, with their numbers; ones where nothing is asked of values."""
        kept = marks.may if kept is None else kept
        left, right = (ends[kept] for ends in self._ends)
        ones = np.ones(len(left), np.int64)
        low, high = (ones, ones) if ticks is None else (ticks.lows, ticks.highs)
        return EdgeNumbers(left, right, low, high, marks.must[kept])

    def marks(self, condition: Predicate) -> EdgeMarks:
        """The edges that satisfy a condition certainly, and those that may; unknown is not true."""
        if not columns_of(condition) & (self.intervals | self.gapped):
            sure = self._evaluate(condition)
            return EdgeMarks(sure, sure)
        if isinstance(condition, And | Or):
            parts = [self.marks(operand) for operand in condition.operands]
            join = np.logical_and if isinstance(condition, And) else np.logical_or
            return EdgeMarks(join.reduce([part.must for part in parts]), join.reduce([part.may for part in parts]))
        if isinstance(condition, Not):
            inner = self.marks(condition.operand)
            # Where a value is missing the condition may be unknown, and so is its negation.
            return EdgeMarks(~inner.may & self._has_all(columns_of(condition) - self.intervals), ~inner.must)
        if not columns_of(condition) & self.intervals:
            # A value that was left out may be any, and so may one that was missing before: nobody sees which it was.
            known, there = self._evaluate(condition), self._has_all(columns_of(condition) & self.gapped)
            return EdgeMarks(known & there, known | ~there)
        if isinstance(condition, In):
            return self.marks(Or(tuple(Compare("=", condition.operand, value) for value in condition.values)))
        return self._compare_interval(condition)

    def _has_all(self, names: frozenset[str]) -> Bools:
        found = np.ones(self.table.num_rows, np.bool_)
        for name in names:
            found &= np.asarray(self._array(name).is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return found

    def _compare_interval(self, condition: Predicate) -> EdgeMarks:
        """A comparison of an interval with a constant: at both ends of it."""
        names = columns_of(condition)
        name = min(names & self.intervals)
        if not isinstance(condition, Compare) or len(names) > 1 or not isinstance(condition.left, Column):
            raise QueryError(_INTERVAL.format(name.removeprefix("edges.")))
        if condition.operator == "<>":
            inner = self._compare_interval(Compare("=", condition.left, condition.right))
            return EdgeMarks(~inner.may, ~inner.must)
        if condition.operator == "=":
            return self.marks(And(tuple(Compare(op, condition.left, condition.right) for op in ("<=", ">="))))
        low, high = (self._evaluate(condition, {name: f"{name}_{end}"}) for end in ("from", "to"))
        return EdgeMarks(low & high, low | high)

    def _evaluate(self, condition: Predicate, renamed: dict[str, str] | None = None) -> Bools:
        if condition == Truth(True):
            return np.ones(self.table.num_rows, np.bool_)
        names = columns_of(condition)
        arrays = {name: self._array((renamed or {}).get(name, name)) for name in names}
        truth = evaluate(condition, arrays, self.table.num_rows).fill_null(False)
        return np.asarray(truth.to_numpy(zero_copy_only=False), np.bool_)
