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
    pairs = _pairs_of(left, right, right.reachable)
    lower, upper = pairs.bounds(left)
    other_lower, other_upper = _pairs_of(right, left, left.reachable).bounds(right)
    expected = float((pairs.shares * left.counts / left.sizes).sum())
    return Links(max(lower, other_lower), min(upper, other_upper), expected)


def most_links(left: Selected, right: Selected, among: NDArray[np.bool_]) -> int:
    """Return an upper bound of the edges from selected left nodes to selected right ones that `among` marks."""
    return _pairs_of(left, right, np.where(among, right.reachable, np.int32(-1))).bounds(left)[1]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """What is known of the edges of the near side.

    Per node: how many of its edges count for sure, may count, and may count in far groups that do not run out, if the
    node is selected. Per group: how many edges the far groups that run out allow, how many edges to far groups that are
    selected in part must count, and the chances of the far ends of its edges added up.
    """

    low: Ints
    high: Ints
    uncapped: Ints
    capped: Ints
    forced: Ints
    shares: NDArray[np.float64]

    def bounds(self, near: Selected) -> tuple[int, int]:
        """Add up, over the groups of the near side, the fewest and the most edges of any choice."""
        capped = self.capped + largest_sums(self.uncapped, near.sizes, near.counts)
        upper = np.minimum(capped, largest_sums(self.high, near.sizes, near.counts))
        lower = self.forced + smallest_sums(self.low, near.sizes, near.counts)
        return int(lower.sum()), int(upper.sum())


def _pairs_of(near: Selected, far: Selected, far_groups: NDArray[np.int32]) -> _Pairs:
    """Visit the edges of the near side; `far_groups` has the group of each far node, or -1 if it never counts."""
    graph = near.side.neighbours
    nodes, groups = graph.nodes, near.side.groups
    low, high, uncapped = (np.zeros(nodes, np.int64) for _ in range(3))
    capped, forced = (np.zeros(groups, np.int64) for _ in range(2))
    pairs = _Pairs(low, high, uncapped, capped, forced, np.zeros(groups))
    _visit(
        graph.offsets, graph.neighbours, np.append(0, np.cumsum(near.sizes)), near.nodes, near.counts,
        far_groups, far.counts, far.sizes, np.zeros(far.side.groups, np.int32), np.empty((graph.edges, 2), np.int32),
        pairs.low, pairs.high, pairs.uncapped, pairs.capped, pairs.forced, pairs.shares,
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
    far_counts: Ints,
    far_sizes: Ints,
    edges_to: NDArray[np.int32],
    kept: NDArray[np.int32],
    low: Ints,
    high: Ints,
    uncapped: Ints,
    capped: Ints,
    forced: Ints,
    shares: NDArray[np.float64],
) -> None:
    for group in range(len(near_counts)):
        a, k = near_counts[group], firsts[group + 1] - firsts[group]
        if a == 0:
            continue
        count = 0
        for node in range(firsts[group], firsts[group + 1]):
            if near_nodes[node]:
                for edge in range(offsets[node], offsets[node + 1]):
                    far = far_groups[neighbours[edge]]
                    if far != -1:
                        kept[count, 0], kept[count, 1] = node, far
                        count += 1
                        edges_to[far] += 1
        for place in range(count):
            node, far = kept[place, 0], kept[place, 1]
            b, l = far_counts[far], far_sizes[far]  # noqa: E741 - the paper's letters
            shares[group] += b / l
            high[node] += 1
            low[node] += b == l
            uncapped[node] += b >= min(a, edges_to[far])
        for place in range(count):
            far = kept[place, 1]
            b, l, c = far_counts[far], far_sizes[far], edges_to[far]  # noqa: E741
            if c == 0:
                continue
            if b < min(a, c):
                capped[group] += b
            if b < l:
                forced[group] += max(0, c - (k - a) - (l - b))
            edges_to[far] = 0
