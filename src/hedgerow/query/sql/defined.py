"""Rows in which an expression has no value: it divides by zero, takes ln(0), reads a text that is no number.

Databases differ there: DuckDB says infinity or stops, PostgreSQL stops. So a question that looks at such a row is
refused. What is derived here is the condition under which it looks at one; `Occurs` tells whether a row may satisfy
it, which for a release is a COUNT like any other, so that no form and no engine has a rule of its own. Rows that the
rest of a condition, CASE or COALESCE keeps away from the expression do not matter: FALSE AND x is FALSE, whatever x is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.bind import compare_constant
from hedgerow.query.sql.computing import DIVISOR, GROWING
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.question import (
    ALWAYS,
    SLOT,
    And,
    Arithmetic,
    Bound,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    IsNull,
    Kind,
    Not,
    Or,
    Predicate,
    Scalar,
    Truth,
    children_of,
    columns_of,
    kind_of,
)
from hedgerow.query.sql.strict import type_name

__all__ = ["Definedness", "Occurs", "check_question", "join_by_column"]

Occurs = Callable[[Sequence[Predicate], Predicate], bool]
"""Whether there may be a row that satisfies some conditions, and with them the one under which there is no value."""
Failure = tuple[tuple[Predicate, ...], Predicate]
"""Such conditions, and the one under which an expression has no value."""


@dataclass
class Definedness:
    """Refuses expressions and conditions that have no value in a row that is looked at."""

    occurs: Occurs
    _met: dict[Failure, bool] = field(default_factory=dict)

    def expression(self, node: Expression, given: tuple[Predicate, ...] = ()) -> None:
        """Check a value that is needed in the rows that satisfy what is given."""
        if not self._may_fail(node):
            return
        if isinstance(node, Case):
            for when, then in node.branches:
                self.predicate(when, given)
                self.expression(then, (*given, when))
                given = (*given, _misses(when, True))
            self.expression(node.otherwise, given)
            return
        for child in children_of(node):
            assert isinstance(child, Expression), "only CASE is made of conditions"
            self.expression(child, given)
            given = (*given, IsNull(child)) if isinstance(node, Call) and node.function in _CHOOSING else given
        found = _failure(node)
        if found is not None and self.occurs((*given, *found[0]), found[1]):
            raise _refusal(node)

    def predicate(self, node: Predicate, given: tuple[Predicate, ...] = (), *, wanted: bool = True) -> None:
        """Check a condition that is asked whether it is true (or, if not `wanted`, false)."""
        if not self._may_fail(node):
            return
        if isinstance(node, Not):
            self.predicate(node.operand, given, wanted=not wanted)
        elif isinstance(node, And | Or):
            # What cannot fail is a guard for the rest; so is what was found not to fail in rows that are looked at.
            for operand in sorted(_operands(node), key=self._may_fail):
                self.predicate(operand, given, wanted=wanted)
                if isinstance(node, And) == wanted:
                    given = (*given, operand if wanted else Not(operand))
                else:
                    given = (*given, _misses(operand, wanted))
        else:
            for child in children_of(node):
                assert isinstance(child, Expression), "comparisons and tests are made of values"
                self.expression(child, given)

    def _may_fail(self, node: Predicate | Expression) -> bool:
        """Tell whether something in it has no value in some row, looked at or not."""
        return any(self._is_met(found) for found in _failures(node))

    def _is_met(self, failure: Failure) -> bool:
        if failure not in self._met:
            self._met[failure] = self.occurs(*failure)
        return self._met[failure]


def check_question(bound: Bound, occurs: Occurs) -> None:
    """Refuse a question that looks at a row in which one of its expressions has no value."""
    check, where = Definedness(occurs), And((bound.known, bound.hidden, bound.mixed))
    check.predicate(where)
    for group in bound.groups:
        check.expression(_expression_of(bound, group), (where,))
    for item in bound.aggregates:
        check.predicate(item.where, (where,))
        for side in (item.column, item.other):
            if isinstance(side, Column):
                check.expression(_expression_of(bound, side), (where, item.where))


def _expression_of(bound: Bound, column: Column) -> Expression:
    return bound.derived.get(column.name, column)


def join_by_column(parts: Sequence[Predicate]) -> list[Predicate]:
    """The conditions that several ones join, those on one column as one: a range that contains 0 has no 0 above 0."""
    by_column: dict[Any, list[Predicate]] = {}
    for part in _operands(And(tuple(parts))):
        if part != ALWAYS:
            names = columns_of(part)
            by_column.setdefault(names if len(names) == 1 else part, []).append(part)
    return [And(tuple(same)) if len(same) > 1 else same[0] for same in by_column.values()]


def _operands(node: And | Or) -> Iterator[Predicate]:
    for operand in node.operands:
        if type(operand) is type(node):
            yield from _operands(operand)
        else:
            yield operand


def _misses(node: Predicate, wanted: bool) -> Predicate:
    """True where a condition is not what is wanted, unknown included; false otherwise, and never unknown."""
    if isinstance(node, Truth):
        return Truth(node.value is not wanted)
    if isinstance(node, Not):
        return _misses(node.operand, not wanted)
    if isinstance(node, And | Or):
        return (Or if isinstance(node, And) == wanted else And)(tuple(_misses(part, wanted) for part in node.operands))
    opposite = Not(node) if wanted else node
    sides = [] if isinstance(node, IsNull) else [side for side in children_of(node) if not isinstance(side, Constant)]
    return Or((opposite, *(IsNull(side) for side in sides if isinstance(side, Expression)))) if sides else opposite


# What can fail by itself.

_CHOOSING = ("coalesce", "ifnull")


def _failures(node: Predicate | Expression) -> Iterator[Failure]:
    """How an expression and all below it may have no value."""
    if isinstance(node, Expression) and (found := _failure(node)) is not None:
        yield found
    for child in children_of(node):
        yield from _failures(child)


def _failure(node: Expression) -> Failure | None:
    if isinstance(node, Arithmetic) and node.operator == "/":
        return _division(node.left, node.right)
    if isinstance(node, Call) and node.function == "mod":
        return _division(*node.operands)
    if isinstance(node, Scalar) and not _is_total(node.sql, tuple(map(kind_of, node.operands))):
        fails = replace(node, kind=Kind.BOOL, is_failure=True)
        return (), Compare("=", fails, Constant(True, Kind.BOOL))
    return None


def _division(top: Expression, divisor: Expression) -> Failure | None:
    given = () if isinstance(top, Constant) else (Not(IsNull(top)),)
    if isinstance(divisor, Constant):
        return (given, ALWAYS) if divisor.value == 0 else None
    plain = divisor.operand if isinstance(divisor, Cast) and divisor.scale is None else divisor
    zero = Constant(0)
    return given, Compare("=", plain, zero) if kind_of(plain) is None else compare_constant("=", plain, zero)


def _refusal(node: Expression) -> QueryError:
    names = ", ".join(f"'{name}'" for name in sorted(columns_of(node)) if SLOT not in name)
    of_names = f" of {names}" if names else ""
    if not isinstance(node, Scalar):
        operator = "/" if isinstance(node, Arithmetic) else "%"
        return QueryError(
            f"the question divides by zero in rows that it looks at, in an expression{of_names}; write "
            f"x {operator} NULLIF(y, 0), or leave the rows out by a condition such as AND y <> 0"
        )
    has_texts = Kind.TEXT in map(kind_of, node.operands)
    found = (_advice(part, has_texts) for part in sqlglot.parse_one(node.sql, read=QuestionSQL).walk())
    ways = " and ".join(dict.fromkeys(way for way in found if way)) or "CASE WHEN ... THEN ... END"
    return QueryError(
        f"an expression{of_names} has no finite value in rows that the question looks at; write {ways}, or leave the "
        "rows out by a condition"
    )


_DIVISIONS = {exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%"}


def _advice(node: Any, has_texts: bool) -> str:
    """What to write in place of a part of an expression that may have no value."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if _is_total_node(node, has_texts) or name == DIVISOR:
        return ""
    if isinstance(node, exp.Cast):
        return "" if isinstance(node.this, exp.Literal) else f"TRY_CAST(x AS {type_name(node)})"
    if type(node) in _DIVISIONS:
        return f"x {_DIVISIONS[type(node)]} NULLIF(y, 0)"
    if name in ("strptime", "sqrt", "ln", "log", "log2", "log10"):
        return "TRY_STRPTIME" if name == "strptime" else f"CASE WHEN x > 0 THEN {name}(x) END"
    if name in GROWING:
        return f"{name}(...) so that it gives shorter texts"
    return f"CASE WHEN ... THEN {name}(...) END" if name else ""


