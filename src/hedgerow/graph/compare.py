"""Ask a release and the original graph the same random questions: width of bounds, error of expected answers.

`graph_frontier` asks them of one setting after the other: what each would promise, and how wide answers would be.

Source     own
Cost       a question each, and a pass over the edges of the plain graph
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Bools
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.graph.attack import degree_attack, static_attack
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.graph.hubs import without_entities
from hedgerow.graph.method import SafeGrouping
from hedgerow.query.evidence.view import column_of, evaluate
from hedgerow.query.sql.bind import bind
from hedgerow.query.sql.parse import parse
from hedgerow.utility.random_questions import Workload, draw_questions

HEADER = ("question", "asked", "half width", "error of expected", "error of learned", "outside")
_SHARES = (0.01, 0.1, 0.3)


@dataclass
class GraphComparison:
    """One kind of question: medians, relative to the truth, and how many truths lay outside the bounds."""

    question: str
    half_widths: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    learned: list[float] = field(default_factory=list)
    outside: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The line of a table."""
        medians = (
            statistics.median(found) if found else None for found in (self.half_widths, self.expected, self.learned)
        )
        shown = ["-" if median is None else f"{median:,.1%}" for median in medians]
        return self.question, str(len(self.half_widths)), *shown, str(self.outside)


def compare_answers(release: GroupedGraph, graph: BipartiteGraph, *, count: int = 15) -> list[GraphComparison]:
    """Ask for numbers of edges with random conditions on the left, on the right and on both sides.

    Entities that the release does not have, hubs that were set aside, are left out of the plain graph too.
    """
    graph = _published_part(release, graph)
    drawn = [
        _conditions(table, key, count) for table, key in ((graph.left, graph.left_key), (graph.right, graph.right_key))
    ]
    found = []
    for share in _SHARES:
        for name, chosen in (("left", drawn[0].get(share, [])), ("right", drawn[1].get(share, []))):
            found.append(_compare_release(release, graph, f"edges, {share:.0%} of {name}", [{name: c} for c in chosen]))
        both = [{"left": a, "right": b} for a, b in zip(drawn[0].get(share, []), drawn[1].get(share, []), strict=False)]
        found.append(_compare_release(release, graph, f"edges, {share:.0%} of both", both))
    if not any(line.half_widths for line in found):
        raise ParameterError("The entities have no columns beside their keys: every question about the graph is exact.")
    return [line for line in found if line.half_widths]


@dataclass(frozen=True)
class GraphPoint:
    """What one setting gave: the greatest probability of a link, the median width of bounds, what is known and lost.

    `width` is half the width of bounds of numbers of edges relative to the truth, None where every answer is exact;
    `known` the share of entities whose number of links is certain, `lost` that of the links that were set aside.
    """

    method: SafeGrouping
    chance: float | None = None
    promised: float | None = None
    width: float | None = None
    known: float = 0.0
    lost: float = 0.0
    seconds: float = 0.0
    refusal: str = ""


def graph_settings(sizes: Iterable[int] = (2, 3, 5, 10, 20), hubs: str = "suppress") -> list[SafeGrouping]:
    """Settings to try: growing groups in the orders that do not reveal degrees."""
    return [SafeGrouping(k, k, order, hubs=hubs) for k in sizes for order in ("random", "blurred")]  # type: ignore[arg-type]


def graph_frontier(
    graph: BipartiteGraph,
    settings: Iterable[SafeGrouping] | None = None,
    *,
    count: int = 5,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[GraphPoint]:
    """Try settings one by one, and yield what each would promise and cost; nothing is published or recorded."""
    for method in graph_settings() if settings is None else settings:
        if cancelled():
            return
        start = time.perf_counter()
        try:
            release = method.publish(graph)
        except HedgerowError as error:
            yield GraphPoint(method, seconds=time.perf_counter() - start, refusal=str(error))
            continue
        try:
            widths = [width for line in compare_answers(release, graph, count=count) for width in line.half_widths]
        except ParameterError:
            widths = []
        guess, sides = static_attack(release), degree_attack(release)
        yield GraphPoint(
            method,
            chance=float(guess.surest),
            promised=float(guess.promised),
            width=statistics.median(widths) if widths else None,
            known=sum(side.certain for side in sides) / sum(len(s.node_groups) for s in (release.left, release.right)),
            lost=int(release.guarantee.parameters.get("hub_links", 0)) / max(1, graph.edges),
            seconds=time.perf_counter() - start,
        )


def _published_part(release: GroupedGraph, graph: BipartiteGraph) -> BipartiteGraph:
    """The plain graph without entities that were not published."""
    gone = []
    for side, table, key in ((release.left, graph.left, graph.left_key), (release.right, graph.right, graph.right_key)):
        known, mine = side.entities.column(side.key), table.column(key)
        if known.type != mine.type:
            raise ParameterError(
                f"The {side.name} entities are not those of the release: their keys are of another type."
            )
        gone.append(~np.asarray(pc.is_in(mine, known.combine_chunks()).to_numpy(zero_copy_only=False), np.bool_))
    if not (gone[0].any() or gone[1].any()):
        return graph
    if gone[0].all() or gone[1].all():
        raise ParameterError("No entity of the graph is one of the release; is it the graph that was published?")
    return without_entities(graph, (gone[0], gone[1]), ~(gone[0][graph.left_ends] | gone[1][graph.right_ends]))


def _conditions(table: pa.Table, key: str, count: int) -> dict[float, list[str]]:
    columns = {name: table.column(name) for name in table.column_names if name != key}
    if not columns:
        return {}
    workload = Workload(aggregates=("avg",), dimensions=(1,), selectivity=_SHARES, count=count)
    shares: dict[float, list[str]] = {}
    for question in draw_questions(workload, columns, next(iter(columns.values())), "unused"):
        shares.setdefault(question.selectivity, []).append(question.sql.partition(" WHERE ")[2])
    return shares


def _compare_release(
    release: GroupedGraph, graph: BipartiteGraph, name: str, questions: list[dict[str, str]]
) -> GraphComparison:
    line = GraphComparison(name)
    for conditions in questions:
        kept = np.ones(graph.edges, np.bool_)
        for side, condition in conditions.items():
            table, ends = (graph.left, graph.left_ends) if side == "left" else (graph.right, graph.right_ends)
            kept &= _mark_entities(table, condition)[ends]
        owners = np.arange(graph.edges) if graph.values is None else graph.values.pairs
        truth = int(kept[owners].sum())
        where = " AND ".join(f"{side}.{condition}" for side, condition in conditions.items())
        answer = release.ask(f"SELECT count(*) FROM edges WHERE {where}", estimate="learned")
        line.outside += not answer.lower <= truth <= answer.upper
        scale = max(1, truth)
        line.half_widths.append((answer.upper - answer.lower) / 2 / scale)
        if answer.expected is not None:
            line.expected.append(abs(answer.expected - truth) / scale)
        if answer.learned is not None and answer.learned.estimate is not None:
            line.learned.append(abs(answer.learned.estimate - truth) / scale)
    return line


def _mark_entities(table: pa.Table, condition: str) -> Bools:
    """The entities of the plain graph that satisfy a condition."""
    columns = {name: column_of(name, table.schema.field(name).type) for name in table.column_names}
    bound = bind(parse(f"SELECT count(*) FROM release WHERE {condition}"), columns, ())
    arrays = {name: table.column(name).combine_chunks() for name in table.column_names}
    truth = evaluate(bound.known, arrays, table.num_rows).fill_null(False)
    return np.asarray(truth.to_numpy(zero_copy_only=False), np.bool_)
