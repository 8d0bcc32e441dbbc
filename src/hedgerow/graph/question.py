"""Parse a question about a grouped graph.

    SELECT keys, count(*) | count(DISTINCT left) | sum|avg|min|max(column | degree | links(condition)), ...
    FROM left | right | edges [JOIN left ... JOIN right ...] | left_paths | right_paths
    WHERE conditions joined by AND, each about the columns of one end, the degree of one end, or the columns of edges
    GROUP BY columns ... HAVING ... ORDER BY ... LIMIT ...

The statement is read by `query/sql/graph_statement`, with the strict reader of table questions, and bound like one.
This module says what may be asked over which part of a graph, and divides conditions by ends. FILTER and CASE WHEN c
THEN x END inside an aggregate are conditions of that aggregate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.query.evidence.view import column_of, evaluate
from hedgerow.query.sql.bind import bind
from hedgerow.query.sql.defined import check_question, join_by_column
from hedgerow.query.sql.graph_statement import GraphStatement, read_graph_statement
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Bound,
    Case,
    Column,
    Constant,
    Expression,
    Kind,
    Predicate,
    Question,
    Truth,
    columns_of,
)
from hedgerow.verify.made import interval_names

ENDS = {
    "left": {"left": "left"},
    "right": {"right": "right"},
    "edges": {"left": "left", "right": "right"},
    "left_paths": {"start": "left", "via": "right", "end": "left"},
    "right_paths": {"start": "right", "via": "left", "end": "right"},
}
"""What can be asked, the names of its ends, and the side that each end is on."""

_TRUE = Truth(True)


@dataclass(frozen=True)
class EndCondition:
    """What a question asks of one end: of its entity, and of its node."""

    entities: Predicate = field(default=_TRUE)
    nodes: Predicate = field(default=_TRUE)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked of the entity, so that the end costs no certainty."""
        return self.entities == _TRUE


@dataclass(frozen=True)
class GraphAggregate:
    """One aggregate. `argument` is "*", "distinct", "degree", "links", "column" (of entities) or "value" (of edges).

    `end` is the end that it is about; `value` what is aggregated, `wheres` the conditions on ends, `edges` that on the
    columns of edges, and `far` what links() asks of the other side. `zeros` counts the rows of which those without the
    condition of CASE add a zero: a sum of these is 0, and NULL only where there is no row at all.
    """

    function: str
    argument: str
    end: str
    wheres: Mapping[str, EndCondition]
    edges: Predicate = field(default=_TRUE)
    value: Expression | None = None
    far: EndCondition = field(default=EndCondition())
    zeros: GraphAggregate | None = None


@dataclass(frozen=True)
class GraphQuestion:
    """A question that fits a graph: its source, its aggregates by name, and the end and the kind of each key.

    `places` has for each GROUP BY column its end, and whether it is about the entity, the node or the edge; `rows`
    counts what WHERE leaves, whatever FILTER or CASE asks of single aggregates.
    """

    source: str
    bound: Bound
    aggregates: Mapping[str, GraphAggregate]
    places: Mapping[str, tuple[str, str]]
    rows: GraphAggregate

    @property
    def is_single(self) -> bool:
        """Whether it is one aggregate and nothing else."""
        return self.bound.outcome.is_plain and len(self.aggregates) == 1 and not self.bound.keys


def read_question(text: str, release: GroupedGraph) -> GraphQuestion:
    """Read one SELECT over a grouped graph."""
    return bind_question(read_graph_statement(text, ENDS, release.keys), release)


def bind_question(statement: GraphStatement, release: GroupedGraph) -> GraphQuestion:
    """Fit a question that was read to a grouped graph."""
    return _GraphReader(statement.source, release).question(statement)


