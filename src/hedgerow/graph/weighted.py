"""Sums, averages and extremes over edges between selected entities: of numbers of the edges, or of one end.

Numbers that edges carry:

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

A column of one end, as in SUM(left.age):

Source     own; the least and the greatest sum of products by the rearrangement inequality, moments by [Hoeffding 1951]
Guarantee  the true answer lies between the bounds; where the number of edges that count is certain of each node, some
           assignment reaches each bound of SUM, MIN and MAX; expectation and variance of SUM are exact
Cost       O(edges log edges); AVG over an uncertain number of edges takes some dozens of such passes

An entity with the value x on a node with n edges that count adds n x. In a group of k nodes the k values (0 for
entities that do not count) are dealt to the k nodes in any order, so the least sum pairs the smallest values with the
largest numbers of edges, the greatest one pairs equal ranks. Where the other end has a condition too, n lies between
the edges that count certainly and those that may: positive values take the former and negative ones the latter for the
least sum. And no more edges count than COUNT(*) says, each with one of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
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
    must: Bools

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
    """Mean and variance, exactly."""
    v, w, numbers = pairs.left, pairs.right, pairs.low.astype(np.float64)
    x, y = left.chances[v], right.chances[w]
    mean = float((numbers * x * y).sum())
    fits = left.nodes[v] & right.nodes[w]
    near = PairEnds(left, v[fits], x[fits], covariance_factors(left))
    far = PairEnds(right, w[fits], y[fits], covariance_factors(right))
    return mean, _variance(numbers[fits], near, far)


class PairEnds(NamedTuple):
    """One end of pairs: its nodes, the mean of what each of them is worth, and the variance factor of each group."""

    side: Selected
    nodes: Ints
    means: Floats
    factors: Floats

    def spread(self, numbers: Floats) -> float:
        """The variance of this end, where each pair carries such a number at the mean of the other end."""
        groups, length = self.side.side.node_groups, self.side.side.groups
        reached = np.bincount(self.nodes, weights=numbers, minlength=len(groups))
        sums, squares = (np.bincount(groups, weights=reached**power, minlength=length) for power in (1, 2))
        return float((self.factors * np.maximum(squares - sums * sums / self.side.sizes, 0.0)).sum())


def _variance(numbers: Floats, near: PairEnds, far: PairEnds) -> float:
    """The variance of a sum over pairs of nodes: see `links` for its three terms."""
    variance = near.spread(numbers * far.means) + far.spread(numbers * near.means)
    i = near.side.side.node_groups[near.nodes].astype(np.int64)
    j = far.side.side.node_groups[far.nodes].astype(np.int64)
    block, owners = np.unique(i * far.side.side.groups + j, return_inverse=True)
    sums, squares = (np.bincount(owners, weights=numbers**power) for power in (1, 2))
    i, j = block // far.side.side.groups, block % far.side.side.groups
    k, l = near.side.sizes[i], far.side.sizes[j]  # noqa: E741 - the paper's letters
    both = near.factors[i] * far.factors[j]
    variance += float((both * (squares * (1 - 1 / k - 1 / l) + sums * sums / (k * l))).sum())
    return max(0.0, variance)


def average_of_edges(left: Selected, right: Selected, edges: EdgeNumbers) -> Extent:
    """AVG of the numbers of edges; where their number is uncertain the ratio of means stands in for the mean."""
    counts = sum_of_pairs(left, right, edges.counts())
    if not counts.upper:
        return Extent(None, None, None)
    sums = sum_of_pairs(left, right, edges.pairs())
    mean = None if sums.expected is None or not counts.expected else sums.expected / counts.expected
    if counts.lower == counts.upper:
        return _divide(sums, counts.upper, mean)
    mirrored = EdgeNumbers(edges.left, edges.right, -edges.high, -edges.low, edges.must)
    return Extent(_least_average(left, right, edges), -_least_average(left, right, mirrored), mean)


def _least_average(left: Selected, right: Selected, edges: EdgeNumbers) -> Fraction:
    """The largest t on a grid for which no choice has a sum of (number - t) below 0, found by halving."""
    within = left.may[edges.left] & right.may[edges.right]
    reach = edges.low[within]
    scale = _grid(int(np.abs(reach).max(initial=1)), len(edges.low))

    def is_reached(middle: int) -> bool:
        pairs = edges.pairs(scale, middle)
        return _least(left, right, pairs.left, pairs.right, pairs.low) >= 0

    return Fraction(_halve(int(reach.min()) * scale, int(edges.high[within].max()) * scale + 1, is_reached), scale)


def _divide(total: Extent, number: Fraction, mean: float | None) -> Extent:
    """The average of things whose number is certain."""
    assert total.lower is not None
    assert total.upper is not None
    variance = None if total.variance is None else total.variance / float(number) ** 2
    return Extent(total.lower / number, total.upper / number, mean, variance)


def _grid(most: int, number: int) -> int:
    """The steps per unit of a grid on which sums of so many numbers up to `most` stay whole numbers of 64 bits."""
    bits = max(1, most).bit_length() + max(1, number).bit_length() + 1
    return 1 << max(0, min(20, _MOST_BITS - bits))


def _halve(low: int, high: int, is_reached: Callable[[int], bool]) -> int:
    """The largest whole number from `low` to below `high` that is reached, all smaller ones being so, too."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_reached(middle) else (low, middle)
    return low


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


