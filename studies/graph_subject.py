"""What the parts of the graph study share: a graph under study, and what a part found."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from hedgerow.graph import BipartiteGraph, GroupedGraph, SafeGrouping, author_paper_graph
from studies.graph_measure import with_draws
from studies.study import Claim

__all__ = ["SELECTIVITIES", "SIZES", "Found", "Subject", "subject_of"]

SELECTIVITIES = (10, 30, 50, 70, 90)
"""The shares of papers that queries select, in percent, as in the paper."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A graph under study: its name, the graph, and the columns by which similar papers are found."""

    name: str
    graph: BipartiteGraph
    similar: tuple[str, ...]
    seed: int = 1

    def publish(self, k: int, l: int, order: str = "random") -> GroupedGraph:  # noqa: E741 - the paper's letter
        """Publish a grouping; the seed makes the study reproducible, and nothing of it is written."""
        return SafeGrouping(k, l, order).publish(self.graph, seed=10_000 * (self.seed - 1) + k * 100 + l)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Found:
    """What one part of the study says about one graph."""

    claims: tuple[Claim, ...]
    tables: dict[str, pa.Table] = field(default_factory=dict)


def subject_of(name: str, seed: int) -> Subject | None:
    """A graph by name: small, dblp-sized or imdb-sized are generated, the library's is read where its data are."""
    if name == "library":
        from studies.real import coauthors, missing

        if missing(["acl/edges.parquet"]):
            return None
        tables = coauthors()
        # The authors' first year and favourite venue follow from their links, so they may not be published.
        graph = BipartiteGraph.read(tables.left.select(["author"]), tables.right, tables.edges)
        return Subject(name, with_draws(graph, seed), ("venue", "year"), seed)
    return Subject(name, with_draws(author_paper_graph(*SIZES[name], seed=seed), seed), ("venue", "year"), seed)


SIZES = {
    "small": (3000, 4000, 10_000),
    "dblp-sized": (402_023, 543_065, 1_401_349),
    "imdb-sized": (900_000, 430_000, 3_800_000),
}
"""Nodes of both sides and links: DBLP as printed; actors, movies and roles of IMDB in those years, rounded."""
