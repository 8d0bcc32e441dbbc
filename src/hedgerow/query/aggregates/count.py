"""COUNT: bounds are the sums of the groups' bounds, the number is hypergeometric in each group."""

from __future__ import annotations

from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread, draws_of, numbers_of_matches
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Values, deviation, means

__all__ = ["COUNT", "count", "expected_count"]


def count(evidence: Evidence) -> Interval:
    """COUNT: bounds are the sums of the groups' bounds."""
    lower, upper = numbers_of_matches(evidence)
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def expected_count(evidence: Evidence) -> Spread:
    """COUNT: hypergeometric in each group."""
    mean, variance = evidence.added(_moments)
    return Spread(mean, deviation(variance))


def _moments(hits: Hits, values: Values) -> tuple[Floats, Floats]:
    moments = values.moments
    share = moments.share[hits.group]
    variance = draws_of(hits, values) * moments.counts[hits.group]
    if moments.inner is not None:
        variance = variance + hits.expected * moments.inner[2][hits.group]
    if hits.variance is not None:
        variance = variance + hits.variance * share**2
    return means(hits, hits.expected * share), means(hits, variance)


COUNT = Aggregator(
    "count",
    Gives.NUMBER,
    lambda evidence, _: (count(evidence), expected_count(evidence)),
    ("Count",),
    True,
    "hits",
)
