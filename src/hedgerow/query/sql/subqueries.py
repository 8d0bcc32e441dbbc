"""The trees of sub-queries: what names stand for, what a SELECT is about, and how its columns are written elsewhere.

As in `strict`, an argument that is not listed here is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.groupings import SpelledKeys
from hedgerow.query.sql.joining import grouped_names, names_result
from hedgerow.query.sql.joining import own_nodes as _own
from hedgerow.query.sql.strict import is_set

__all__ = [
    "check_arguments",
    "distinct_rows",
    "group_distinct",
    "has_aggregates",
    "set_source",
    "source_of",
    "spell_names",
    "substitute",
    "take_labels",
    "take_names_off",
    "unwrap",
    "with_scope",
    "without_names",
    "write_out_star",
]

_ARGUMENTS: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.With: ("expressions",),
    exp.CTE: ("this", "alias"),
    exp.Subquery: ("this", "alias"),
    exp.Union: ("this", "expression", "with_", "order", "limit", "offset"),
    exp.TableAlias: ("this",),
    exp.Table: ("this", "alias"),
    exp.Star: (),
}


def unwrap(
    tree: exp.Expression, scope: Mapping[str, exp.Expression]
) -> tuple[exp.Expression, Mapping[str, exp.Expression]]:
    """Take off brackets, and take WITH into what names stand for."""
    while isinstance(tree, exp.Subquery):
        check_arguments(tree, "a sub-query is a SELECT in brackets and a name")
        tree = tree.this
    ctes = tree.args.get("with_")
    if ctes is None:
        return tree, scope
    if ctes.args.get("recursive"):
        raise QueryError("WITH RECURSIVE is not supported; WITH without recursion is")
    check_arguments(ctes, "WITH takes names and sub-queries")
    known = dict(scope)
    for cte in ctes.expressions:
        check_arguments(cte, "WITH takes names and sub-queries: WITH t AS (SELECT ...)")
        check_arguments(cte.args["alias"], "WITH takes a name without names of columns; name these with AS")
        if not isinstance(cte.this, exp.Select | exp.Union | exp.Subquery):
            raise QueryError("WITH takes names and sub-queries: WITH t AS (SELECT ...)")
        if cte.alias.lower() in (*known, "release"):
            raise QueryError(f"the name '{cte.alias[:60]}' has a meaning already; choose another one after WITH")
        if not any(table.name.lower() == cte.alias.lower() for table in tree.find_all(exp.Table)):
            raise QueryError(f"WITH names '{cte.alias[:60]}', and nothing asks it; leave it out")
        known[cte.alias.lower()] = with_scope(cte.this, known)
    return tree, known


def with_scope(tree: exp.Expression, known: Mapping[str, exp.Expression]) -> exp.Expression:
    """A sub-query in which names stand for what they did where it was written."""
    copied = tree.copy()
    twice = next((cte.alias for cte in copied.find_all(exp.CTE) if cte.alias.lower() in known), None)
    if twice is not None:
        raise QueryError(f"the name '{twice[:60]}' has a meaning already; choose another one after WITH")
    for table in list(copied.find_all(exp.Table)):
        if table.name.lower() in known and not table.args.get("db"):
            inner = known[table.name.lower()].copy()
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
            table.replace(exp.Subquery(this=inner, alias=alias))
    if sum(1 for _ in copied.walk()) > 20_000:
        raise QueryError("WITH unfolds to more than can be read; ask it in parts")
    return copied


def check_arguments(node: exp.Expression, advice: str) -> None:
    """Refuse an argument that is not read."""
    for name, content in node.args.items():
        if is_set(content) and name not in _ARGUMENTS[type(node)]:
            raise QueryError(advice)


def source_of(select: exp.Select, scope: Mapping[str, exp.Expression]) -> tuple[exp.Expression | None, str]:
    """What a SELECT is about: None is the release."""
    clause = select.args.get("from_")
    if clause is None:
        raise QueryError("a SELECT without FROM has no bounds; write FROM release")
    node = clause.this
    for join in select.args.get("joins") or []:
        if isinstance(join.this, exp.Table) and join.this.name.lower() in scope:
            raise QueryError(
                f"'{join.this.name[:60]}' of WITH cannot be joined; tables of your own can, by other names"
            )
    if select.args.get("joins") and not (isinstance(node, exp.Table) and node.name.lower() == "release"):
        raise QueryError(
            "tables of your own are joined with the release itself: FROM release JOIN t ON release.a = t.a"
        )
    if isinstance(node, exp.Subquery):
        check_arguments(node, "a sub-query is a SELECT in brackets and a name")
        alias = node.args.get("alias")
        if alias is not None:
            check_arguments(alias, "a sub-query takes a name without names of columns; name these with AS")
        return node, node.alias.lower()
    if isinstance(node, exp.Table) and node.name.lower() in scope:
        check_arguments(node, "a name of WITH stands alone: FROM t")
        return scope[node.name.lower()], node.alias_or_name.lower()
    if isinstance(node, exp.Table) and node.name.lower() != "release":
        raise QueryError(f"there is no table '{node.name[:60]}' to ask; write FROM release")
    alias = node.alias_or_name.lower() if isinstance(node, exp.Table) else ""
    known = {alias, *(join.this.alias_or_name.lower() for join in select.args.get("joins") or [])}
    for column in _own(select, exp.Column):
        if column.table and column.table.lower() not in known:
            raise QueryError(
                f"'{column.table}' is not what this SELECT is about; a sub-query cannot look at rows of the question "
                "around it"
            )
    return None, alias


def take_names_off(select: exp.Select, alias: str) -> exp.Select:
    """Take the name of the sub-query off its columns; refuse other names."""
    for column in _own(select, exp.Column):
        if not column.table:
            continue
        if column.table.lower() != alias:
            raise QueryError(f"'{column.table}' is not what this SELECT is about; its columns belong to FROM (...)")
        column.set("table", None)
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier("release"))))
    select.set("with_", None)
    return select


def without_names(node: exp.Expression) -> exp.Expression:
    """Copy an expression without the names of tables."""
    copied = node.copy()
    for column in [copied, *copied.find_all(exp.Column)]:
        if isinstance(column, exp.Column):
            column.set("table", None)
    return copied


def set_source(select: exp.Select, below: exp.Expression) -> exp.Select:
    """Let a SELECT be about a sub-query."""
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=exp.TableAlias(this=exp.to_identifier("inner")))))
    return select


def has_aggregates(select: exp.Select) -> bool:
    """Tell whether a SELECT gives groups and not rows."""
    clauses = ("group", "having", "distinct")
    return any(select.args.get(clause) for clause in clauses) or next(_own(select, exp.AggFunc), None) is not None


def substitute(outer: exp.Select, names: Mapping[str, exp.Expression]) -> None:
    """Replace the columns of a sub-query by what they stand for; results keep the names that they would have had."""
    items = []
    for item in outer.expressions:
        named = isinstance(item, exp.Column)
        items.append(exp.alias_(item.copy(), item.name, quoted=True) if named else item)
    outer.set("expressions", items)
    results = {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}
    grouped = grouped_names(outer) & set(names)
    below = {column.name.lower() for node in names.values() for column in node.find_all(exp.Column)} - set(names)
    spelled = SpelledKeys(outer)
    for column in list(_own(outer, exp.Column)):
        # GROUP BY names a result where the sub-query has no such column, whatever columns are below it.
        name, clause = column.name.lower(), column.find_ancestor(exp.Group, exp.AggFunc, exp.Select)
        if isinstance(clause, exp.Group) and name in results and name not in names:
            spelled.check_result(results[name])
            column.replace(_bracket(results[name].copy(), is_key=True))
    for column in list(_own(outer, exp.Column)):
        name = column.name.lower()
        if name in results and names_result(column, grouped):
            if name in below and not isinstance(column.parent, exp.Ordered):
                raise QueryError(
                    f"'{column.name[:60]}' is the name of a result and of a column that the sub-query asks about; give "
                    "the result another name"
                )
            continue
        if name in names:
            spelled.check_column(column, names[name])
            column.replace(_bracket(names[name].copy(), is_key=isinstance(column.parent, exp.Group)))
        else:
            listed = ", ".join(sorted(names)[:20])
            raise QueryError(f"the sub-query has no column '{column.name[:60]}'; it has {listed}")


def _bracket(node: exp.Expression, *, is_key: bool) -> exp.Expression:
    """Keep an expression together, and a number in GROUP BY from being read as a place."""
    is_one = isinstance(node, exp.Column | exp.Func | exp.Paren) or (isinstance(node, exp.Literal) and not is_key)
    return node if is_one else exp.Paren(this=node)


def write_out_star(select: exp.Select, names: Sequence[str]) -> exp.Select:
    """Write out * over the columns of a sub-query, and names of columns that are selected as they are there."""
    items: list[exp.Expression] = []
    for item in select.expressions:
        if isinstance(item, exp.Star):
            check_arguments(item, "* takes no EXCLUDE or REPLACE here; name the columns")
            items += [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
        else:
            items.append(item)
    select.set("expressions", items)
    return spell_names(select, names)


def spell_names(select: exp.Select, names: Iterable[str]) -> exp.Select:
    """Write the names of selected columns as they are below, in upper and lower case: results are called so."""
    listed = list(names)
    for item in select.expressions:
        found = [name for name in listed if name.lower() == item.name.lower()]
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier) and len(found) == 1:
            item.set("this", exp.to_identifier(found[0], quoted=True))
    return select


def group_distinct(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT of known columns is GROUP BY them."""
    distinct = select.args.get("distinct")
    if distinct is None:
        return select
    if is_set(distinct.args.get("on")) or select.args.get("group") or next(_own(select, exp.AggFunc), None) is not None:
        raise QueryError("SELECT DISTINCT takes columns only; GROUP BY gives one row for each combination")
    plain = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    select.set("distinct", None)
    select.set("group", exp.Group(expressions=[item.copy() for item in plain]))
    return select


