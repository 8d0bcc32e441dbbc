"""Least and greatest quantiles over all assignments, and their mean and deviation.

Source     own; the bounds of MIN carried over to every order statistic
Guarantee  the true quantile lies inside. Both ends are reached where the number of values is known, for discrete
           quantiles always, and for interpolated ones while that number has at most 64 possible values
Cost       a bisection over the distinct values; each step counts, in every group, the values up to a threshold

Take the values up to a threshold wherever they may be taken, and others only where they must be: if then k of them are
up to it, the k-th smallest value may be that small. With the total fixed the sets that may be taken are the bases of a
matroid, so one choice makes all order statistics small at once, and interpolating between two of them is safe.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.query.aggregates.aggregator import (
    Aggregator,
    Exact,
    Gives,
    Interval,
    Spread,
    numbers_of_matches,
    spread_of_points,
)
from hedgerow.query.evidence.groups import (
    Evidence,
    Floats,
    Hits,
    Ints,
    Values,
    joined_sets,
    matches,
    means,
    totals,
    unroll,
)
from hedgerow.query.evidence.ragged import Ragged
from hedgerow.query.evidence.tally import rank

__all__ = ["QUANTILE_CONT", "QUANTILE_DISC", "quantile"]

_MOST_TOTALS = 64
_STEPS = 24


def quantile(evidence: Evidence, fraction: Fraction, *, is_discrete: bool) -> tuple[Interval, Spread]:
    """Bounds and expectation of the value below which a fraction of all values lies."""
    low, high = (np.array(numbers) for numbers in numbers_of_matches(evidence))
    sides = _sides(evidence, fraction, low, high, is_discrete)
    null = (low == 0) & (high > 0)
    exact = [a is not None and a == b and not n for a, b, n in zip(*sides, null, strict=True)]
    return Interval(*sides, exact), spread_of_points(evidence, _spread(evidence.typical, fraction, sides))


def _sides(
    evidence: Evidence, fraction: Fraction, low: Ints, high: Ints, is_discrete: bool
) -> tuple[list[Any], list[Any]]:
    finder, mirror = _Finder(evidence), _Finder(evidence.mirrored)
    if is_discrete:
        lower = finder.smallest(lambda below, above: below >= _place(fraction, below + above))
        upper = mirror.smallest(lambda below, above: below > below + above - _place(fraction, below + above))
    elif np.array_equal(low, high) or int((high - low).max(initial=0)) < _MOST_TOTALS:
        lower, upper = (
            _least_interpolated(finder, fraction, low, high, False),
            _least_interpolated(mirror, fraction, low, high, True),
        )
    else:
        lower = finder.smallest(lambda below, above: below > _floor(fraction, below + above - 1))
        upper = mirror.smallest(lambda below, above: below > _floor(1 - fraction, below + above - 1))
    nothing = high == 0
    return (
        [None if n else v for v, n in zip(lower, nothing, strict=True)],
        [None if n else -v for v, n in zip(upper, nothing, strict=True)],
    )


def _place(fraction: Fraction, number: Ints) -> Ints:
    """The rank, from 1, of a discrete quantile of so many values."""
    return np.maximum(-((-fraction.numerator * number) // fraction.denominator), 1)


def _floor(fraction: Fraction, number: Ints) -> Ints:
    result: Ints = fraction.numerator * number // fraction.denominator
    return result


def _least_interpolated(finder: _Finder, fraction: Fraction, low: Ints, high: Ints, is_mirrored: bool) -> list[Any]:
    """The least interpolated quantile over all possible totals; in the mirror ranks count from the other end."""
    best: list[Any] = [None] * len(low)
    share = 1 - fraction if is_mirrored else fraction
    for extra in range(int((high - low).max(initial=0)) + 1):
        total = np.minimum(np.maximum(low, 1) + extra, np.maximum(high, 1))
        place = _floor(share, total - 1)
        first = finder.value_at_rank(total, place + 1)
        second = finder.value_at_rank(total, np.minimum(place + 2, total))
        for cell, (a, b) in enumerate(zip(first, second, strict=True)):
            rest = share * (int(total[cell]) - 1) - int(place[cell])
            found = a + (b - a) * rest
            best[cell] = found if best[cell] is None else min(best[cell], found)
    return best


class _Finder:
    """Searches, in all cells at once, the smallest value up to which enough values may lie."""

    def __init__(self, asked: Evidence) -> None:
        evidence = self._evidence = asked.points if asked.is_rounded else asked
        self._unit, floats = asked.unit, asked.each(_different_floats) if asked.is_rounded else []
        self._ragged = Ragged.join([each for each in floats if each is not None])
        self._domain = joined_sets(evidence.each(lambda _, values: values.domain))
        self._table = _Counts.of(evidence, self._domain) if len(evidence.pieces) > 1 else None

    def value_at_rank(self, total: Ints, place: Ints) -> list[Exact]:
        """The smallest possible value of a rank, from 1, among so many."""
        return self.smallest(lambda below, above: np.minimum(below, total - above) >= place)

    def smallest(self, is_enough: Callable[[Ints, Ints], Any]) -> list[Exact]:
        """The smallest threshold at which the most values up to it, and the fewest above, are enough."""
        low = np.zeros(self._evidence.cells, dtype=np.int64)
        high = np.full(self._evidence.cells, max(len(self._domain) - 1, 0))
        while np.any(low < high):
            middle = (low + high) >> 1
            enough = self._is_enough(is_enough, self._domain[middle])
            low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
        return [0] * len(low) if len(self._domain) == 0 else [self._number(int(tick)) for tick in self._domain[low]]

    def _number(self, tick: int) -> Exact:
        """A tick, or the float for whose place it stands, in ticks."""
        return tick if self._ragged is None else self._ragged.number(tick) / self._unit

    def _is_enough(self, is_enough: Callable[[Ints, Ints], Any], threshold: Ints) -> Any:
        """Nothing at all has no quantile."""
        below, above = self.counts(threshold)
        return (below > 0) & is_enough(below, above)

    def counts(self, threshold: Ints) -> tuple[Ints, Ints]:
        """The most values up to a threshold per cell, and the fewest above it."""
        if self._table is not None:
            return self._table.at(np.searchsorted(self._domain, threshold))
        below, above = self._evidence.added(functools.partial(_counts, threshold))
        return np.array(below), np.array(above)


def _different_floats(_: Hits, values: Values) -> Ragged | None:
    return None if values.ragged is None else values.ragged.line


@dataclass(frozen=True, eq=False)
class _Counts:
    """Of many pieces, read once: for each cell and value that occurs in it, how many values up to it may be taken.

    Cells and places of values are one number, ascending; `most` and `least` are running counts of values that may be
    taken, and of those that must be.
    """

    width: int
    keys: Ints
    most: Ints
    least: Ints
    first: Ints

    @staticmethod
    def of(evidence: Evidence, domain: Ints) -> _Counts:
        """Count the smallest values of every group, as many as may be taken."""
        width = max(len(domain), 1)

        def count(hits: Hits, values: Values) -> tuple[Ints, Ints, Ints]:
            least, most = matches(hits, values)
            owner, order = unroll(most)
            place = np.searchsorted(domain, values.lows[values.offsets[hits.group[owner]] + order])
            return _sum_by_key(hits.cell[owner] * width + place, np.ones(len(owner)), order < least[owner])

        keys, most, least = functools.reduce(_both, evidence.each(count))
        first = np.searchsorted(keys, np.arange(evidence.cells + 1) * width)
        return _Counts(width, keys, _running(most), _running(least), first)

    def at(self, places: Ints) -> tuple[Ints, Ints]:
        """The most values up to a place in the domain per cell, and the fewest above it."""
        start, end = self.first[:-1], self.first[1:]
        upto = np.searchsorted(self.keys, np.arange(len(places)) * self.width + places, side="right")
        return self.most[upto] - self.most[start], self.least[end] - self.least[upto]


def _sum_by_key(keys: Ints, most: Any, least: Any) -> tuple[Ints, Ints, Ints]:
    found, place = np.unique(keys, return_inverse=True)
    sums = [np.bincount(place.reshape(-1), each, minlength=len(found)).astype(np.int64) for each in (most, least)]
    return found, sums[0], sums[1]


def _both(one: tuple[Ints, Ints, Ints], other: tuple[Ints, Ints, Ints]) -> tuple[Ints, Ints, Ints]:
    keys, most, least = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    return _sum_by_key(keys, most, least)


def _running(numbers: Ints) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(numbers)))


def _counts(threshold: Ints, hits: Hits, values: Values) -> tuple[list[int], list[int]]:
    least, most = matches(hits, values)
    below = np.minimum(rank(values, hits.group, threshold[hits.cell] + 1), most)
    return totals(hits, below), totals(hits, np.maximum(least - below, 0))


def _spread(evidence: Evidence, fraction: Fraction, sides: tuple[list[Any], list[Any]]) -> Spread:
    """Mean and deviation: the number of values up to a threshold is taken as normally distributed."""
    low, high = (np.array([0.0 if side is None else float(side) for side in ends]) for ends in sides)
    total = evidence.added(lambda hits, values: means(hits, hits.expected * values.moments.share[hits.group]))
    place = float(fraction) * (total - 1.0) + 1.0
    cells = evidence.cells
    mean, square, before = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    steps = np.linspace(0.0, 1.0, _STEPS + 1)
    limits = [np.floor(low + (high - low) * right).astype(np.int64) for right in steps[1:-1].tolist()]
    counted = evidence.added(functools.partial(_expected_below, limits))
    chances = [*(_chance(number, spread, place) for number, spread in counted), np.ones(cells)]
    for (left, right), chance in zip(itertools.pairwise(steps.tolist()), chances, strict=True):
        middle = (left + right) / 2
        mean += (chance - before) * middle
        square += (chance - before) * middle**2
        before = np.maximum(before, chance)
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    return Spread(low + (high - low) * mean, (high - low) * deviation)


def _expected_below(limits: list[Ints], hits: Hits, values: Values) -> tuple[tuple[Floats, Floats], ...]:
    """Mean and variance of the number of values up to each threshold."""
    size = values.sizes[hits.group]
    draws = hits.expected * (size - hits.expected) / np.maximum(size - 1, 1)
    shares = [rank(values, hits.group, limit[hits.cell] + 1) / np.maximum(size, 1) for limit in limits]
    return tuple((means(hits, hits.expected * share), means(hits, draws * share * (1.0 - share))) for share in shares)


def _chance(mean: Floats, variance: Floats, place: Floats) -> Floats:
    """The chance that the value of a rank is at most a threshold."""
    scores = (mean - place + 0.5) / np.maximum(np.sqrt(np.maximum(variance, 0.0)), 1e-9)
    return np.array([0.5 * math.erfc(-score / math.sqrt(2.0)) for score in np.clip(scores, -40.0, 40.0).tolist()])


def _continuous(evidence: Evidence, fraction: Fraction | None) -> tuple[Interval, Spread]:
    return quantile(evidence, fraction or Fraction(0), is_discrete=False)


def _discrete(evidence: Evidence, fraction: Fraction | None) -> tuple[Interval, Spread]:
    return quantile(evidence, fraction or Fraction(0), is_discrete=True)


QUANTILE_CONT = Aggregator("quantile_cont", Gives.MEAN, _continuous)
QUANTILE_DISC = Aggregator("quantile_disc", Gives.VALUE, _discrete, takes_any=True)