@dataclass(frozen=True)
class _GraphReader:
    source: str
    release: GroupedGraph

    def question(self, statement: GraphStatement) -> GraphQuestion:
        """Understand what is aggregated, under which conditions, by which keys."""
        self._refuse_degree_of_edges(statement.question)
        bound = self._bind(statement.question, tuple(statement.links))
        where = self._part(bound.known)
        inner = {}
        other = "right" if self.source == "left" else "left"
        for name, asked in statement.links.items():
            far = _GraphReader(other, self.release)
            inner[name] = far._part(far._bind(asked).known)[0][other]
        found = {
            item.alias: replace(self._aggregate(item, bound, where, inner), zeros=self._zeros(item, bound))
            for item in bound.aggregates
        }
        places = {column.name: self._place(bound.derived.get(column.name, column)) for column in bound.groups}
        rows = GraphAggregate("count", "*", next(iter(ENDS[self.source])), *where)
        return GraphQuestion(self.source, bound, found, places, rows)

    def _bind(self, question: Question, links: tuple[str, ...] = ()) -> Bound:
        bound = bind(question, self._columns_by_name(links), ())
        check_question(bound, self._occurs)
        return bound

    def _occurs(self, given: Sequence[Predicate], failure: Predicate) -> bool:
        """Return whether an entity, node or edge may satisfy conditions; those on anything else may be satisfied."""
        unsure = {f"edges.{name}" for name in interval_columns(self.release)}
        if columns_of(failure) & unsure:
            return False  # expressions of intervals are refused anyway
        parts = [part for part in join_by_column((*given, failure)) if not columns_of(part) & unsure]
        named = [part for part in (*parts, failure) if columns_of(part)]
        same = And(tuple(part for part in parts if not named or self._is_about(self._place(named[-1]), part)))
        arrays = {name: self._array(name) for name in columns_of(same)}
        rows = len(next(iter(arrays.values()))) if arrays else 1
        return pc.any(evaluate(same, arrays, rows)).as_py() is True

    def _is_about(self, place: tuple[str, str], part: Predicate) -> bool:
        try:
            return self._place(part) == place
        except QueryError:
            return False

    def _array(self, name: str) -> pa.Array:
        """A column of entities, of nodes or of edges."""
        end, _, column = name.partition(".")
        if end == "edges":
            return self.release.tables["edges"].column(column).combine_chunks()
        side = self._side(end)
        if column == degree_name(side):
            return pa.array(side.degrees)
        return side.entities.column(column).combine_chunks()

    def _refuse_degree_of_edges(self, question: Question) -> None:
        for item in (*question.select, *question.slots):
            is_bare = isinstance(item, Aggregate) and getattr(item.column, "text", "").lower() == "degree"
            if self.source == "edges" and is_bare:
                raise QueryError("both ends of an edge have a degree: write left.degree or right.degree")
            if self.source.endswith("paths") and is_bare and isinstance(item, Aggregate):
                raise self._only_entities(item.function)

    def _only_entities(self, function: str) -> QueryError:
        return QueryError(
            f"{function.upper()} over columns of entities has no bounds over paths, of which one entity has several at "
            f"once: ask FROM left, FROM right or FROM edges"
        )

    def _aggregate(
        self,
        item: Aggregate,
        bound: Bound,
        where: tuple[dict[str, EndCondition], Predicate],
        inner: Mapping[str, EndCondition],
    ) -> GraphAggregate:
        """Say what an aggregate is about."""
        function, value, folded = _unfold_case(item, bound)
        extra = _both(folded, item.where) if item.where != _TRUE else folded
        wheres, edges = where if extra == _TRUE else self._part(_both(bound.known, extra))
        first = next(iter(ENDS[self.source]))
        if value is None:
            return GraphAggregate("count", "*", first, wheres, edges)
        if function == "distinct":
            return self._distinct(value, wheres, edges)
        if isinstance(value, Column) and value.name in inner:
            if function == "count":
                return GraphAggregate("count", "*", first, wheres, edges)
            return GraphAggregate(function, "links", first, wheres, edges, far=inner[value.name])
        end, kind = self._place(value)
        if kind == "edges":
            return GraphAggregate(function, "value", end, wheres, edges, value)
        if self.source.endswith("paths"):
            raise self._only_entities(function)
        if kind == "nodes" and not isinstance(value, Column):
            raise QueryError("an aggregate takes the degree itself; compute with its results")
        if kind == "nodes" and function == "count":
            return GraphAggregate("count", "*", first, wheres, edges)
        return GraphAggregate(function, "degree" if kind == "nodes" else "column", end, wheres, edges, value)

    def _zeros(self, item: Aggregate, bound: Bound) -> GraphAggregate | None:
        """Count the rows of a sum that CASE takes apart with ELSE 0; None for other aggregates."""
        case = bound.derived.get(item.column.name) if isinstance(item.column, Column) else item.column
        if item.function != "sum" or not isinstance(case, Case) or _unfold_case(item, bound)[2] == _TRUE:
            return None
        if not (isinstance(case.otherwise, Constant) and case.otherwise.value == 0):
            return None
        return GraphAggregate("count", "*", next(iter(ENDS[self.source])), *self._part(_both(bound.known, item.where)))

    def _distinct(self, value: Expression, wheres: dict[str, EndCondition], edges: Predicate) -> GraphAggregate:
        """COUNT(DISTINCT end), by the name of the end or of its key."""
        name = value.name if isinstance(value, Column) else ""
        for end, side in ENDS[self.source].items():
            key = self.release.keys[0 if side == "left" else 1]
            if name not in (end, f"{end}.{key}"):
                continue
            if self.source.endswith("paths") and end != "end":
                raise QueryError(
                    "on paths only count(*) and count(DISTINCT end) are supported; for the start, reverse the path"
                )
            return GraphAggregate("count", "*" if self.source in ENDS["edges"] else "distinct", end, wheres, edges)
        ends = " or ".join(f"count(DISTINCT {end})" for end in ENDS[self.source])
        raise QueryError(
            f"over {self.source} ask count(*) or {ends}; the number of different values cannot be bounded here"
        )

    def _part(self, condition: Predicate) -> tuple[dict[str, EndCondition], Predicate]:
        """Part a condition by ends, and by what is asked of edges."""
        wheres = {end: EndCondition() for end in ENDS[self.source]}
        edges: Predicate = _TRUE
        for part in _conjuncts(condition):
            end, kind = self._place(part)
            if kind == "edges":
                edges = _both(edges, part)
            elif kind == "nodes":
                wheres[end] = EndCondition(wheres[end].entities, _both(wheres[end].nodes, part))
            else:
                wheres[end] = EndCondition(_both(wheres[end].entities, part), wheres[end].nodes)
        return wheres, edges

    def _place(self, part: Predicate | Expression) -> tuple[str, str]:
        """Say which end a condition or a value is about, and whether it is about entities, nodes or edges."""
        names = columns_of(part)
        if bare := [name for name in names if "." not in name]:
            raise QueryError(f"'{bare[0]}' is no column; count(DISTINCT {bare[0]}) counts such entities")
        ends = {name.partition(".")[0] for name in names} or {next(iter(ENDS[self.source]))}
        if len(ends) > 1:
            raise QueryError(
                "a condition that mixes two ends in OR or in one comparison has no bound here; join conditions on "
                "different ends by AND, or ask about each and combine the answers"
            )
        if ends == {"edges"}:
            return "edges", "edges"
        degrees = {f"{end}.{degree_name(self._side(end))}" for end in ends}
        if names & degrees and names - degrees:
            raise QueryError(
                "a condition that mixes the degree with columns in OR or in one comparison has no bound here, because "
                "which node is which entity is not published; join them by AND"
            )
        return min(ends), "nodes" if names & degrees else "entities"

    def _side(self, end: str) -> Side:
        return self.release.left if ENDS[self.source][end] == "left" else self.release.right

    def _columns_by_name(self, links: tuple[str, ...] = ()) -> dict[str, Column]:
        """Columns by all the names under which they may be asked for: without the end where only one end has it."""
        found = {
            f"{end}.{name}": Column(f"{end}.{name}", column.kind, column.digits, column.scale)
            for end in ENDS[self.source]
            for name, column in columns_of_side(self._side(end)).items()
        }
        if self.source == "edges":
            found |= {f"edges.{name}": column for name, column in _edge_columns(self.release).items()}
        owners = Counter(full.partition(".")[2] for full in found)
        short = {full.partition(".")[2]: column for full, column in found.items()}
        ends = {end: Column(end, Kind.INT) for end in ENDS[self.source]}
        counted = {name: Column(name, Kind.INT) for name in links}
        return ends | counted | found | {name: column for name, column in short.items() if owners[name] == 1}


