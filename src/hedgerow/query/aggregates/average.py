"""AVG: the sum over a known number, or the best ratio of sum and number (Dinkelbach)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hedgerow.query.aggregates.aggregator import (
    Aggregator,
    Exact,
    Gives,
    Interval,
    Spread,
    both_ends,
    divide,
    is_long,
    is_plain,
    long_ends,
    sum_moments,
    sums_of_smallest,
    take_below,
)
from hedgerow.query.aggregates.count import expected_count
from hedgerow.query.evidence.groups import Hits, Ints, Values, deviation, matches, means

__all__ = ["AVG", "average", "expected_average"]


def average(hits: Hits, values: Values) -> Interval:
    """AVG: the sum over a known number, or the best ratio of sum and number."""
    if is_long(hits, values):
        return long_ends(hits, values, Fraction)
    return both_ends(_least_average, hits, values)


def _least_average(hits: Hits, values: Values) -> list[Exact | None]:
    least, most = matches(hits, values)
    ratios = _ratios(hits, values, most)
    if least is most or np.array_equal(least, most):
        return list(ratios)
    while True:
        # Values below the ratio lower it, so taking exactly those improves it until nothing changes (Dinkelbach).
        thresholds = np.array([0 if r is None else math.ceil(r) for r in ratios], dtype=np.int64)
        better = _ratios(hits, values, take_below(hits, values, thresholds[hits.cell], least, most))
        better = [old if new is None else new for old, new in zip(ratios, better, strict=True)]
        if better == ratios:
            return list(ratios)
        ratios = better


def _ratios(hits: Hits, values: Values, taken: Ints) -> list[Fraction | None]:
    sums, numbers = sums_of_smallest(hits, values, taken)
    return [Fraction(s, n) if n else None for s, n in zip(sums, numbers, strict=True)]


def expected_average(hits: Hits, values: Values) -> Spread:
    """AVG: the sum over the number of rows; exact where that number is known."""
    if is_plain(hits, values):
        total_mean, total_variance = sum_moments(hits, values, np.zeros(hits.cells))
        rows = means(hits, hits.expected.astype(np.float64))
        return Spread(divide(total_mean, rows), divide(deviation(total_variance), rows))
    number = expected_count(hits, values).mean
    sums, _ = sum_moments(hits, values, np.zeros(hits.cells))
    ratio = divide(sums, number)
    _, variance = sum_moments(hits, values, np.nan_to_num(ratio))
    return Spread(ratio, divide(deviation(variance), number))


AVG = Aggregator(
    "avg",
    Gives.MEAN,
    lambda hits, values, _: (average(hits, values), expected_average(hits, values)),
    ("Avg",),
    False,
    "sum",
)
