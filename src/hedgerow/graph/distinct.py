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

from dataclasses import dataclass

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
    near = _surroundings(counted, other)
    graph, groups = counted.side.neighbours, counted.side.groups
    lower, upper, sure = (np.zeros(groups, np.int64) for _ in range(3))
    _visit(
        graph.offsets, graph.neighbours, np.append(0, np.cumsum(counted.sizes)), counted.nodes,
        near.certain, near.reach, counted.counts, other.reachable, other.counts, other.sizes,
        np.zeros(other.side.groups, np.int32), np.empty(graph.edges, np.int32), lower, upper, sure,
    )  # fmt: skip
    most = min(int(upper.sum()), int(sure.sum()) + most_links(other, counted, ~near.certain))
    expected = float((counted.chances * (1.0 - near.missed)).sum())
    return Links(_lower(counted, other, near, lower), most, expected)


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """Per node: whether a neighbour is selected for sure, how many may be, and the chance that none is."""

    certain: NDArray[np.bool_]
    reach: Ints
    missed: NDArray[np.float64]


def _surroundings(counted: Selected, other: Selected) -> _Surroundings:
    graph = counted.side.neighbours
    near = _Surroundings(np.zeros(graph.nodes, np.bool_), np.zeros(graph.nodes, np.int64), np.ones(graph.nodes))
    shares = other.counts / other.sizes
    _look_around(graph.offsets, graph.neighbours, other.reachable, shares, near.certain, near.reach, near.missed)
    return near


def _lower(counted: Selected, other: Selected, near: _Surroundings, by_group: Ints) -> int:
    """Where whole groups are counted, add to the certain nodes what any choice of the other side must reach.

    A node that is joined with several selected ones is shared out among the edges that may join it, so the least
    sum of shares over all choices is a lower bound.
    """
    is_whole = counted.counts == counted.sizes
    certainly = int(by_group[is_whole].sum())
    shared = counted.must & ~near.certain & (near.reach > 0)
    if not shared.any():
        return int(by_group[~is_whole].sum()) + certainly
    shares = np.where(shared, _WHOLE // np.maximum(near.reach, 1), 0)
    back = other.side.neighbours
    weights = np.where(other.nodes, back.sums(shares[back.neighbours]), 0)
    least = int(smallest_sums(weights, other.sizes, other.counts).sum())
    through_shares = int((near.certain & counted.must).sum()) - (-least // _WHOLE)
    return int(by_group[~is_whole].sum()) + max(certainly, through_shares)


@kernel
def _look_around(
    offsets: Ints,
    neighbours: NDArray[np.int32],
    groups: NDArray[np.int32],
    shares: NDArray[np.float64],
    certain: NDArray[np.bool_],
    reach: Ints,
    missed: NDArray[np.float64],
) -> None:
    for node in range(len(certain)):
        for edge in range(offsets[node], offsets[node + 1]):
            group = groups[neighbours[edge]]
            if group != -1:
                reach[node] += 1
                missed[node] *= 1.0 - shares[group]
                certain[node] |= shares[group] == 1.0


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
    counts: Ints,
    sizes: Ints,
    edges_to: NDArray[np.int32],
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
            elif reach[node] > 0:
                perhaps += 1
                for edge in range(offsets[node], offsets[node + 1]):
                    near = groups[neighbours[edge]]
                    if near != -1:
                        touched[seen] = near
                        seen += 1
                        edges_to[near] += 1
        forced = most = 0
        for place in range(seen):
            near = touched[place]
            a, k, c = counts[near], sizes[near], edges_to[near]
            forced = max(forced, c - (k - a)) if c else forced
            most += min(a, c)
            edges_to[near] = 0
        lower[group] = max(0, sure + forced + b - l)
        upper[group] = min(b, sure + min(perhaps, most))
        certainly[group] = min(b, sure)
