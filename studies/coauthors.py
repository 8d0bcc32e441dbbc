"""How often two entities of one side share a neighbour, and what is left of it when edges are permuted.

Source     [Zhang 2008], section 4.3.3
Cost       O(sum over nodes of their degree squared)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.adjacency import Adjacency, adjacency
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.partition.shuffles import shuffle_within
from hedgerow.randomness import Keys, system_keys

__all__ = ["permuted_edges", "shared_neighbours"]


def shared_neighbours(seen_from: Adjacency) -> NDArray[np.int64]:
    """Return, for n = 0, 1, 2, ..., how many pairs of nodes have exactly n common neighbours; 0 is not counted.

    `seen_from` lists the nodes that each node of the other side touches; one that is listed twice counts once.
    """
    pairs = [_pairs(seen_from, int(degree)) for degree in np.unique(seen_from.degrees) if degree > 1]
    if not pairs:
        return np.zeros(1, np.int64)
    _, counts = np.unique(np.concatenate(pairs), return_counts=True)
    return np.bincount(counts)


def _pairs(seen_from: Adjacency, degree: int) -> NDArray[np.int64]:
    """All pairs of neighbours of the nodes of one degree, each as one number."""
    nodes = np.flatnonzero(seen_from.degrees == degree)
    lists = np.sort(
        seen_from.neighbours[seen_from.offsets[nodes][:, None] + np.arange(degree)].astype(np.int64), axis=1
    )
    first, second = np.triu_indices(degree, 1)
    packed = lists[:, first] * seen_from.opposite + lists[:, second]
    return np.asarray(packed[lists[:, first] != lists[:, second]], np.int64)


def permuted_edges(
    graph: BipartiteGraph, order: NDArray[np.int64], sizes: NDArray[np.int64], *, keys: Keys = system_keys
) -> Adjacency:
    """Break the edges in the middle and join them anew inside groups of right nodes; return them seen from the right.

    `order` lists the right nodes, `sizes` says how many consecutive ones form a group.
    """
    by_right = graph.by_right
    degrees = by_right.degrees[order]
    starts = by_right.offsets[:-1][order]
    within = np.arange(degrees.sum()) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    lefts = by_right.neighbours[np.repeat(starts, degrees) + within]
    ends = np.append(0, np.cumsum(np.add.reduceat(degrees, np.cumsum(sizes) - sizes)))
    shuffle_within(lefts, ends, keys=keys)
    rights = np.repeat(order, degrees).astype(np.int32)
    return adjacency(rights, lefts, by_right.nodes, by_right.opposite)
