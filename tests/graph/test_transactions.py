"""Baskets of items: k^m-anonymity by exhaustion, and what the same knowledge finds in a release."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hedgerow.graph as hg
from hedgerow.errors import ParameterError
from hedgerow.graph.attack import item_attack, km_violations
from hedgerow.graph.compare import compare_answers
from tests.support.graph_worlds import tiny_graph


def test_km_anonymity_is_the_definition() -> None:
    """Each combination of up to m items that some basket has is counted against all baskets."""
    for seed in range(40):
        graph = tiny_graph(seed, density=0.5)
        baskets = [
            set(graph.by_left.neighbours[a:b].tolist()) for a, b in itertools.pairwise(graph.by_left.offsets.tolist())
        ]
        for k, m in ((2, 1), (2, 2), (3, 2)):
            every = {
                combination
                for basket in baskets
                for size in range(1, m + 1)
                for combination in itertools.combinations(sorted(basket), size)
            }
            few = sum(sum(set(items) <= basket for basket in baskets) < k for items in every)
            found = km_violations(graph, k=k, m=m)
            assert (found.violations, found.combinations) == (few, len(every))
            assert found.holds == (few == 0)


def test_too_many_combinations_are_refused() -> None:
    """The number is computed before anything is listed."""
    ends = np.arange(200, dtype=np.int32)
    graph = hg.BipartiteGraph.read({"v": [0]}, {"w": range(200)}, {"v": [0] * 200, "w": ends})
    with pytest.raises(ParameterError, match="combinations"):
        km_violations(graph, k=2, m=4)


def test_items_find_fewer_nodes_in_a_release() -> None:
    """Who knows two items finds most baskets of the plain graph, and the right node is always a candidate."""
    graph = hg.author_paper_graph(400, 500, 1_300, seed=1)
    found = item_attack(hg.SafeGrouping(5, 5).publish(graph, seed=1), m=2, targets=200)
    assert found.tried == 200
    assert found.unique > 0.5 * found.tried
    assert found.found_blind < found.unique
    assert 0 < found.chance_blind <= found.chance <= 1


def test_a_release_is_compared_with_the_graph_behind_it() -> None:
    """No truth lies outside, and medians are given for each kind of question."""
    graph = hg.author_paper_graph(400, 500, 1_300, seed=1)
    lines = compare_answers(hg.SafeGrouping(3, 3).publish(graph, seed=1), graph, count=4)
    assert len(lines) == 9
    assert sum(line.outside for line in lines) == 0
