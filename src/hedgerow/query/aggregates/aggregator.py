"""What an aggregate is: least and greatest answers over all assignments of values to rows; mean and deviation of them.

Source     [Zhang 2008], section 2.5.1
Guarantee  the true answer lies inside, and both ends are reached by some assignment
Cost       O(entries of hits) after the prefix sums; AVG over an uncertain number of rows repeats that a few times
Deviates   the paper knows the number of values in the answer; with missing sensitive values or a condition on them it
           is only bounded, so SUM takes as many negatives as it may, and AVG is a fractional optimum (Dinkelbach)

Only least answers are computed, in exact whole units; the greatest is the negated least over the mirrored values. For
the expectation every assignment is equally likely: inside a group the matching rows draw their values without
replacement, and groups are independent. A value that does not count (missing, or failing a condition) enters sums as
zero. Where an answer may be NULL, mean and deviation are those of the assignments that give a number. The mean of AVG
over an uncertain number of rows has no closed form: the ratio of means stands in for it, with the deviation of its
linearization. Where the number of matching rows is random (the forms scattered and generalized) its variance
enters sums and counts; MIN and MAX take its mean.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.exact import float_above, float_below
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import (
    Evidence,
    Floats,
    Hits,
    Ints,
    Values,
    best,
    matches,
    means,
    totals,
    unroll,
)
from hedgerow.query.evidence.tally import MANY, both_totals, drawn_totals, moment_sums, moment_terms, rank

__all__ = [
    "RARELY",
    "Aggregator",
    "Exact",
    "Gives",
    "Interval",
    "Spread",
    "both_ends",
    "chance_of_null",
    "divide",
    "draws_of",
    "ends_of_known",
    "in_units",
    "is_known",
    "is_plain",
    "least_value",
    "may_be_null",
    "mirror_ends",
    "missed_chances",
    "numbers_of_matches",
    "root_of",
    "spread_of_points",
    "sum_moments",
    "sums_of_smallest",
    "take_below",
]


Exact = int | Fraction


@dataclass(frozen=True)
class Interval:
    """Bounds per cell in ticks; None where no assignment has a value to aggregate. `exact`: all assignments agree."""

    lower: list[Any]
    upper: list[Any]
    exact: list[bool]


def is_known(hits: Hits, values: Values) -> bool:
    """Tell whether known numbers of rows draw from values that are points and all count."""
    return hits.lower is hits.upper and values.is_complete and values.lows is values.highs


def ends_of_known(evidence: Evidence, finish: Callable[[int, int], Exact]) -> Interval:
    """Both ends of SUM, or of AVG, which `finish` makes from a sum and its number of values, where both are known."""
    least, greatest, numbers = evidence.added(_both_ends_of_sums)
    lower, upper = (
        [finish(end, n) if n else None for end, n in zip(ends, numbers, strict=True)] for ends in (least, greatest)
    )
    return Interval(lower, upper, [low == high for low, high in zip(lower, upper, strict=True)])


def _both_ends_of_sums(hits: Hits, values: Values) -> tuple[list[int], list[int], list[int]]:
    if len(hits.group) > MANY and not values.is_large:
        return both_totals(hits, values)
    least, numbers = sums_of_smallest(hits, values, hits.upper)
    greatest, _ = sums_of_smallest(hits.mirrored(len(values.sizes)), values.mirrored, hits.upper)
    return least, mirror_ends(greatest), numbers


def both_ends(least: Callable[[Evidence], list[Any]], evidence: Evidence) -> Interval:
    """Both ends of an aggregate from its least one; `exact` where all assignments agree."""
    lower, upper = least(evidence), mirror_ends(least(evidence.mirrored))
    ends = zip(lower, upper, may_be_null(evidence), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in ends])


def numbers_of_matches(evidence: Evidence) -> tuple[list[int], list[int]]:
    """The least and the most values that count, per cell."""
    found: tuple[list[int], list[int]] = evidence.added(_matching)
    return found


def _matching(hits: Hits, values: Values) -> tuple[list[int], list[int]]:
    least, most = matches(hits, values)
    number = totals(hits, most)
    return (number if least is most else totals(hits, least)), number


def mirror_ends(bounds: list[Any]) -> list[Any]:
    """The ends of the mirror image."""
    return [None if bound is None else -bound for bound in bounds]


def may_be_null(evidence: Evidence) -> list[bool]:
    """Cells of which some assignments have a value to aggregate and some have none."""
    return [low == 0 < high for low, high in zip(*numbers_of_matches(evidence), strict=True)]


def sums_of_smallest(hits: Hits, values: Values, taken: Ints) -> tuple[list[Any], list[int]]:
    """Per cell the sum of the `taken` smallest lows of each group, or rounded values themselves; how many these are."""
    if values.ragged is not None:
        found = values.ragged.sums(values.offsets[hits.group], taken, lambda digits: totals(hits, digits))
        return [number / values.unit for number in found], totals(hits, taken)
    if len(taken) > MANY and not values.is_large:
        return drawn_totals(hits, values, taken)
    low, high = values.drawn(hits.group, taken)
    sums = totals(hits, low)
    if high is not None:
        sums = [(upper << 32) + lower for upper, lower in zip(totals(hits, high), sums, strict=True)]
    return sums, totals(hits, taken)


def take_below(hits: Hits, values: Values, limits: Sequence[Exact]) -> Ints:
    """As many of the smallest values as lie below the limit of their cell, within what is possible."""
    if values.ragged is None:
        ranked, thresholds = values, np.array([math.ceil(limit) for limit in limits], dtype=np.int64)
    else:
        ranked, thresholds = values.points, values.ragged.first_from([limit * values.unit for limit in limits])
    taken: Ints = np.clip(rank(ranked, hits.group, thresholds[hits.cell]), *matches(hits, values))
    return taken


def least_value(evidence: Evidence) -> list[Exact | None]:
    """The smallest value in reach, per cell."""
    return evidence.least(_least_in_reach)


def _least_in_reach(hits: Hits, values: Values) -> list[Exact | None]:
    ragged = values.ragged
    if ragged is not None:
        labels = _least_in_reach(hits, values.points)
        return [None if label is None else ragged.number(int(label)) / values.unit for label in labels]
    _, most = matches(hits, values)
    return list(best(np.minimum, hits, most >= 1, lambda group: values.lows[values.offsets[group]]))


RARELY = 1e-9  # rows that can be hit, but hardly are


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation per cell, in ticks; nan where no assignment has a value."""

    mean: Floats
    std: Floats


