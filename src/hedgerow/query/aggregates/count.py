"""COUNT: bounds are the sums of the groups' bounds, the number is hypergeometric in each group."""

from __future__ import annotations

from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread, draws_of
from hedgerow.query.evidence.groups import Hits, Values, deviation, matches, means, totals

__all__ = ["COUNT", "count", "expected_count"]


def count(hits: Hits, values: Values) -> Interval:
    """COUNT: bounds are the sums of the groups' bounds."""
    least, most = matches(hits, values)
    lower, upper = totals(hits, least), totals(hits, most)
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def expected_count(hits: Hits, values: Values) -> Spread:
    """COUNT: hypergeometric in each group."""
    moments = values.moments
    share = moments.share[hits.group]
    variance = draws_of(hits, values) * moments.counts[hits.group]
    if moments.inner is not None:
        variance = variance + hits.expected * moments.inner[2][hits.group]
    if hits.variance is not None:
        variance = variance + hits.variance * share**2
    return Spread(means(hits, hits.expected * share), deviation(means(hits, variance)))


COUNT = Aggregator(
    "count",
    Gives.NUMBER,
    lambda hits, values, _: (count(hits, values), expected_count(hits, values)),
    ("Count",),
    True,
    "hits",
)