@dataclass(frozen=True, eq=False)
class EndValues:
    """The value of each entity of the near end that counts, in whole numbers, and the edges of pairs of nodes.

    `near` selects the entities that have a value; `values` has a number for each entity, 0 where it does not count.
    """

    near: Selected
    far: Selected
    values: Ints
    pairs: WeightedPairs
    is_left: bool

    @property
    def edges(self) -> tuple[Ints, Ints]:
        """For each node of the near side the fewest and the most of its edges that count."""
        v, w = (self.pairs.left, self.pairs.right) if self.is_left else (self.pairs.right, self.pairs.left)
        found = []
        for numbers, marks in ((self.pairs.low, self.far.must), (self.pairs.high, self.far.may)):
            kept = marks[w] & self.near.nodes[v]
            sums = np.bincount(v[kept], weights=numbers[kept], minlength=len(self.near.nodes))
            found.append(sums.astype(np.int64))
        return found[0], found[1]

    @property
    def inside(self) -> Ints:
        """The values of entities that count."""
        return self.values[self.near.entities]

    def count(self) -> Extent:
        """How many edges count."""
        return sum_of_pairs(*((self.near, self.far) if self.is_left else (self.far, self.near)), self.pairs)


def sum_at_ends(ends: EndValues) -> Extent:
    """SUM; None where no edge can count."""
    count = ends.count()
    if not count.upper:
        return Extent(None, None, None)
    assert count.lower is not None
    low, high = ends.edges
    lower, upper = _least_at_ends(ends, ends.values, low, high), -_least_at_ends(ends, -ends.values, low, high)
    smallest, greatest = int(ends.inside.min()), int(ends.inside.max())
    lower = max(lower, int(min(smallest * count.lower, smallest * count.upper)))
    upper = min(upper, int(max(greatest * count.lower, greatest * count.upper)))
    if not np.array_equal(ends.pairs.low, ends.pairs.high):
        return Extent(Fraction(lower), Fraction(upper), None)
    if not count.lower:
        # SQL's sum over nothing is NULL and not 0, so that one value is in it, and moments of all assignments are not.
        lower, upper = max(lower, smallest) if smallest > 0 else lower, min(upper, greatest) if greatest < 0 else upper
        return Extent(Fraction(lower), Fraction(upper), None)
    return Extent(Fraction(lower), Fraction(upper), *_end_moments(ends))


def _least_at_ends(ends: EndValues, values: Ints, low: Ints, high: Ints) -> int:
    """A lower limit of the sum of products of values and edges, group by group."""
    if np.array_equal(low, high):
        return _pair_sum(ends, values, low, descending=True)
    positive, negative = np.maximum(values, 0), np.maximum(-values, 0)
    return _pair_sum(ends, positive, low, descending=True) - _pair_sum(ends, negative, high, descending=False)