def _unfold_case(item: Aggregate, bound: Bound) -> tuple[str, Expression | None, Predicate]:
    """Take CASE WHEN c THEN x END apart: what is aggregated, None for rows, and the condition."""
    value = item.column
    if isinstance(value, Column) and value.name in bound.derived:
        value = bound.derived[value.name]
    if not isinstance(value, Case):
        return item.function, value, _TRUE
    otherwise, is_zero = value.otherwise, isinstance(value.otherwise, Constant) and value.otherwise.value == 0
    is_null = isinstance(otherwise, Constant) and otherwise.value is None
    if len(value.branches) == 1 and (is_null or (is_zero and item.function == "sum")):
        condition, inner = value.branches[0]
        is_one = isinstance(inner, Constant) and inner.value is not None
        if is_one and (item.function == "count" or (item.function == "sum" and getattr(inner, "value", 0) == 1)):
            return "count", None, condition
        if not is_one:
            return item.function, inner, condition
    return item.function, value, _TRUE


def _conjuncts(condition: Predicate) -> list[Predicate]:
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in _conjuncts(operand)]
    return [] if condition == _TRUE else [condition]


def _both(before: Predicate, part: Predicate) -> Predicate:
    return part if before == _TRUE else before if part == _TRUE else And((before, part))


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


def interval_columns(release: GroupedGraph) -> tuple[str, ...]:
    """The columns of edges that are published as intervals, `x_from` to `x_to`."""
    return interval_names(release.made, release.edge_columns)


def _edge_columns(release: GroupedGraph) -> dict[str, Column]:
    """The columns of edges, by name; those that are published as intervals have their own names too."""
    schema = release.tables["edges"].schema
    kinds = {name: schema.field(name).type for name in release.edge_columns}
    kinds |= {name: kinds[f"{name}_from"] for name in interval_columns(release)}
    columns = {name: column_of(name, kind) for name, kind in kinds.items()}
    return {name: Column(f"edges.{name}", c.kind, c.digits, c.scale) for name, c in columns.items()}
