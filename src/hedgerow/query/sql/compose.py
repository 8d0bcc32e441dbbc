"""Questions that are composed of others: WITH, sub-queries, UNION ALL, and tables that an analyst brings along.

A sub-query that only selects or filters rows is merged into the question around it. One that aggregates is answered
first, and the question around it is answered over its bounds (`answered`). A sub-query in a condition must have an
exact answer, and becomes a constant. As in `strict`, what is not listed here is refused; what is left of a
question when all sub-queries are gone is read by `parse`, as any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from hedgerow.errors import QueryError, counted
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.answered import Answered
from hedgerow.query.nested import check_names, finish, over
from hedgerow.query.sql.computing import run_over, type_over
from hedgerow.query.sql.groupings import groupings_of, plain_names
from hedgerow.query.sql.groupings import one_grouping as _one_grouping
from hedgerow.query.sql.joining import Joins
from hedgerow.query.sql.joining import own_nodes as _own
from hedgerow.query.sql.parse import DEEPEST, question_of, read_rows, statement_of
from hedgerow.query.sql.question import SLOT, WIDE, Question
from hedgerow.query.sql.strict import check_nodes, is_set, refusal
from hedgerow.query.sql.subqueries import (
    check_arguments,
    distinct_rows,
    group_distinct,
    has_aggregates,
    set_source,
    source_of,
    spell_names,
    substitute,
    take_labels,
    take_names_off,
    unwrap,
    with_scope,
    without_names,
    write_out_star,
)
from hedgerow.query.union import stack, stack_results

__all__ = ["Composer"]

_ARRANGING = ("order", "limit", "offset")
_ROWS = ("expressions", "from_", "where", "with_")
_MOST = 100
"""Questions that one may be composed of."""
_PLAIN = "a sub-query that selects rows has SELECT, FROM and WHERE; {} does not go with it"


@dataclass
class Composer:
    """Answers a composed question; `answer` answers a plain one over the release, `inner` answers it as a sub-query."""

    joins: Joins
    answer: Callable[[Question, Mapping[str, Estimate]], Result]
    inner: Callable[[Question], Answered]
    asked: int = 0
    scalars: dict[str, Estimate] = field(default_factory=dict)

    def run(self, sql: str) -> Result:
        """Answer a statement."""
        try:
            return self._outermost(statement_of(sql, (exp.Select, exp.Union, exp.Subquery)), {})
        except RecursionError:
            raise QueryError(f"the question is nested deeper than {DEEPEST} levels; flatten it") from None

    def _outermost(self, tree: exp.Expression, scope: Mapping[str, exp.Expression]) -> Result:
        tree, scope = unwrap(tree, scope)
        if isinstance(tree, exp.Union):
            found = self._union(tree, scope)
            return _arrange(found.result(), tree, dict.fromkeys(found.names))
        select, source = self._flat(tree, scope)
        if source is None and (groupings := groupings_of(select, self.joins.columns)) is not None:
            return self._answer_groupings(select, groupings, scope)
        if source is None:
            question = self._question(select, scope, is_outermost=True)
            return self.answer(question, self.scalars)
        inner = self.relation(source, scope)
        question = self._question(write_out_star(select, inner.names), scope)
        found = over(inner, question, is_inner=False)
        return finish(found.result(), question, found.names)

    def _answer_groupings(
        self, select: exp.Select, groupings: Sequence[tuple[exp.Expression, ...]], scope: Mapping[str, exp.Expression]
    ) -> Result:
        """ROLLUP, CUBE and GROUPING SETS: an answer for each grouping, one below the other."""
        if len(groupings) > _MOST:
            raise QueryError(f"the question has more than {_MOST} groupings; ask for them in parts")
        items = zip(select.expressions, plain_names(select.expressions), strict=True)
        names = [item.alias or name or f"result_{place}" for place, (item, name) in enumerate(items, 1)]
        results = []
        for keys in groupings:
            part, marks = _one_grouping(select, names, keys, groupings)
            found = self.answer(self._question(part, scope, is_outermost=True), self.scalars)
            labels = {name: pa.array([mark] * found.cells, pa.int64()) for name, mark in marks.items()}
            results.append(replace(found, keys={**found.keys, **labels}))
        plain = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
        return _arrange(stack_results(results, names), select, dict(zip(names, plain, strict=True)))

    def relation(self, tree: exp.Expression, scope: Mapping[str, exp.Expression]) -> Answered:
        """Answer a sub-query."""
        self.asked += 1
        if self.asked > _MOST:
            raise QueryError(f"the question is composed of more than {_MOST} others; ask them in parts")
        tree, scope = unwrap(tree, scope)
        if isinstance(tree, exp.Union):
            if is_set(tree.args.get("limit")) or is_set(tree.args.get("offset")):
                raise QueryError("LIMIT inside a sub-query picks rows by answers that are not sure; put it outside")
            return self._union(tree, scope)
        select, source = self._flat(tree, scope)
        labels = take_labels(select)
        if source is None:
            found = self.inner(self._question(group_distinct(select), scope))
        else:
            inner = self.relation(source, scope)
            found = over(
                inner, self._question(group_distinct(write_out_star(select, inner.names)), scope), is_inner=True
            )
        return _label(found, labels)

    def _union(self, tree: exp.Union, scope: Mapping[str, exp.Expression]) -> Answered:
        parts: list[exp.Expression] = []
        node: exp.Expression = tree
        while isinstance(node, exp.Union):
            if node.args.get("distinct"):
                raise QueryError(
                    "UNION drops equal rows, and bounds do not tell which; ask a single SELECT, or write UNION ALL"
                )
            check_arguments(node, "UNION ALL takes SELECTs, ORDER BY, LIMIT and OFFSET")
            if node is not tree and any(is_set(node.args.get(clause)) for clause in _ARRANGING):
                raise QueryError("ORDER BY and LIMIT of a part of UNION ALL go into brackets")
            parts.append(node.expression)
            node = node.this
        return stack([self.relation(part, scope) for part in (node, *reversed(parts))])

    def _question(
        self, select: exp.Select, scope: Mapping[str, exp.Expression], *, is_outermost: bool = False
    ) -> Question:
        """Read a SELECT whose source is the release, or stands for one, when its sub-queries are constants."""
        self._fill_in(select, scope, is_outermost)
        select.set("with_", None)
        return question_of(select, has_rows=not is_outermost)

    def _flat(
        self, tree: exp.Expression, scope: Mapping[str, exp.Expression]
    ) -> tuple[exp.Select, exp.Expression | None]:
        """Merge sub-queries that only select rows; with it comes the sub-query that aggregates, if there is one."""
        if not isinstance(tree, exp.Select):
            raise refusal(tree, "a sub-query is a SELECT, or several with UNION ALL")
        select = tree.copy()
        source, alias = source_of(select, scope)
        if source is None:
            return self.joins.merge(spell_names(select, self.joins.columns), alias), None
        inner, inner_scope = unwrap(source, scope)
        if isinstance(inner, exp.Select) and not has_aggregates(inner):
            inner, below = self._flat(inner, inner_scope)
            if below is None:
                return self._merge(select, inner, alias), None
            source = set_source(inner, below)
        return take_names_off(select, alias), source

    def _merge(self, outer: exp.Select, inner: exp.Select, alias: str) -> exp.Select:
        """Say an outer question directly over the source of the rows that it asks about."""
        for clause, content in inner.args.items():
            if is_set(content) and clause not in _ROWS:
                raise QueryError(_PLAIN.format(clause.strip("_").upper().replace("ORDER", "ORDER BY")))
        reader = read_rows(inner)
        names: dict[str, exp.Expression] = {}
        inner = write_out_star(inner, list(self.joins.columns))
        for item in inner.expressions:
            plain = item.this if isinstance(item, exp.Alias) else item
            check_nodes(item)
            reader.expression(plain)
            name = item.alias_or_name.lower()
            if name in names:
                raise QueryError(f"the sub-query has two columns '{name}'; name them with AS")
            if name:
                names[name] = without_names(plain)
        outer = take_names_off(outer, alias)
        outer = write_out_star(outer, [item.alias_or_name for item in inner.expressions if item.alias_or_name])
        substitute(outer, names)
        condition = inner.args.get("where")
        if condition is not None:
            moved = without_names(condition.this)
            own = outer.args.get("where")
            both = moved if own is None else exp.And(this=exp.Paren(this=own.this), expression=exp.Paren(this=moved))
            outer.set("where", exp.Where(this=both))
        outer.set("from_", exp.From(this=exp.Table(this=exp.to_identifier("release"))))
        return outer

    def _fill_in(self, select: exp.Select, scope: Mapping[str, exp.Expression], is_outermost: bool) -> None:
        """Answer the sub-queries of conditions and of the select list."""
        for node in list(_own(select, exp.In)):
            query = node.args.get("query")
            if query is not None:
                constants = self._members(query, scope)
                node.set("query", None)
                node.set("expressions", constants)
                if not constants:
                    node.replace(exp.Boolean(this=False))
        for node in list(_own(select, exp.Exists)):
            node.replace(exp.Boolean(this=self._exists(node.this, scope)))
        for node in list(_own(select, exp.Subquery)):
            if node.find_ancestor(exp.From, exp.Join) is not None:
                continue
            if node.find_ancestor(exp.Order, exp.Group, exp.Limit, exp.Offset) is not None:
                # A constant would be read as a place in the select list.
                raise refusal(node, "GROUP BY and ORDER BY take columns and results; LIMIT takes a whole number")
            in_list = node.find_ancestor(exp.Where, exp.Having, exp.Order, exp.Group, exp.AggFunc) is None
            node.replace(self._scalar(node, scope, keeps_bounds=is_outermost and in_list))

    def _exists(self, query: exp.Expression, scope: Mapping[str, exp.Expression]) -> bool:
        if (own := self._own_rows(query, scope)) is not None:
            return bool(own.num_rows > 0)
        inner, _ = unwrap(query, scope)
        if isinstance(inner, exp.Select) and not has_aggregates(inner):
            # Whether there is a row is whether their number is above zero.
            count = inner.copy()
            count.set("expressions", [exp.Count(this=exp.Star(), big_int=True)])
            number = self.relation(count, scope)
            answer = number.numbers[number.names[0]].estimate.answers[0]
            fewest, most = int(answer.lower or 0), int(answer.upper or 0)
        else:
            found = self.relation(query, scope)
            fewest, most = sum(found.sure), len(found)
        if fewest == 0 < most:
            raise QueryError(
                f"whether EXISTS is true is not sure (there are from 0 to "
                f"{counted(most, 'row')}), so that the question around "
                "it has no bounds"
            )
        return most > 0

    def _own_rows(self, query: exp.Expression, scope: Mapping[str, exp.Expression]) -> pa.Table | None:
        """The rows of a sub-query over tables of one's own alone; None where it asks the release."""
        names = {table.name.lower() for table in query.find_all(exp.Table)}
        if not names or not names <= set(self.joins.tables) or names & set(scope):
            return None
        return run_over({name: self.joins.tables[name] for name in names}, query)

    def _members(self, query: exp.Expression, scope: Mapping[str, exp.Expression]) -> list[exp.Expression]:
        if (own := self._own_rows(query, scope)) is not None:
            return [_as_node(row) for row in _single_column(own, "a sub-query after IN has one column")]
        found = self.relation(distinct_rows(query, scope), scope)
        if len(found.names) != 1:
            raise QueryError("a sub-query after IN has one column")
        if not all(found.sure):
            many, few = len(found), sum(found.sure)
            raise QueryError(
                f"which rows the sub-query after IN has is not sure (from {few:,} to {many:,} of them), so that the "
                "question around it has no bounds; list the values instead"
            )
        kind = self._type_of(query, scope)
        return [_constant(found, row, kind, "after IN") for row in range(len(found))]

    def _scalar(
        self, node: exp.Expression, scope: Mapping[str, exp.Expression], *, keeps_bounds: bool
    ) -> exp.Expression:
        if (own := self._own_rows(node, scope)) is not None:
            values = _single_column(own, "a sub-query that stands for a number has one column")
            if len(values) > 1:
                raise QueryError("a sub-query that stands for a number has one row")
            return _as_node(values[0]) if values else exp.Null()
        found = self.relation(node, scope)
        if len(found.names) != 1:
            raise QueryError("a sub-query that stands for a number has one column")
        if len(found) > 1 or not all(found.sure):
            raise QueryError("a sub-query that stands for a number has one row; leave out GROUP BY, or take its max")
        if not len(found):
            return exp.Null()
        name = found.names[0]
        if keeps_bounds and name in found.numbers and not _is_certain(found, name, 0):
            slot = f"{SLOT}sub-query {len(self.scalars)}"
            self.scalars[slot] = found.numbers[name].estimate
            return exp.column(exp.to_identifier(slot, quoted=True))
        return _constant(found, 0, self._type_of(node, scope), "")

    def _type_of(self, query: exp.Expression, scope: Mapping[str, exp.Expression]) -> str:
        """The type that databases give the answer of a sub-query; '' where that is not known."""
        return type_over(self.joins.columns.values(), self.joins.tables, with_scope(query, scope))


