"""How many edges join a selected left entity with a selected right one.

Source     dissertation on permutation-based microdata protection, section 4.4.4, example 7
Guarantee  the true number lies between the bounds; with conditions on one side only some assignment reaches each of
           them; the expectation is exact
Cost       O(edges + nodes log s) with groups of s
Deviates   never looser than the paper's sums over pairs of groups, mostly tighter: see docs/methods/graph_queries.md

Between a group of k nodes, a of them selected, and a group of l, b of them selected, the c edges form a matching. Fix
the choice X of a nodes in one group: the edges to a far group that is wholly selected are then known, so over those
the least and the greatest sum of degrees of a nodes are exact. Only far groups that are selected in part are bounded
pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.extremes import largest_sums, smallest_sums
from hedgerow.graph.select import Selected
from hedgerow.kernel import kernel

__all__ = ["Links", "count_links", "most_links"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Bounds and mean of a number of edges."""

    lower: int
    upper: int
    expected: float


def count_links(left: Selected, right: Selected) -> Links:
    """COUNT(*) FROM edges."""
    lower, upper = _from(left, right, right.nodes)
    other_lower, other_upper = _from(right, left, left.nodes)
    near = left.side.neighbours
    expected = float((left.chances[near.ends] * right.chances[near.neighbours]).sum())
    return Links(max(lower, other_lower), min(upper, other_upper), expected)


def most_links(left: Selected, right: Selected, among: NDArray[np.bool_]) -> int:
    """Return an upper bound of the edges from selected left nodes to selected right ones that `among` marks."""
    return _from(left, right, right.nodes & among)[1]


def _from(near: Selected, far: Selected, far_nodes: NDArray[np.bool_]) -> tuple[int, int]:
    """Bound the edges group by group of the near side."""
    pairs = _pairs_of(near, far, far_nodes)
    capped = pairs.capped + largest_sums(pairs.uncapped, near.sizes, near.counts)
    upper = np.minimum(capped, largest_sums(pairs.high, near.sizes, near.counts))
    lower = pairs.forced + smallest_sums(pairs.low, near.sizes, near.counts)
    return int(lower.sum()), int(upper.sum())


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Per node: edges that count for sure or perhaps if the node is selected. Per group: what far groups cap or "
    "force."""

    low: Ints
    high: Ints
    uncapped: Ints
    capped: Ints
    forced: Ints


def _pairs_of(near: Selected, far: Selected, far_nodes: NDArray[np.bool_]) -> _Pairs:
    graph: Adjacency = near.side.neighbours
    nodes, groups = graph.nodes, near.side.groups
    pairs = _Pairs(*(np.zeros(size, np.int64) for size in (nodes, nodes, nodes, groups, groups)))
    _visit(
        graph.offsets, graph.neighbours, np.append(0, np.cumsum(near.sizes)), near.nodes, near.counts,
        far.side.node_groups, far_nodes, far.counts, far.sizes,
        np.zeros(far.side.groups, np.int64), np.zeros(int(np.diff(graph.offsets).sum()) + 1, np.int32),
        pairs.low, pairs.high, pairs.uncapped, pairs.capped, pairs.forced,
    )  # fmt: skip
    return pairs


@kernel
def _visit(
    offsets: Ints,
    neighbours: NDArray[np.int32],
    firsts: Ints,
    near_nodes: NDArray[np.bool_],
    near_counts: Ints,
    far_groups: NDArray[np.int32],
    far_nodes: NDArray[np.bool_],
    far_counts: Ints,
    far_sizes: Ints,
    edges_to: Ints,
    touched: NDArray[np.int32],
    low: Ints,
    high: Ints,
    uncapped: Ints,
    capped: Ints,
    forced: Ints,
) -> None:
    for group in range(len(near_counts)):
        a, k = near_counts[group], firsts[group + 1] - firsts[group]
        if a == 0:
            continue
        seen = 0
        for node in range(firsts[group], firsts[group + 1]):
            if near_nodes[node]:
                for edge in range(offsets[node], offsets[node + 1]):
                    far = far_groups[neighbours[edge]]
                    if far_nodes[neighbours[edge]] and far_counts[far] > 0:
                        if edges_to[far] == 0:
                            touched[seen] = far
                            seen += 1
                        edges_to[far] += 1
        for node in range(firsts[group], firsts[group + 1]):
            if near_nodes[node]:
                for edge in range(offsets[node], offsets[node + 1]):
                    far = far_groups[neighbours[edge]]
                    if far_nodes[neighbours[edge]] and far_counts[far] > 0:
                        high[node] += 1
                        low[node] += far_counts[far] == far_sizes[far]
                        uncapped[node] += far_counts[far] >= min(a, edges_to[far])
        for place in range(seen):
            far = touched[place]
            b, l, c = far_counts[far], far_sizes[far], edges_to[far]  # noqa: E741 - the paper's letters
            if b < min(a, c):
                capped[group] += b
            if b < l:
                forced[group] += max(0, c - (k - a) - (l - b))
            edges_to[far] = 0