# Functions that have a value whatever they are given; every other one may fail.

_TOTAL_NODES: tuple[type[exp.Expression], ...] = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Interval),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like, exp.ILike, exp.Escape, exp.SimilarTo, exp.Glob, exp.StartsWith),
    *(exp.Case, exp.If, exp.Coalesce, exp.Tuple, exp.DPipe, exp.Trim, exp.Lower, exp.Upper, exp.Length, exp.Left),
    *(exp.Substring, exp.StrPosition, exp.Floor, exp.Ceil, exp.Round, exp.Year, exp.Month, exp.Day, exp.Extract),
    *(exp.TryCast, exp.DataType, exp.DataTypeParam),
)
_TOTAL_TEXT = """
cbrt ceil ceiling char_length character_length concat concat_ws contains cos date_part date_trunc day dayname
dayofmonth dayofweek dayofyear ends_with floor greatest hour if ifnull iif instr isfinite isinf isnan isodow isoyear
lcase least left len length lower ltrim md5 minute month monthname nullif pi position prefix quarter regexp_extract
regexp_full_match regexp_matches reverse right round rtrim second sha1 sha256 sign sin
starts_with strftime strip_accents strlen strpos substr substring suffix translate trim trunc ucase upper week weekday
weekofyear year yearweek
"""
_TOTAL = frozenset(_TOTAL_TEXT.split())
_COMPARING = ("nullif", "greatest", "least")


