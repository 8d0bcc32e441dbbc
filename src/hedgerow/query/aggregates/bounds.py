"""Least and greatest answers over all assignments of a group's values to its rows, in exact whole ticks.

Source     [Zhang 2008], section 2.5.1
Guarantee  the true answer lies inside, and both ends are reached by some assignment
Cost       O(entries of hits) after the prefix sums; AVG over an uncertain number of rows repeats that a few times
Deviates   the paper knows the number of values in the answer; with missing sensitive values or a condition on them it
           is only bounded, so SUM takes as many negatives as it may, and AVG is a fractional optimum (Dinkelbach)

Only least answers are computed. The greatest is the negated least over the mirrored values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.query.evidence.groups import Hits, Ints, Values, best, matches, rank, totals
from hedgerow.query.evidence.tally import MANY, both_totals, drawn_totals

__all__ = [
    "Exact",
    "Interval",
    "both_ends",
    "drawn",
    "is_long",
    "least_value",
    "long_ends",
    "may_be_null",
    "negated",
    "same_values",
    "take_below",
]

Exact = int | Fraction


@dataclass(frozen=True)
class Interval:
    """Bounds per cell in ticks; None where no assignment has a value to aggregate. `exact`: all assignments agree."""

    lower: list[Any]
    upper: list[Any]
    exact: list[bool]


def is_long(hits: Hits, values: Values) -> bool:
    """Tell whether known numbers of rows draw from values that are points, in so many groups that one pass pays."""
    is_known = hits.lower is hits.upper and values.is_complete and values.lows is values.highs
    return len(hits.group) > MANY and is_known and not values.is_large


def long_ends(hits: Hits, values: Values, finish: Callable[[int, int], Exact]) -> Interval:
    """Both ends of SUM, or of AVG, which `finish` makes from a sum and its number of values."""
    least, greatest, numbers = both_totals(hits, values)
    lower, upper = (
        [finish(end, n) if n else None for end, n in zip(ends, numbers, strict=True)] for ends in (least, greatest)
    )
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def both_ends(least: Any, hits: Hits, values: Values) -> Interval:
    """Both ends of an aggregate from its least one; `exact` where all assignments agree."""
    mirrored = hits.mirrored(len(values.sizes))
    lower, upper = least(hits, values), negated(least(mirrored, values.mirrored))
    if values.is_rounded:
        return Interval(lower, upper, same_values(hits, values))
    ends = zip(lower, upper, may_be_null(hits, values), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in ends])


def same_values(hits: Hits, values: Values) -> list[bool]:
    """Cells in which every assignment takes the same rounded values, by their labels: ticks do not tell them apart."""
    least, most = matches(hits, values)
    points, mirrored = values.points, hits.mirrored(len(values.sizes))
    low, high = totals(hits, least), totals(hits, most)
    first, last = drawn(hits, points, most)[0], negated(drawn(mirrored, points.mirrored, most)[0])
    return [a == b and c == d for a, b, c, d in zip(low, high, first, last, strict=True)]


def negated(bounds: list[Any]) -> list[Any]:
    """The ends of the mirror image."""
    return [None if bound is None else -bound for bound in bounds]


def may_be_null(hits: Hits, values: Values) -> list[bool]:
    """Cells of which some assignments have a value to aggregate and some have none."""
    least, most = matches(hits, values)
    if least is most:
        return [False] * hits.cells
    return [low == 0 < high for low, high in zip(totals(hits, least), totals(hits, most), strict=True)]


def drawn(hits: Hits, values: Values, taken: Ints) -> tuple[list[int], list[int]]:
    """Per cell the sum of the `taken` smallest lows of each group, and how many these are."""
    if len(taken) > MANY and not values.is_large:
        return drawn_totals(hits, values, taken)
    low, high = values.drawn(hits.group, taken)
    sums = totals(hits, low)
    if high is not None:
        sums = [(upper << 32) + lower for upper, lower in zip(totals(hits, high), sums, strict=True)]
    return sums, totals(hits, taken)


def take_below(hits: Hits, values: Values, threshold: int | Ints, least: Ints, most: Ints) -> Ints:
    """As many of the smallest values as lie below the threshold, within what is possible."""
    thresholds = np.broadcast_to(np.asarray(threshold, dtype=np.int64), hits.group.shape)
    taken: Ints = np.clip(rank(values, values.lows, hits.group, thresholds), least, most)
    return taken


def least_value(hits: Hits, values: Values) -> list[int | None]:
    """The smallest value in reach, per cell."""
    _, most = matches(hits, values)
    return best(np.minimum, hits, most >= 1, lambda group: values.lows[values.offsets[group]])
