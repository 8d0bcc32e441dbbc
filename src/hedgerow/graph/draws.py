"""Aggregates of numbers of which each group gives up an uncertain choice.

Source     [Zhang 2008], section 4.4.4
Guarantee  bounds are reached by some assignment if each number is certain; expectations of COUNT, SUM, MIN and MAX are
           exact, and so are variances, those of AVG where the number drawn is certain
Cost       O(n log n) on n numbers

From the `population[g]` things of group g, `drawn[g]` are drawn at random; `members` of them carry a number between
`low` and `high`, the others none. Two questions come to this. The degrees of selected entities: things are nodes, the
nodes that fit carry their degree, as many are drawn as entities are selected. A column of entities whose node fits:
things are entities, the selected ones carry their value, as many are drawn as nodes fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats, Ints


@dataclass(frozen=True)
class Extent:
    """Least and greatest value, exactly, mean and variance; None where nothing can be drawn, or they are not known."""

    lower: Fraction | None
    upper: Fraction | None
    expected: float | None
    variance: float | None = None

    @property
    def negation(self) -> Extent:
        """The same for the negated value."""
        if self.lower is None or self.upper is None:
            return self
        return Extent(-self.upper, -self.lower, None if self.expected is None else -self.expected, self.variance)


@dataclass(frozen=True, eq=False)
class Draws:
    """Numbers by group, with how many things each group has and how many of them are drawn."""

    groups: Ints
    low: Ints
    high: Ints
    population: Ints
    drawn: Ints

    @cached_property
    def members(self) -> Ints:
        """How many numbers each group has."""
        return np.bincount(self.groups, minlength=len(self.population)).astype(np.int64)

    @cached_property
    def least_drawn(self) -> Ints:
        """The least number of members that a group gives up."""
        return np.asarray(np.maximum(0, self.drawn + self.members - self.population), np.int64)

    @cached_property
    def most(self) -> Ints:
        """The greatest number of members that a group gives up."""
        return np.asarray(np.minimum(self.drawn, self.members), np.int64)

    @cached_property
    def chances(self) -> Floats:
        """For each number the probability that it is drawn."""
        shares: Floats = self.drawn / self.population
        return shares[self.groups]

    @property
    def is_certain(self) -> bool:
        """Whether each number is one and not an interval."""
        return self.low is self.high

    @property
    def negation(self) -> Draws:
        """The same with every number negated: its least is our greatest."""
        low = -self.high
        return Draws(self.groups, low, low if self.is_certain else -self.low, self.population, self.drawn)

    def count(self) -> Extent:
        """COUNT: how many members are drawn."""
        lower, upper = Fraction(int(self.least_drawn.sum())), Fraction(int(self.most.sum()))
        return Extent(lower, upper, float(self.chances.sum()), self.variance(np.ones(len(self.groups))))

    def variance(self, numbers: Floats) -> float:
        """The variance of the sum of these numbers of the members that are drawn, groups being independent."""
        sums, squares = (
            np.bincount(self.groups, weights=weights, minlength=len(self.population))
            for weights in (numbers, numbers * numbers)
        )
        size, drawn = self.population, self.drawn
        # Things without a number count as zeros of the group.
        factors = drawn * (size - drawn) / (size * np.maximum(size - 1, 1))
        return float((factors * np.maximum(squares - sums * sums / size, 0.0)).sum())

    def split(self) -> tuple[Ints, Ints]:
        """Part the lows into those that are drawn at the least cost: forced ones, and ones that may follow, "
        "ascending."""
        order = np.lexsort((self.low, self.groups))
        groups, values = self.groups[order], self.low[order]
        rank = np.arange(len(groups)) - np.searchsorted(groups, groups)
        forced, most = self.least_drawn[groups], self.most[groups]
        return values[rank < forced], np.sort(values[(rank >= forced) & (rank < most)])


