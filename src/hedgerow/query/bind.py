"""Fit a question to a release: names to columns, constants to kinds, the condition to what is known and what is hidden.

After binding both sides of a comparison are of one kind, and constants are of the column's own grid (`x < 2.5` on whole
numbers is `x <= 2`), so that engines with different rules for mixed types cannot disagree.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hedgerow.errors import QueryError
from hedgerow.query.constants import compare_constant, fold, natural, on_column
from hedgerow.query.question import (
    Aggregate,
    And,
    Arithmetic,
    Bound,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Key,
    Kind,
    Like,
    Name,
    Not,
    Or,
    Part,
    Predicate,
    Question,
    Truth,
    columns_of,
    kind_of,
)

__all__ = ["bind"]

_NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.FLOAT)
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MOST_DIGITS = 15


def bind(question: Question, columns: Mapping[str, Column], sensitive: Sequence[str]) -> Bound:
    """Resolve every name, give every constant its kind, and split the condition."""
    binder = _Binder(columns)
    groups = tuple(binder.column(name) for name in question.groups)
    keys = tuple(_key(item, binder) for item in question.select if isinstance(item, Key))
    aggregates = tuple(_aggregate(item, binder) for item in question.select if isinstance(item, Aggregate))
    known, hidden = _split(binder.predicate(question.where), frozenset(sensitive))
    bound = Bound(keys, aggregates, groups, known, hidden, tuple(sensitive))
    _check_groups(bound)
    _check_hidden(bound)
    _check_names(bound)
    return bound


def _key(item: Key, binder: _Binder) -> Key:
    assert isinstance(item.column, Name)
    column = binder.column(item.column)
    return Key(column, item.alias or column.name)


def _aggregate(item: Aggregate, binder: _Binder) -> Aggregate:
    if not isinstance(item.column, Name):
        return replace(item, alias=item.alias or item.function)
    column = binder.column(item.column)
    if item.function != "count" and column.kind not in _NUMBERS:
        raise QueryError(
            f"{item.function.upper()} needs a column of numbers; '{column.name}' is a {column.kind} column. "
            "COUNT works."
        )
    return Aggregate(item.function, column, item.alias or f"{item.function}_{column.name}")


def _split(condition: Predicate, sensitive: frozenset[str]) -> tuple[Predicate, Predicate]:
    """Part a conjunction into what is known of a row and what is hidden."""
    known: list[Predicate] = []
    hidden: list[Predicate] = []
    for part in _conjuncts(condition):
        names = columns_of(part)
        if names & sensitive and len(names) > 1:
            raise QueryError(
                "a condition that mixes a sensitive column with another one in OR or in one comparison has no bound "
                "here; join conditions on them by AND, or ask about each and combine the answers"
            )
        (hidden if names & sensitive else known).append(part)
    return _all(known), _all(hidden)


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
    hidden = next((column.name for column in bound.groups if column.name in bound.sensitive), None)
    if hidden is not None:
        raise QueryError(f"GROUP BY takes no sensitive column; ask COUNT with a condition on '{hidden}' for each value")
    loose = next((key.column for key in bound.keys if key.column not in bound.groups), None)
    if isinstance(loose, Column):
        raise QueryError(f"'{loose.name}' is selected but not grouped; add it to GROUP BY or put it in an aggregate")


def _check_hidden(bound: Bound) -> None:
    names = columns_of(bound.hidden)
    if len(names) > 1:
        raise QueryError("a condition may name one sensitive column; ask about each alone")
    for aggregate in bound.aggregates if names else ():
        if isinstance(aggregate.column, Column) and aggregate.column.name not in names:
            raise QueryError(
                f"under a condition on the sensitive column '{min(names)}' only COUNT(*) and aggregates of that column "
                f"have a bound; leave out '{aggregate.column.name}' or the condition"
            )


def _check_names(bound: Bound) -> None:
    taken: set[str] = set()
    names = [key.alias for key in bound.keys]
    names += [f"{item.alias}{end}" for item in bound.aggregates for end in ("", "_lower", "_upper", "_std")]
    for name in names:
        if name.lower() in taken:
            raise QueryError(f"two results would be called '{name}'; name them with AS")
        taken.add(name.lower())


@dataclass(frozen=True)
class _Binder:
    columns: Mapping[str, Column]

    def column(self, name: Name) -> Column:
        """Find a column: exactly as written, or in any case where that is unambiguous and the name is not quoted."""
        if name.text in self.columns:
            return self.columns[name.text]
        loose = [column for text, column in self.columns.items() if text.lower() == name.text.lower()]
        if len(loose) == 1 and not name.quoted:
            return loose[0]
        raise QueryError(f"there is no column '{name.text}'; {self._suggestion(name.text)}")

    def _suggestion(self, text: str) -> str:
        lowered = {name.lower(): name for name in self.columns}
        close = [lowered[match] for match in difflib.get_close_matches(text.lower(), lowered, n=3)]
        close += [name for name in self.columns if len(text) > 1 and text.lower() in name.lower() and name not in close]
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in close[:3] or list(self.columns)[:20])
        return f"did you mean {names}?" if close else f"the columns are {names}"

    def predicate(self, node: Predicate) -> Predicate:
        """Bind a predicate and all below it."""
        if isinstance(node, And | Or):
            return type(node)(tuple(self.predicate(operand) for operand in node.operands))
        if isinstance(node, Not):
            return Not(self.predicate(node.operand))
        binders: dict[type, Callable[..., Predicate]] = {
            Compare: self._compare,
            In: self._in,
            Like: self._like,
            IsNull: self._is_null,
        }
        return binders[type(node)](node) if type(node) in binders else node

    def _compare(self, node: Compare) -> Predicate:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(left, Constant):
            return compare_constant(_FLIPPED[node.operator], right, left)
        if isinstance(right, Constant):
            return compare_constant(node.operator, left, right)
        return Compare(node.operator, *_alike(left, right))

    def _in(self, node: In) -> Predicate:
        operand = self.expression(node.operand)
        if isinstance(operand, Constant):
            return Or((Truth(False), *(compare_constant("=", operand, value) for value in node.values)))
        values = tuple(fitted for value in node.values if (fitted := on_column(operand, value)) is not None)
        # A list of which nothing fits the column is false where the column is known and unknown where it is missing.
        return In(operand, values) if values else Compare("<>", operand, operand)

    def _like(self, node: Like) -> Predicate:
        operand = self.expression(node.operand)
        if kind_of(operand) is not Kind.TEXT:
            raise QueryError("LIKE needs a column of text; compare numbers and dates with <, = and BETWEEN")
        if len(node.escape) > 1:
            raise QueryError("ESCAPE takes a single character")
        if node.escape and node.pattern.replace(2 * node.escape, "").endswith(node.escape):
            raise QueryError("a LIKE pattern cannot end in its escape character")
        return replace(node, operand=operand)

    def _is_null(self, node: IsNull) -> Predicate:
        operand = self.expression(node.operand)
        return Truth(operand.value is None) if isinstance(operand, Constant) else IsNull(operand)

    def expression(self, node: Expression) -> Expression:
        """Bind an expression; constants keep no kind until they meet a column."""
        if isinstance(node, Name):
            return self.column(node)
        if isinstance(node, Arithmetic):
            return _arithmetic(node.operator, self.expression(node.left), self.expression(node.right))
        if isinstance(node, Part):
            operand = self.expression(node.operand)
            if kind_of(operand) not in (Kind.DATE, Kind.TIME):
                raise QueryError(f"{node.unit.upper()} needs a column of dates or timestamps")
            return Part(node.unit, operand)
        return node


def _arithmetic(operator: str, left: Expression, right: Expression) -> Expression:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return fold(operator, left, right)
    if Constant(None) in (left, right):
        return Constant(None)
    left, right = natural(left), natural(right)
    kinds = (kind_of(left), kind_of(right))
    if Kind.DATE in kinds:
        return _days(operator, left, right)
    if any(kind not in _NUMBERS for kind in kinds):
        raise QueryError("arithmetic needs numbers, or dates and whole numbers of days")
    if kinds == (Kind.INT, Kind.INT) and operator != "/":
        return Arithmetic(operator, left, right, Kind.INT)
    return Arithmetic(operator, _as_float(left), _as_float(right), Kind.FLOAT)


def _days(operator: str, left: Expression, right: Expression) -> Expression:
    kinds = (kind_of(left), kind_of(right))
    if kinds == (Kind.DATE, Kind.DATE) and operator == "-":
        return Arithmetic(operator, left, right, Kind.INT)
    if kinds == (Kind.DATE, Kind.INT) and operator in "+-":
        return Arithmetic(operator, left, right, Kind.DATE)
    raise QueryError("dates go with + and - and whole numbers of days, or with another date and -")


def _as_float(node: Expression) -> Expression:
    if isinstance(node, Constant) and isinstance(node.value, int):
        return Constant(float(node.value), Kind.FLOAT)
    if isinstance(node, Column) and node.kind is Kind.DECIMAL and node.digits > _MOST_DIGITS:
        raise QueryError(f"'{node.name}' has more digits than arithmetic here can hold; compare it with constants")
    return node if kind_of(node) is Kind.FLOAT else Cast(node, Kind.FLOAT)


def _alike(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Bring two sides to one kind."""
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) == 1 or kinds == {Kind.INT, Kind.DECIMAL}:
        return left, right
    if kinds <= set(_NUMBERS):
        return _as_float(left), _as_float(right)
    if kinds == {Kind.DATE, Kind.TIME}:
        sides = [side if kind_of(side) is Kind.TIME else Cast(side, Kind.TIME) for side in (left, right)]
        return sides[0], sides[1]
    raise QueryError("a comparison needs two sides of one kind; numbers do not compare with text or dates")
