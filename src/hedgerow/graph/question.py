"""Text to a question about a grouped graph.

    SELECT count(*) | count(DISTINCT left) | sum|avg|min|max(degree | column | links(condition))
    FROM left | right | edges | left_paths | right_paths
    WHERE conditions joined by AND, each about the columns of one end, or about the degree of one end

The statement is read by `query/sql/graph_statement`, with the strict reader of table questions. This module says what
may be asked over which part of a graph, and parts conditions by ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hedgerow.errors import QueryError
from hedgerow.query.sql.bind import bind
from hedgerow.query.sql.graph_statement import GraphStatement, read_graph_statement
from hedgerow.query.sql.question import And, Column, Predicate, Truth, columns_of
from hedgerow.query.sql.statement import Question

__all__ = ["ENDS", "Ends", "GraphQuestion", "Where", "read_question"]

Ends = Mapping[str, Mapping[str, Column]]
"""For each end its columns by name; the node's number of edges is among them."""

ENDS = {
    "left": {"left": "left"},
    "right": {"right": "right"},
    "edges": {"left": "left", "right": "right"},
    "left_paths": {"start": "left", "via": "right", "end": "left"},
    "right_paths": {"start": "right", "via": "left", "end": "right"},
}
"""What can be asked, the names of its ends, and the side that each end is on."""


@dataclass(frozen=True)
class Where:
    """What a question asks of one end: of its entity, and of its node."""

    entities: Predicate = field(default=Truth(True))
    nodes: Predicate = field(default=Truth(True))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked of the entity, so that the end costs no certainty."""
        return self.entities == Truth(True)


@dataclass(frozen=True)
class GraphQuestion:
    """One aggregate. `argument` is "*", "distinct", "degree", "links" or "column"; `end` is the end that it is "
    "about."""

    function: str
    source: str
    argument: str
    end: str
    wheres: Mapping[str, Where]
    column: Column | None = None


def read_question(text: str, columns: Mapping[str, Mapping[str, Column]], degree: Mapping[str, str]) -> GraphQuestion:
    """Read one SELECT; `columns` are those of each side, `degree` names each side's column of degrees."""
    statement = read_graph_statement(text, ENDS)
    reader = _Reader(statement.source, columns, degree)
    return reader.question(statement, reader.wheres(statement.condition(ENDS[statement.source])))


@dataclass(frozen=True)
class _Reader:
    source: str
    columns: Mapping[str, Mapping[str, Column]]
    degree: Mapping[str, str]

    def question(self, statement: GraphStatement, wheres: dict[str, Where]) -> GraphQuestion:
        """Understand what is aggregated."""
        function = statement.function
        if function == "count":
            return self._count(statement, wheres)
        if self.source not in self.columns:
            raise QueryError(
                f"{function.upper()} is supported over entities only: ask FROM left or FROM right, with "
                f"links(condition) for the number of edges that satisfy a condition"
            )
        if statement.has_links:
            return self._links(statement, wheres)
        column = self._column(statement)
        if column.name == f"{self.source}.{self.degree[self.source]}":
            return GraphQuestion(function, self.source, "degree", self.source, wheres)
        return GraphQuestion(function, self.source, "column", self.source, wheres, column)

    def _count(self, statement: GraphStatement, wheres: dict[str, Where]) -> GraphQuestion:
        if statement.is_star:
            return GraphQuestion("count", self.source, "*", next(iter(ENDS[self.source])), wheres)
        end = statement.distinct
        if end in ENDS[self.source]:
            if self.source.endswith("paths") and end != "end":
                raise QueryError(
                    "on paths only count(*) and count(DISTINCT end) are supported; for the start, reverse the path"
                )
            is_plain = self.source in self.columns
            return GraphQuestion("count", self.source, "*" if is_plain else "distinct", end, wheres)
        ends = " or ".join(f"count(DISTINCT {end})" for end in ENDS[self.source])
        raise QueryError(
            f"over {self.source} ask count(*) or {ends}; the number of different values cannot be bounded here"
        )

    def _links(self, statement: GraphStatement, wheres: dict[str, Where]) -> GraphQuestion:
        other = "right" if self.source == "left" else "left"
        inner = _Reader(other, self.columns, self.degree).wheres(statement.links(ENDS[other]))
        return GraphQuestion(statement.function, self.source, "links", self.source, {**wheres, other: inner[other]})

    def _column(self, statement: GraphStatement) -> Column:
        column = bind(statement.aggregate(ENDS[self.source]), self._known(), ()).aggregates[0].column
        if column is None:
            raise QueryError("an aggregate takes a column, degree or links(condition)")
        return column  # type: ignore[return-value]  # bind leaves no plain names

    def wheres(self, asked: Question) -> dict[str, Where]:
        """Part a condition by ends."""
        wheres = {end: Where() for end in ENDS[self.source]}
        bound = bind(asked, self._known(), ()).known
        for part in bound.operands if isinstance(bound, And) else (bound,):
            if part != Truth(True):
                end, is_degree = self._place(part)
                wheres[end] = _with(wheres[end], part, is_degree)
        return wheres

    def _place(self, part: Predicate) -> tuple[str, bool]:
        """Say which end a condition is about, and whether it is about the node."""
        names = columns_of(part)
        ends = {name.partition(".")[0] for name in names} or {next(iter(ENDS[self.source]))}
        degrees = {f"{end}.{self.degree[ENDS[self.source][end]]}" for end in ends}
        if len(ends) > 1:
            raise QueryError(
                "a condition that mixes two ends in OR or in one comparison has no bound here; join conditions on "
                "different ends by AND, or ask about each and combine the answers"
            )
        if names & degrees and names - degrees:
            raise QueryError(
                "a condition that mixes the degree with columns in OR or in one comparison has no bound here, because "
                "which node is which entity is not published; join them by AND"
            )
        return min(ends), bool(names & degrees)

    def _known(self) -> dict[str, Column]:
        """Columns by all the names under which they may be asked for: without the end where only one end has it."""
        ends = ENDS[self.source]
        found = {
            f"{end}.{name}": Column(f"{end}.{name}", column.kind, column.digits, column.scale)
            for end, side in ends.items()
            for name, column in self.columns[side].items()
        }
        owners = Counter(name for side in ends.values() for name in self.columns[side])
        short = {full.partition(".")[2]: column for full, column in found.items()}
        return found | {name: column for name, column in short.items() if owners[name] == 1}


def _with(where: Where, part: Predicate, is_degree: bool) -> Where:
    if is_degree:
        return Where(where.entities, _both(where.nodes, part))
    return Where(_both(where.entities, part), where.nodes)


def _both(before: Predicate, part: Predicate) -> Predicate:
    return part if before == Truth(True) else And((before, part))
