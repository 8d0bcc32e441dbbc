"""Answer a question from a grouped graph alone.

Source     [Zhang 2008], section 4.4.4; columns of edges and GROUP BY: own
Guarantee  the truth lies between the bounds, because the engine has checked that the grouping is safe
Cost       O(edges + nodes log nodes) for each aggregate, and each row of GROUP BY
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Ints
from hedgerow.errors import BrokenPromise, QueryError
from hedgerow.graph.adjacency import adjacency, count_unsafe
from hedgerow.graph.answer import GraphAnswer, GraphBounds, stack_bounds
from hedgerow.graph.distinct import count_joined
from hedgerow.graph.draws import Draws, Extent, average, largest, total
from hedgerow.graph.edge_rows import EdgeMarks, EdgeRows, EdgeTicks, ticks_of_column
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.graph.links import Links, count_ends, count_links, count_paths, links_by_group
from hedgerow.graph.question import (
    ENDS,
    EndCondition,
    GraphAggregate,
    GraphQuestion,
    bind_question,
    degree_name,
    read_question,
)
from hedgerow.graph.selected import Selected
from hedgerow.graph.weighted import (
    EdgeNumbers,
    EndValues,
    average_at_ends,
    average_of_edges,
    largest_at_ends,
    largest_of_edges,
    sum_at_ends,
    sum_of_pairs,
)
from hedgerow.query.answer import Result, Rounding
from hedgerow.query.answer_table import AnswerTable
from hedgerow.query.answered import Answered
from hedgerow.query.conclude import conclude_result
from hedgerow.query.evidence.view import evaluate, values
from hedgerow.query.nested import subquery_answer
from hedgerow.query.sql.graph_compose import GraphComposer, is_composed
from hedgerow.query.sql.graph_statement import GraphStatement
from hedgerow.query.sql.question import Expression, Kind, Predicate, Truth, columns_of

MOST_CELLS = 2_000
"""Rows of a GROUP BY; each is a question of its own."""
_safe: weakref.WeakSet[GroupedGraph] = weakref.WeakSet()
Number = int | float


def ask(release: GroupedGraph, text: str, *, estimate: str = "fair") -> GraphAnswer | AnswerTable:
    """Answer a question over `left`, `right`, `edges`, `left_paths` or `right_paths`.

    One aggregate is a `GraphAnswer`; several, arithmetic, and GROUP BY are a table with a row for each group.
    """
    _check_safe(release)
    if is_composed(text):
        if estimate == "learned":
            raise QueryError("a learned estimate is for one COUNT; ask for others without it")
        return AnswerTable(_compose(release, text))
    question = read_question(text, release)
    engine = _Engine(release, question)
    if question.is_single:
        (aggregate,) = question.aggregates.values()
        found = engine.bounds_of(aggregate, _GraphCell())
        if estimate == "learned":
            from hedgerow.graph.learned_estimate import learn

            return replace(found.answer, learned=learn(*engine.ends(aggregate), release.ends, found.answer))
        return found.answer
    if estimate == "learned":
        raise QueryError("a learned estimate is for one COUNT; ask for others without it")
    return AnswerTable(conclude_result(question.bound, engine.result()))


def _compose(release: GroupedGraph, text: str) -> Result:
    """Answer a question that has others inside."""

    def answer(statement: GraphStatement, shown: tuple[str, ...] = ()) -> Result:
        question = bind_question(statement, release)
        outcome = replace(question.bound.outcome, shown=(*question.bound.outcome.shown, *shown))
        return conclude_result(replace(question.bound, outcome=outcome), _Engine(release, question).result())

    def look(statement: GraphStatement) -> Answered:
        return subquery_answer(
            lambda asked, shown: answer(replace(statement, question=asked), shown), statement.question
        )

    return GraphComposer(ENDS, release.keys, answer, look).run(text)


def _check_safe(release: GroupedGraph) -> None:
    """Check safety, without which no bound holds; a release is checked once."""
    if release in _safe:
        return
    unsafe = count_unsafe(release.left.node_groups, release.right.neighbours)
    if unsafe + count_unsafe(release.right.node_groups, release.left.neighbours):
        raise BrokenPromise("The grouping is not safe: nodes of one group share a neighbour, so no bound would hold.")
    _safe.add(release)


@dataclass(frozen=True)
class _GraphCell:
    """One row of a GROUP BY: its values by column, and what they leave of entities, nodes and edges of each end."""

    values: Mapping[str, Any] = field(default_factory=dict)
    marks: Mapping[tuple[str, str], Bools] = field(default_factory=dict)


class _Engine:
    """Answers the aggregates of one question."""

    def __init__(self, release: GroupedGraph, question: GraphQuestion) -> None:
        self.release, self.question = release, question
        self.sides = {"left": release.left, "right": release.right}
        self.places = {**ENDS["edges"], **ENDS[question.source]}
        self.edges = EdgeRows(release)

    def result(self) -> Result:
        """Every row of GROUP BY, or the only one."""
        bound = self.question.bound
        cells, sure = list(self._cells()) if bound.groups else [_GraphCell()], [True]
        found = {
            name: [self.bounds_of(item, cell) for cell in cells] for name, item in self.question.aggregates.items()
        }
        if bound.groups:
            rows = [self.bounds_of(self.question.rows, cell).extent for cell in cells]
            kept = [row for row, number in enumerate(rows) if number.upper]
            cells, sure = [cells[row] for row in kept], [bool(rows[row].lower) for row in kept]
            found = {name: [column[row] for row in kept] for name, column in found.items()}
        kinds = {column.name: self._values(column.name).type for column in bound.groups}
        keys = {
            key.alias: pa.array([cell.values[key.column.name] for cell in cells], kinds[key.column.name])  # type: ignore[union-attr]
            for key in bound.keys
        }
        estimates = {name: stack_bounds(column) for name, column in found.items()}
        return Result(keys, estimates, len(cells), None if all(sure) else sure)

    def _cells(self) -> Iterator[_GraphCell]:
        """Combine the values of keys: those of one end that occur together, with those of other ends."""
        parts: dict[tuple[str, str], list[str]] = {}
        for name, place in self.question.places.items():
            parts.setdefault(place, []).append(name)
        choices = []
        for place, names in parts.items():
            table = pa.table({str(n): self._values(name) for n, name in enumerate(names)})
            codes = _codes(table)
            firsts = np.unique(codes, return_index=True)[1]
            rows = [{name: table.column(n)[int(first)].as_py() for n, name in enumerate(names)} for first in firsts]
            choices.append([(place, row, codes == code) for code, row in enumerate(rows)])
        if math.prod(map(len, choices)) > MOST_CELLS:
            raise QueryError(
                f"GROUP BY gives more than {MOST_CELLS:,} result rows, and over a graph each is computed by "
                "itself; group by fewer columns"
            )
        for chosen in itertools.product(*choices):
            joined = {name: value for _, row, _ in chosen for name, value in row.items()}
            yield _GraphCell(joined, {place: marks for place, _, marks in chosen})

    def _values(self, name: str) -> pa.Array:
        """The values of a GROUP BY column, for each entity, node or edge that it is about."""
        end, kind = self.question.places[name]
        expression = self.question.bound.derived.get(name)
        column = next(column for column in self.question.bound.groups if column.name == name)
        if kind == "edges":
            return self.edges.values(expression or column)
        return self._side_values(expression or column, end, kind)

    def _side_values(self, expression: Expression, end: str, kind: str) -> pa.Array:
        side = self.sides[self.places[end]]
        rows = side.entities.num_rows
        return values(expression, _arrays(side, end, columns_of(expression), is_node=kind == "nodes"), rows)

    def select(self, end: str, where: EndCondition, cell: _GraphCell) -> Selected:
        """Apply what a question asks of one end."""
        side = self.sides[self.places[end]]
        marks = []
        for kind, predicate in (("entities", where.entities), ("nodes", where.nodes)):
            arrays = _arrays(side, end, columns_of(predicate), is_node=kind == "nodes")
            found = _mark_rows(predicate, arrays, side.entities.num_rows)
            chosen = cell.marks.get((end, kind))
            marks.append(found if chosen is None else found & chosen)
        return Selected(side, marks[0], marks[1])

    def ends(self, item: GraphAggregate) -> tuple[Selected, Selected]:
        """Both ends of the edges that an aggregate counts, for the learned estimate."""
        if self.question.source != "edges" or item.function != "count" or item.argument != "*":
            raise QueryError("a learned estimate is for COUNT(*) FROM edges; ask for others without it")
        if item.edges != Truth(True):
            raise QueryError("a learned estimate takes no conditions on columns of edges")
        return self.select("left", item.wheres["left"], _GraphCell()), self.select(
            "right", item.wheres["right"], _GraphCell()
        )

    def bounds_of(self, item: GraphAggregate, cell: _GraphCell) -> GraphBounds:
        """Answer one aggregate in one cell; one number is exact if no assignment leaves nothing to aggregate."""
        found = self._bounds_of(item, cell)
        if item.zeros is not None:
            return self._with_zeros(item, item.zeros, cell, found)
        if item.function == "count" or found.bounds is None or found.bounds[0] != found.bounds[1]:
            return found
        number = replace(item, function="count", argument="degree" if item.argument == "links" else item.argument)
        return replace(found, may_be_empty=not self._bounds_of(number, cell).extent.lower)

    def _with_zeros(
        self, item: GraphAggregate, zeros: GraphAggregate, cell: _GraphCell, found: GraphBounds
    ) -> GraphBounds:
        """A sum to which rows outside of its condition add a zero: NULL where there are none, nor values inside."""
        rows = self._bounds_of(zeros, cell).extent
        if not rows.upper or rows.lower is None:
            return GraphBounds(Extent(None, None, None), found.kind)
        inside = self._bounds_of(replace(item, function="count", argument="*", value=None), cell).extent
        may_miss = self._may_miss(item)
        is_sure = bool(rows.lower) and (not may_miss or inside.upper is None or rows.lower > inside.upper)
        extent = found.extent
        if extent.lower is None or extent.upper is None:
            extent = Extent(Fraction(0), Fraction(0), 0.0, 0.0)
        elif may_miss or not inside.lower:
            # Bounds of a sum are about assignments that select something; the others have 0.
            extent = replace(extent, lower=min(extent.lower, Fraction(0)), upper=max(extent.upper, Fraction(0)))
        return replace(found, extent=extent, may_be_empty=not is_sure)

    def _may_miss(self, item: GraphAggregate) -> bool:
        """Whether some value that is aggregated is missing; intervals have no gaps."""
        if item.value is None or columns_of(item.value) & self.edges.intervals:
            return False
        if item.argument == "value":
            return bool(self.edges.values(item.value).null_count)
        return item.argument == "column" and bool(self._side_values(item.value, item.end, "entities").null_count)

    def _bounds_of(self, item: GraphAggregate, cell: _GraphCell) -> GraphBounds:
        asked = {**item.wheres}
        if item.argument == "links":
            asked["left" if item.end == "right" else "right"] = item.far
        chosen = {end: self.select(end, where, cell) for end, where in asked.items()}
        sides = {
            self.places[end] for end, where in asked.items() if not where.is_plain or (end, "entities") in cell.marks
        }
        kind = min(2, len(sides))
        if self.question.source.endswith("paths"):
            return _over_paths(item, chosen, kind)
        if self.question.source == "edges":
            return self._over_edges(item, chosen, cell, kind)
        if item.argument == "links":
            return _over_links(item, chosen, kind)
        return _over_entities(item, chosen[item.end], kind)

    def _over_edges(
        self, item: GraphAggregate, chosen: dict[str, Selected], cell: _GraphCell, kind: int
    ) -> GraphBounds:
        left, right = chosen["left"], chosen["right"]
        marks = self.edges.marks(item.edges).both(cell.marks.get(("edges", "edges")))
        if item.argument == "distinct":
            end, other = (left, right) if item.end == "left" else (right, left)
            return GraphBounds(_extent_of(self._count_distinct(end, other, item.end, marks)), kind)
        if item.argument == "*":
            if marks.is_all and not self.edges.has_repeats:
                return GraphBounds(_extent_of(count_links(left, right)), kind, is_reached=kind <= 1)
            counts = sum_of_pairs(left, right, self.edges.numbers(marks).counts())
            return GraphBounds(counts, kind, is_reached=kind <= 1 and marks.is_sure)
        assert item.value is not None
        if item.argument == "column":
            return self._over_ends(item, chosen, marks, kind)
        if item.argument == "degree":
            nodes = self.release.ends[0 if item.end == "left" else 1][marks.may]
            degrees, has_value = chosen[item.end].side.degrees[nodes], marks.may
            ticks = EdgeTicks(degrees, degrees, Fraction(1), Kind.INT)
        else:
            ticks, has_value = self.edges.ticks(item.value, marks.may)
        edges = self.edges.numbers(marks, ticks, has_value)
        if item.function == "count":
            return GraphBounds(sum_of_pairs(left, right, edges.counts()), kind, is_reached=kind <= 1 and marks.is_sure)
        counts = sum_of_pairs(left, right, edges.counts())
        if not counts.upper:
            return GraphBounds(Extent(None, None, None), kind)
        extent = _aggregate_edges(item.function, left, right, edges)
        # With conditions on one side one choice reaches the least sum, if no assignment leaves nothing to add up.
        is_reached = item.function == "sum" and kind <= 1 and bool(counts.lower) and edges.is_certain
        found = GraphBounds(extent, kind, is_ratio=item.function == "avg", is_reached=is_reached)
        return _in_units(found, item.function, ticks)

    def _over_ends(self, item: GraphAggregate, chosen: dict[str, Selected], marks: EdgeMarks, kind: int) -> GraphBounds:
        """Aggregate a column of the entities at one end."""
        assert item.value is not None
        near, far = chosen[item.end], chosen["left" if item.end == "right" else "right"]
        side = near.side
        array = self._side_values(item.value, item.end, "entities")
        has_value = near.entities & np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
        ticks = ticks_of_column(array.filter(pa.array(has_value)), item.value)
        pairs = self.edges.numbers(marks).counts()

        def extent(values: Ints) -> Extent:
            numbers = np.zeros(len(has_value), np.int64)
            numbers[has_value] = values
            ends = EndValues(Selected(side, has_value, near.nodes), far, numbers, pairs, item.end == "left")
            return _AT_ENDS[item.function](ends)

        found = extent(ticks.lows)
        if item.function != "count" and ticks.lows is not ticks.highs and found.lower is not None:
            found = Extent(found.lower, extent(ticks.highs).upper, None)
        is_free = not far.is_partly and marks.is_sure and ticks.lows is ticks.highs
        if item.function == "count":
            return GraphBounds(found, kind, is_reached=is_free)
        counted = EndValues(
            Selected(side, has_value, near.nodes), far, np.zeros(0, np.int64), pairs, item.end == "left"
        ).count()
        is_reached = is_free and item.function != "avg" and bool(counted.lower)
        bounds = GraphBounds(found, kind, is_ratio=item.function == "avg", is_reached=is_reached)
        return _in_units(bounds, item.function, ticks)

    def _count_distinct(self, counted: Selected, other: Selected, end: str, marks: EdgeMarks) -> Links:
        """COUNT(DISTINCT end) over the edges that count certainly, and over those that may."""
        if marks.is_all:
            return count_joined(counted, other)
        least, most = (
            count_joined(*_within(counted, other, *self._pairs(kept, end))) for kept in (marks.must, marks.may)
        )
        expected = least.expected if marks.is_sure else math.nan
        return Links(least.lower, most.upper, expected)

    def _pairs(self, kept: Bools, end: str) -> tuple[Ints, Ints]:
        left, right = (ends[kept].astype(np.int64) for ends in self.release.ends)
        return (left, right) if end == "left" else (right, left)


def _within(counted: Selected, other: Selected, ends: Ints, others: Ints) -> tuple[Selected, Selected]:
    """The same selection in the graph of some of the edges; a part of a safe graph is safe."""
    sizes = len(counted.side.node_groups), len(other.side.node_groups)
    pairs = np.unique(ends.astype(np.int64) * sizes[1] + others)
    first, second = (pairs // sizes[1]).astype(np.int32), (pairs % sizes[1]).astype(np.int32)
    near = replace(counted.side, neighbours=adjacency(first, second, *sizes))
    far = replace(other.side, neighbours=adjacency(second, first, *sizes[::-1]))
    return Selected(near, counted.entities, counted.nodes), Selected(far, other.entities, other.nodes)


_AT_ENDS: dict[str, Callable[[EndValues], Extent]] = {
    "count": lambda ends: ends.count(),
    "sum": sum_at_ends,
    "avg": average_at_ends,
    "max": largest_at_ends,
    "min": lambda ends: largest_at_ends(replace(ends, values=-ends.values)).negation,
}


def _in_units(found: GraphBounds, function: str, ticks: EdgeTicks) -> GraphBounds:
    """Bounds in a column's own units: places in its list of values, whole numbers, or numbers rounded outwards."""
    if function in ("min", "max") and ticks.domain is not None:
        return replace(found, rounding=Rounding.VALUE, domain=ticks.domain)
    is_whole = ticks.kind is Kind.INT and function != "avg"
    return replace(found, unit=ticks.unit, rounding=Rounding.WHOLE if is_whole else Rounding.OUTWARD)