def spread_of_points(evidence: Evidence, spread: Spread) -> Spread:
    """The same without the deviation of cells that draw from ranges, of which only the means were looked at."""
    loose = evidence.added(_loose_groups) > 0
    return Spread(spread.mean, np.where(loose, np.nan, spread.std))


def _loose_groups(hits: Hits, values: Values) -> Floats:
    """How many groups of each cell have values that may lie anywhere between two ends."""
    if values.middles is None:
        return np.zeros(hits.cells)
    wide = np.concatenate(([0], np.cumsum(values.lows < values.highs)))
    return means(hits, (np.diff(wide[values.offsets]) > 0)[hits.group].astype(np.float64))


def draws_of(hits: Hits, values: Values) -> Floats:
    """h (N-h)/(N-1): what multiplies a population variance under drawing without replacement."""
    size, h = values.sizes[hits.group], hits.expected
    draws: Floats = h * ((size - h) / np.maximum(size - 1, 1))
    return draws if hits.variance is None else draws - hits.variance / np.maximum(size - 1, 1)


def is_plain(hits: Hits, values: Values) -> bool:
    """Tell whether a known number of rows draws values that all count."""
    return values.is_complete and hits.variance is None and values.moments.inner is None


def sum_moments(hits: Hits, values: Values, shift: Floats) -> tuple[Floats, Floats]:
    """Mean and variance per cell of the sum of (value - shift of the cell)."""
    if len(hits.group) > MANY and is_plain(hits, values):
        if hits.cells != 1:
            return moment_sums(hits, values, shift)
        mean, variance = moment_terms(hits, values, float(shift[0]))
        return means(hits, mean), means(hits, variance)
    moments, size = values.moments, values.sizes[hits.group]
    centre = moments.mean[hits.group] - shift[hits.cell]
    if is_plain(hits, values):
        variance = hits.expected * (size - hits.expected) * values.scatter[hits.group]
        return means(hits, hits.expected * centre), means(hits, variance)
    share = moments.share[hits.group]
    outer, inner = moments.spread(hits.group, centre)
    variance = draws_of(hits, values) * outer
    if inner is not None:
        variance = variance + hits.expected * inner
    if hits.variance is not None:
        variance = variance + hits.variance * (share * centre) ** 2
    return means(hits, hits.expected * share * centre), means(hits, variance)


