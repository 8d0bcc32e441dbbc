"""A printed statement in Spark's words, with nothing in it that came with a release: no name, no text.

Source     own
Guarantee  the text consists of our own words, numbers, and names that `safe_name` made; texts travel as parameters

Spark replaces `${...}` anywhere in a statement, reads backslashes inside texts by a setting of the session, and ignores
case in names. So names are replaced by others that are letters, digits and underscores, one to one, and texts by
markers. Where Spark computes otherwise than DuckDB, the statement says it in another way: a product over a window is
the exponential of a sum of logarithms (it serves means and deviations, never bounds), days between dates are
counted by a function, floats are cut without passing through 64 bits where they do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

import sqlglot
from sqlglot import exp

__all__ = ["safe_name", "to_spark"]

_PLAIN = re.compile(r"(?!x_)[a-z][a-z0-9_]{0,60}")
_WHOLE = "9e15"
"""Floats from here on are whole, and far smaller ones fit into 64 bits."""


def safe_name(name: str) -> str:
    """Spell a name in small letters, digits and underscores, so that no two names become one."""
    return name if _PLAIN.fullmatch(name) else "x_" + name.encode("utf-8", "surrogatepass").hex()


def to_spark(sql: str, tables: Mapping[str, str], dates: Collection[str] = ()) -> tuple[str, dict[str, str]]:
    """Return the statement and its parameters; `tables` names the views, `dates` the published columns of dates."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    arguments: dict[str, str] = {}
    named = {table.alias_or_name for table in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name not in named:
            table.set("alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(tables[table.name]))
    tree = tree.transform(_rewritten, lambda node: _is_date(node, dates))
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", safe_name(identifier.this))
    for text in list(tree.find_all(exp.Literal)):
        if text.is_string:
            marker = f"p{len(arguments)}"
            arguments[marker] = text.this
            text.replace(exp.Placeholder(this=marker))
    return tree.sql("spark", identify=True, unsupported_level=sqlglot.ErrorLevel.RAISE), arguments


def _rewritten(node: exp.Expression, is_date: Callable[[exp.Expression], bool]) -> exp.Expression:
    if isinstance(node, exp.Escape) and isinstance(node.this, exp.Like):
        return exp.Like(this=node.this.this, expression=_pattern(node.this.expression.this, node.expression.this))
    if isinstance(node, exp.Like) and not isinstance(node.parent, exp.Escape):
        return exp.Like(this=node.this, expression=_pattern(node.expression.this, ""))
    if isinstance(node, exp.Sub) and is_date(node.this) and is_date(node.expression):
        return exp.Anonymous(this="datediff", expressions=[node.this, node.expression])
    if isinstance(node, exp.Window) and _is_call(node.this, "product"):
        return _product(node)
    if isinstance(node, exp.Bracket):
        return exp.Anonymous(this="element_at", expressions=[node.this, *node.expressions])
    if isinstance(node, exp.Lag):
        node.set("default", _double(exp.Literal.number(1)))
        return node
    if isinstance(node, exp.Floor | exp.Ceil):
        return _cut(node.this, lambda value: type(node)(this=value))
    if isinstance(node, exp.Trunc) or _is_call(node, "trunc"):
        operand = node.this if isinstance(node, exp.Trunc) else node.expressions[0]
        return _cut(operand, lambda value: exp.cast(value, "bigint"))
    return node


def _is_call(node: object, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == name


def _is_date(node: exp.Expression | None, dates: Collection[str]) -> bool:
    """Tell whether an expression of a printed statement is a date: a column, a constant, one of these plus days."""
    if isinstance(node, exp.Paren | exp.Add | exp.Sub):
        is_difference = isinstance(node, exp.Sub) and _is_date(node.expression, dates)
        return _is_date(node.this, dates) and not is_difference
    if isinstance(node, exp.Column):
        return node.name in dates and not node.table and bool(node.this.quoted)
    if isinstance(node, exp.Coalesce):
        return any(_is_date(value, dates) for value in (node.this, *node.expressions))
    if isinstance(node, exp.Case):
        values = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
        return any(_is_date(value, dates) for value in values)
    return isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE


def _pattern(pattern: str, escape: str) -> exp.Literal:
    """A pattern with a backslash before whatever stands for itself, which is how Spark reads patterns by default."""
    signs, result = iter(pattern), ""
    for sign in signs:
        is_itself = sign == escape
        sign = next(signs, sign) if is_itself else sign
        result += "\\" + sign if sign == "\\" or (is_itself and sign in "%_") else sign
    return exp.Literal.string(result)


def _double(node: exp.Expression) -> exp.Expression:
    return exp.cast(node, "double")


def _product(node: exp.Expression) -> exp.Expression:
    """A running product of chances: zero once one of them is, otherwise by logarithms."""
    missed = node.this.expressions[0]

    def over(function: exp.Expression) -> exp.Expression:
        window = node.copy()
        window.set("this", function)
        return window

    zero = exp.Literal.number(0)
    positive = exp.case().when(exp.GT(this=missed.copy(), expression=zero.copy()), missed.copy())
    logarithm = exp.Ln(this=positive.else_(_double(exp.Literal.number(1))))
    is_zero = exp.LTE(this=over(exp.Min(this=missed.copy())), expression=zero)
    return exp.case().when(is_zero, _double(exp.Literal.number(0))).else_(exp.Exp(this=over(exp.Sum(this=logarithm))))


def _cut(operand: exp.Expression, cut: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """A whole float: Spark's own functions give 64 bits, into which a large one is squeezed without a word."""
    is_small = exp.LT(this=exp.Abs(this=operand.copy()), expression=_double(exp.Literal.number(_WHOLE)))
    return exp.Paren(this=exp.case().when(is_small, _double(cut(operand.copy()))).else_(operand.copy()))
