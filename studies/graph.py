"""Safe groupings of author-paper graphs: co-authors under permutation, the errors of three queries, signatures.

Source     [Zhang 2008], sections 4.3.3, 4.4.5, 4.4.7 and 4.5
Cost       minutes on graphs of a million edges, seconds with `quick`

The paper's DBLP extract is not distributed. Its claims are checked on the author-paper graph of a digital library,
where the data folder has it, and on a synthetic graph of DBLP's size.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hedgerow.graph import BipartiteGraph, SafeGrouping
from hedgerow.graph.picture import draw
from hedgerow.report.release_figures import save_figure
from studies.graph_groupings import grouping, ordering
from studies.graph_permutation import permutation
from studies.graph_queries import queries
from studies.graph_signatures import signatures
from studies.graph_subject import subjects
from studies.study import Study

__all__ = ["run"]

_PARTS = (permutation, grouping, queries, ordering, signatures)


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None) -> Study:
    """Re-run the experiments; one line per claim and graph."""
    found = []
    for subject in subjects(quick):
        for part in _PARTS:
            progress(f"{subject.name}: {part.__name__}")
            found.append(part(subject, out))
    return Study(
        "Safe groupings of bipartite graphs",
        tuple(claim for each in found for claim in each.claims),
        (*(figure for each in found for figure in each.figures), _picture(out)),
        {name: table for each in found for name, table in each.tables.items()},
    )


def _picture(out: Path) -> Path:
    from hedgerow.datasets.printed import authors_and_papers

    graph = BipartiteGraph.read(*authors_and_papers())
    return save_figure(draw(SafeGrouping(3, 3).publish(graph, seed=1)), out, "grouped-graph")
