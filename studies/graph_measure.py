"""Measurements behind the graph study: the paper's three queries, and the co-author frequencies.

Source     [Zhang 2008], sections 4.3.3 and 4.4.7
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.graph import BipartiteGraph, GroupedGraph
from hedgerow.graph.answer import GraphAnswer
from hedgerow.graph.attack import group_pairs
from hedgerow.randomness import generator, seeded_keys
from studies.coauthors import permuted_edges, shared_neighbours

__all__ = ["QUERIES", "Errors", "errors", "frequencies", "printed_errors", "touched_errors", "touching", "with_draws"]

QUERIES = {
    "A": "SELECT avg(degree) FROM right WHERE right.draw < {paper}",
    "B": "SELECT count(*) FROM right WHERE right.draw < {paper} AND right.degree = 1",
    "C": "SELECT count(DISTINCT right) FROM edges WHERE right.draw < {paper} AND left.draw < {author}",
}
"""Average authors of a paper; papers with one author; papers that have an author with a property."""

Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Groups of both sides that have links, and how many."""


@dataclass(frozen=True)
class Errors:
    """How far an answer may be off, and how far its expectation is: (U - L) / 2Q and |E - Q| / Q."""

    bound: float
    expected: float


def with_draws(graph: BipartiteGraph, seed: int) -> BipartiteGraph:
    """Give every entity a number from 0 to 99 by chance, so that a predicate can have any selectivity."""
    random = generator(seed)

    def drawn(table: pa.Table) -> pa.Table:
        kept = table.drop_columns(["draw"]) if "draw" in table.column_names else table
        return kept.append_column("draw", pa.array(random.integers(0, 100, table.num_rows)))

    return dataclasses.replace(graph, left=drawn(graph.left), right=drawn(graph.right))


def errors(release: GroupedGraph, graph: BipartiteGraph, query: str, paper: int, author: int = 100) -> Errors:
    """Ask one of the three queries and compare with the graph itself."""
    answer = release.ask(QUERIES[query].format(paper=paper, author=author))
    return _errors(answer, _TRUTHS[query](graph, paper, author))


def _errors(answer: GraphAnswer, truth: float) -> Errors:
    assert answer.lower is not None
    assert answer.upper is not None
    expected = float("nan") if answer.expected is None else abs(answer.expected - truth) / truth
    return Errors((answer.upper - answer.lower) / (2 * truth), expected)


def printed_errors(release: GroupedGraph, graph: BipartiteGraph, papers: Sequence[int], author: int) -> list[Errors]:
    """Bound query C as the paper prints it, pair of groups by pair of groups; its expectation is not looked at."""
    pairs = group_pairs(release)
    return [_printed_error(release, pairs, (paper, author), _truth_c(graph, paper, author)) for paper in papers]


def _printed_error(release: GroupedGraph, pairs: Pairs, limits: tuple[int, int], truth: float) -> Errors:
    (left, right, c), (paper, author) = pairs, limits
    a, b = (
        np.bincount(side.entity_groups, weights=_draws(side.entities) < limit, minlength=side.groups)
        for side, limit in ((release.left, author), (release.right, paper))
    )
    upper = np.bincount(right, weights=np.minimum(np.minimum(a[left], b[right]), c), minlength=release.right.groups)
    lower = np.zeros(release.right.groups)
    np.maximum.at(lower, right, a[left] + b[right] + c - release.left.sizes[left] - release.right.sizes[right])
    return Errors(float(np.minimum(b, upper).sum() - lower.sum()) / (2 * truth), float("nan"))


def _draws(table: pa.Table) -> NDArray[np.int64]:
    return np.asarray(table.column("draw").to_numpy(), np.int64)


def _truth_a(graph: BipartiteGraph, paper: int, author: int) -> float:
    return float(graph.by_right.degrees[_draws(graph.right) < paper].mean())


def _truth_b(graph: BipartiteGraph, paper: int, author: int) -> float:
    return float((graph.by_right.degrees[_draws(graph.right) < paper] == 1).sum())


def _truth_c(graph: BipartiteGraph, paper: int, author: int) -> float:
    written = (_draws(graph.left) < author)[graph.left_ends]
    has_one = np.zeros(graph.right.num_rows, np.bool_)
    has_one[graph.right_ends[written]] = True
    return float((has_one & (_draws(graph.right) < paper)).sum())


_TRUTHS: dict[str, Callable[[BipartiteGraph, int, int], float]] = {"A": _truth_a, "B": _truth_b, "C": _truth_c}


def touching(release: GroupedGraph, per_group: int) -> tuple[GroupedGraph, NDArray[np.int64]]:
    """Mark `per_group` entities in as many right groups as make about a tenth of all entities.

    Return a release with the column `touched`, and the keys of the marked entities, so that the truth can be told.
    """
    side = release.right
    groups = max(1, len(side.entity_groups) // (10 * per_group))
    offset = np.arange(len(side.entity_groups)) - np.searchsorted(side.entity_groups, side.entity_groups)
    touched = (side.entity_groups < groups) & (offset < per_group)
    table = side.entities.append_column("touched", pa.array(touched.astype(np.int64)))
    marked = dataclasses.replace(release, tables={**release.tables, "right": table})
    return marked, np.asarray(side.entities.column(side.key).to_numpy(), np.int64)[touched]


def touched_errors(release: GroupedGraph, graph: BipartiteGraph, per_group: int) -> Errors:
    """Ask for single-author papers among entities that touch their groups more or less."""
    marked, keys = touching(release, per_group)
    answer = marked.ask("SELECT count(*) FROM right WHERE touched = 1 AND right.degree = 1")
    rows = np.isin(graph.right.column(graph.right_key).to_numpy(), keys)
    return _errors(answer, float((graph.by_right.degrees[rows] == 1).sum()))


def frequencies(graph: BipartiteGraph, sort_by: Iterable[str]) -> dict[str, NDArray[np.int64]]:
    """How many pairs of left entities share n neighbours: in the graph, after permuting all edges, and small groups."""
    papers = graph.right.num_rows
    columns = [
        np.unique(graph.right.column(name).to_numpy(zero_copy_only=False), return_inverse=True)[1] for name in sort_by
    ]
    order = np.lexsort((graph.by_right.degrees, *reversed(columns)))
    everything, pairs = np.array([papers]), np.full((papers + 1) // 2, 2)
    pairs[-1] -= papers % 2
    return {
        "source": shared_neighbours(graph.by_right),
        "permuted in small groups": shared_neighbours(permuted_edges(graph, order, pairs, keys=seeded_keys(1))),
        "permuted globally": shared_neighbours(permuted_edges(graph, order, everything, keys=seeded_keys(2))),
    }
