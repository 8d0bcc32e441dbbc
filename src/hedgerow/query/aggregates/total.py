"""SUM: the smallest values that make up the least possible sum, and its mirror image."""

from __future__ import annotations

import numpy as np

from hedgerow.query.aggregates.aggregator import (
    Aggregator,
    Exact,
    Gives,
    Interval,
    Spread,
    both_ends,
    chance_of_null,
    divide,
    draws_of,
    is_long,
    least_value,
    long_ends,
    sum_moments,
    sums_of_smallest,
    take_below,
)
from hedgerow.query.aggregates.count import expected_count
from hedgerow.query.evidence.groups import Floats, Hits, Values, deviation, matches, means, totals

__all__ = ["SUM", "expected_total", "total"]


def total(hits: Hits, values: Values) -> Interval:
    """SUM: the smallest values that make up the least possible sum, and its mirror image."""
    if is_long(hits, values):
        return long_ends(hits, values, lambda total, number: total)
    return both_ends(_least_total, hits, values)


def _least_total(hits: Hits, values: Values) -> list[Exact | None]:
    least, most = matches(hits, values)
    taken = most if least is most or np.array_equal(least, most) else take_below(hits, values, 0, least, most)
    sums, numbers = sums_of_smallest(hits, values, taken)
    if all(numbers):
        return list(sums)
    # Nothing has to be taken and nothing is negative: an answer that is not NULL takes one value, the smallest.
    single = least_value(hits, values)
    return [s if n else one for s, n, one in zip(sums, numbers, single, strict=True)]


def expected_total(hits: Hits, values: Values) -> Spread:
    """SUM: h times the mean, h (N-h)/(N-1) times the variance."""
    mean, variance = sum_moments(hits, values, np.zeros(hits.cells))
    null = chance_of_null(hits, values)
    if not np.any((null > 0) & (null < 1)):
        return Spread(divide(mean, 1.0 - null), deviation(variance))
    return Spread(divide(mean, 1.0 - null), deviation(_given_a_number(hits, values, mean, 1.0 - null)))


def _given_a_number(hits: Hits, values: Values, mean: Floats, defined: Floats) -> Floats:
    """The variance of SUM over the assignments that give one: of what is above the mean value, and of their number.

    With M values of mean c the sum is cM + Y, where Y has mean zero: no large squares are subtracted from each other.
    """
    number = expected_count(hits, values)
    centre = np.nan_to_num(divide(mean, number.mean))
    _, above = sum_moments(hits, values, centre)
    moments = values.moments
    distance = moments.mean[hits.group] - centre[hits.cell]
    both = means(hits, draws_of(hits, values) * (moments.both[hits.group] + distance * moments.counts[hits.group]))
    one = np.array(totals(hits, matches(hits, values)[1])) <= 1
    squares = divide(number.std**2 + number.mean**2, defined) - divide(number.mean, defined) ** 2
    shared = np.where(one, 0.0, 2.0 * centre * divide(both, defined) + centre**2 * squares)
    return divide(above, defined) + shared


SUM = Aggregator(
    "sum",
    Gives.TOTAL,
    lambda hits, values, _: (total(hits, values), expected_total(hits, values)),
    ("Sum",),
    False,
    "sum",
)
