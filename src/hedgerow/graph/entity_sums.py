"""Aggregates over edges of a column of one end: SUM(left.age) over the edges between selected entities.

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

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.graph.draws import Extent
from hedgerow.graph.selected import Selected
from hedgerow.graph.weighted import WeightedPairs, sum_of_pairs

_MOST_BITS = 60


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
    lower, upper = _least(ends, ends.values, low, high), -_least(ends, -ends.values, low, high)
    smallest, greatest = int(ends.inside.min()), int(ends.inside.max())
    lower = max(lower, int(min(smallest * count.lower, smallest * count.upper)))
    upper = min(upper, int(max(greatest * count.lower, greatest * count.upper)))
    if not np.array_equal(ends.pairs.low, ends.pairs.high):
        return Extent(Fraction(lower), Fraction(upper), None)
    if not count.lower:
        # SQL's sum over nothing is NULL and not 0, so that one value is in it, and moments of all assignments are not.
        lower, upper = max(lower, smallest) if smallest > 0 else lower, min(upper, greatest) if greatest < 0 else upper
        return Extent(Fraction(lower), Fraction(upper), None)
    return Extent(Fraction(lower), Fraction(upper), *_moments(ends))


def _least(ends: EndValues, values: Ints, low: Ints, high: Ints) -> int:
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


def _moments(ends: EndValues) -> tuple[float, float]:
    """Mean and variance, exactly: the formula of `links`, with the values' own scatter in place of that of a choice."""
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
    i, j = near.side.node_groups[v].astype(np.int64), far.side.node_groups[w].astype(np.int64)
    x, y = means[i], far.chances[w]
    factors = far.counts * (far.sizes - far.counts) / (far.sizes * np.maximum(far.sizes - 1, 1))
    variance = _variance_between(near, v, numbers * y, scatter) + _variance_between(far, w, numbers * x, factors)
    block, owners = np.unique(i * far.side.groups + j, return_inverse=True)
    sums, squares = (np.bincount(owners, weights=numbers**power) for power in (1, 2))
    i, j = block // far.side.groups, block % far.side.groups
    k, l = sizes[i], far.sizes[j]  # noqa: E741 - the paper's letters
    variance += float((scatter[i] * factors[j] * (squares * (1 - 1 / k - 1 / l) + sums * sums / (k * l))).sum())
    return float((numbers * x * y).sum()), max(0.0, variance)


def _variance_between(side: Selected, nodes: Ints, numbers: Floats, factors: Floats) -> float:
    """The variance of one side against the mean of the other."""
    reached = np.bincount(nodes, weights=numbers, minlength=len(side.nodes))
    groups = side.side.node_groups
    sums, squares = (np.bincount(groups, weights=reached**power, minlength=side.side.groups) for power in (1, 2))
    return float((factors * np.maximum(squares - sums * sums / side.sizes, 0.0)).sum())


def average_at_ends(ends: EndValues) -> Extent:
    """AVG; where the number of edges is uncertain the ratio of means stands in for the mean."""
    count = ends.count()
    if not count.upper:
        return Extent(None, None, None)
    if count.lower == count.upper:
        total, number = sum_at_ends(ends), count.upper
        assert total.lower is not None
        assert total.upper is not None
        mean = None if total.expected is None else total.expected / float(number)
        variance = None if total.variance is None else total.variance / float(number) ** 2
        return Extent(total.lower / number, total.upper / number, mean, variance)
    edges = ends.edges

    def least(values: Ints) -> Fraction:
        return _least_average(ends, values, lambda shifted: _least(ends, shifted, *edges))

    mean = None
    if count.expected and np.array_equal(ends.pairs.low, ends.pairs.high):
        mean = _moments(ends)[0] / count.expected
    return Extent(least(ends.values), -least(-ends.values), mean)


def _least_average(ends: EndValues, values: Ints, least: Callable[[Ints], int]) -> Fraction:
    """The largest t on a grid for which no assignment has a sum of (value - t) below 0, found by halving."""
    inside = values[ends.near.entities]
    most = int(np.abs(inside).max(initial=1))
    bits = max(1, most).bit_length() + max(1, int(ends.pairs.high.sum())).bit_length() + 1
    scale = 1 << max(0, min(20, _MOST_BITS - bits))
    low, high = int(inside.min()) * scale, int(inside.max()) * scale + 1
    while high - low > 1:
        middle = (low + high) // 2
        shifted = np.where(ends.near.entities, values * scale - middle, 0)
        low, high = (middle, high) if least(shifted) >= 0 else (low, middle)
    return Fraction(low, scale)


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
