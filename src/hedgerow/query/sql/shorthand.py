"""Shorthand of SQL, written out: FILTER and COUNT_IF as CASE, numbers and ALL in GROUP BY as what they stand for.

An aggregate passes over NULLs, so `sum(x) FILTER (WHERE c)` is `sum(CASE WHEN c THEN x END)`. What carries anything
else than the arguments named here is left as it is, and the gate (`strict`) refuses it.
"""

from __future__ import annotations

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.strict import is_set

__all__ = ["written_out"]

_FILTERED = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def written_out(tree: exp.Select) -> exp.Select:
    """Return the question without shorthand; the tree that came is not touched."""
    whole = tree.copy()
    for node in list(whole.find_all(exp.CountIf)):
        if _has_only(node, "this"):
            node.replace(exp.Count(this=_where(node.this, exp.Literal.number(1))))
    for node in list(whole.find_all(exp.Any)):
        _write_any(node)
    for filtered in list(whole.find_all(exp.Filter)):
        _write_filter(filtered)
    group = whole.args.get("group")
    if isinstance(group, exp.Group):
        _write_keys(whole, group)
    return whole


def _has_only(node: exp.Expression, *names: str) -> bool:
    return all(name in names for name, content in node.args.items() if is_set(content))


def _where(condition: exp.Expression, value: exp.Expression) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _write_any(node: exp.Any) -> None:
    """`x = ANY([1, 2])` is `x IN (1, 2)`."""
    listed, equation = node.this.unnest(), node.parent
    is_list = (
        isinstance(listed, exp.Array | exp.Tuple) and bool(listed.expressions) and _has_only(listed, "expressions")
    )
    if is_list and _has_only(node, "this") and isinstance(equation, exp.EQ) and equation.expression is node:
        equation.replace(exp.In(this=equation.this.copy(), expressions=[item.copy() for item in listed.expressions]))


def _write_filter(node: exp.Filter) -> None:
    call, where = node.this, node.args.get("expression")
    is_plain = (
        isinstance(call, _FILTERED) and _has_only(call, "this", "big_int") and _has_only(node, "this", "expression")
    )
    if not is_plain or not isinstance(where, exp.Where) or not _has_only(where, "this"):
        return
    counted = call.this
    if isinstance(counted, exp.Star) and _has_only(counted):
        counted = exp.Literal.number(1)
    if isinstance(counted, exp.Star | exp.Distinct):
        return
    call.set("this", _where(where.this, counted))
    node.replace(call)


def _write_keys(tree: exp.Select, group: exp.Group) -> None:
    """Put selected expressions in place of their numbers, and of ALL those that hold a column and no aggregate."""
    selected = [item.this if isinstance(item, exp.Alias) else item for item in tree.expressions]
    keys = [item for item in selected if item.find(exp.Column) is not None and item.find(exp.AggFunc) is None]
    if is_set(group.args.get("all")) and _has_only(group, "all"):
        group.set("all", None)
        group.set("expressions", [key.copy() for key in keys])
        if not keys:
            tree.set("group", None)
        return
    for place, key in enumerate(group.expressions):
        if isinstance(key, exp.Literal) and not key.is_string:
            number = int(key.this) if key.this.isdigit() and len(key.this) < 6 else 0
            if not 1 <= number <= len(selected) or not any(selected[number - 1] is one for one in keys):
                raise QueryError(f"GROUP BY {key.this[:9]} must be the place of a selected column, counted from 1")
            group.expressions[place] = selected[number - 1].copy()
    group.set("expressions", list(group.expressions))
