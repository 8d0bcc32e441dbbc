"""The gate: every node of a parsed question, and every argument it may carry. What is not listed here is refused.

A parser's tree changes in minor versions: `x NOT LIKE 'B%'` became one node with a flag `negate`, and a reader that
looks only at types would answer the opposite question. So an argument that is set and not listed is a refusal, whatever
it is called. Arguments that are listed are read by `reader` and `parse`; `big_int`, `typed` and `safe` say only what
the dialect means anyway.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES

__all__ = ["NODES", "check_nodes", "is_set", "refusal"]

_BINARY = ("this", "expression")
NODES: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "where", "group", "having", "order", "limit", "offset"),
    exp.From: ("this",),
    exp.Table: ("this", "alias"),
    exp.TableAlias: ("this",),
    exp.Where: ("this",),
    exp.Having: ("this",),
    exp.Group: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression",),
    exp.Offset: ("expression",),
    exp.Alias: ("this", "alias"),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
    exp.Star: (),
    exp.Literal: ("this", "is_string"),
    exp.Boolean: ("this",),
    exp.Null: (),
    exp.Paren: ("this",),
    exp.Not: ("this",),
    **dict.fromkeys((exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    exp.Between: ("this", "low", "high", "symmetric"),
    exp.In: ("this", "expressions"),
    exp.Is: (*_BINARY, "negate"),
    exp.Like: (*_BINARY, "negate"),
    exp.Escape: _BINARY,
    exp.Neg: ("this",),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _BINARY),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Round: ("this", "decimals"),
    **dict.fromkeys((exp.Abs, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Length), ("this",)),
    exp.Left: _BINARY,
    exp.Substring: ("this", "start", "length"),
    exp.Coalesce: ("this", "expressions"),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day), ("this",)),
    exp.Extract: _BINARY,
    exp.Var: ("this",),
    **dict.fromkeys((exp.Cast, exp.TryCast), ("this", "to", "safe")),
    exp.DataType: ("this", "expressions"),
    exp.DataTypeParam: ("this",),
    exp.Interval: ("this", "unit"),
    exp.Anonymous: ("this", "expressions"),
    exp.Any: ("this",),
    **dict.fromkeys((exp.Array, exp.Tuple), ("expressions",)),
    **dict.fromkeys((exp.Glob, exp.IntDiv, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Pow), _BINARY),
    **dict.fromkeys((exp.SimilarTo, exp.StartsWith), _BINARY),
    exp.DPipe: (*_BINARY, "safe"),
    exp.ILike: (*_BINARY, "negate"),
    exp.StrPosition: ("this", "substr"),
    exp.Trim: (*_BINARY, "position"),
    **{getattr(exp, name): ("this",) for item in AGGREGATES.values() for name in item.spelled},
    exp.Count: ("this", "big_int"),
    exp.Median: ("this",),
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup), _BINARY),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp), _BINARY),
    **dict.fromkeys((exp.RegrCount, exp.RegrIntercept, exp.RegrR2, exp.RegrSlope), _BINARY),
    exp.Quantile: ("this", "quantile"),
    exp.Distinct: ("expressions",),
}
"""Nodes that are understood, each with the arguments that are read."""

_WORDS = {
    "columns": "a table alias with names of columns",
    "limit_options": "LIMIT with PERCENT or WITH TIES",
    "sample": "TABLESAMPLE",
    "symmetric": "BETWEEN SYMMETRIC",
    "totals": "WITH TOTALS",
    "with_fill": "WITH FILL",
    "on": "DISTINCT ON",
    "format": "FORMAT",
}
"""What an analyst wrote where an argument is set that is not read."""

_NAMES = {
    "regexplike": "~",
    "currentdate": "CURRENT_DATE, which changes from day to day,",
    "currenttimestamp": "CURRENT_TIMESTAMP, which changes all the time,",
    "subquery": "a sub-query",
    "select": "a sub-query",
    "star": "*",
    "groupconcat": "STRING_AGG",
    "arrayagg": "LIST",
    "timetostr": "STRFTIME",
    "ignorenulls": "ANY_VALUE or IGNORE NULLS",
    "struct": "a struct",
}
_LONGEST = 60


def check_nodes(tree: exp.Expression) -> None:
    """Refuse a question in which some node, or some argument of a node, is not understood."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list | tuple):
            waiting.extend(node)
        elif isinstance(node, exp.Expression):
            waiting.extend(_contents(node))


def _contents(node: exp.Expression) -> list[Any]:
    if type(node) not in NODES:
        raise refusal(node, "it is not understood; leave it out")
    found = [(name, content) for name, content in node.args.items() if is_set(content)]
    for name, _ in found:
        if name not in NODES[type(node)]:
            raise QueryError(f"{_WORDS.get(name) or _written(node)} is not understood; leave it out")
    return [content for _, content in found]


def is_set(content: object) -> bool:
    """Tell whether an argument says anything."""
    return not (content is None or content is False or content == "" or content == [])


def refusal(node: Any, advice: str) -> QueryError:
    """Say that something is not understood, and what is."""
    return QueryError(f"{_named(node)} cannot be answered with a bound here; {advice}")


def _named(node: Any) -> str:
    """What was written, in the words of SQL; constants are left out."""
    if not isinstance(node, exp.Expression):
        return "this"
    if node.key in _NAMES:
        return _NAMES[node.key]
    if isinstance(node, exp.Group):
        return "GROUP BY ALL" if node.args.get("all") else "this GROUP BY"
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()[:_LONGEST]
    if isinstance(node, exp.Func):
        return node.sql_name()
    return _written(node) if isinstance(node, exp.Condition) else node.key.upper()


def _written(node: exp.Expression) -> str:
    """The text of a node without its constants, shortened."""
    try:
        masked = node.transform(lambda part: exp.Var(this="...") if isinstance(part, exp.Literal) else part)
        text = " ".join(masked.sql().split())
    except (SqlglotError, RecursionError, LookupError, ValueError, TypeError, AttributeError):
        return node.key.upper()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
