"""Orders of grouping: structure first, secret ties."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import ORDERS, adjacency, check_order, order_nodes
from hedgerow.randomness import seeded_keys


def _graph(seed: int):
    random = np.random.default_rng(seed)
    ends, others = (array.astype(np.int32) for array in np.nonzero(random.random((30, 25)) < 0.12))
    return adjacency(ends, others, 30, 25), adjacency(others, ends, 25, 30)


def _shape(side, opposite, node) -> tuple[int, list[int]]:
    near = side.neighbours[side.offsets[node] : side.offsets[node + 1]]
    return len(near), sorted(opposite.degrees[near].tolist())


def test_every_order_has_every_node_once() -> None:
    """An order is a permutation."""
    side, opposite = _graph(0)
    for order in ORDERS:
        assert sorted(order_nodes(side, opposite, order).tolist()) == list(range(30))


def test_degree_and_neighbourhood_descend() -> None:
    """Nodes come by degree, the busiest first, then by the sorted degrees of their neighbours."""
    for seed in range(20):
        side, opposite = _graph(seed)
        by_degree = order_nodes(side, opposite, "degree")
        assert (np.diff(side.degrees[by_degree]) <= 0).all()
        shapes = [_shape(side, opposite, node) for node in order_nodes(side, opposite, "neighbourhood")]
        assert shapes == sorted(shapes, reverse=True)


def test_long_lists_of_large_degrees_are_ranked_too() -> None:
    """Rows that need several words to pack compare as lists do."""
    from hedgerow.graph.adjacency import _row_ranks

    rows = np.random.default_rng(1).integers(0, 3, (200, 9)) + 2**20
    order = np.argsort(_row_ranks(rows), kind="stable")
    assert rows[order].tolist() == sorted(rows.tolist())


@pytest.mark.parametrize("order", ORDERS)
def test_ties_are_uniform(order) -> None:
    """Four equal nodes come in all 24 orders equally often (chi-square at 1 in 10,000)."""
    side = adjacency(np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32), 4, 4)
    keys = seeded_keys(7)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(4800):
        found = tuple(order_nodes(side, side, order, keys=keys).tolist())
        counts[found] = counts.get(found, 0) + 1
    assert len(counts) == 24
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 58.0


def test_unknown_orders_are_refused() -> None:
    """An order has a name."""
    with pytest.raises(ParameterError, match="'order' must be one of"):
        check_order("alphabetical")
