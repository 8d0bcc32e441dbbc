"""Mean and standard deviation of an answer when every assignment of values to rows is equally likely.

Inside a group the rows hit draw their values without replacement; groups are independent. A value that does not count
(missing, or failing a condition) enters sums as zero. Where an answer may be NULL, mean and deviation are those of
the assignments that give a number. The mean of AVG over an uncertain number of rows has no closed form: the ratio of
means stands in for it, with the deviation of its linearization. Where the number of rows hit is a matter of chance (the
forms scattered and generalized) its variance enters sums and counts; MIN and MAX take its mean. All is in ticks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values, matches, means, unrolled
from hedgerow.query.evidence.tally import MANY, moment_sums

__all__ = ["RARELY", "Spread", "chance_of_null", "divide", "draws_of", "is_plain", "missed_chances", "sum_moments"]

RARELY = 1e-9  # rows that can be hit, but hardly are


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation per cell, in ticks; nan where no assignment has a value."""

    mean: Floats
    std: Floats


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
    if len(hits.group) > MANY and hits.cells > 1 and is_plain(hits, values):
        return moment_sums(hits, values, shift)
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


def chance_of_null(hits: Hits, values: Values) -> Floats:
    """Chance per cell that no row hit has a value that counts."""
    if values.is_complete or values.expectation is not None or hits.variance is not None:
        # Over an uncertain number of rows, nothing adds up to zero.
        reached = hits.only(hits.expected > 0).cell
        return np.where(np.diff(np.searchsorted(reached, np.arange(hits.cells + 1))) > 0, 0.0, 1.0)
    least, _ = matches(hits, values)
    forced = means(hits, least.astype(np.float64)) > 0
    chance = np.where(forced, 0.0, 1.0)
    if forced.all():
        return chance
    owner, order = unrolled(np.where(forced[hits.cell], 0, values.counts[hits.group]))
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