def _pair_sum(ends: EndValues, values: Ints, edges: Ints, *, descending: bool) -> int:
    """The sum of products if, in each group, values ascend and edges descend or ascend."""
    side = ends.near.side
    ascending = values[np.lexsort((values, side.entity_groups))]
    order = np.lexsort((-edges if descending else edges, side.node_groups))
    reach = int(np.abs(values).max(initial=0)) * max(1, int(edges.sum()))
    if reach >= 1 << 62:
        return sum(x * n for x, n in zip(ascending.tolist(), edges[order].tolist(), strict=True))
    return int((ascending * edges[order]).sum())


def _end_moments(ends: EndValues) -> tuple[float, float]:
    """Mean and variance, exactly: the values' own scatter is in place of that of a choice."""
    near, far, pairs = ends.near, ends.far, ends.pairs
    v, w = (pairs.left, pairs.right) if ends.is_left else (pairs.right, pairs.left)
    groups, sizes = near.side.entity_groups, near.sizes
    values = ends.values.astype(np.float64)
    means = np.bincount(groups, weights=values, minlength=len(sizes)) / sizes
    scatter = np.bincount(groups, weights=(values - means[groups]) ** 2, minlength=len(sizes)) / np.maximum(
        sizes - 1, 1
    )
    fits = near.nodes[v] & far.nodes[w]
    v, w, numbers = v[fits], w[fits], pairs.low[fits].astype(np.float64)
    x, y = means[near.side.node_groups[v]], far.chances[w]
    variance = _variance(numbers, PairEnds(near, v, x, scatter), PairEnds(far, w, y, covariance_factors(far)))
    return float((numbers * x * y).sum()), variance


def average_at_ends(ends: EndValues) -> Extent:
    """AVG; where the number of edges is uncertain the ratio of means stands in for the mean."""
    count = ends.count()
    if not count.upper:
        return Extent(None, None, None)
    if count.lower == count.upper:
        total = sum_at_ends(ends)
        return _divide(total, count.upper, None if total.expected is None else total.expected / float(count.upper))
    edges = ends.edges

    def least(values: Ints) -> Fraction:
        return _least_end_average(ends, values, lambda shifted: _least_at_ends(ends, shifted, *edges))

    mean = None
    if count.expected and np.array_equal(ends.pairs.low, ends.pairs.high):
        mean = _end_moments(ends)[0] / count.expected
    return Extent(least(ends.values), -least(-ends.values), mean)


def _least_end_average(ends: EndValues, values: Ints, least: Callable[[Ints], int]) -> Fraction:
    """The largest t on a grid for which no assignment has a sum of (value - t) below 0, found by halving."""
    inside = values[ends.near.entities]
    scale = _grid(int(np.abs(inside).max(initial=1)), int(ends.pairs.high.sum()))

    def is_reached(middle: int) -> bool:
        return least(np.where(ends.near.entities, values * scale - middle, 0)) >= 0

    return Fraction(_halve(int(inside.min()) * scale, int(inside.max()) * scale + 1, is_reached), scale)


def largest_at_ends(ends: EndValues) -> Extent:
    """MAX; MIN is the negated MAX of the negated values."""
    low, high = ends.edges
    side, near = ends.near.side, ends.near
    groups = len(near.sizes)
    reached = np.bincount(side.node_groups[high > 0], minlength=groups) > 0
    may = near.entities & reached[side.entity_groups]
    if not may.any():
        return Extent(None, None, None)
    upper, lower = int(ends.values[may].max()), int(ends.values[may].min())
    # The largest values can be dealt to the nodes without an edge that counts certainly; the others are there.
    empty = np.bincount(side.node_groups[low == 0], minlength=groups)
    forced = near.counts - empty
    owners, inside = side.entity_groups[near.entities], ends.inside
    ascending = inside[np.lexsort((inside, owners))]
    starts = np.cumsum(near.counts) - near.counts
    chosen = (starts + forced - 1)[forced > 0]
    lower = max(lower, int(ascending[chosen].max(initial=lower)))
    return Extent(Fraction(lower), Fraction(upper), None)