@functools.lru_cache(1_000)
def _is_total(sql: str, kinds: tuple[Kind | None, ...]) -> bool:
    """Tell whether an expression has a value in every row; one that mixes texts with others may have to read them."""
    tree = sqlglot.parse_one(sql, read=QuestionSQL)
    has_texts = Kind.TEXT in kinds
    if has_texts and (len(set(kinds)) > 1 or not all(map(_compares_texts, tree.walk()))):
        return False
    return all(_is_total_node(node, has_texts) for node in tree.walk())


def _compares_texts(node: Any) -> bool:
    """Tell whether a node compares nothing, or texts with texts: others make DuckDB read texts as numbers."""
    is_comparing = isinstance(node, exp.Anonymous) and str(node.this).lower() in _COMPARING
    if not is_comparing and not isinstance(node, exp.Predicate):
        return True
    others = [side for side in node.iter_expressions() if not (isinstance(side, exp.Literal) and side.is_string)]
    return len(others) <= 1 or all(isinstance(side, exp.Column) for side in others)


def _is_total_node(node: Any, has_texts: bool) -> bool:
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal)
    if type(node) in _DIVISIONS:
        divisor = node.expression.unnest()
        return isinstance(divisor, exp.Literal) and not divisor.is_string and float(divisor.this) > 0
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        return not has_texts and type_name(node) in ("DOUBLE", "VARCHAR", "TEXT")
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _TOTAL
    return isinstance(node, _TOTAL_NODES)
