"""Sums, averages and extremes of numbers that edges carry, over edges between selected entities.

Source     own; [Zhang 2008], section 4.4.4, bounds numbers of edges, which are sums of ones
Guarantee  the true answer lies between the bounds; with conditions on entities of one side and certain numbers some
           assignment reaches each bound of SUM and COUNT; their expectation and variance are exact
Cost       O(edges log edges); AVG with an uncertain number of edges takes some dozens of such passes

Each pair of joined nodes has a number between `low` and `high`: the sum of what its edges carry. Seen from one side,
a group of k nodes with a selected entities chooses a nodes. A pair whose far end is selected certainly counts with its
node; one whose far end may be selected counts where that lowers the sum. So the least sum is at least that of the a
smallest nodes of each group. Two things are added. Between groups i and j with C pairs at least a + b + C - k - l of
them count, which costs their smallest positive parts. And at most b of them count: where nodes would use more, the b
smallest negative parts are taken instead. Both sides give such a bound; the greater one holds too. The greatest sum is
the least one of the negated numbers. See docs/methods/graph_queries.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.graph.draws import Extent
from hedgerow.graph.links import covariance_factors, smallest_sums
from hedgerow.graph.selected import Selected

_MOST_BITS = 60


class WeightedPairs(NamedTuple):
    """Pairs of joined nodes with the least and the greatest sum of what their edges carry."""

    left: Ints
    right: Ints
    low: Ints
    high: Ints


@dataclass(frozen=True, eq=False)
class EdgeNumbers:
    """Edges one by one: their nodes, the interval of their number, and which are counted certainly."""

    left: Ints
    right: Ints
    low: Ints
    high: Ints
    must: NDArray[np.bool_]

    @property
    def is_certain(self) -> bool:
        """Whether each edge counts certainly, with one number."""
        return bool(self.must.all()) and (self.low is self.high or np.array_equal(self.low, self.high))

    def pairs(self, scale: int = 1, shift: int = 0) -> WeightedPairs:
        """Add up `scale` times the number minus `shift` over the edges of each pair."""
        low, high = self.low * scale - shift, self.high * scale - shift
        if not self.must.all():
            low, high = np.where(self.must, low, np.minimum(low, 0)), np.where(self.must, high, np.maximum(high, 0))
        return self._sum_pairs(low, high)

    def counts(self) -> WeightedPairs:
        """How many edges each pair has, at least and at most."""
        return self._sum_pairs(self.must.astype(np.int64), np.ones(len(self.left), np.int64))

    def _sum_pairs(self, low: Ints, high: Ints) -> WeightedPairs:
        width = int(self.right.max(initial=0)) + 1
        pairs, owners = np.unique(self.left * width + self.right, return_inverse=True)
        sums = _sums(owners, low, len(pairs)), _sums(owners, high, len(pairs))
        return WeightedPairs(pairs // width, pairs % width, *sums)


def _sums(owners: Ints, numbers: Ints, length: int) -> Ints:
    """Add up whole numbers by owner, exactly."""
    if not len(numbers) or int(np.abs(numbers).max()) * len(numbers) < 2**53:
        return np.bincount(owners, weights=numbers, minlength=length).astype(np.int64)
    found = np.zeros(length, np.int64)
    np.add.at(found, owners, numbers)
    return found


def sum_of_pairs(left: Selected, right: Selected, pairs: WeightedPairs) -> Extent:
    """SUM over pairs whose ends are selected; 0 where none is."""
    lower = _least(left, right, pairs.left, pairs.right, pairs.low)
    upper = -_least(left, right, pairs.left, pairs.right, -pairs.high)
    if not np.array_equal(pairs.low, pairs.high):
        return Extent(Fraction(lower), Fraction(upper), None)
    return Extent(Fraction(lower), Fraction(upper), *_moments(left, right, pairs))


def _least(left: Selected, right: Selected, v: Ints, w: Ints, numbers: Ints) -> int:
    """A lower limit of the sum: the better one of those seen from both sides."""
    kept = left.may[v] & right.may[w]
    v, w, numbers = v[kept], w[kept], numbers[kept]
    return max(_seen_from(left, right, v, w, numbers), _seen_from(right, left, w, v, numbers))


def _seen_from(near: Selected, far: Selected, v: Ints, w: Ints, numbers: Ints) -> int:
    i, j = near.side.node_groups[v].astype(np.int64), far.side.node_groups[w].astype(np.int64)
    whole = far.counts[j] == far.sizes[j]
    costs = np.where(whole, numbers, np.minimum(numbers, 0))
    total = _smallest(near, v, costs)
    partly = np.flatnonzero(~whole)
    if not len(partly):
        return int(total.sum())
    blocks = _Blocks(near, far, i[partly], j[partly], numbers[partly])
    capped = np.zeros(len(v), np.bool_)
    capped[partly] = blocks.is_capped
    if capped.any():
        by_blocks = _smallest(near, v[~capped], costs[~capped])
        by_blocks += _sums(blocks.groups, blocks.cheapest, len(by_blocks))
        total = np.maximum(total, by_blocks)
    return int(total.sum()) + blocks.forced


def _smallest(near: Selected, v: Ints, costs: Ints) -> Ints:
    by_node = _sums(v, costs, len(near.side.node_groups))
    return smallest_sums(by_node, near.sizes, near.counts)


class _Blocks:
    """Pairs between two groups, the far one selected in part: how many count at least, and at most."""

    def __init__(self, near: Selected, far: Selected, i: Ints, j: Ints, numbers: Ints) -> None:
        block, counts = np.unique(i * far.side.groups + j, return_inverse=True, return_counts=True)[1:]
        first = np.unique(block, return_index=True)[1]
        self.groups, others = i[first], j[first]
        a, k = near.counts[self.groups], near.sizes[self.groups]
        b, l = far.counts[others], far.sizes[others]  # noqa: E741 - the paper's letters
        least = np.maximum(0, a + b + counts - k - l)
        self.is_capped = (b < np.minimum(a, counts))[block]
        order = np.lexsort((numbers, block))
        rank = np.arange(len(block)) - (np.cumsum(counts) - counts)[block[order]]
        ascending, owners = numbers[order], block[order]
        positive = np.where(rank < least[owners], np.maximum(ascending, 0), 0)
        self.forced = int(positive.sum())
        use = (rank < b[owners]) & self.is_capped[order]
        self.cheapest = _sums(owners, np.where(use, np.minimum(ascending, 0), 0), len(counts))


def _moments(left: Selected, right: Selected, pairs: WeightedPairs) -> tuple[float, float]:
    """Mean and variance, exactly: see `links` for the three terms of the variance."""
    v, w, numbers = pairs.left, pairs.right, pairs.low.astype(np.float64)
    x, y = left.chances[v], right.chances[w]
    mean = float((numbers * x * y).sum())
    fits = left.nodes[v] & right.nodes[w]
    reached = (
        np.bincount(ends, weights=np.where(fits, numbers * others, 0.0), minlength=len(side.nodes)).astype(np.float64)
        for ends, others, side in ((v, y, left), (w, x, right))
    )
    variance = sum(_scatter(side, numbers) for side, numbers in zip((left, right), reached, strict=True))
    i, j = left.side.node_groups[v[fits]].astype(np.int64), right.side.node_groups[w[fits]].astype(np.int64)
    block, owners = np.unique(i * right.side.groups + j, return_inverse=True)
    sums, squares = (np.bincount(owners, weights=numbers[fits] ** power) for power in (1, 2))
    i, j = block // right.side.groups, block % right.side.groups
    k, l = left.sizes[i], right.sizes[j]  # noqa: E741 - the paper's letters
    both = covariance_factors(left)[i] * covariance_factors(right)[j]
    variance += float((both * (squares * (1 - 1 / k - 1 / l) + sums * sums / (k * l))).sum())
    return mean, max(0.0, variance)


def _scatter(near: Selected, reached: Floats) -> float:
    """The variance of the near side against the mean of the far one."""
    groups = near.side.node_groups
    sums, squares = (np.bincount(groups, weights=reached**power, minlength=near.side.groups) for power in (1, 2))
    return float((covariance_factors(near) * np.maximum(squares - sums * sums / near.sizes, 0.0)).sum())


def average_of_edges(left: Selected, right: Selected, edges: EdgeNumbers) -> Extent:
    """AVG of the numbers of edges; where their number is uncertain the ratio of means stands in for the mean."""
    counts = sum_of_pairs(left, right, edges.counts())
    if not counts.upper:
        return Extent(None, None, None)
    sums = sum_of_pairs(left, right, edges.pairs())
    assert sums.lower is not None
    assert sums.upper is not None
    mean = None if sums.expected is None or not counts.expected else sums.expected / counts.expected
    if counts.lower == counts.upper:
        number = counts.upper
        variance = None if sums.variance is None else sums.variance / float(number) ** 2
        return Extent(sums.lower / number, sums.upper / number, mean, variance)
    mirrored = EdgeNumbers(edges.left, edges.right, -edges.high, -edges.low, edges.must)
    return Extent(_least_average(left, right, edges), -_least_average(left, right, mirrored), mean)


def _least_average(left: Selected, right: Selected, edges: EdgeNumbers) -> Fraction:
    """The largest t on a grid for which no choice has a sum of (number - t) below 0, found by halving."""
    within = left.may[edges.left] & right.may[edges.right]
    reach = edges.low[within]
    bits = max(1, int(np.abs(reach).max(initial=1))).bit_length() + max(1, len(edges.low)).bit_length() + 1
    scale = 1 << max(0, min(20, _MOST_BITS - bits))
    low, high = int(reach.min()) * scale, int(edges.high[within].max()) * scale + 1
    while high - low > 1:
        middle = (low + high) // 2
        pairs = edges.pairs(scale, middle)
        is_reached = _least(left, right, pairs.left, pairs.right, pairs.low) >= 0
        low, high = (middle, high) if is_reached else (low, middle)
    return Fraction(low, scale)


def largest_of_edges(left: Selected, right: Selected, edges: EdgeNumbers) -> Extent:
    """MAX of the numbers of edges; MIN is the negated MAX of the negated numbers."""
    within = left.may[edges.left] & right.may[edges.right]
    if not within.any():
        return Extent(None, None, None)
    lower = int(edges.low[within].min())
    for near, far, v, w in ((left, right, edges.left, edges.right), (right, left, edges.right, edges.left)):
        sure = within & edges.must & far.must[w]
        if not sure.any():
            continue
        none = np.iinfo(np.int64).min
        best = np.full(len(near.side.node_groups), none)
        np.maximum.at(best, v[sure], edges.low[sure])
        # The largest of any a nodes of a group is at least its a-th smallest.
        order = np.lexsort((best, near.side.node_groups))
        chosen = np.cumsum(near.sizes) - near.sizes + near.counts - 1
        reached = best[order][chosen[near.counts > 0]]
        lower = max(lower, int(reached.max(initial=none)))
    upper = int(edges.high[within].max())
    return Extent(Fraction(lower), Fraction(upper), None)
