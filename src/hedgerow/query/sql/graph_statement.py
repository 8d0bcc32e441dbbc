"""One aggregate over a part of a grouped graph: SQL text to questions about one table, for the same strict reader.

    SELECT count(*) | count(DISTINCT left) | sum|avg|min|max(degree | column | links(condition)) FROM source WHERE ...

`left.x` becomes the one name "left.x", the source becomes the table 'release', and a condition in links() becomes a
WHERE of its own. What is left is read like any other question.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.parse import question_of, statement_of
from hedgerow.query.sql.question import SLOT, Question
from hedgerow.query.sql.reader import DEEPEST
from hedgerow.query.sql.strict import NODES, is_set, refusal

__all__ = ["GraphStatement", "read_graph_statement"]

_LONGEST = 200_000
_EXAMPLE = "SELECT count(DISTINCT right) FROM edges WHERE left.x = 'a' AND right.y = 'b'"
_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True, eq=False)
class GraphStatement:
    """A parsed statement; each part is read as a question about the table 'release' when it is asked for."""

    function: str
    source: str
    call: Any
    where: exp.Expression | None

    @property
    def is_star(self) -> bool:
        """Whether it is count(*)."""
        return isinstance(self.call.this, exp.Star)

    @property
    def distinct(self) -> str:
        """The name in count(DISTINCT name), in small letters; empty where something else is counted."""
        inner = self.call.this
        names = inner.expressions if isinstance(inner, exp.Distinct) and not is_set(inner.args.get("on")) else []
        is_name = len(names) == 1 and isinstance(names[0], exp.Column) and isinstance(names[0].this, exp.Identifier)
        return str(names[0].name).lower() if is_name and len(names[0].parts) == 1 else ""

    @property
    def has_links(self) -> bool:
        """Whether the aggregate is over links(condition)."""
        inner = self.call.this
        return isinstance(inner, exp.Anonymous) and str(inner.this).lower() == "links" and len(inner.expressions) <= 1

    def aggregate(self, ends: Collection[str]) -> Question:
        """The aggregate without its condition."""
        return self._question(self.call, None, ends)

    def condition(self, ends: Collection[str]) -> Question:
        """The condition, with the number of rows that satisfy it."""
        return self._question(exp.Count(this=exp.Star(), big_int=True), self.where, ends)

    def links(self, ends: Collection[str]) -> Question:
        """The condition in links(), with the number of rows that satisfy it."""
        inner = self.call.this.expressions
        return self._question(exp.Count(this=exp.Star(), big_int=True), inner[0] if inner else None, ends)

    def _question(self, call: exp.Expression, condition: exp.Expression | None, ends: Collection[str]) -> Question:
        tree = exp.Select(
            expressions=[call.copy()],
            from_=exp.From(this=exp.Table(this=exp.to_identifier("release"))),
            where=exp.Where(this=condition.copy()) if condition is not None else None,
        )
        try:
            for column in list(tree.find_all(exp.Column)):
                self._rename(column, ends)
            return question_of(tree)
        except RecursionError:
            raise QueryError(f"the question is nested deeper than {DEEPEST} levels; flatten it") from None

    def _rename(self, column: exp.Column, ends: Collection[str]) -> None:
        """Write `end.name` as one name; anything longer stays and is refused by the reader."""
        end = column.table.lower()
        if not end or column.args.get("db") is not None or not isinstance(column.this, exp.Identifier):
            return
        if end not in ends:
            raise QueryError(
                f"conditions on {end} have no place FROM {self.source}: ask FROM edges, or count an "
                f"entity's edges that satisfy a condition with links(condition)"
            )
        name = exp.to_identifier(f"{end}.{column.this.this}", quoted=bool(column.this.quoted))
        column.set("this", name)
        column.set("table", None)


def read_graph_statement(text: str, sources: Collection[str]) -> GraphStatement:
    """Parse one aggregate over one of the `sources`; raises QueryError for everything else."""
    if not isinstance(text, str) or len(text) > _LONGEST or SLOT in text:
        raise QueryError(f"a question is SQL text of at most {_LONGEST:,} characters, like: {_EXAMPLE}")
    try:
        tree = statement_of(text)
    except (QueryError, RecursionError):
        raise QueryError(f"a question to a graph is one aggregate, like: {_EXAMPLE}") from None
    source = _source(tree.args.get("from_"))
    if source not in sources:
        raise QueryError(f"ask FROM {', '.join(sources)}; for example: {_EXAMPLE}")
    if is_set(tree.args.get("group")):
        raise QueryError("GROUP BY is not answered over graphs; ask once for each value")
    others = {clause for clause, content in tree.args.items() if is_set(content)} - {"expressions", "from_", "where"}
    call: Any = tree.expressions[0] if len(tree.expressions) == 1 else None
    if others or not isinstance(call, exp.Func):
        raise QueryError(f"a question to a graph is one aggregate, like: {_EXAMPLE}")
    kind: Any = type(call)
    if kind not in _FUNCTIONS:
        raise QueryError("a graph answers one of COUNT, SUM, AVG, MIN, MAX at a time")
    for name, content in call.args.items():
        if is_set(content) and name not in NODES[kind]:
            raise refusal(call, "an aggregate takes one column, degree or links(condition)")
    where = tree.args.get("where")
    return GraphStatement(_FUNCTIONS[kind], source, call, where.this if where is not None else None)


def _source(clause: exp.Expression | None) -> str:
    table = clause.this if clause is not None else None
    extras = {part for part, content in table.args.items() if is_set(content)} if table is not None else set()
    is_plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier) and extras == {"this"}
    return table.name.lower() if is_plain and table is not None else ""
