"""What the parts of the graph study share: a graph under study, and what a part found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from hedgerow.graph import BipartiteGraph, GroupedGraph, SafeGrouping, author_paper_graph
from studies.graph_measure import with_draws
from studies.study import Claim

__all__ = ["SELECTIVITIES", "Found", "Subject", "subjects"]

SELECTIVITIES = (10, 30, 50, 70, 90)
"""The shares of papers that queries select, in percent, as in the paper."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A graph under study: its name, the graph, and the columns by which similar papers are found."""

    name: str
    graph: BipartiteGraph
    similar: tuple[str, ...]

    def publish(self, k: int, l: int, order: str = "random") -> GroupedGraph:  # noqa: E741 - the paper's letter
        """Publish a grouping; the seed makes the study reproducible, and nothing of it is written."""
        return SafeGrouping(k, l, order).publish(self.graph, seed=k * 100 + l)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Found:
    """What one part of the study says about one graph."""

    claims: tuple[Claim, ...]
    figures: tuple[Path, ...] = ()
    tables: dict[str, pa.Table] = field(default_factory=dict)


def subjects(quick: bool) -> list[Subject]:
    """The graphs: a small one for a quick look, else one of DBLP's size and the library's where its data are."""
    from studies.real import coauthors, data_folder

    if quick:
        return [Subject("small", with_draws(author_paper_graph(3000, 4000, 10_000, seed=1), 1), ("venue", "year"))]
    subjects = [Subject("dblp-sized", author_paper_graph(), ("venue", "year"))]
    if data_folder() is not None:
        tables = coauthors()
        # The authors' first year and favourite venue follow from their links, so they may not be published.
        graph = BipartiteGraph.read(tables.left.select(["author"]), tables.right, tables.edges)
        subjects.insert(0, Subject("library", with_draws(graph, 1), ("venue", "year")))
    return subjects
