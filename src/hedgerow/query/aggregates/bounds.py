"""Least and greatest answers over all assignments of a group's values to its rows, in exact whole ticks.

Source     [Zhang 2008], section 2.5.1
Guarantee  the true answer lies inside, and both ends are reached by some assignment
Cost       O(entries of hits) after the prefix sums; AVG over an uncertain number of rows repeats that a few times
Deviates   the paper knows the number of values in the answer; with missing sensitive values or a condition on them it
           is only bounded, so SUM takes as many negatives as it may, and AVG is a fractional optimum (Dinkelbach)

Only least answers are computed. The greatest is the negated least over the mirrored values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.query.evidence.cells import best, totals
from hedgerow.query.evidence.groups import Hits, Ints, Values, matches, rank
from hedgerow.query.evidence.tally import MANY, both_totals, drawn_totals

__all__ = ["Interval", "average", "count", "maximum", "minimum", "same_values", "total"]

Exact = int | Fraction


@dataclass(frozen=True)
class Interval:
    """Bounds per cell in ticks; None where no assignment has a value to aggregate. `exact`: all assignments agree."""

    lower: list[Any]
    upper: list[Any]
    exact: list[bool]


def count(hits: Hits, values: Values) -> Interval:
    """COUNT: bounds are the sums of the groups' bounds."""
    least, most = matches(hits, values)
    lower, upper = totals(hits, least), totals(hits, most)
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def total(hits: Hits, values: Values) -> Interval:
    """SUM: the smallest values that make up the least possible sum, and its mirror image."""
    if _is_long(hits, values):
        return _long_ends(hits, values, lambda total, number: total)
    return _both_ends(_least_total, hits, values)


def average(hits: Hits, values: Values) -> Interval:
    """AVG: the sum over a known number, or the best ratio of sum and number."""
    if _is_long(hits, values):
        return _long_ends(hits, values, Fraction)
    return _both_ends(_least_average, hits, values)


def minimum(hits: Hits, values: Values) -> Interval:
    """MIN: from the smallest value in reach to the smallest that must be taken when all take their largest."""
    lower, upper = _least_minimum(hits, values), _greatest_minimum(hits, values)
    agree = zip(lower, upper, _may_be_null(hits, values), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in agree])


def maximum(hits: Hits, values: Values) -> Interval:
    """MAX: MIN seen in the mirror."""
    mirror = minimum(hits.mirrored(len(values.sizes)), values.mirrored)
    return Interval(_negated(mirror.upper), _negated(mirror.lower), mirror.exact)


def _is_long(hits: Hits, values: Values) -> bool:
    """Tell whether known numbers of rows draw from values that are points, in so many groups that one pass pays."""
    is_known = hits.lower is hits.upper and values.is_complete and values.lows is values.highs
    return len(hits.group) > MANY and is_known and not values.is_large


def _long_ends(hits: Hits, values: Values, finish: Callable[[int, int], Exact]) -> Interval:
    """Both ends of SUM, or of AVG, which `finish` makes from a sum and its number of values."""
    least, greatest, numbers = both_totals(hits, values)
    lower, upper = (
        [finish(end, n) if n else None for end, n in zip(ends, numbers, strict=True)] for ends in (least, greatest)
    )
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def _both_ends(least: Any, hits: Hits, values: Values) -> Interval:
    mirrored = hits.mirrored(len(values.sizes))
    lower, upper = least(hits, values), _negated(least(mirrored, values.mirrored))
    if values.is_rounded:
        return Interval(lower, upper, same_values(hits, values))
    ends = zip(lower, upper, _may_be_null(hits, values), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in ends])


def same_values(hits: Hits, values: Values) -> list[bool]:
    """Cells in which every assignment takes the same rounded values, by their labels: ticks do not tell them apart."""
    least, most = matches(hits, values)
    points, mirrored = values.points, hits.mirrored(len(values.sizes))
    low, high = totals(hits, least), totals(hits, most)
    first, last = _drawn(hits, points, most)[0], _negated(_drawn(mirrored, points.mirrored, most)[0])
    return [a == b and c == d for a, b, c, d in zip(low, high, first, last, strict=True)]


