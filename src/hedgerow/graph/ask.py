"""Answer a question from a grouped graph alone.

Source     [Zhang 2008], section 4.4.4
Guarantee  the truth lies between the bounds, because the engine has checked that the grouping is safe
Cost       O(edges + nodes log nodes)
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.exact import float_above, float_below
from hedgerow.graph.adjacency import count_unsafe
from hedgerow.graph.distinct import count_joined
from hedgerow.graph.draws import Draws, Extent, average, largest, total
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.graph.links import count_ends, count_links, count_paths
from hedgerow.graph.question import ENDS, GraphQuestion, Selected, columns_of_side, degree_name, read_question, select
from hedgerow.query.evidence.rows import ticks_of
from hedgerow.query.sql.question import Kind

__all__ = ["GraphAnswer", "ask"]


_safe: weakref.WeakSet[GroupedGraph] = weakref.WeakSet()


def ask(release: GroupedGraph, text: str) -> GraphAnswer:
    """Answer one aggregate over `left`, `right`, `edges`, `left_paths` or `right_paths`."""
    _check_safe(release)
    sides = {"left": release.left, "right": release.right}
    columns = {name: columns_of_side(side) for name, side in sides.items()}
    question = read_question(text, columns, {name: degree_name(side) for name, side in sides.items()})
    places = {**ENDS["edges"], **ENDS[question.source]}
    chosen = {end: select(sides[places[end]], where, end) for end, where in question.wheres.items()}
    kind = min(2, len({places[end] for end, where in question.wheres.items() if not where.is_plain}))
    return _answer(question, chosen, kind)


def _check_safe(release: GroupedGraph) -> None:
    """Bounds hold only for safe groupings, so nothing is taken on trust; a release is checked once."""
    if release in _safe:
        return
    unsafe = count_unsafe(release.left.node_groups, release.right.neighbours)
    if unsafe + count_unsafe(release.right.node_groups, release.left.neighbours):
        raise BrokenPromise("The grouping is not safe: nodes of one group share a neighbour, so no bound would hold.")
    _safe.add(release)


def _answer(question: GraphQuestion, chosen: dict[str, Selected], kind: int) -> GraphAnswer:
    if question.source.endswith("paths"):
        return _over_paths(question, chosen, kind)
    if question.source == "edges":
        return _over_edges(question, chosen, kind)
    if question.argument == "links":
        return _over_links(question, chosen, kind)
    return _over_entities(question, chosen[question.end], kind)


def _over_paths(question: GraphQuestion, chosen: dict[str, Selected], kind: int) -> GraphAnswer:
    ends = chosen["start"], chosen["via"], chosen["end"]
    if question.argument == "*":
        lower, upper, expected = count_paths(*ends)
        return GraphAnswer(lower, upper, expected, lower == upper, kind, _std(None, lower == upper))
    lower, upper = count_ends(*ends)
    mean = float(lower) if lower == upper else None
    return GraphAnswer(lower, upper, mean, lower == upper, kind, _std(None, lower == upper))


def _over_edges(question: GraphQuestion, chosen: dict[str, Selected], kind: int) -> GraphAnswer:
    if question.argument == "*":
        found = count_links(chosen["left"], chosen["right"])
    else:
        found = count_joined(chosen[question.end], chosen["left" if question.end == "right" else "right"])
    exact = found.lower == found.upper
    return GraphAnswer(found.lower, found.upper, found.expected, exact, kind, _std(found.variance, exact))


def _over_entities(question: GraphQuestion, chosen: Selected, kind: int) -> GraphAnswer:
    if question.argument == "column":
        draws, unit, is_whole = _column_draws(question, chosen)
    else:
        draws, unit, is_whole = _node_draws(chosen, chosen.side.degrees, chosen.side.degrees), Fraction(1), True
    if question.function == "count":
        return _numbers(draws.count(), Fraction(1), kind, is_whole=True)
    return _numbers(_extent(question.function, draws), unit, kind, is_whole=is_whole and question.function != "avg")


def _over_links(question: GraphQuestion, chosen: dict[str, Selected], kind: int) -> GraphAnswer:
    """Aggregate, over entities, how many of their edges lead to a selected entity of the other side."""
    near = chosen[question.end]
    far = chosen["left" if question.end == "right" else "right"]
    graph = near.side.neighbours
    low, high = graph.sums(far.must[graph.neighbours]), graph.sums(far.may[graph.neighbours])
    draws = _node_draws(near, low, low if np.array_equal(low, high) else high)
    extent = _extent(question.function, draws)
    if question.function in ("sum", "avg") and not draws.is_certain and extent.lower is not None:
        extent = _through_edges(question.function, near, far, draws, extent)
    return _numbers(extent, Fraction(1), kind, is_whole=question.function != "avg")


def _through_edges(function: str, near: Selected, far: Selected, draws: Draws, extent: Extent) -> Extent:
    """Take the bounds of COUNT(*) FROM edges where they are the tighter ones: the sum of links is that count."""
    edges = count_links(near, far)
    if function == "sum" and draws.forced.any():
        return Extent(*_tighter(extent, Fraction(edges.lower), Fraction(edges.upper)), edges.expected, edges.variance)
    number = int(draws.forced.sum())
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


def _node_draws(chosen: Selected, low: NDArray[np.int64], high: NDArray[np.int64]) -> Draws:
    """Nodes that fit carry a number; as many are drawn as entities are selected."""
    nodes = chosen.nodes
    inside = low[nodes]
    groups = chosen.side.node_groups[nodes].astype(np.int64)
    return Draws(groups, inside, inside if low is high else high[nodes], chosen.sizes, chosen.counts)


def _column_draws(question: GraphQuestion, chosen: Selected) -> tuple[Draws, Fraction, bool]:
    """Selected entities carry their value; as many are drawn as nodes fit."""
    side: Side = chosen.side
    column = question.column
    assert column is not None
    array = side.entities.column(column.name.partition(".")[2]).combine_chunks()
    has_value = chosen.entities & np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
    numbers = ticks_of(array.filter(pa.array(has_value)), column.kind)
    groups = side.entity_groups[has_value].astype(np.int64)
    fitting = np.bincount(side.node_groups, weights=chosen.nodes, minlength=side.groups).astype(np.int64)
    draws = Draws(
        groups, numbers.lows, numbers.lows if numbers.lows is numbers.highs else numbers.highs, side.sizes, fitting
    )
    return draws, numbers.unit, column.kind is Kind.INT


def _extent(function: str, draws: Draws) -> Extent:
    if function == "min":
        return largest(draws.negated).negated
    return {"sum": total, "avg": average, "max": largest}[function](draws)


def _numbers(extent: Extent, unit: Fraction, kind: int, *, is_whole: bool) -> GraphAnswer:
    """Turn fixed-point units into numbers: whole ones as they are, others rounded outwards."""
    if extent.lower is None or extent.upper is None:
        return GraphAnswer(None, None, None, True, kind)
    lower, upper = extent.lower * unit, extent.upper * unit
    expected = None if extent.expected is None else extent.expected * float(unit)
    if lower == upper:
        expected = float(lower)
    std = _std(None if extent.variance is None else extent.variance * float(unit) ** 2, lower == upper)
    if is_whole:
        return GraphAnswer(int(lower), int(upper), expected, lower == upper, kind, std)
    return GraphAnswer(float_below(lower), float_above(upper), expected, lower == upper, kind, std)


def _std(variance: float | None, exact: bool) -> float | None:
    """The standard deviation; what is exact does not scatter."""
    if exact:
        return 0.0
    return None if variance is None else math.sqrt(variance)


Number = int | float


@dataclass(frozen=True)
class GraphAnswer:
    """One aggregate over a grouped graph.

    `lower` and `upper` enclose the true answer. `expected` is the mean over all assignments of entities to nodes that
    fit the release, each as likely as the others, and `std` their standard deviation; each is None where it has no
    closed form. `exact` says that every assignment gives the same answer; bounds that are no whole numbers are rounded
    outwards all the same. `kind` counts the sides with conditions on entities: 0, 1 or 2. SQL's NULL is None in all
    numbers; where some assignments select nothing, the numbers speak of those that select something.
    """

    lower: Number | None
    upper: Number | None
    expected: float | None
    exact: bool
    kind: int
    std: float | None = None

    def __repr__(self) -> str:
        if self.lower is None or self.upper is None:
            return "NULL (exact)"
        if self.exact:
            return f"{_text(self.lower if isinstance(self.lower, int) else float(self.expected or 0))} (exact)"
        middle = "no expectation in closed form" if self.expected is None else f"expected {self.expected:.8g}"
        spread = "" if self.std is None else f" with a standard deviation of {self.std:.4g}"
        return f"between {_text(self.lower)} and {_text(self.upper)}, {middle}{spread}"


def _text(number: Number) -> str:
    return str(number) if isinstance(number, int) else f"{number:.15g}"
