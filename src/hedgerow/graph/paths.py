"""Paths of two edges: from a selected node over a selected one of the other side to a selected one of the first side.

Source     [Zhang 2008], section 4.2.3 (named there, not solved)
Guarantee  the true number lies between the bounds; the expectation of COUNT(*) is exact
Cost       O(edges)

Start and end of a path share a neighbour, so they lie in different groups: which entity the one is says nothing about
the other, and the chances multiply. The nodes that are reached do not have this: paths to one end may start in one
group, so COUNT(DISTINCT end) has bounds but no expectation in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.select import Selected

__all__ = ["count_ends", "count_paths"]


def count_paths(start: Selected, via: Selected, end: Selected) -> tuple[int, int, float]:
    """COUNT(*) over paths whose start and end are different nodes: lower, upper, expected."""
    lower = _pairs(via, start.must.astype(np.float64), end.must.astype(np.float64), via.must.astype(np.float64))
    upper = _pairs(via, start.may.astype(np.float64), end.may.astype(np.float64), via.may.astype(np.float64))
    return round(lower), round(upper), _pairs(via, start.chances, end.chances, via.chances)


def count_ends(start: Selected, via: Selected, end: Selected) -> tuple[int, int]:
    """COUNT(DISTINCT end): lower and upper."""
    sure = _reached(start.must, via.must, start.side.neighbours, via.side.neighbours) & end.nodes
    perhaps = _reached(start.may, via.may, start.side.neighbours, via.side.neighbours) & end.nodes
    groups, sizes = end.side.node_groups, end.sizes
    certain, possible = (np.bincount(groups, weights=mark, minlength=len(sizes)) for mark in (sure, perhaps))
    lower = np.maximum(0, end.counts + certain - sizes).sum()
    return int(lower), int(np.minimum(end.counts, possible).sum())


def _pairs(via: Selected, start: NDArray[np.float64], end: NDArray[np.float64], middle: NDArray[np.float64]) -> float:
    """Add up, over the nodes in the middle, the weights of all pairs of different neighbours."""
    graph = via.side.neighbours
    near, far = start[graph.neighbours], end[graph.neighbours]
    sums = (np.bincount(graph.ends, weights=weights, minlength=graph.nodes) for weights in (near, far, near * far))
    first, last, both = sums
    return float((middle * (first * last - both)).sum())


def _reached(start: NDArray[np.bool_], via: NDArray[np.bool_], near: Adjacency, far: Adjacency) -> NDArray[np.bool_]:
    """Mark the nodes that have a path from another marked one over a marked middle."""
    starts = far.sums(start[far.neighbours])
    # A middle node with one marked neighbour leads that neighbour back to itself only.
    others = np.where(via, starts, 0)[near.neighbours]
    alone = (others == 1) & start[near.ends]
    return near.sums((others > 0) & ~alone) > 0
