"""AVG: the sum over a known number, or the best ratio of sum and number (Dinkelbach)."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
    ends_of_known,
    is_known,
    is_plain,
    sum_moments,
    sums_of_smallest,
    take_below,
)
from hedgerow.query.aggregates.count import expected_count
from hedgerow.query.evidence.groups import Evidence, Hits, Ints, Values, deviation, matches, small_sums

__all__ = ["AVG", "average", "expected_average"]


def average(evidence: Evidence) -> Interval:
    """AVG: the sum over a known number, or the best ratio of sum and number."""
    if evidence.every(is_known):
        return ends_of_known(evidence, Fraction)
    return both_ends(_least_average, evidence)


def _least_average(evidence: Evidence) -> list[Exact | None]:
    ratios = _ratios(evidence, lambda hits, values: matches(hits, values)[1])
    if evidence.every(_is_fixed):
        return list(ratios)
    while True:
        # Values below the ratio lower it, so taking exactly those improves it until nothing changes (Dinkelbach).
        limits = [Fraction(0) if r is None else r for r in ratios]
        better = _ratios(evidence, functools.partial(take_below, limits=limits))
        better = [old if new is None else new for old, new in zip(ratios, better, strict=True)]
        if better == ratios:
            return list(ratios)
        ratios = better


def _is_fixed(hits: Hits, values: Values) -> bool:
    least, most = matches(hits, values)
    return least is most or np.array_equal(least, most)


def _ratios(evidence: Evidence, taken: Callable[[Hits, Values], Ints]) -> list[Fraction | None]:
    sums, numbers = evidence.added(lambda hits, values: sums_of_smallest(hits, values, taken(hits, values)))
    return [Fraction(s, n) if n else None for s, n in zip(sums, numbers, strict=True)]


def expected_average(evidence: Evidence) -> Spread:
    """AVG: the sum over the number of rows; exact where that number is known."""
    sums, variance = evidence.added(lambda hits, values: sum_moments(hits, values, np.zeros(hits.cells)))
    if evidence.every(is_plain):
        rows = evidence.added(lambda hits, _: small_sums(hits, hits.upper)).astype(np.float64)
        return Spread(divide(sums, rows), divide(deviation(variance), rows))
    number = expected_count(evidence).mean
    ratio = divide(sums, number)
    centre = np.nan_to_num(ratio)
    around = evidence.added(lambda hits, values: sum_moments(hits, values, centre)[1])
    return Spread(ratio, divide(deviation(around), number))


AVG = Aggregator(
    "avg",
    Gives.MEAN,
    lambda evidence, _: (average(evidence), expected_average(evidence)),
    ("Avg",),
    False,
    "sum",
)
