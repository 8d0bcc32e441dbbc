"""A question said otherwise: with another range, or per group of the release.

Text goes in and text comes out; the result is read by the same parser as any question, with the same refusals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.shorthand import written_out

__all__ = ["WrittenRange", "by_group", "ranges_of"]

Number = int | float | Decimal

_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_AFTERWARDS = ("having", "order", "limit", "offset", "distinct", "qualify")
"""Clauses that arrange or cut a result, and say nothing about which rows it is made of."""


@dataclass(frozen=True, eq=False)
class WrittenRange:
    """The conditions of a question that bound one column by numbers; the others stay as they are."""

    column: str
    tree: exp.Select
    ends: tuple[exp.Expression, ...]
    others: tuple[exp.Expression, ...]

    def values_sql(self, *, inside: bool) -> str:
        """Ask for the values of the column: those in the range, or all."""
        column = self._operand
        asked = _bare(self.tree).select(column.copy().as_("value"), "count(*) AS hits", append=False)
        asked.set("group", exp.Group(expressions=[column.copy()]))
        asked.set("where", _where(self.ends if inside else ()))
        return asked.sql(dialect=QuestionSQL)

    def moved_sql(self, low: Number, high: Number) -> str:
        """Ask the question with the range low..high instead."""
        moved = self.tree.copy()
        between = exp.Between(this=self._operand.copy(), low=_literal(low), high=_literal(high))
        moved.set("where", _where((*self.others, between)))
        return moved.sql(dialect=QuestionSQL)

    @property
    def _operand(self) -> exp.Expression:
        return next(node for node in self.ends[0].find_all(exp.Column))


def ranges_of(sql: str) -> list[WrittenRange]:
    """List the columns that a question bounds by numbers in conditions joined by AND."""
    tree = _tree(sql)
    parts = _conjuncts(tree)
    named = [(_bounded_column(part), part) for part in parts]
    columns = dict.fromkeys(column for column, _ in named if column is not None)
    return [
        WrittenRange(
            column,
            tree,
            tuple(part for name, part in named if name == column),
            tuple(part for name, part in named if name != column),
        )
        for column in columns
    ]


def by_group(sql: str, group_column: str, columns: Collection[str] = ()) -> str:
    """Ask a question per group: `group`, `hits`, then its aggregates as answer_1, ...; AVG becomes the sum it divides.

    Names in GROUP BY that are none of the `columns` are those of results.

    A sum's bounds are the sums of those of the groups, which an average's are not.
    """
    tree = written_out(_tree(sql))
    if tree.find(exp.Filter, exp.CountIf) is not None:
        raise QueryError("FILTER and COUNT_IF cannot be explained; write the condition after WHERE")
    if tree.find(exp.Subquery) is not None:
        raise QueryError("a question with another one inside cannot be explained; ask for each")
    aggregates = list(dict.fromkeys(_sum(node) for item in tree.expressions for node in item.find_all(exp.AggFunc)))
    group = exp.column(group_column, quoted=True)
    known = {name.lower() for name in columns}
    results = {item.alias.lower(): item.this for item in tree.expressions if isinstance(item, exp.Alias)}
    results = {name: item for name, item in results.items() if name not in known}
    keys = tree.args["group"].expressions if tree.args.get("group") else []
    keys = [results.get(key.name.lower(), key) if isinstance(key, exp.Column) else key for key in keys]
    answers = [node.copy().as_(f"answer_{place}") for place, node in enumerate(aggregates, 1)]
    asked = _bare(tree).select(group.copy().as_("number"), "count(*) AS hits", *answers, append=False)
    asked.set("group", exp.Group(expressions=[*(key.copy() for key in keys), group]))
    return asked.sql(dialect=QuestionSQL)


def _tree(sql: str) -> exp.Select:
    try:
        tree = sqlglot.parse_one(sql, read=QuestionSQL)
    except SqlglotError:
        raise QueryError("this is not SQL that can be read") from None
    if not isinstance(tree, exp.Select):
        raise QueryError("only a single SELECT can be explained")
    return tree


def _bare(tree: exp.Select) -> exp.Select:
    copy = tree.copy()
    for clause in _AFTERWARDS:
        copy.set(clause, None)
    return copy


def _conjuncts(tree: exp.Select) -> list[exp.Expression]:
    where: Any = tree.args.get("where")
    if where is None:
        return []
    condition = where.this.unnest()
    parts: Iterable[Any] = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return list(parts)


def _where(parts: Sequence[exp.Expression]) -> exp.Where | None:
    return exp.Where(this=exp.and_(*(part.copy() for part in parts), dialect=QuestionSQL)) if parts else None


def _bounded_column(part: exp.Expression) -> str | None:
    """Name the column that a condition bounds by numbers, if it does."""
    if isinstance(part, exp.Between):
        operand, ends = part.this, [part.args["low"], part.args["high"]]
    elif isinstance(part, _COMPARISONS):
        sides = [part.this, part.expression]
        operand, *ends = sides if isinstance(part.this, exp.Column) else sides[::-1]
    else:
        return None
    return operand.name if isinstance(operand, exp.Column) and all(_is_number(end) for end in ends) else None


def _is_number(node: exp.Expression) -> bool:
    inner = node.this if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal) and not inner.is_string


def _literal(number: Number) -> exp.Expression:
    digits = exp.Literal(this=str(abs(number)), is_string=False)
    return exp.Neg(this=digits) if number < 0 else digits


def _sum(node: exp.Expression) -> exp.Expression:
    return exp.Sum(this=node.this.copy()) if isinstance(node, exp.Avg) else node
