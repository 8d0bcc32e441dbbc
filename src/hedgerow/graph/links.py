"""How many edges join a selected left entity with a selected right one, and how many paths of two edges there are.

Source     [Zhang 2008], section 4.4.4, example 7; paths are named in section 4.2.3, not solved
Guarantee  the true number lies between the bounds; with conditions on one side only some assignment reaches each of
           them; expectation and variance of edges are exact, and so is the expectation of COUNT(*) over paths
Cost       O(edges + nodes log s) with groups of s
Deviates   never looser than the paper's sums over pairs of groups, mostly tighter: see docs/methods/graph_queries.md.
           The source gives no variance

Between a group of k nodes, a of them selected, and a group of l, b of them selected, the c edges form a matching. Fix
the choice X of a nodes in one group: the edges to a far group that is wholly selected are then known, so over those
the least and the greatest sum of degrees of a nodes are exact. Only far groups that are selected in part are bounded
pair by pair.

Variance: whether a node is selected is drawn without replacement inside its group, independently of all other groups.
In a group of k nodes, a of them selected, the covariances are u (I - J/k) with u = a (k - a) / (k (k - 1)). With x and
y the choices of both sides and M the edges, Var(x'My) is the variance of x against the mean of y, that of y against the
mean of x, and the trace of both covariances through M. Between two groups M is a matching of c edges, so a pair adds
u t (c (1 - 1/k) (1 - 1/l) + c (c - 1) / (k l)) to the trace. See docs/methods/graph_queries.md.

Paths: start and end share a neighbour, so they lie in different groups: which entity the one is says nothing about the
other, and the probabilities multiply. The nodes that are reached do not have this: paths to one end may start in one
group, so COUNT(DISTINCT end) has bounds but no expectation in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.graph.adjacency import Adjacency, side_by_side
from hedgerow.graph.selected import Codes, MultiEdgePairs, Selected, multi_edge_pairs
from hedgerow.kernel import kernel


@dataclass(frozen=True)
class Links:
    """Bounds, mean and variance of a number of edges; None where no variance is known in closed form."""

    lower: int
    upper: int
    expected: float
    variance: float | None = None


def count_links(left: Selected, right: Selected) -> Links:
    """COUNT(*) FROM edges."""
    lefts, rights = left.codes, right.codes
    near, far = side_by_side(
        left.side.neighbours.edges,
        lambda: _by_group(left, right, rights),
        lambda: _by_group(right, left, lefts),
    )
    variance = float(near.scatter.sum() + far.scatter.sum() + near.single.sum())
    return Links(
        lower=max(int(near.lower.sum()), int(far.lower.sum())),
        upper=min(int(near.upper.sum()), int(far.upper.sum())),
        expected=float((near.shares * left.counts / left.sizes).sum()),
        variance=max(0.0, variance + pair_variance(left, right)),
    )


def most_links(left: Selected, right: Selected, among: Bools) -> int:
    """Return an upper bound of the edges from selected left nodes to selected right ones that `among` marks."""
    return int(_by_group(left, right, np.where(among, right.codes, right.codes.dtype.type(0))).upper.sum())


def links_by_group(near: Selected, far: Selected) -> Ints:
    """For each group of the near side the fewest edges of any choice to selected nodes of the far side."""
    return _by_group(near, far, far.codes).lower


def smallest_sums(values: Ints, sizes: Ints, counts: Ints) -> Ints:
    """For each group, whose numbers stand together, add up the `counts[g]` smallest."""
    sums = np.zeros(len(sizes), np.int64)
    _add_smallest(values, np.append(0, np.cumsum(sizes)), counts, np.empty(int(sizes.max(initial=0)), np.int64), sums)
    return sums


class _ByGroup(NamedTuple):
    """For each group of the near side: the fewest and the most edges of any choice, and their far ends' probabilities.

    `scatter` is the variance of the group against the mean of the far side, `single` that of its edges one by one.
    """

    lower: Ints
    upper: Ints
    shares: Floats
    scatter: Floats
    single: Floats


def _by_group(near: Selected, far: Selected, codes: Codes) -> _ByGroup:
    """Visit the edges of the near side; `codes` are those of the far nodes that count."""
    groups = near.side.groups
    found = _ByGroup(
        np.zeros(groups, np.int64), np.zeros(groups, np.int64), np.zeros(groups), np.zeros(groups), np.zeros(groups)
    )
    scratch = np.empty((4, int(near.sizes.max(initial=0))), np.int64)
    ends = _FarEnds(codes, far.shares, far.shares[:, 0] / np.maximum(far.shares[:, 1], 1))
    _visit(_near_side(near), near.counts, ends, multi_edge_pairs(near.side, far.side), scratch, found)
    return found


class _NearSide(NamedTuple):
    """The edges of a side node by node, the first node of each group, and which nodes count."""

    offsets: Ints
    neighbours: NDArray[np.int32]
    firsts: Ints
    nodes: Bools


class _FarEnds(NamedTuple):
    """The code of each far node, and for each code its counts with the probability that they give."""

    codes: Codes
    shares: NDArray[np.int32]
    chances: Floats


def _near_side(near: Selected) -> _NearSide:
    graph = near.side.neighbours
    return _NearSide(graph.offsets, graph.neighbours, np.append(0, np.cumsum(near.sizes)), near.nodes)


@kernel
def _visit(
    near: _NearSide, near_counts: Ints, far: _FarEnds, pairs: MultiEdgePairs, scratch: Ints, found: _ByGroup
) -> None:
    """Bound the edges of each group of the near side."""
    offsets, neighbours, firsts, near_nodes = near
    codes, far_shares, far_chances = far
    pair_offsets, pair_nodes, pair_ends, pair_groups = pairs
    lower, upper, shares, scatter, single = found
    low, high, uncapped = scratch[0], scratch[1], scratch[2]
    for group in range(len(near_counts)):
        a, first = near_counts[group], firsts[group]
        k = firsts[group + 1] - first
        if a == 0:
            continue
        chances = squares = spread = 0.0
        for place in range(k):
            sure = perhaps = 0
            reached = 0.0
            if near_nodes[first + place]:
                for edge in range(offsets[first + place], offsets[first + place + 1]):
                    code = codes[neighbours[edge]]
                    if code != 0:
                        perhaps += 1
                        sure += far_shares[code, 0] == far_shares[code, 1]
                        chance = far_chances[code]
                        reached += chance
                        spread += chance * (1.0 - chance)
            chances += reached
            squares += reached * reached
            low[place], high[place], uncapped[place] = sure, perhaps, perhaps
        capped = forced = 0
        start, last = pair_offsets[group], pair_offsets[group + 1]
        while start < last:
            stop, c = start, 0
            b = l = 0  # noqa: E741 - the paper's letters
            while stop < last and pair_groups[stop] == pair_groups[start]:
                code = codes[pair_ends[stop]]
                if near_nodes[pair_nodes[stop]] and code != 0:
                    c += 1
                    b, l = far_shares[code, 0], far_shares[code, 1]  # noqa: E741
                stop += 1
            if b < l:
                forced += max(0, c - (k - a) - (l - b))
            if b < min(a, c):
                capped += b
                for place in range(start, stop):
                    if near_nodes[pair_nodes[place]] and codes[pair_ends[place]] != 0:
                        uncapped[pair_nodes[place] - first] -= 1
            start = stop
        shares[group] = chances
        # A group of one node is selected or not, and nothing about it is uncertain.
        scatter[group] = a * (k - a) / (k * max(k - 1, 1)) * (squares - chances * chances / k)
        single[group] = a * (k - a) / (k * k) * spread
        lower[group] = forced + _smallest_sum(low, k, a, scratch[3])
        upper[group] = _largest_sum(high, k, a, scratch[3])
        if capped:
            upper[group] = min(upper[group], capped + _largest_sum(uncapped, k, a, scratch[3]))


@kernel
def _add_smallest(values: Ints, offsets: Ints, counts: Ints, scratch: Ints, sums: Ints) -> None:
    """Write the sum of the `counts[g]` smallest values of each group."""
    for group in range(len(counts)):
        inside = values[offsets[group] : offsets[group + 1]]
        sums[group] = _smallest_sum(inside, len(inside), counts[group], scratch)


@kernel
def _largest_sum(values: Ints, size: int, count: int, scratch: Ints) -> int:
    """Add up the `count` largest of the first `size` values: all of them without the smallest others."""
    total = 0
    for place in range(size):
        total += values[place]
    return total - _smallest_sum(values, size, size - count, scratch)


@kernel
def _smallest_sum(values: Ints, size: int, count: int, scratch: Ints) -> int:
    """Add up the `count` smallest of the first `size` values, by insertion: groups are small, most numbers are "
    "equal."""
    total = 0
    if count == 0:
        return total
    length = 0
    for place in range(size):
        value = values[place]
        if length == count:
            if value >= scratch[length - 1]:
                continue
            length -= 1
            total -= scratch[length]
        before = length - 1
        while before >= 0 and scratch[before] > value:
            scratch[before + 1] = scratch[before]
            before -= 1
        scratch[before + 1] = value
        total += value
        length += 1
    return total


