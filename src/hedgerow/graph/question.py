"""Text to a question about a grouped graph.

    SELECT count(*) | count(DISTINCT left) | sum|avg|min|max(degree | column | links(condition))
    FROM left | right | edges | left_paths | right_paths
    WHERE conditions joined by AND, each about the columns of one end, or about the degree of one end

The statement is read by `query/sql/graph_statement`, with the strict reader of table questions. This module says what
may be asked over which part of a graph, and parts conditions by ends.

What a condition leaves of one side: how many entities of each group, and which nodes.

Beside it, once for a release, the pairs of groups with two or more edges between them. Between groups with one edge the
bounds of that edge follow from its own ends. In sparse graphs nearly all pairs are of that kind, so questions look at
single edges, and at the few pairs with several edges apart.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.graph.grouped import Side
from hedgerow.query.evidence.view import column_of, evaluate
from hedgerow.query.sql.bind import bind
from hedgerow.query.sql.graph_statement import GraphStatement, read_graph_statement
from hedgerow.query.sql.question import And, Column, Kind, Predicate, Question, Truth, columns_of

__all__ = [
    "ENDS",
    "Ends",
    "GraphQuestion",
    "MultiEdgePairs",
    "Selected",
    "Where",
    "columns_of_side",
    "degree_name",
    "multi_edge_pairs",
    "read_question",
    "select",
]

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


@dataclass(frozen=True, eq=False)
class Selected:
    """Entities that satisfy a condition on columns, nodes that satisfy one on degrees.

    Of the `sizes[g]` nodes of group g, `counts[g]` are selected entities; `nodes` marks those whose degree fits. In the
    paper's notation `counts` is a (b) and `sizes` is k (l).
    """

    side: Side
    entities: NDArray[np.bool_]
    nodes: NDArray[np.bool_]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many selected entities each group has."""
        # Entities stand group after group, and no group is empty.
        return np.add.reduceat(self.entities, np.cumsum(self.sizes) - self.sizes, dtype=np.int64)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many nodes each group has."""
        return self.side.sizes

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """For each node the chance that it is selected; 0 where its degree does not fit."""
        return np.where(self.nodes, (self.counts / self.sizes)[self.side.node_groups], 0.0)

    @property
    def shares(self) -> NDArray[np.int32]:
        """The different pairs of counts and sizes, a row each; the first row stands for nodes that never count."""
        return self._table[0]

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """For each node the row of `shares` of its group, 0 if it is selected in no assignment.

        Groups have few different sizes and counts, so codes keep what a loop over edges looks up small.
        """
        of_groups = np.where(self.counts > 0, 1 + self._table[1], 0).astype(np.uint32)
        return np.where(self.nodes, of_groups[self.side.node_groups], np.uint32(0))

    @cached_property
    def _table(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        base = int(self.sizes.max(initial=0)) + 1
        packed, rows = np.unique(self.counts * base + self.sizes, return_inverse=True)
        pairs = np.stack((packed // base, packed % base), axis=1).astype(np.int32)
        return np.append(np.zeros((1, 2), np.int32), pairs, axis=0), rows

    @cached_property
    def may(self) -> NDArray[np.bool_]:
        """Nodes that are selected in some assignment."""
        return self.nodes & _by_node(self.counts > 0, self.side)

    @cached_property
    def must(self) -> NDArray[np.bool_]:
        """Nodes that are selected in every assignment."""
        return self.nodes & _by_node(self.counts == self.sizes, self.side)


def _by_node(groups: NDArray[np.bool_], side: Side) -> NDArray[np.bool_]:
    marks: NDArray[np.bool_] = groups[side.node_groups]
    return marks


def degree_name(side: Side) -> str:
    """The name under which a side's degrees are asked for: `degree`, unless the entities have such a column."""
    name = "degree"
    while name in side.entities.column_names:
        name = f"_{name}"
    return name


def columns_of_side(side: Side) -> dict[str, Column]:
    """The columns that may be asked for: those of the entities except the group, and the degree."""
    names = [name for name in side.entities.column_names if name != side.group_column]
    columns = {name: column_of(name, side.entities.schema.field(name).type) for name in names}
    return {**columns, degree_name(side): Column(degree_name(side), Kind.INT)}


def select(side: Side, where: Where, end: str) -> Selected:
    """Apply what a question asks of one end."""
    entities = {name: side.entities.column(name.removeprefix(f"{end}.")) for name in columns_of(where.entities)}
    nodes = {name: pa.array(side.degrees) for name in columns_of(where.nodes)}
    flat = {name: column.combine_chunks() for name, column in entities.items()}
    return Selected(
        side,
        _marked(where.entities, flat, side.entities.num_rows),
        _marked(where.nodes, nodes, len(side.node_groups)),
    )


def _marked(predicate: Predicate, columns: Mapping[str, pa.Array], length: int) -> NDArray[np.bool_]:
    """Mark the rows where a condition is true; unknown is not true."""
    truth = evaluate(predicate, columns, length).fill_null(False)
    return np.asarray(truth.to_numpy(zero_copy_only=False), np.bool_)


class MultiEdgePairs(NamedTuple):
    """Edges of pairs of groups with several of them, by near and far group; `offsets` parts them by near group."""

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    ends: NDArray[np.int32]
    groups: NDArray[np.int32]


_known: weakref.WeakKeyDictionary[Side, MultiEdgePairs] = weakref.WeakKeyDictionary()


def multi_edge_pairs(near: Side, far: Side) -> MultiEdgePairs:
    """Return the pairs of groups with several edges, seen from the near side; found when first asked."""
    if near not in _known:
        _known[near] = _find(near, far)
    return _known[near]


def _find(near: Side, far: Side) -> MultiEdgePairs:
    graph = near.neighbours
    nodes = graph.ends
    pairs = near.node_groups[nodes].astype(np.int64) * far.groups + far.node_groups[graph.neighbours]
    ascending = np.sort(pairs)
    repeated = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    chosen = np.flatnonzero(np.isin(pairs, repeated))
    chosen = chosen[np.argsort(pairs[chosen], kind="stable")]
    owners = near.node_groups[nodes[chosen]]
    offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=near.groups)))
    ends = graph.neighbours[chosen]
    return MultiEdgePairs(offsets, nodes[chosen], ends, far.node_groups[ends])
