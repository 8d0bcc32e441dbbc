"""How many selected entities of one side are joined with at least one selected entity of the other.

Source     [Zhang 2008], section 4.4.4, example 7
Guarantee  the true number lies between the bounds; with conditions on the counted side alone some assignment reaches
           each of them; the expectation is exact
Cost       O(edges + nodes log s) with groups of s
Deviates   the printed expectation multiplies probabilities of pairs of groups as if a node had c of them; here each
           node has the probability that none of its neighbours, which lie in different groups, is selected. The bounds
           are never looser than the paper's: see docs/methods/graph_queries.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.graph.adjacency import side_by_side
from hedgerow.graph.links import Links, most_links, smallest_sums
from hedgerow.graph.selected import Codes, MultiEdgePairs, Selected, multi_edge_pairs
from hedgerow.kernel import kernel

_WHOLE = 1 << 40
"""Shares of a node are fractions of this, rounded down: their sums are exact and never too large."""


def count_joined(counted: Selected, other: Selected) -> Links:
    """COUNT(DISTINCT counted) FROM edges."""
    near = _surroundings(counted, other)
    found, most = side_by_side(
        counted.side.neighbours.edges,
        lambda: _by_group(counted, other, near),
        lambda: most_links(other, counted, ~near.certain),
    )
    return Links(
        lower=_lower(counted, other, near, found.lower),
        upper=min(int(found.upper.sum()), int(found.sure.sum()) + most),
        expected=float((counted.chances * (1.0 - near.missed)).sum()),
    )


class _JoinedByGroup(NamedTuple):
    """For each group: the fewest and the most joined entities, and the most that are joined certainly."""

    lower: Ints
    upper: Ints
    sure: Ints


def _by_group(counted: Selected, other: Selected, near: _Surroundings) -> _JoinedByGroup:
    found = _JoinedByGroup(*(np.zeros(counted.side.groups, np.int64) for _ in range(3)))
    firsts = np.append(0, np.cumsum(counted.sizes))
    nodes = _CountedNodes(firsts, counted.nodes, near.certain, near.reach, counted.counts)
    _visit(nodes, other.codes, other.shares, multi_edge_pairs(counted.side, other.side), found)
    return found


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """Per node: whether a neighbour is selected certainly, how many may be, and the probability that none is."""

    certain: Bools
    reach: Ints
    missed: Floats


def _surroundings(counted: Selected, other: Selected) -> _Surroundings:
    graph = counted.side.neighbours
    near = _Surroundings(np.zeros(graph.nodes, np.bool_), np.zeros(graph.nodes, np.int64), np.ones(graph.nodes))
    _look_around(graph.offsets, graph.neighbours, other.codes, other.shares, near.certain, near.reach, near.missed)
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
    codes: Codes,
    shares: NDArray[np.int32],
    certain: Bools,
    reach: Ints,
    missed: Floats,
) -> None:
    """Find, for each node, whether a neighbour is selected, how many may be, and the probability that none is."""
    for node in range(len(certain)):
        for edge in range(offsets[node], offsets[node + 1]):
            code = codes[neighbours[edge]]
            if code != 0:
                reach[node] += 1
                missed[node] *= 1.0 - shares[code, 0] / shares[code, 1]
                certain[node] |= shares[code, 0] == shares[code, 1]


class _CountedNodes(NamedTuple):
    """The counted side: first node and selected entities of each group; of each node what surrounds it."""

    firsts: Ints
    nodes: Bools
    certain: Bools
    reach: Ints
    counts: Ints


@kernel
def _visit(
    counted: _CountedNodes, codes: Codes, shares: NDArray[np.int32], pairs: MultiEdgePairs, found: _JoinedByGroup
) -> None:
    """Bound the joined entities of each group of the counted side."""
    firsts, counted_nodes, certain, reach, counted_counts = counted
    pair_offsets, pair_nodes, pair_ends, pair_groups = pairs
    lower, upper, certainly = found
    for group in range(len(counted_counts)):
        b, l = counted_counts[group], firsts[group + 1] - firsts[group]  # noqa: E741 - the paper's letters
        if b == 0:
            continue
        sure = perhaps = most = forced = 0
        for node in range(firsts[group], firsts[group + 1]):
            if counted_nodes[node] and certain[node]:
                sure += 1
            elif counted_nodes[node] and reach[node] > 0:
                perhaps += 1
                most += reach[node]
        start, last = pair_offsets[group], pair_offsets[group + 1]
        while start < last:
            stop, c = start, 0
            a = k = 0
            while stop < last and pair_groups[stop] == pair_groups[start]:
                node, code = pair_nodes[stop], codes[pair_ends[stop]]
                if code != 0 and counted_nodes[node] and not certain[node]:
                    c += 1
                    a, k = shares[code, 0], shares[code, 1]
                stop += 1
            # A pair with one edge to count adds that edge and forces nothing, as the sum above has it.
            forced = max(forced, c - (k - a))
            most -= c - min(a, c)
            start = stop
        lower[group] = max(0, sure + forced + b - l)
        upper[group] = min(b, sure + min(perhaps, most))
        certainly[group] = min(b, sure)
