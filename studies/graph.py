"""Safe groupings of author-paper graphs: co-authors under permutation, the errors of three queries, signatures.

Source     [Zhang 2008], sections 4.3.3, 4.4.5, 4.4.7 and 4.5
Cost       minutes on graphs of a million edges, seconds with `quick`

The paper's DBLP extract is not distributed. Its claims are checked on the author-paper graph of a digital library,
where the data folder has it, and on synthetic graphs of the sizes of DBLP and of IMDB, which the paper tried as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from hedgerow.graph import BipartiteGraph, SafeGrouping
from hedgerow.graph.picture import draw
from hedgerow.report.release_figures import save_figure
from studies.figures import draw_curves
from studies.graph_groupings import grouping, ordering
from studies.graph_permutation import permutation
from studies.graph_queries import queries
from studies.graph_signatures import signatures
from studies.graph_subject import subject_of
from studies.study import Part, Plan, Setting, Study, Unit

__all__ = ["PLAN", "measure"]

_PARTS = (permutation, grouping, queries, ordering, signatures)


def measure(name: str, unit: Unit) -> Study:
    """Re-run the experiments on one graph, or on a small one to be quick; one line per claim."""
    subject = subject_of("small" if unit.quick else name, unit.seed)
    if subject is None:
        return Study("no data")
    found = []
    for part in _PARTS:
        unit.progress(f"{subject.name}: {part.__name__}")
        found.append(part(subject))
    claims = [replace(claim, source=f"{claim.source} ({name})") for each in found for claim in each.claims]
    tables = {label: table for each in found for label, table in each.tables.items()}
    return Study("graph", tuple(claims), (_picture(unit.out),) if unit.seed == 1 else (), tables)


def _picture(out: Path) -> Path:
    from hedgerow.datasets.printed import authors_and_papers

    graph = BipartiteGraph.read(*authors_and_papers())
    return save_figure(draw(SafeGrouping(3, 3).publish(graph, seed=1)), out, "grouped-graph")


PLAN = Plan(
    "Safe groupings of bipartite graphs",
    {name: Part(partial(measure, name), minutes)
     for name, minutes in (("library", 0.2), ("dblp-sized", 0.8), ("imdb-sized", 2.0))},
    Setting("DBLP conferences of June 2007: 402,023 authors, 543,065 papers, 1,401,349 links", "",
            "the paper's extract: a real graph is more regular than a generated one"),
    {
        "(library)": Setting(ours="a digital library: 116,687 authors, 109,769 papers, 387,368 links; the seed draws "
                             "groupings and predicates"),
        "(dblp-sized)": Setting(ours="generated, DBLP's numbers, teams that write again; another graph for each seed"),
        "(imdb-sized)": Setting("IMDB, \"similar conclusions\", no numbers",
                                "generated: 900,000 actors, 430,000 movies, 3,800,000 links; another for each seed",
                                "IMDB itself"),
    },
    data=("acl/edges.parquet", "acl/authors.parquet", "acl/papers.parquet"),
    stand_in="The generated graphs alone are measured.",
    draw=draw_curves,
)  # fmt: skip
