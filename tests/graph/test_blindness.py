"""Grouping never looks at entities: whoever knows the algorithm, in any order, finds all assignments equally likely."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hedgerow.graph as hg
from hedgerow.graph.adjacency import ORDERS


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("hubs", ["refuse", "suppress", "lower"])
def test_other_entities_on_the_same_nodes_give_the_same_release(order: str, hubs: str) -> None:
    """With the same coins, exchanging entities among nodes exchanges them in the release and changes nothing else.

    So the chance of a release given an assignment is the same for all assignments inside its groups, which is what
    makes each of them equally likely to somebody who knows the algorithm.
    """
    graph = hg.purchase_graph(120, 150, 260, busiest=0.02, seed=3)
    random = np.random.default_rng(5)
    for seed in range(3):
        method = hg.SafeGrouping(3, 2, order, hubs=hubs, edge_k=1 + seed)
        before = method.publish(graph, seed=seed)
        rows = random.permutation(graph.left.num_rows)
        after = method.publish(dataclasses.replace(graph, left=graph.left.take(rows)), seed=seed)
        for name in ("edges", "left_nodes", "right_nodes", "right"):
            assert after.tables[name].equals(before.tables[name])
        names = before.tables["left"]["household"].to_numpy()
        assert np.array_equal(after.tables["left"]["household"].to_numpy(), rows[names])
        assert before.tables["left"]["group"].equals(after.tables["left"]["group"])
        assert after.guarantee == before.guarantee