def chance_of_null(evidence: Evidence) -> Floats:
    """Chance per cell that no row hit has a value that counts."""
    return functools.reduce(np.multiply, evidence.each(_chance_of_null))


def _chance_of_null(hits: Hits, values: Values) -> Floats:
    if values.is_complete or values.expectation is not None or hits.variance is not None:
        # Over an uncertain number of rows, nothing adds up to zero.
        reached = hits.only(hits.expected > 0).cell
        return np.where(np.diff(np.searchsorted(reached, np.arange(hits.cells + 1))) > 0, 0.0, 1.0)
    least, _ = matches(hits, values)
    forced = means(hits, least.astype(np.float64)) > 0
    chance = np.where(forced, 0.0, 1.0)
    if forced.all():
        return chance
    owner, order = unroll(np.where(forced[hits.cell], 0, values.counts[hits.group]))
    logs = np.log(missed_chances(hits, values, owner, order))
    return np.where(forced, 0.0, np.exp(np.bincount(hits.cell[owner], weights=logs, minlength=hits.cells)))


def missed_chances(hits: Hits, values: Values, owner: Ints, order: Ints) -> Floats:
    """Chance that the rows hit miss a group's value number `order`, given that they missed the smaller ones."""
    size, h = values.sizes[hits.group[owner]], np.maximum(hits.expected, RARELY)[owner]
    missed: Floats = np.maximum(size - h - order, 0) / (size - order)
    if values.chances is not None:
        # A value that is drawn, but does not count, is missed as well.
        chances = values.chances[values.offsets[hits.group[owner]] + order]
        missed = 1.0 - (1.0 - missed) * np.maximum(chances, RARELY)
    return missed


def divide(number: Floats, by: Floats) -> Floats:
    """Divide where the divisor is positive; nan elsewhere."""
    quotient: Floats = np.divide(number, by, out=np.full(len(number), np.nan), where=by > 0)
    return quotient


class Gives(Enum):
    """What an aggregate is, beside the values that it is of: it tells unit and rounding."""

    NUMBER = "a number of rows or values"
    VALUE = "one of the values"
    TOTAL = "a sum of values"
    MEAN = "between the values"
    SQUARE = "in squares of the values' unit"
    ROOT = "the root of such a square"


Answering = Callable[[Evidence, Fraction | None], tuple[Interval, Spread]]