def distinct_rows(query: exp.Expression, scope: Mapping[str, exp.Expression]) -> exp.Expression:
    """What may be in a list of rows is what is in the list without repetitions."""
    inner, known = unwrap(query, scope)
    if not isinstance(inner, exp.Select) or has_aggregates(inner) or known is not scope:
        return query
    copied = inner.copy()
    copied.set("distinct", exp.Distinct())
    return copied


def take_labels(select: exp.Select) -> dict[int, tuple[str, str | int]]:
    """Take constants out of a select list, with their places and names."""
    labels: dict[int, tuple[str, str | int]] = {}
    rest = []
    for place, item in enumerate(select.expressions):
        plain = item.this if isinstance(item, exp.Alias) else item
        if isinstance(plain, exp.Literal) and (plain.is_string or (plain.this.isdecimal() and len(plain.this) < 18)):
            labels[place] = (item.alias or f"label_{place + 1}", plain.this if plain.is_string else int(plain.this))
        else:
            rest.append(item)
    if not rest or not labels:
        return {}
    group = select.args.get("group")
    if group is not None and any(isinstance(item, exp.Literal) for item in group.expressions):
        raise QueryError("GROUP BY by position cannot be combined with constants in the select list; name the columns")
    select.set("expressions", rest)
    return labels