def _negated(bounds: list[Any]) -> list[Any]:
    return [None if bound is None else -bound for bound in bounds]


def _may_be_null(hits: Hits, values: Values) -> list[bool]:
    """Cells of which some assignments have a value to aggregate and some have none."""
    least, most = matches(hits, values)
    if least is most:
        return [False] * hits.cells
    return [low == 0 < high for low, high in zip(totals(hits, least), totals(hits, most), strict=True)]


def _least_total(hits: Hits, values: Values) -> list[Exact | None]:
    least, most = matches(hits, values)
    taken = most if least is most or np.array_equal(least, most) else _take_below(hits, values, 0, least, most)
    sums, numbers = _drawn(hits, values, taken)
    if all(numbers):
        return list(sums)
    # Nothing has to be taken and nothing is negative: an answer that is not NULL takes one value, the smallest.
    single = _least_minimum(hits, values)
    return [s if n else one for s, n, one in zip(sums, numbers, single, strict=True)]


def _least_average(hits: Hits, values: Values) -> list[Exact | None]:
    least, most = matches(hits, values)
    ratios = _ratios(hits, values, most)
    if least is most or np.array_equal(least, most):
        return list(ratios)
    while True:
        # Values below the ratio lower it, so taking exactly those improves it until nothing changes (Dinkelbach).
        thresholds = np.array([0 if r is None else math.ceil(r) for r in ratios], dtype=np.int64)
        better = _ratios(hits, values, _take_below(hits, values, thresholds[hits.cell], least, most))
        better = [old if new is None else new for old, new in zip(ratios, better, strict=True)]
        if better == ratios:
            return list(ratios)
        ratios = better


def _ratios(hits: Hits, values: Values, taken: Ints) -> list[Fraction | None]:
    sums, numbers = _drawn(hits, values, taken)
    return [Fraction(s, n) if n else None for s, n in zip(sums, numbers, strict=True)]


def _drawn(hits: Hits, values: Values, taken: Ints) -> tuple[list[int], list[int]]:
    """Per cell the sum of the `taken` smallest lows of each group, and how many these are."""
    if len(taken) > MANY and not values.is_large:
        return drawn_totals(hits, values, taken)
    low, high = values.drawn(hits.group, taken)
    sums = totals(hits, low)
    if high is not None:
        sums = [(upper << 32) + lower for upper, lower in zip(totals(hits, high), sums, strict=True)]
    return sums, totals(hits, taken)


def _take_below(hits: Hits, values: Values, threshold: int | Ints, least: Ints, most: Ints) -> Ints:
    """As many of the smallest values as lie below the threshold, within what is possible."""
    thresholds = np.broadcast_to(np.asarray(threshold, dtype=np.int64), hits.group.shape)
    taken: Ints = np.clip(rank(values, values.lows, hits.group, thresholds), least, most)
    return taken


def _least_minimum(hits: Hits, values: Values) -> list[int | None]:
    _, most = matches(hits, values)
    return best(np.minimum, hits, most >= 1, lambda group: values.lows[values.offsets[group]])


def _greatest_minimum(hits: Hits, values: Values) -> list[int | None]:
    least, most = matches(hits, values)

    def smallest_of_largest(group: Ints, forced: Ints) -> Ints:
        result: Ints = values.highs[values.offsets[group + 1] - forced]
        return result

    forced: NDArray[np.bool_] = least >= 1
    bounds = best(np.minimum, hits, forced, lambda group: smallest_of_largest(group, least[forced]))
    if None not in bounds:
        return bounds
    # No group has to contribute: the largest minimum is that of a single value, the largest in reach.
    single = best(np.maximum, hits, most >= 1, lambda group: values.highs[values.offsets[group + 1] - 1])
    return [one if bound is None else bound for bound, one in zip(bounds, single, strict=True)]
