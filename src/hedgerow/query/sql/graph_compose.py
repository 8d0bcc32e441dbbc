"""Questions to a graph that are composed of others: WITH, sub-queries, UNION ALL, ROLLUP.

They are composed as those to a table are. A sub-query that aggregates is answered first, and the question around it
over its bounds; one in a condition must have an exact answer; one that only selects edges or entities, SELECT * FROM
edges WHERE ..., is merged into the question around it. What is left is read by `graph_statement`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Result
from hedgerow.query.answered import Answered
from hedgerow.query.sql.compose import Composer
from hedgerow.query.sql.graph_statement import GraphStatement, read_graph_tree
from hedgerow.query.sql.joining import Joins
from hedgerow.query.sql.parse import statement_of
from hedgerow.query.sql.strict import is_set

__all__ = ["GraphComposer", "is_composed"]

_COMPOSED = (exp.Subquery, exp.Union, exp.With, exp.Exists, exp.Rollup, exp.Cube, exp.GroupingSets)
_ROWS = (
    "a sub-query that selects edges or entities of a graph is SELECT * FROM ... WHERE ...; name columns in the "
    "question around it"
)


def is_composed(text: object) -> bool:
    """Whether a question has others inside; what cannot be read has none."""
    if not isinstance(text, str):
        return False
    try:
        tree = statement_of(text, (exp.Select, exp.Union, exp.Subquery))
        inside = any(is_set(node.args.get("query")) for node in tree.find_all(exp.In))
        return inside or next(tree.find_all(*_COMPOSED), None) is not None
    except (QueryError, RecursionError):
        return False


class GraphComposer(Composer):
    """Answers a composed question about the `sources` of a graph, which have these ends."""

    def __init__(
        self,
        sources: Mapping[str, Collection[str]],
        keys: tuple[str, str],
        answer: Callable[[GraphStatement], Result],
        inner: Callable[[GraphStatement], Answered],
    ) -> None:
        def answer_plain(statement: Any, scalars: Mapping[str, Estimate]) -> Result:
            return answer(statement)

        look: Any = inner
        super().__init__(Joins({}, {}, lambda name: None, {}), answer_plain, look)
        self.sources, self.keys = sources, keys

    def _question(self, select: exp.Select, scope: Mapping[str, exp.Expression], *, is_outermost: bool = False) -> Any:
        """Read a SELECT over a part of the graph, or over answers."""
        if self._part(select, scope) is None:
            return super()._question(select, scope)
        self._fill_in(select, scope, is_outermost=False)
        select.set("with_", None)
        return read_graph_tree(select, self.sources, self.keys, has_aggregate=is_outermost)

    def _part(self, select: exp.Select, scope: Mapping[str, exp.Expression]) -> str | None:
        """The part of the graph that a SELECT is about, if it is about one."""
        clause = select.args.get("from_")
        node = clause.this if clause is not None else None
        name = node.name.lower() if isinstance(node, exp.Table) else ""
        return name if name in self.sources and name not in scope else None

    def _flat(
        self, tree: exp.Expression, scope: Mapping[str, exp.Expression]
    ) -> tuple[exp.Select, exp.Expression | None]:
        if isinstance(tree, exp.Select) and self._part(tree, scope) is not None:
            return tree.copy(), None
        clause = tree.args.get("from_")
        if clause is not None and isinstance(clause.this, exp.Table) and clause.this.name.lower() not in scope:
            raise QueryError(f"ask FROM {', '.join(self.sources)}")
        return super()._flat(tree, scope)

    def _merge(self, outer: exp.Select, inner: exp.Select, alias: str) -> exp.Select:
        """Say an outer question directly over the edges or entities that it asks about."""
        others = [clause for clause, content in inner.args.items() if is_set(content)]
        is_star = len(inner.expressions) == 1 and isinstance(inner.expressions[0], exp.Star)
        if not is_star or set(others) - {"expressions", "from_", "joins", "where", "with_"}:
            raise QueryError(_ROWS)
        for column in outer.find_all(exp.Column):
            if column.table.lower() == alias:
                column.set("table", None)
        condition, own = inner.args.get("where"), outer.args.get("where")
        if condition is not None:
            moved = exp.Paren(this=condition.this.copy())
            both = moved if own is None else exp.And(this=exp.Paren(this=own.this), expression=moved)
            outer.set("where", exp.Where(this=both))
        outer.set("from_", inner.args["from_"].copy())
        outer.set("joins", [join.copy() for join in inner.args.get("joins") or []])
        return outer
