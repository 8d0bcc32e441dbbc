"""How many edges join a selected left entity with a selected right one.

Source     [Zhang 2008], section 4.4.4, example 7
Guarantee  the true number lies between the bounds; with conditions on one side only some assignment reaches each of
           them; expectation and variance are exact
Cost       O(edges + nodes log s) with groups of s
Deviates   never looser than the paper's sums over pairs of groups, mostly tighter: see docs/methods/graph_queries.md

Between a group of k nodes, a of them selected, and a group of l, b of them selected, the c edges form a matching. Fix
the choice X of a nodes in one group: the edges to a far group that is wholly selected are then known, so over those
the least and the greatest sum of degrees of a nodes are exact. Only far groups that are selected in part are bounded
pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.graph.crowded import crowded
from hedgerow.graph.select import Selected
from hedgerow.graph.spread import pair_scatter, side_scatter
from hedgerow.kernel import kernel

__all__ = ["Links", "count_links", "most_links", "side_by_side", "smallest_sums"]

A = TypeVar("A")
B = TypeVar("B")

_WORTH_A_THREAD = 100_000


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
    return Links(
        lower=max(int(near.lower.sum()), int(far.lower.sum())),
        upper=min(int(near.upper.sum()), int(far.upper.sum())),
        expected=float((near.shares * left.counts / left.sizes).sum()),
        variance=_variance(left, right),
    )


def _variance(left: Selected, right: Selected) -> float:
    near, far = side_by_side(
        left.side.neighbours.edges,
        lambda: side_scatter(left, right, with_edges=True),
        lambda: side_scatter(right, left, with_edges=False),
    )
    return max(0.0, near + far + pair_scatter(left, right))


def most_links(left: Selected, right: Selected, among: NDArray[np.bool_]) -> int:
    """Return an upper bound of the edges from selected left nodes to selected right ones that `among` marks."""
    return int(_by_group(left, right, np.where(among, right.codes, np.uint32(0))).upper.sum())


def side_by_side(edges: int, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Do two things at once where the graph is large: compiled loops do not hold each other up."""
    if edges < _WORTH_A_THREAD:
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()


def smallest_sums(values: Ints, sizes: Ints, counts: Ints) -> Ints:
    """For each group, whose numbers stand together, add up the `counts[g]` smallest."""
    sums = np.zeros(len(sizes), np.int64)
    _add_smallest(values, np.append(0, np.cumsum(sizes)), counts, np.empty(int(sizes.max(initial=0)), np.int64), sums)
    return sums


@dataclass(frozen=True, eq=False)
class _ByGroup:
    """For each group of the near side: the fewest and the most edges of any choice, and their far ends' chances."""

    lower: Ints
    upper: Ints
    shares: NDArray[np.float64]


def _by_group(near: Selected, far: Selected, codes: NDArray[np.uint32]) -> _ByGroup:
    """Visit the edges of the near side; `codes` are those of the far nodes that count."""
    graph, groups = near.side.neighbours, near.side.groups
    pairs = crowded(near.side, far.side)
    found = _ByGroup(np.zeros(groups, np.int64), np.zeros(groups, np.int64), np.zeros(groups))
    _visit(
        graph.offsets, graph.neighbours, np.append(0, np.cumsum(near.sizes)), near.nodes, near.counts,
        codes, far.shares, far.shares[:, 0] / np.maximum(far.shares[:, 1], 1),
        pairs.offsets, pairs.nodes, pairs.ends, pairs.groups,
        np.empty((4, int(near.sizes.max(initial=0))), np.int64), found.lower, found.upper, found.shares,
    )  # fmt: skip
    return found


@kernel
def _visit(
    offsets: Ints,
    neighbours: NDArray[np.int32],
    firsts: Ints,
    near_nodes: NDArray[np.bool_],
    near_counts: Ints,
    codes: NDArray[np.uint32],
    far_shares: NDArray[np.int32],
    far_chances: NDArray[np.float64],
    crowd_offsets: Ints,
    crowd_nodes: NDArray[np.int32],
    crowd_ends: NDArray[np.int32],
    crowd_groups: NDArray[np.int32],
    scratch: Ints,
    lower: Ints,
    upper: Ints,
    shares: NDArray[np.float64],
) -> None:
    low, high, uncapped = scratch[0], scratch[1], scratch[2]
    for group in range(len(near_counts)):
        a, first = near_counts[group], firsts[group]
        k = firsts[group + 1] - first
        if a == 0:
            continue
        chances = 0.0
        for place in range(k):
            sure = perhaps = 0
            if near_nodes[first + place]:
                for edge in range(offsets[first + place], offsets[first + place + 1]):
                    code = codes[neighbours[edge]]
                    if code != 0:
                        perhaps += 1
                        sure += far_shares[code, 0] == far_shares[code, 1]
                        chances += far_chances[code]
            low[place], high[place], uncapped[place] = sure, perhaps, perhaps
        capped = forced = 0
        start, last = crowd_offsets[group], crowd_offsets[group + 1]
        while start < last:
            stop, c = start, 0
            b = l = 0  # noqa: E741 - the paper's letters
            while stop < last and crowd_groups[stop] == crowd_groups[start]:
                code = codes[crowd_ends[stop]]
                if near_nodes[crowd_nodes[stop]] and code != 0:
                    c += 1
                    b, l = far_shares[code, 0], far_shares[code, 1]  # noqa: E741
                stop += 1
            if b < l:
                forced += max(0, c - (k - a) - (l - b))
            if b < min(a, c):
                capped += b
                for place in range(start, stop):
                    if near_nodes[crowd_nodes[place]] and codes[crowd_ends[place]] != 0:
                        uncapped[crowd_nodes[place] - first] -= 1
            start = stop
        shares[group] = chances
        lower[group] = forced + _smallest_sum(low, k, a, scratch[3])
        upper[group] = _largest_sum(high, k, a, scratch[3])
        if capped:
            upper[group] = min(upper[group], capped + _largest_sum(uncapped, k, a, scratch[3]))


@kernel
def _add_smallest(values: Ints, offsets: Ints, counts: Ints, scratch: Ints, sums: Ints) -> None:
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