@dataclass(frozen=True)
class Aggregator:
    """One aggregate.

    `answer` returns bounds and expectation, in ticks, from evidence and a fraction (of quantiles). `spelled` are the
    parser's names of functions of one column that are this aggregate; `helped` names the help table's columns from
    which one SQL statement answers it; `takes_any` says that the column may be of texts and dates, `is_tight` that some
    assignment reaches the bounds.
    """

    name: str
    gives: Gives
    answer: Answering
    spelled: tuple[str, ...] = ()
    takes_any: bool = False
    helped: str = ""
    is_tight: bool = True

    def estimate(
        self,
        evidence: Evidence,
        rounding: Rounding,
        room: Fraction,
        fraction: Fraction | None = None,
        domain: pa.Array | None = None,
    ) -> Estimate:
        """Bounds and expectation of one aggregate over hidden values.

        A sum of floats needs so much `room` for each of them: for the decimals that they print, which widens bounds,
        or, where they have none, for what databases round.
        """
        interval, spread = self.answer(evidence, fraction)
        if evidence.is_rounded and self.gives is Gives.VALUE:
            places = self.answer(evidence.points, fraction)[0]
            return _from_places(places, _scaled_spread(spread, evidence.unit), domain)
        unit = _unit(self.gives, evidence.unit)
        widths = None
        if room and self.gives in (Gives.TOTAL, Gives.MEAN):
            is_total = self.gives is Gives.TOTAL
            numbers = evidence.added(lambda hits, _: totals(hits, hits.upper)) if is_total else [1] * evidence.cells
            widths = [room * number for number in numbers]
        # Thousands of products with one take as long as all the rest.
        of_ticks: Callable[..., Fraction] = Fraction if unit == 1 else unit.__mul__
        found = Estimate(
            [None if tick is None else of_ticks(tick) for tick in interval.lower],
            [None if tick is None else of_ticks(tick) for tick in interval.upper],
            in_units(spread.mean, unit).tolist(),
            in_units(spread.std, unit).tolist(),
            interval.exact,
            rounding,
            None if evidence.is_rounded else widths,
            domain=domain,
            reached=None if self.is_tight else list(interval.exact),
            shake=widths if evidence.is_rounded else None,
        )
        return root_of(found) if self.gives is Gives.ROOT else found


def _from_places(interval: Interval, spread: Spread, domain: pa.Array | None) -> Estimate:
    """Bounds that are published floats, found by their places among these: ticks do not tell all of them apart."""
    assert domain is not None, "rounded values come with the list of them"
    floats = [Fraction(value) for value in domain.to_pylist()]
    lower, upper = (
        [None if place is None else floats[place] for place in ends] for ends in (interval.lower, interval.upper)
    )
    return Estimate(lower, upper, spread.mean.tolist(), spread.std.tolist(), interval.exact, Rounding.NEAREST)


def _scaled_spread(spread: Spread, unit: Fraction) -> Spread:
    return Spread(in_units(spread.mean, unit), in_units(spread.std, unit))


def _unit(gives: Gives, unit: Fraction) -> Fraction:
    if gives is Gives.NUMBER:
        return Fraction(1)
    return unit**2 if gives in (Gives.SQUARE, Gives.ROOT) else unit


def in_units(numbers: Floats, unit: Fraction) -> Floats:
    """Means and deviations in a unit; an answer brings a mean beyond the largest float back between its bounds."""
    with np.errstate(over="ignore"):
        return numbers * float(unit) if unit >= 1 else numbers / float(1 / unit)


def root_of(found: Estimate) -> Estimate:
    """Standard deviations from variances: roots of the bounds, rounded outwards."""
    lower = [None if v is None else _root(float_below(v), -math.inf) for v in found.lower]
    upper = [None if v is None else _root(float_above(v), math.inf) for v in found.upper]
    mean = [math.sqrt(max(v, 0.0)) for v in found.expected]
    std = [s / (2.0 * m) if m else 0.0 for s, m in zip(found.std, mean, strict=True)]
    return Estimate(lower, upper, mean, std, found.exact, found.rounding, reached=found.reached)


def _root(number: float, outward: float) -> Fraction:
    """A square root that is not inside the true one; that of zero is zero."""
    root = math.sqrt(max(number, 0.0))
    return Fraction(max(math.nextafter(root, outward), 0.0) if root else 0.0)