def _single_column(table: pa.Table, advice: str) -> list[Any]:
    if table.num_columns != 1:
        raise QueryError(advice)
    found: list[Any] = table.column(0).to_pylist()
    return found


def _arrange(result: Result, tree: exp.Expression, items: Mapping[str, exp.Expression | None]) -> Result:
    """Sort and cut rows by ORDER BY, LIMIT and OFFSET, which name results, their places, or what was selected.

    `items` has what was selected by its name, in that order; None where parts selected different things.
    """
    if not any(is_set(tree.args.get(clause)) for clause in _ARRANGING):
        return result
    asked = exp.select(*(exp.column(exp.to_identifier(name, quoted=True)) for name in items)).from_("release")
    for clause in _ARRANGING:
        asked.set(clause, tree.args[clause].copy() if is_set(tree.args.get(clause)) else None)
    order, names = asked.args.get("order"), {name.lower() for name in items}
    for term in order.expressions if order is not None else []:
        if isinstance(term.this, exp.Literal) or (
            isinstance(term.this, exp.Column) and term.this.name.lower() in names
        ):
            continue  # a place, or the name of a result, which comes before a column of that name
        known = next((name for name, item in items.items() if item == term.this), None)
        if known is not None:
            term.set("this", exp.column(exp.to_identifier(known, quoted=True)))
        elif next(term.this.find_all(exp.AggFunc), None) is not None:
            raise QueryError("ORDER BY of several answers takes results by name or place; select what it sorts by")
    return finish(result, question_of(asked, has_rows=True), list(items))