def _aggregate_edges(function: str, left: Selected, right: Selected, edges: EdgeNumbers) -> Extent:
    if function == "sum":
        return sum_of_pairs(left, right, edges.pairs())
    if function == "avg":
        return average_of_edges(left, right, edges)
    if function == "max":
        return largest_of_edges(left, right, edges)
    mirrored = EdgeNumbers(edges.left, edges.right, -edges.high, -edges.low, edges.must)
    return largest_of_edges(left, right, mirrored).negation


def _codes(table: pa.Table) -> Ints:
    """Number the combinations of values of a table's rows."""
    codes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode").indices
        numbers = np.asarray(encoded.to_numpy(zero_copy_only=False), np.int64)
        codes = np.unique(codes * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)[1].astype(np.int64)
    return codes


def _arrays(side: Side, end: str, names: frozenset[str], *, is_node: bool) -> dict[str, pa.Array]:
    if is_node:
        return {name: pa.array(side.degrees) for name in names if name == f"{end}.{degree_name(side)}"}
    return {name: side.entities.column(name.removeprefix(f"{end}.")).combine_chunks() for name in names}


def _mark_rows(predicate: Predicate, columns: Mapping[str, pa.Array], length: int) -> Bools:
    """Mark the rows where a condition is true; unknown is not true."""
    truth = evaluate(predicate, columns, length).fill_null(False)
    return np.asarray(truth.to_numpy(zero_copy_only=False), np.bool_)