def pair_variance(left: Selected, right: Selected) -> float:
    """What pairs of groups with several edges between them add to the variance of these edges one by one."""
    pairs = multi_edge_pairs(left.side, right.side)
    counted = left.nodes[pairs.nodes] & right.nodes[pairs.ends]
    near, far = left.side.node_groups[pairs.nodes[counted]], pairs.groups[counted]
    ends, edges = np.unique(near.astype(np.int64) * right.side.groups + far, return_counts=True)
    weights = [covariance_factors(side) / side.sizes for side in (left, right)]
    i, j = np.divmod(ends, right.side.groups)
    return float((weights[0][i] * weights[1][j] * edges * (edges - 1)).sum())


def covariance_factors(chosen: Selected) -> Floats:
    """The factor u of each group's covariances."""
    a, k = chosen.counts, chosen.sizes
    factors: Floats = a * (k - a) / (k * np.maximum(k - 1, 1))
    return factors


def count_paths(start: Selected, via: Selected, end: Selected) -> tuple[int, int, float]:
    """COUNT(*) over paths whose start and end are different nodes: lower, upper, expected.

    Seen from one of the three, each of its nodes has as many paths as the other two must, or may, be selected; a group
    with a selected entities has at least the a smallest of these numbers, and at most the a largest.
    """
    must = [side.must.astype(np.int64) for side in (start, via, end)]
    may = [side.may.astype(np.int64) for side in (start, via, end)]
    lower = max(_choose(side, counts, 1) for side, counts in zip((start, via, end), _paths(via, must), strict=True))
    upper = min(_choose(side, counts, -1) for side, counts in zip((start, via, end), _paths(via, may), strict=True))
    return lower, upper, _pairs(via, start.chances, end.chances, via.chances)


