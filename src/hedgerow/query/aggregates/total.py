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
    ends_of_known,
    is_known,
    least_value,
    numbers_of_matches,
    sum_moments,
    sums_of_smallest,
    take_below,
)
from hedgerow.query.aggregates.count import expected_count
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Values, deviation, matches, means

__all__ = ["SUM", "expected_total", "total"]


def total(evidence: Evidence) -> Interval:
    """SUM: the smallest values that make up the least possible sum, and its mirror image."""
    if evidence.every(is_known):
        return ends_of_known(evidence, lambda total, number: total)
    return both_ends(_least_total, evidence)


def _least_total(evidence: Evidence) -> list[Exact | None]:
    sums, numbers = evidence.added(_negative)
    if all(numbers):
        return list(sums)
    # Nothing has to be taken and nothing is negative: an answer that is not NULL takes one value, the smallest.
    single = least_value(evidence)
    return [s if n else one for s, n, one in zip(sums, numbers, single, strict=True)]


def _negative(hits: Hits, values: Values) -> tuple[list[Exact], list[int]]:
    """The sums of all values that must be taken, and of the negative ones that may be; how many these are."""
    least, most = matches(hits, values)
    taken = most if least is most or np.array_equal(least, most) else take_below(hits, values, [0] * hits.cells)
    return sums_of_smallest(hits, values, taken)


def expected_total(evidence: Evidence) -> Spread:
    """SUM: h times the mean, h (N-h)/(N-1) times the variance."""
    mean, variance = evidence.added(lambda hits, values: sum_moments(hits, values, np.zeros(hits.cells)))
    null = chance_of_null(evidence)
    if not np.any((null > 0) & (null < 1)):
        return Spread(divide(mean, 1.0 - null), deviation(variance))
    return Spread(divide(mean, 1.0 - null), deviation(_given_a_number(evidence, mean, 1.0 - null)))


def _given_a_number(evidence: Evidence, mean: Floats, defined: Floats) -> Floats:
    """The variance of SUM over the assignments that give one: of what is above the mean value, and of their number.

    With M values of mean c the sum is cM + Y, where Y has mean zero: no large squares are subtracted from each other.
    """
    number = expected_count(evidence)
    centre = np.nan_to_num(divide(mean, number.mean))

    def around(hits: Hits, values: Values) -> tuple[Floats, Floats]:
        moments = values.moments
        distance = moments.mean[hits.group] - centre[hits.cell]
        both = draws_of(hits, values) * (moments.both[hits.group] + distance * moments.counts[hits.group])
        return sum_moments(hits, values, centre)[1], means(hits, both)

    above, both = evidence.added(around)
    one = np.array(numbers_of_matches(evidence)[1]) <= 1
    squares = divide(number.std**2 + number.mean**2, defined) - divide(number.mean, defined) ** 2
    shared = np.where(one, 0.0, 2.0 * centre * divide(both, defined) + centre**2 * squares)
    return divide(above, defined) + shared


SUM = Aggregator(
    "sum",
    Gives.TOTAL,
    lambda evidence, _: (total(evidence), expected_total(evidence)),
    ("Sum",),
    False,
    "sum",
)