def _extent_of(links: Links) -> Extent:
    expected = None if math.isnan(links.expected) else links.expected
    return Extent(Fraction(links.lower), Fraction(links.upper), expected, links.variance)


def _over_paths(item: GraphAggregate, chosen: dict[str, Selected], kind: int) -> GraphBounds:
    ends = chosen["start"], chosen["via"], chosen["end"]
    if item.argument == "*":
        lower, upper, expected = count_paths(*ends)
        return GraphBounds(Extent(Fraction(lower), Fraction(upper), expected), kind)
    lower, upper = count_ends(*ends)
    return GraphBounds(Extent(Fraction(lower), Fraction(upper), None), kind)


def _over_entities(item: GraphAggregate, chosen: Selected, kind: int) -> GraphBounds:
    if item.argument != "column":
        draws = _node_draws(chosen, chosen.side.degrees, chosen.side.degrees)
        if item.function == "count":
            return GraphBounds(draws.count(), kind, is_reached=True)
        return _found_in(item.function, draws, kind)
    assert item.value is not None
    side, end = chosen.side, item.end
    array = values(item.value, _arrays(side, end, columns_of(item.value), is_node=False), side.entities.num_rows)
    has_value = chosen.entities & np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
    ticks = ticks_of_column(array.filter(pa.array(has_value)), item.value)
    fitting = np.bincount(side.node_groups, weights=chosen.nodes, minlength=side.groups).astype(np.int64)
    groups = side.entity_groups[has_value].astype(np.int64)
    draws = Draws(groups, ticks.lows, ticks.lows if ticks.lows is ticks.highs else ticks.highs, side.sizes, fitting)
    if item.function == "count":
        return GraphBounds(draws.count(), kind, is_reached=True)
    return _in_units(_found_in(item.function, draws, kind), item.function, ticks)