def total(draws: Draws) -> Extent:
    """SUM; None where nothing can be drawn at all."""
    if not draws.most.any():
        return Extent(None, None, None)
    lower, upper = _least_total(draws), -_least_total(draws.negation)
    if not draws.is_certain:
        return Extent(Fraction(lower), Fraction(upper), None)
    mean, variance = float((draws.low * draws.chances).sum()), draws.variance(draws.low.astype(np.float64))
    return Extent(Fraction(lower), Fraction(upper), *_given_some(mean, variance, draws))


def average(draws: Draws) -> Extent:
    """AVG; where the number drawn is uncertain the ratio of means stands in for the mean of the ratio."""
    if not draws.most.any():
        return Extent(None, None, None)
    number = float(draws.chances.sum())
    bounds = _least_average(draws), -_least_average(draws.negation)
    if not draws.is_certain:
        return Extent(*bounds, None)
    expected = float((draws.low * draws.chances).sum()) / number
    is_known = np.array_equal(draws.least_drawn, draws.most)
    variance = draws.variance(draws.low.astype(np.float64)) / number**2 if is_known else None
    return Extent(*bounds, expected, variance)


def largest(draws: Draws) -> Extent:
    """MAX; MIN is the negated MAX of the negated draws."""
    in_reach = draws.most[draws.groups] > 0
    if not in_reach.any():
        return Extent(None, None, None)
    forced, _ = draws.split()
    # A group that must give up f numbers can keep everything above its f-th smallest.
    lower = int(forced.max() if len(forced) else draws.low[in_reach].min())
    upper = int(draws.high[in_reach].max())
    return Extent(Fraction(lower), Fraction(upper), *(_largest_moments(draws) if draws.is_certain else (None, None)))


def _least_total(draws: Draws) -> int:
    forced, optional = draws.split()
    if not len(forced) and len(optional):
        # SQL's sum over nothing is NULL, so something is drawn.
        return int(optional[0]) + exact_sum(np.minimum(optional[1:], 0))
    return exact_sum(forced) + exact_sum(np.minimum(optional, 0))


def _least_average(draws: Draws) -> Fraction:
    """Add what may be drawn, smallest first, as long as it lies below the mean so far."""
    forced, optional = draws.split()
    if not len(forced):
        return Fraction(int(optional[0]))
    base, first, last = exact_sum(forced), 0, len(optional)
    while first < last:
        middle = (first + last) // 2
        so_far = base + exact_sum(optional[:middle])
        if int(optional[middle]) * (len(forced) + middle) >= so_far:
            last = middle
        else:
            first = middle + 1
    return Fraction(base + exact_sum(optional[:first]), len(forced) + first)


def _largest_moments(draws: Draws) -> tuple[float, float]:
    """Mean and variance: walk down the numbers and multiply the probabilities that each is missed."""
    order = np.lexsort((draws.groups, -draws.low))
    groups, values = draws.groups[order], draws.low[order].astype(np.float64)
    before = _seen_before(groups)
    left = draws.population[groups] - before
    missed = np.cumprod(np.maximum(left - draws.drawn[groups], 0) / left)
    reached = -np.diff(missed, prepend=1.0) / (1.0 - missed[-1])
    mean = float((values * reached).sum())
    return mean, float(((values - mean) ** 2 * reached).sum())


def _seen_before(groups: Ints) -> Ints:
    """For each entry, how many earlier ones have the same group."""
    order = np.argsort(groups, kind="stable")
    ascending = groups[order]
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - np.searchsorted(ascending, ascending)
    return rank


def _given_some(mean: float, variance: float, draws: Draws) -> tuple[float, float]:
    """Condition mean and variance on something being drawn, where that is not certain."""
    if draws.least_drawn.any():
        return mean, variance
    some = 1.0 - _chance_of_none(draws)
    return mean / some, max(0.0, (variance + mean * mean) / some - (mean / some) ** 2)


def _chance_of_none(draws: Draws) -> float:
    before = _seen_before(draws.groups)
    left = draws.population[draws.groups] - before
    return float(np.prod(np.maximum(left - draws.drawn[draws.groups], 0) / left))


def exact_sum(values: Ints) -> int:
    """Add up 64-bit integers without overflow: high and low halves apart."""
    return (int((values >> 32).sum()) << 32) + int((values & np.int64(2**32 - 1)).sum())
