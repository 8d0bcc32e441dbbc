"""Questions to a grouped graph: SQL text to a question about one table, for the same strict reader as tables.

    SELECT left.town, count(*), sum(price) FROM edges JOIN left ON ... JOIN right ON ... WHERE ... GROUP BY left.town
    SELECT count(DISTINCT left) FROM edges | avg(degree) FROM left | max(links(condition)) FROM left | ...

The source becomes the table 'release', `left.x` the one name "left.x", and a condition in links() becomes a question of
its own. What is left is read like any other question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.groupings import plain_names
from hedgerow.query.sql.parse import DEEPEST, question_of, statement_of
from hedgerow.query.sql.question import SLOT, Question
from hedgerow.query.sql.strict import is_set, refusal

__all__ = ["GraphStatement", "read_graph_statement", "read_graph_tree"]

_LONGEST = 200_000
_EXAMPLE = "SELECT count(DISTINCT right) FROM edges WHERE left.x = 'a' AND right.y = 'b'"
_JOIN = "FROM edges e JOIN left l ON e.{0} = l.{0} JOIN right r ON e.{1} = r.{1}"
_FUNCTIONS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.CountIf)


@dataclass(frozen=True, eq=False)
class GraphStatement:
    """A question about the part `source` of a graph; `links` are the conditions in links(), by the names put there."""

    source: str
    question: Question
    links: Mapping[str, Question]


def read_graph_statement(text: str, sources: Mapping[str, Collection[str]], keys: tuple[str, str]) -> GraphStatement:
    """Parse a question over one of the `sources`, which have these ends; raises QueryError for everything else."""
    if not isinstance(text, str) or len(text) > _LONGEST or SLOT in text:
        raise QueryError(f"a question is SQL text of at most {_LONGEST:,} characters, like: {_EXAMPLE}")
    try:
        tree = statement_of(text).copy()
    except (QueryError, RecursionError):
        raise QueryError(f"a question to a graph has at least one aggregate, like: {_EXAMPLE}") from None
    try:
        return read_graph_tree(tree, sources, keys)
    except RecursionError:
        raise QueryError(f"the question is nested deeper than {DEEPEST} levels; flatten it") from None


def read_graph_tree(
    tree: exp.Select, sources: Mapping[str, Collection[str]], keys: tuple[str, str], *, has_aggregate: bool = True
) -> GraphStatement:
    """Read a SELECT over one of the sources; the tree is used up. A sub-query may have keys and no aggregate."""
    source, names = _source(tree, sources, keys)
    if next(tree.find_all(exp.AggFunc), None) is None and (has_aggregate or not is_set(tree.args.get("group"))):
        raise QueryError(f"a question to a graph has at least one aggregate, like: {_EXAMPLE}")
    for function in tree.find_all(exp.AggFunc):
        if not isinstance(function, _FUNCTIONS):
            raise QueryError("a graph answers COUNT, SUM, AVG, MIN, MAX")
    tree.set("expressions", _name_results(tree.expressions))
    links = {}
    for number, call in enumerate(list(tree.find_all(exp.Anonymous)), 1):
        if str(call.this).lower() != "links" or len(call.expressions) > 1:
            continue
        if source not in ("left", "right"):
            raise QueryError("links(condition) is asked FROM left or FROM right")
        other = "right" if source == "left" else "left"
        inner = call.expressions[0].copy() if call.expressions else None
        links[f"links {number}"] = question_of(_rename(_count(inner), {other: other}, other))
        call.replace(exp.column(exp.to_identifier(f"links {number}", quoted=True)))
    question = question_of(_rename(tree, names, source), has_rows=not has_aggregate)
    return GraphStatement(source, question, links)


def _name_results(items: list[Any]) -> list[Any]:
    """Call results after their columns without the name of the end, where that tells them apart."""
    names = plain_names(items)
    return [exp.alias_(item, name, quoted=True) if name else item for item, name in zip(items, names, strict=True)]


def _count(condition: exp.Expression | None) -> exp.Select:
    where = exp.Where(this=condition) if condition is not None else None
    star = exp.Count(this=exp.Star(), big_int=True)
    release = exp.From(this=exp.Table(this=exp.to_identifier("release")))
    return exp.Select(expressions=[star], from_=release, where=where)


def _rename(tree: exp.Select, names: Mapping[str, str], source: str) -> exp.Select:
    """Write `end.name` as one name; anything longer stays and is refused by the reader."""
    for column in list(tree.find_all(exp.Column)):
        end = column.table.lower()
        if not end or column.args.get("db") is not None or not isinstance(column.this, exp.Identifier):
            continue
        if end not in names:
            raise QueryError(
                f"conditions on {end} have no place FROM {source}: ask FROM edges, or count an "
                f"entity's edges that satisfy a condition with links(condition)"
            )
        name = exp.to_identifier(f"{names[end]}.{column.this.this}", quoted=bool(column.this.quoted))
        column.set("this", name)
        column.set("table", None)
    return tree


def _source(
    tree: exp.Select, sources: Mapping[str, Collection[str]], keys: tuple[str, str]
) -> tuple[str, dict[str, str]]:
    """What is asked about, and the end that each name of a table stands for; leaves FROM release behind."""
    clause, joins = tree.args.get("from_"), tree.args.get("joins") or []
    source, alias = _table(clause.this if clause is not None else None)
    if source not in sources:
        raise QueryError(f"ask FROM {', '.join(sources)}; for example: {_EXAMPLE}")
    names = {end: end for end in sources[source]}
    names[alias] = source
    if joins:
        names = _read_joins(source, alias, joins, keys)
        source = "edges"
    tree.set("from_", exp.From(this=exp.Table(this=exp.to_identifier("release"))))
    tree.set("joins", None)
    return source, names


def _read_joins(first: str, alias: str, joins: list[exp.Join], keys: tuple[str, str]) -> dict[str, str]:
    """Read joins of the edges with their ends, which are what the edges are about anyway."""
    advice = f"edges are joined with their ends, each once: {_JOIN.format(*keys)}"
    names = {alias: first}
    for join in joins:
        table, name = _table(join.this)
        extras = {part for part, content in join.args.items() if is_set(content)} - {"this", "on", "using"}
        if extras - {"kind"} or (join.args.get("kind") or "").upper() not in ("", "INNER") or name in names:
            raise QueryError(advice)
        if table not in ("left", "right", "edges") or table in names.values():
            raise QueryError(advice)
        names[name] = table
        _check_join(join, names, keys, advice)
    if "edges" not in names.values():
        raise QueryError(advice)
    return {"left": "left", "right": "right", "edges": "edges"} | names


def _check_join(join: exp.Join, names: Mapping[str, str], keys: tuple[str, str], advice: str) -> None:
    """The condition of a join must be that an end of the edge is the entity, and nothing else."""
    allowed = {end: {keys[number].lower(), end, f"{end}_node"} for number, end in enumerate(("left", "right"))}
    using = [str(item.name).lower() for item in join.args.get("using") or []]
    if using:
        known = any(len(using) == 1 and using[0] == keys[number].lower() for number in (0, 1))
        if not known or is_set(join.args.get("on")):
            raise QueryError(advice)
        return
    on = join.args.get("on")
    sides = (on.this, on.expression) if isinstance(on, exp.EQ) else ()
    if len(sides) != 2 or not all(isinstance(side, exp.Column) and side.table.lower() in names for side in sides):
        raise QueryError(advice)
    ends: dict[str, str] = {names[side.table.lower()]: side.name.lower() for side in sides}
    other = next((end for end in ends if end != "edges"), "")
    if set(ends) != {"edges", other} or other not in allowed or not set(ends.values()) <= allowed[other]:
        raise QueryError(advice)


def _table(table: Any) -> tuple[str, str]:
    """The name of a table and its alias, in small letters; empty where it is anything else."""
    extras = {part for part, content in table.args.items() if is_set(content)} if table is not None else set()
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or extras - {"this", "alias"}:
        return "", ""
    alias = table.args.get("alias")
    if alias is not None and is_set(alias.args.get("columns")):
        raise refusal(table, "an alias of a table has no columns")
    return table.name.lower(), table.alias_or_name.lower()