def _found_in(function: str, draws: Draws, kind: int) -> GraphBounds:
    is_average = function == "avg"
    ratio = is_average and not np.array_equal(draws.least_drawn, draws.most)
    rounding = Rounding.OUTWARD if is_average else Rounding.WHOLE
    # `draws` proves that numbers of nodes and values of entities reach their bounds where each is certain.
    return GraphBounds(_extent(function, draws), kind, rounding=rounding, is_ratio=ratio, is_reached=draws.is_certain)


def _over_links(item: GraphAggregate, chosen: dict[str, Selected], kind: int) -> GraphBounds:
    """Aggregate, over entities, how many of their edges lead to a selected entity of the other side."""
    near = chosen[item.end]
    far = chosen["left" if item.end == "right" else "right"]
    graph = near.side.neighbours
    low, high = graph.sums(far.must[graph.neighbours]), graph.sums(far.may[graph.neighbours])
    draws = _node_draws(near, low, low if np.array_equal(low, high) else high)
    found = _found_in(item.function, draws, kind)
    if draws.is_certain or found.extent.lower is None:
        return found
    if item.function in ("sum", "avg"):
        return replace(found, extent=_through_edges(item.function, near, far, draws, found.extent))
    if item.function == "max":
        # The largest value of a group is at least its mean.
        least, most = links_by_group(near, far), draws.most
        means = -(-least[most > 0] // most[most > 0])
        lower = max(found.extent.lower, Fraction(int(means.max(initial=0))))
        return replace(found, extent=replace(found.extent, lower=lower))
    return found


def _through_edges(function: str, near: Selected, far: Selected, draws: Draws, extent: Extent) -> Extent:
    """Take the bounds of COUNT(*) FROM edges where they are the tighter ones: the sum of links is that count."""
    edges = count_links(near, far)
    if function == "sum" and draws.least_drawn.any():
        return Extent(*_tighter(extent, Fraction(edges.lower), Fraction(edges.upper)), edges.expected, edges.variance)
    number = int(draws.least_drawn.sum())
    if function == "avg" and number == int(draws.most.sum()):
        bounds = _tighter(extent, Fraction(edges.lower, number), Fraction(edges.upper, number))
        return Extent(*bounds, edges.expected / number, None if edges.variance is None else edges.variance / number**2)
    # Where the number of entities is uncertain the ratio of means stands in, as for every average.
    expected = edges.expected / float(draws.chances.sum()) if function == "avg" else None
    return Extent(extent.lower, extent.upper, expected)


def _tighter(extent: Extent, lower: Fraction, upper: Fraction) -> tuple[Fraction, Fraction]:
    assert extent.lower is not None
    assert extent.upper is not None
    return max(extent.lower, lower), min(extent.upper, upper)


def _node_draws(chosen: Selected, low: Ints, high: Ints) -> Draws:
    """Nodes that fit carry a number; as many are drawn as entities are selected."""
    nodes = chosen.nodes
    inside = low[nodes]
    groups = chosen.side.node_groups[nodes].astype(np.int64)
    return Draws(groups, inside, inside if low is high else high[nodes], chosen.sizes, chosen.counts)


def _extent(function: str, draws: Draws) -> Extent:
    if function == "min":
        return largest(draws.negation).negation
    return {"sum": total, "avg": average, "max": largest}[function](draws)