def _label(found: Answered, labels: Mapping[int, tuple[str, str | int]]) -> Answered:
    if not labels:
        return found
    names, keys = list(found.names), dict(found.keys)
    for place, (name, _) in sorted(labels.items()):
        names.insert(place, name)
    check_names(names)
    for name, constant in labels.values():
        keys[name] = pa.array([constant] * len(found), pa.string() if isinstance(constant, str) else pa.int64())
    return replace(found, keys=keys, order=tuple(names))


def _is_certain(found: Answered, name: str, row: int) -> bool:
    if name in found.keys:
        return True
    column = found.numbers[name]
    estimate = column.estimate
    if estimate.lower[row] is None:
        return estimate.exact[row] or column.gaps[row] is False
    has_slack = any(room is not None and room[row] != 0 for room in (estimate.slack, estimate.shake))
    is_one = estimate.lower[row] == estimate.upper[row]
    return estimate.exact[row] and is_one and not has_slack and not column.gaps[row]


def _constant(found: Answered, row: int, kind: str, where: str) -> exp.Expression:
    """A value of an answer that is exact and of a type, as it would be written."""
    name = found.names[0]
    if name in found.keys:
        return _typed_node(found.keys[name][row].as_py(), kind)
    answer = found.numbers[name].estimate.answers[row]
    if not _is_certain(found, name, row):
        bounds = f"lies between {answer.lower} and {answer.upper}" if answer.lower is not None else "has no bounds"
        raise QueryError(
            f"the answer of the sub-query {where} {bounds}, so that the question around it has no bounds; "
            "write a number instead".replace("  ", " ")
        )
    estimate = found.numbers[name].estimate
    number = estimate.lower[row]
    if number is None:
        return exp.Null()
    if estimate.domain is not None and not isinstance(answer.expected, int | float):
        return _as_node(answer.expected)
    if estimate.rounding is not Rounding.WHOLE and abs(number) >= 2**53:
        raise QueryError("the answer of the sub-query has more digits than floats do; write a number instead")
    if not kind and not estimate.is_decimal and estimate.rounding is not Rounding.WHOLE:
        kind = "DOUBLE"
    return _typed_node(int(number) if number.denominator == 1 else number, kind)


def _typed_node(value: Any, kind: str) -> exp.Expression:
    """A value as it is written in its type: 2, 2.00 and 2e0 are computed with in three ways."""
    if not isinstance(value, int | float | Decimal | Fraction) or isinstance(value, bool):
        return _as_node(value)
    if kind == "DOUBLE":
        return _as_node(float(value))
    if (found := re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", kind)) is not None:
        scale = int(found[1])
        return _as_node(Decimal(round(Fraction(value) * 10**scale)).scaleb(-scale, WIDE))
    return _as_node(WIDE.divide(*value.as_integer_ratio()) if isinstance(value, Fraction) else value)


def _as_node(value: Any) -> exp.Expression:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(" ")), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    is_number = isinstance(value, int | float | Decimal)
    if not is_number or not math.isfinite(value):
        raise QueryError("a sub-query in a condition gives finite numbers, texts, dates or truth values")
    text = _double(value) if isinstance(value, float) else f"{value:f}" if isinstance(value, Decimal) else str(value)
    number = exp.Literal.number(text.lstrip("-"))
    return exp.Neg(this=number) if text.startswith("-") else number


def _double(value: float) -> str:
    """A floating-point number, which has an exponent."""
    return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
