"""Fit a question to a release: names to columns, the condition to what is known and what is hidden, results to names.

An expression in GROUP BY or inside an aggregate becomes a derived column: the engines compute it once and treat it like
a published one. It is hidden if it reads a sensitive column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.outcome import bind_outcome
from hedgerow.query.sql.binder import Binder
from hedgerow.query.sql.kinds import NUMBERS
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Arithmetic,
    Bound,
    Column,
    Computed,
    Expression,
    Key,
    Name,
    Not,
    Or,
    Predicate,
    Question,
    Truth,
    columns_of,
    kind_of,
)

__all__ = ["bind"]

_MIXING = ("count", "sum", "avg")
_MIXED = "{} an expression that mixes a sensitive column with another one has no bound; COUNT, SUM and AVG of it have"


def bind(question: Question, columns: Mapping[str, Any], sensitive: Sequence[str]) -> Bound:
    """Resolve every name, give every constant its kind, and split the condition."""
    fitter = _Fitter(Binder(columns), frozenset(sensitive))
    aliases = {item.alias.lower(): item.column for item in question.select if isinstance(item, Key) and item.alias}
    groups = tuple(fitter.column(_unaliased(item, aliases, columns)) for item in question.groups)
    select = [fitter.item(item, {slot.alias: slot for slot in question.slots}) for item in question.select]
    slots = tuple(fitter.aggregate(slot) for slot in question.slots)
    keys = tuple(item for item in select if isinstance(item, Key))
    aggregates = tuple(item for item in select if isinstance(item, Aggregate))
    known, hidden, mixed = _split(fitter.binder.predicate(question.where), frozenset(sensitive))
    bound = Bound(keys, (*aggregates, *slots), groups, known, hidden, fitter.bases, mixed, fitter.derived)
    _check_groups(bound)
    bound = bind_outcome(bound, question.outcome, [item for item in select if isinstance(item, Computed)])
    _check_names(bound)
    return bound


def _unaliased(item: Expression, aliases: Mapping[str, Expression], columns: Mapping[str, Column]) -> Expression:
    """GROUP BY may name an expression of the select list, unless a column has that name."""
    if not isinstance(item, Name) or any(name.lower() == item.text.lower() for name in columns):
        return item
    return aliases.get(item.text.lower(), item)


@dataclass
class _Fitter:
    """Binds the parts of a select list, and keeps the derived columns that they need."""

    binder: Binder
    sensitive: frozenset[str]
    derived: dict[str, Expression] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bases |= {name: name for name in self.sensitive}

    def item(self, item: Key | Aggregate | Computed, slots: Mapping[str, Aggregate]) -> Key | Aggregate | Computed:
        """Bind an entry of the select list."""
        if isinstance(item, Aggregate):
            return self.aggregate(item)
        if isinstance(item, Computed):
            return self._as_average(item, slots) or item
        column = self.column(item.column)
        return Key(column, item.alias or _readable(item.column, column))

    def _as_average(self, item: Computed, slots: Mapping[str, Aggregate]) -> Aggregate | None:
        """Read sum(x) / count(x) as avg(x), whose bounds are the best ratios and not ratios of bounds."""
        node = item.expression
        if not isinstance(node, Arithmetic) or node.operator != "/":
            return None
        sides = [slots.get(side.text) if isinstance(side, Name) else None for side in (node.left, node.right)]
        top, bottom = sides
        if top is None or bottom is None or (top.function, bottom.function) != ("sum", "count"):
            return None
        return self.aggregate(Aggregate("avg", top.column, item.alias)) if top.column == bottom.column else None

    def aggregate(self, item: Aggregate) -> Aggregate:
        """Bind an aggregate; its argument becomes a column."""
        if item.column is None:
            return replace(item, alias=item.alias or item.function)
        if item.function == "regr_count" and item.other is not None:
            # The number of rows that have both.
            both = Arithmetic("*", item.column, item.other)
            return self.aggregate(
                replace(item, function="count", column=both, other=None, alias=item.alias or "regr_count")
            )
        column = self.column(item.column, function=item.function)
        takes_any = item.function in AGGREGATES and AGGREGATES[item.function].takes_any
        if not takes_any and column.kind not in NUMBERS:
            raise QueryError(
                f"{item.function.upper()} needs numbers; '{_readable(item.column, column)}' is a {column.kind} column. "
                "COUNT, MIN and MAX work."
            )
        item = replace(item, column=column, alias=item.alias or f"{item.function}_{_readable(item.column, column)}")
        return item if item.other is None else self._paired(item, item.other)

    def _paired(self, item: Aggregate, other: Expression) -> Aggregate:
        """Bind the second argument of an aggregate of two columns."""
        second = self.column(other, function=item.function)
        if second.kind not in NUMBERS:
            raise QueryError(
                f"{item.function.upper()} needs numbers; '{_readable(other, second)}' is a {second.kind} column"
            )
        return replace(item, other=second)

    def column(self, expression: Expression, function: str = "") -> Column:
        """Bind an expression: a published column, or a derived one. Few aggregates may mix a sensitive column in."""
        bound = self.binder.expression(expression)
        if isinstance(bound, Column):
            return bound
        names = columns_of(bound)
        if not names:
            raise QueryError("an expression in GROUP BY or inside an aggregate must name a column")
        if names & self.sensitive and len(names) > 1 and function not in _MIXING:
            raise QueryError(_MIXED.format(f"{function.upper()} of" if function else "GROUP BY with"))
        kind = kind_of(bound)
        assert kind is not None, "an expression that names columns has a kind"
        name = f"= {value_sql(bound)}"
        while name in self.binder.columns:
            name = f"={name}"
        self.derived[name] = bound
        if names & self.sensitive:
            self.bases[name] = min(names & self.sensitive)
        return Column(name, kind)


def _readable(written: Expression, column: Column) -> str:
    """Name a result after its column, or shortly after its expression."""
    return column.name if isinstance(written, Name) else "expression"


def _split(condition: Predicate, sensitive: frozenset[str]) -> tuple[Predicate, Predicate, Predicate]:
    """Part a conjunction into what is known of a row, what is hidden, and what needs both."""
    known: list[Predicate] = []
    hidden: list[Predicate] = []
    mixed: list[Predicate] = []
    for part in _conjuncts(condition):
        names = columns_of(part)
        (known if not names & sensitive else hidden if names <= sensitive else mixed).append(part)
    return _all(known), _all(hidden), _all(mixed)


def _conjuncts(condition: Predicate) -> list[Predicate]:
    if len(columns_of(condition)) <= 1:
        # Kept whole: an engine decides it once per distinct value.
        return [condition]
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in _conjuncts(operand)]
    if isinstance(condition, Not) and isinstance(condition.operand, Or):
        return [part for operand in condition.operand.operands for part in _conjuncts(Not(operand))]
    if isinstance(condition, Not) and isinstance(condition.operand, Not):
        return _conjuncts(condition.operand.operand)
    return [condition]


def _all(parts: list[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else Truth(True)


def _check_groups(bound: Bound) -> None:
    loose = next((key for key in bound.keys if key.column not in bound.groups), None)
    if loose is not None:
        raise QueryError(f"'{loose.alias}' is selected but not grouped; add it to GROUP BY or put it in an aggregate")


def _check_names(bound: Bound) -> None:
    taken: set[str] = set()
    keys = {key.alias for key in bound.keys}
    names = [key.alias for key in bound.keys]
    results = [name for name in bound.outcome.shown if name not in keys]
    every = [item.alias for item in bound.aggregates] + [item.alias for item in bound.outcome.computed]
    results = [alias for alias in every if alias in results]
    names += [f"{alias}{end}" for alias in results for end in ("", "_lower", "_upper", "_std")]
    for name in names:
        if name.lower() in taken:
            raise QueryError(f"two results would be called '{name}'; name them with AS")
        taken.add(name.lower())
