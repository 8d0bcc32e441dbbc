"""Bipartite graphs: three tables are read, a safe grouping is published, and questions are answered with bounds.

graph = BipartiteGraph.read("authors.csv", "papers.csv", "wrote.csv")
release = SafeGrouping(k=5, l=5).publish(graph)
release.ask("SELECT count(DISTINCT right) FROM edges WHERE left.location = 'US' AND right.venue = 'SIGMOD'")
release.save("out/")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.graph.answer import GraphAnswer
    from hedgerow.graph.bipartite import BipartiteGraph
    from hedgerow.graph.bundle import read as open
    from hedgerow.graph.generate import author_paper_graph, purchase_graph
    from hedgerow.graph.grouped import GroupedGraph
    from hedgerow.graph.method import SafeGrouping
    from hedgerow.verify.graph import verify_graph as verify
    from hedgerow.verify.graph import verify_graph_bundle as verify_bundle

__all__ = [
    "BipartiteGraph",
    "GraphAnswer",
    "GroupedGraph",
    "SafeGrouping",
    "author_paper_graph",
    "open",
    "purchase_graph",
    "verify",
    "verify_bundle",
]

_HOMES = {
    "BipartiteGraph": "bipartite.BipartiteGraph",
    "GraphAnswer": "answer.GraphAnswer",
    "GroupedGraph": "grouped.GroupedGraph",
    "SafeGrouping": "method.SafeGrouping",
    "author_paper_graph": "generate.author_paper_graph",
    "open": "bundle.read",
    "purchase_graph": "generate.purchase_graph",
    "verify": "bundle.verify_graph",
    "verify_bundle": "bundle.verify_graph_bundle",
}

__getattr__ = lazy(__name__, _HOMES)
