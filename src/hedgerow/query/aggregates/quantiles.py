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

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread, same_values
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values, matches, means, rank, totals

__all__ = ["QUANTILE_CONT", "QUANTILE_DISC", "quantile"]

_MOST_TOTALS = 64
_STEPS = 24


def quantile(hits: Hits, values: Values, fraction: Fraction, *, is_discrete: bool) -> tuple[Interval, Spread]:
    """Bounds and expectation of the value below which a fraction of all values lies."""
    least, most = matches(hits, values)
    low, high = np.array(totals(hits, least)), np.array(totals(hits, most))
    sides = _sides(hits, values, fraction, low, high, is_discrete)
    null = (low == 0) & (high > 0)
    if values.is_rounded:
        exact = same_values(hits, values)
    else:
        exact = [a is not None and a == b and not n for a, b, n in zip(*sides, null, strict=True)]
    return Interval(*sides, exact), _spread(hits, values.typical, fraction, sides)


def _sides(
    hits: Hits, values: Values, fraction: Fraction, low: Ints, high: Ints, is_discrete: bool
) -> tuple[list[Any], list[Any]]:
    finder = _Finder(hits, values)
    mirror = _Finder(hits.mirrored(len(values.sizes)), values.mirrored)
    if is_discrete:
        lower = finder.smallest(lambda below, above: below >= _place(fraction, below + above))
        upper = mirror.smallest(lambda below, above: below > below + above - _place(fraction, below + above))
    elif np.array_equal(low, high) or int((high - low).max(initial=0)) < _MOST_TOTALS:
        lower, upper = (
            _interpolated(finder, fraction, low, high, False),
            _interpolated(mirror, fraction, low, high, True),
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


def _interpolated(finder: _Finder, fraction: Fraction, low: Ints, high: Ints, is_mirrored: bool) -> list[Any]:
    """The least interpolated quantile over all possible totals; in the mirror ranks count from the other end."""
    best: list[Any] = [None] * len(low)
    share = 1 - fraction if is_mirrored else fraction
    for extra in range(int((high - low).max(initial=0)) + 1):
        total = np.minimum(np.maximum(low, 1) + extra, np.maximum(high, 1))
        place = _floor(share, total - 1)
        first = finder.ranked(total, place + 1)
        second = finder.ranked(total, np.minimum(place + 2, total))
        for cell, (a, b) in enumerate(zip(first, second, strict=True)):
            rest = share * (int(total[cell]) - 1) - int(place[cell])
            found = a + (b - a) * rest
            best[cell] = found if best[cell] is None else min(best[cell], found)
    return best


class _Finder:
    """Searches, in all cells at once, the smallest value up to which enough values may lie."""

    def __init__(self, hits: Hits, values: Values) -> None:
        self._hits, self._values = hits, values
        self._least, self._most = matches(hits, values)
        self._domain = np.unique(values.lows)

    def ranked(self, total: Ints, place: Ints) -> list[int]:
        """The smallest possible value of a rank, from 1, among so many."""
        return self.smallest(lambda below, above: np.minimum(below, total - above) >= place)

    def smallest(self, is_enough: Callable[[Ints, Ints], Any]) -> list[int]:
        """The smallest threshold at which the most values up to it, and the fewest above, are enough."""
        low = np.zeros(self._hits.cells, dtype=np.int64)
        high = np.full(self._hits.cells, max(len(self._domain) - 1, 0))
        while np.any(low < high):
            middle = (low + high) >> 1
            enough = self._is_enough(is_enough, self._domain[middle])
            low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
        return [0] * len(low) if len(self._domain) == 0 else [int(tick) for tick in self._domain[low]]

    def _is_enough(self, is_enough: Callable[[Ints, Ints], Any], threshold: Ints) -> Any:
        """Nothing at all has no quantile."""
        below, above = self.counts(threshold)
        return (below > 0) & is_enough(below, above)

    def counts(self, threshold: Ints) -> tuple[Ints, Ints]:
        """The most values up to a threshold per cell, and the fewest above it."""
        ranks = rank(self._values, self._values.lows, self._hits.group, threshold[self._hits.cell] + 1)
        below = np.minimum(ranks, self._most)
        above = np.maximum(self._least - below, 0)
        return np.array(totals(self._hits, below)), np.array(totals(self._hits, above))


def _spread(hits: Hits, values: Values, fraction: Fraction, sides: tuple[list[Any], list[Any]]) -> Spread:
    """Mean and deviation: the number of values up to a threshold is taken as normally distributed."""
    low, high = (np.array([0.0 if side is None else float(side) for side in ends]) for ends in sides)
    share = values.moments.share[hits.group]
    total = means(hits, hits.expected * share)
    place = float(fraction) * (total - 1.0) + 1.0
    mean, square, before = np.zeros(hits.cells), np.zeros(hits.cells), np.zeros(hits.cells)
    steps = np.linspace(0.0, 1.0, _STEPS + 1)
    for left, right in itertools.pairwise(steps.tolist()):
        middle = (left + right) / 2
        chance = _chance(hits, values, low + (high - low) * right, place) if right < 1 else np.ones(hits.cells)
        mean += (chance - before) * middle
        square += (chance - before) * middle**2
        before = np.maximum(before, chance)
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    return Spread(low + (high - low) * mean, (high - low) * deviation)


def _chance(hits: Hits, values: Values, threshold: Floats, place: Floats) -> Floats:
    """The chance that the value of a rank is at most a threshold."""
    limits = np.floor(threshold).astype(np.int64)
    ranks = rank(values, values.lows, hits.group, limits[hits.cell] + 1)
    size = values.sizes[hits.group]
    share = ranks / np.maximum(size, 1)
    mean = means(hits, hits.expected * share)
    draws = hits.expected * (size - hits.expected) / np.maximum(size - 1, 1)
    deviation = np.sqrt(np.maximum(means(hits, draws * share * (1.0 - share)), 0.0))
    scores = (mean - place + 0.5) / np.maximum(deviation, 1e-9)
    return np.array([0.5 * math.erfc(-score / math.sqrt(2.0)) for score in np.clip(scores, -40.0, 40.0).tolist()])


def _continuous(hits: Hits, values: Values, fraction: Fraction | None) -> tuple[Interval, Spread]:
    return quantile(hits, values, fraction or Fraction(0), is_discrete=False)


def _discrete(hits: Hits, values: Values, fraction: Fraction | None) -> tuple[Interval, Spread]:
    return quantile(hits, values, fraction or Fraction(0), is_discrete=True)


QUANTILE_CONT = Aggregator("quantile_cont", Gives.MEAN, _continuous)
QUANTILE_DISC = Aggregator("quantile_disc", Gives.VALUE, _discrete)
