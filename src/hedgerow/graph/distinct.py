"""How many selected entities of one side are joined with at least one selected entity of the other.

Source     dissertation on permutation-based microdata protection, section 4.4.4, example 7
Guarantee  the true number lies between the bounds; with conditions on the counted side alone some assignment reaches
           each of them; the expectation is exact
Cost       O(edges + nodes log s) with groups of s
Deviates   the printed expectation multiplies chances of pairs of groups as if a node had c of them; here each node has
           the chance that none of its neighbours, which lie in different groups, is selected. The bounds are never
           looser than the paper's: see docs/methods/graph_queries.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.extremes import smallest_sums
from hedgerow.graph.links import Links, most_links
from hedgerow.graph.select import Selected
from hedgerow.kernel import kernel

__all__ = ["count_joined"]

Ints = NDArray[np.int64]

_WHOLE = 1 << 40
"""Shares of a node are fractions of this, rounded down: their sums are exact and never too large."""


def count_joined(counted: Selected, other: Selected) -> Links:
    """COUNT(DISTINCT counted) FROM edges."""
    graph = counted.side.neighbours
    certain = graph.sums(other.must[graph.neighbours]) > 0
    bounds = [np.zeros(counted.side.groups, np.int64) for _ in range(3)]
    reach = graph.sums(other.may[graph.neighbours])
    sizes = np.append(0, np.cumsum(counted.sizes))
    _visit(
        graph.offsets, graph.neighbours, sizes, counted.nodes, certain, reach, counted.counts,
        other.side.node_groups, other.may, other.counts, other.sizes,
        np.zeros(other.side.groups, np.int64), np.zeros(graph.edges + 1, np.int32), *bounds,
    )  # fmt: skip
    upper = min(int(bounds[1].sum()), int(bounds[2].sum()) + most_links(other, counted, ~certain))
    return Links(_lower(counted, other, certain, reach, bounds[0]), upper, _expected(counted, other))


def _expected(counted: Selected, other: Selected) -> float:
    """Add up the chances that a node is selected and not all of its neighbours are missed."""
    graph = counted.side.neighbours
    with np.errstate(divide="ignore"):
        missed = np.log1p(-other.chances)[graph.neighbours]
    starts = graph.offsets[:-1][graph.degrees > 0]
    none = np.zeros(graph.nodes)
    none[graph.degrees > 0] = np.add.reduceat(missed, starts) if len(starts) else 0.0
    return float((counted.chances * -np.expm1(none)).sum())


def _lower(counted: Selected, other: Selected, certain: NDArray[np.bool_], reach: Ints, by_group: Ints) -> int:
    """Where whole groups are counted, add to the certain nodes what any choice of the other side must reach.

    A node that is joined with several selected ones is shared out among the edges that may join it, so the least
    sum of shares over all choices is a lower bound.
    """
    is_whole = counted.counts == counted.sizes
    shared = counted.must & ~certain & (reach > 0)
    shares = np.where(shared, _WHOLE // np.maximum(reach, 1), 0)
    back = other.side.neighbours
    weights = np.where(other.nodes, back.sums(shares[back.neighbours]), 0)
    least = int(smallest_sums(weights, other.sizes, other.counts).sum())
    through_shares = int((certain & counted.must).sum()) - (-least // _WHOLE)
    return int(by_group[~is_whole].sum()) + max(int(by_group[is_whole].sum()), through_shares)


@kernel
def _visit(
    offsets: Ints,
    neighbours: NDArray[np.int32],
    firsts: Ints,
    counted_nodes: NDArray[np.bool_],
    certain: NDArray[np.bool_],
    reach: Ints,
    counted_counts: Ints,
    groups: NDArray[np.int32],
    may: NDArray[np.bool_],
    counts: Ints,
    sizes: Ints,
    edges_to: Ints,
    touched: NDArray[np.int32],
    lower: Ints,
    upper: Ints,
    certainly: Ints,
) -> None:
    for group in range(len(counted_counts)):
        b, l = counted_counts[group], firsts[group + 1] - firsts[group]  # noqa: E741 - the paper's letters
        if b == 0:
            continue
        sure = perhaps = seen = 0
        for node in range(firsts[group], firsts[group + 1]):
            if not counted_nodes[node]:
                continue
            if certain[node]:
                sure += 1
                continue
            perhaps += reach[node] > 0
            for edge in range(offsets[node], offsets[node + 1]):
                if may[neighbours[edge]]:
                    near = groups[neighbours[edge]]
                    if edges_to[near] == 0:
                        touched[seen] = near
                        seen += 1
                    edges_to[near] += 1
        forced = most = 0
        for place in range(seen):
            near = touched[place]
            a, k, c = counts[near], sizes[near], edges_to[near]
            forced = max(forced, c - (k - a))
            most += min(a, c)
            edges_to[near] = 0
        lower[group] = max(0, sure + forced + b - l)
        upper[group] = min(b, sure + min(perhaps, most))
        certainly[group] = min(b, sure)
