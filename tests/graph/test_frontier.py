"""What settings would promise and cost on a graph, one by one."""

from __future__ import annotations

import hedgerow.graph as hg
from hedgerow.graph.compare import graph_frontier, graph_settings
from tests.graph.test_edge_values import hub_graph


def test_larger_groups_promise_more_and_answer_less() -> None:
    """Points come one by one, with a refusal where there is no grouping, and end when they are cancelled."""
    graph = hg.author_paper_graph(200, 260, 500, seed=2)
    settings = [hg.SafeGrouping(k, k, "blurred") for k in (2, 8, 200)]
    small, large, none = graph_frontier(graph, settings, count=2)
    assert small.promised == 1 / 2
    assert large.promised == 1 / 8
    for point in (small, large):
        assert point.chance is not None
        assert point.chance <= point.promised
        assert point.lost == 0.0
    assert small.width < large.width
    assert "No safe grouping" in none.refusal
    assert none.width is None
    assert list(graph_frontier(graph, settings, cancelled=lambda: True)) == []
    assert {method.k for method in graph_settings((2, 3))} == {2, 3}


def test_edges_alone_have_no_widths() -> None:
    """Where entities have no columns every answer is exact; what hubs lose is counted."""
    bare = hg.BipartiteGraph.from_edges(hub_graph().to_arrow()["edges"])
    (point,) = graph_frontier(bare, [hg.SafeGrouping(2, 2, "blurred", hubs="suppress")])
    assert point.width is None
    assert point.lost > 0.0
