"""Shorthand of SQL, written out: aggregates of constants, lists of quantiles, = ANY, numbers in GROUP BY, and ALL.

What carries anything else than the arguments named here is left as it is, and the gate (`strict`) refuses it.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.strict import is_set

__all__ = ["written_out"]


def written_out(tree: exp.Select) -> exp.Select:
    """Return the question without shorthand; the tree that came is not touched."""
    whole = tree.copy()
    for listed in list(whole.find_all(exp.Any)):
        _write_any(listed)
    for node in list(whole.find_all(exp.Sum, exp.Avg, exp.Min, exp.Max)):
        _write_constant(node)
    _write_quantiles(whole)
    group, order = whole.args.get("group"), whole.args.get("order")
    if isinstance(group, exp.Group):
        _write_keys(whole, group)
    if isinstance(order, exp.Order):
        _write_order(whole, order)
    return whole


def _has_only(node: exp.Expression, *names: str) -> bool:
    return all(name in names for name, content in node.args.items() if is_set(content))


def _write_any(node: exp.Any) -> None:
    """`x = ANY([1, 2])` is `x IN (1, 2)`."""
    listed, equation = node.this.unnest(), node.parent
    is_list = (
        isinstance(listed, exp.Array | exp.Tuple) and bool(listed.expressions) and _has_only(listed, "expressions")
    )
    if is_list and _has_only(node, "this") and isinstance(equation, exp.EQ) and equation.expression is node:
        equation.replace(exp.In(this=equation.this.copy(), expressions=[item.copy() for item in listed.expressions]))


def _write_constant(node: Any) -> None:
    """`sum(1)` is the number of rows, but NULL without any; other aggregates of a constant are that constant."""
    filtered = node.parent if isinstance(node.parent, exp.Filter) else None
    number = node.this.this if isinstance(node.this, exp.Neg) else node.this
    if not isinstance(number, exp.Literal) or number.is_string or not _has_only(node, "this"):
        return
    counted: exp.Expression = exp.Count(this=exp.Star(), big_int=True)
    if filtered is not None:
        counted = exp.Filter(this=counted, expression=filtered.expression.copy())
    if isinstance(node, exp.Sum):
        present = exp.Anonymous(this="nullif", expressions=[counted, exp.Literal.number(0)])
        made: exp.Expression = exp.Paren(this=exp.Mul(this=present, expression=node.this.copy()))
    else:
        is_some = exp.GT(this=counted, expression=exp.Literal.number(0))
        made = exp.Case(ifs=[exp.If(this=is_some, true=node.this.copy())])
    (filtered or node).replace(made)


def _write_quantiles(tree: exp.Select) -> None:
    """A list of fractions is a result for each: q_1, q_2, ..."""
    items: list[Any] = []
    for item in tree.expressions:
        call = item.this if isinstance(item, exp.Alias) else item
        fractions = call.args.get("expression") or call.args.get("quantile")
        is_list = isinstance(call, exp.PercentileCont | exp.PercentileDisc | exp.Quantile)
        if not is_list or not isinstance(fractions, exp.Array) or not _has_only(fractions, "expressions"):
            items.append(item)
            continue
        where = "expression" if call.args.get("expression") is fractions else "quantile"
        for place, fraction in enumerate(fractions.expressions, 1):
            one = call.copy()
            one.set(where, fraction.copy())
            items.append(exp.alias_(one, f"{item.alias or 'quantile'}_{place}", quoted=True))
    tree.set("expressions", items)


def _write_keys(tree: exp.Select, group: exp.Group) -> None:
    """Put selected expressions in place of their numbers, and of ALL those that hold a column and no aggregate."""
    selected = [item.this if isinstance(item, exp.Alias) else item for item in tree.expressions]
    keys = [item for item in selected if item.find(exp.Column) is not None and item.find(exp.AggFunc) is None]
    if is_set(group.args.get("all")) and _has_only(group, "all"):
        _check_having(tree)
        group.set("all", None)
        group.set("expressions", [key.copy() for key in keys])
        if not keys:
            tree.set("group", None)
        return
    for place, key in enumerate(group.expressions):
        if isinstance(key, exp.Literal) and not key.is_string:
            number = int(key.this) if key.this.isdigit() and len(key.this) < 6 else 0
            if not 1 <= number <= len(selected) or not any(selected[number - 1] is one for one in keys):
                raise QueryError(f"GROUP BY {key.this[:9]} must be the position of a selected column, counted from 1")
            group.expressions[place] = selected[number - 1].copy()
    group.set("expressions", list(group.expressions))


def _check_having(tree: exp.Select) -> None:
    """Refuse HAVING after GROUP BY ALL about what is neither an aggregate nor selected: DuckDB groups by it, too."""
    having = tree.args.get("having")
    plain = {item.this.name.lower() for item in tree.expressions if isinstance(item.unalias(), exp.Column)}
    plain |= {item.alias.lower() for item in tree.expressions if item.find(exp.AggFunc) is not None}
    for column in having.find_all(exp.Column) if having is not None else ():
        inside = column.find_ancestor(exp.AggFunc, exp.WithinGroup, exp.Filter, exp.Query)
        if inside is tree and column.name.lower() not in plain:
            raise QueryError(
                f"HAVING names '{column.name[:60]}', which GROUP BY ALL does not group by, and databases do; write "
                "what is grouped by instead of ALL"
            )


def _write_order(tree: exp.Select, order: exp.Order) -> None:
    """ORDER BY ALL is by each result, from left to right; a result of that name is not told from it."""
    (term, *more), names = order.expressions, {item.alias_or_name.lower() for item in tree.expressions}
    if more or not isinstance(term.this, exp.Var) or term.this.name.upper() != "ALL" or "all" in names:
        return
    terms = [term.copy() for _ in tree.expressions]
    for place, one in enumerate(terms, 1):
        one.set("this", exp.Literal.number(place))
    order.set("expressions", terms)
