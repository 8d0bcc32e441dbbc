"""The graph study runs and says something about every claim."""

from __future__ import annotations

from pathlib import Path

from hedgerow.graph import author_paper_graph
from studies.figures import draw_curves
from studies.graph import measure
from studies.graph_subject import SIZES
from studies.study import Unit


def test_a_quick_run_gives_a_verdict_for_every_claim_and_draws_every_figure(tmp_path: Path) -> None:
    """Claims that do not depend on the size of the graph hold on a small one."""
    steps: list[str] = []
    study = measure("imdb-sized", Unit(tmp_path, quick=True, progress=steps.append))
    assert len(study.claims) == 17
    assert all(claim.seen.startswith("small") for claim in study.claims)
    holds = {claim.says for claim in study.claims if claim.holds}
    for words in (
        "narrow as more",
        "smaller groups",
        "exact where that side",
        "never wider",
        "no link is surer",
        "not both",
    ):
        assert any(words in says for says in holds), words
    figures = [*study.figures, *draw_curves(tmp_path, study.tables)]
    assert len(figures) == 6
    assert all(figure.is_file() and figure.with_suffix(".svg").is_file() for figure in figures)
    assert study.tables["errors-small"].num_rows == 5 * 4 * 5
    assert len(steps) == 5
    assert all(claim.source.endswith("(imdb-sized)") for claim in study.claims)


def test_a_graph_of_the_size_of_imdb_can_be_generated() -> None:
    """A hundredth of it, with its ratio of actors, movies and links."""
    actors, movies, links = (size // 100 for size in SIZES["imdb-sized"])
    graph = author_paper_graph(actors, movies, links, seed=1)
    assert (graph.left.num_rows, graph.right.num_rows, len(graph.left_ends)) == (actors, movies, links)