def _paths(via: Selected, marks: list[Ints]) -> tuple[Ints, Ints, Ints]:
    """For each node as start, as middle and as end, the number of its paths whose other two nodes are marked."""
    near = via.side.neighbours
    starts, ends = near.sums(marks[0][near.neighbours]), near.sums(marks[2][near.neighbours])
    both = near.sums((marks[0] * marks[2])[near.neighbours])
    middle = starts * ends - both
    nodes = len(marks[0])
    as_start, as_end = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    np.add.at(as_start, near.neighbours, (marks[1] * ends)[near.ends])
    np.add.at(as_end, near.neighbours, (marks[1] * starts)[near.ends])
    through = np.zeros(nodes, np.int64)
    np.add.at(through, near.neighbours, marks[1][near.ends])
    return as_start - through * marks[2], middle, as_end - through * marks[0]


def _choose(side: Selected, counts: Ints, way: int) -> int:
    """The least (way 1) or the greatest (-1) sum over the nodes that the selected entities of each group can be."""
    return way * int(smallest_sums(way * np.where(side.nodes, counts, 0), side.sizes, side.counts).sum())


def count_ends(start: Selected, via: Selected, end: Selected) -> tuple[int, int]:
    """COUNT(DISTINCT end): lower and upper."""
    sure = _mark_reached(start.must, via.must, start.side.neighbours, via.side.neighbours) & end.nodes
    perhaps = _mark_reached(start.may, via.may, start.side.neighbours, via.side.neighbours) & end.nodes
    groups, sizes = end.side.node_groups, end.sizes
    certain, possible = (np.bincount(groups, weights=mark, minlength=len(sizes)) for mark in (sure, perhaps))
    lower = np.maximum(0, end.counts + certain - sizes).sum()
    return int(lower), int(np.minimum(end.counts, possible).sum())


def _pairs(via: Selected, start: Floats, end: Floats, middle: Floats) -> float:
    """Add up, over the nodes in the middle, the weights of all pairs of different neighbours."""
    graph = via.side.neighbours
    near, far = start[graph.neighbours], end[graph.neighbours]
    sums = (np.bincount(graph.ends, weights=weights, minlength=graph.nodes) for weights in (near, far, near * far))
    first, last, both = sums
    return float((middle * (first * last - both)).sum())


def _mark_reached(start: Bools, via: Bools, near: Adjacency, far: Adjacency) -> Bools:
    """Mark the nodes that have a path from another marked one over a marked middle."""
    starts = far.sums(start[far.neighbours])
    # A middle node with one marked neighbour leads that neighbour back to itself only.
    others = np.where(via, starts, 0)[near.neighbours]
    alone = (others == 1) & start[near.ends]
    return near.sums((others > 0) & ~alone) > 0
