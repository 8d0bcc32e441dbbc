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

from hedgerow.query.aggregates.bounds import Interval
from hedgerow.query.evidence.cells import deviation, means, totals, unrolled
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values, matches, rank
from hedgerow.query.evidence.tally import MANY, moment_sums

__all__ = ["Spread", "average", "count", "maximum", "minimum", "total"]

_NEAREST = 4096
_CERTAIN = 45.0  # exp(-45) is 3e-20
_RARELY = 1e-9  # rows that can be hit, but hardly are


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation per cell, in ticks; nan where no assignment has a value."""

    mean: Floats
    std: Floats


def count(hits: Hits, values: Values) -> Spread:
    """COUNT: hypergeometric in each group."""
    moments = values.moments
    share = moments.share[hits.group]
    variance = _draws(hits, values) * moments.counts[hits.group]
    if moments.inner is not None:
        variance = variance + hits.expected * moments.inner[2][hits.group]
    if hits.variance is not None:
        variance = variance + hits.variance * share**2
    return Spread(means(hits, hits.expected * share), deviation(means(hits, variance)))


def total(hits: Hits, values: Values) -> Spread:
    """SUM: h times the mean, h (N-h)/(N-1) times the variance."""
    mean, variance = _total(hits, values, np.zeros(hits.cells))
    null = _chance_of_null(hits, values)
    if not np.any((null > 0) & (null < 1)):
        return Spread(_divide(mean, 1.0 - null), deviation(variance))
    return Spread(_divide(mean, 1.0 - null), deviation(_given_a_number(hits, values, mean, 1.0 - null)))


def _given_a_number(hits: Hits, values: Values, mean: Floats, defined: Floats) -> Floats:
    """The variance of SUM over the assignments that give one: of what is above the mean value, and of their number.

    With M values of mean c the sum is cM + Y, where Y has mean zero: no large squares are subtracted from each other.
    """
    number = count(hits, values)
    centre = np.nan_to_num(_divide(mean, number.mean))
    _, above = _total(hits, values, centre)
    moments = values.moments
    distance = moments.mean[hits.group] - centre[hits.cell]
    both = means(hits, _draws(hits, values) * (moments.both[hits.group] + distance * moments.counts[hits.group]))
    one = np.array(totals(hits, matches(hits, values)[1])) <= 1
    squares = _divide(number.std**2 + number.mean**2, defined) - _divide(number.mean, defined) ** 2
    shared = np.where(one, 0.0, 2.0 * centre * _divide(both, defined) + centre**2 * squares)
    return _divide(above, defined) + shared


def average(hits: Hits, values: Values) -> Spread:
    """AVG: the sum over the number of rows; exact where that number is known."""
    if _is_plain(hits, values):
        total_mean, total_variance = _total(hits, values, np.zeros(hits.cells))
        rows = means(hits, hits.expected.astype(np.float64))
        return Spread(_divide(total_mean, rows), _divide(deviation(total_variance), rows))
    number = count(hits, values).mean
    sums, _ = _total(hits, values, np.zeros(hits.cells))
    ratio = _divide(sums, number)
    _, variance = _total(hits, values, np.nan_to_num(ratio))
    return Spread(ratio, _divide(deviation(variance), number))


def minimum(hits: Hits, values: Values, bounds: Interval) -> Spread:
    """MIN: walk up the values in reach and multiply the chances that each is missed."""
    values = values.typical
    mean, std = np.full(hits.cells, np.nan), np.full(hits.cells, np.nan)
    inside = np.array([upper is not None for upper in bounds.upper], dtype=np.bool_)
    ends = np.array([0 if upper is None else upper for upper in bounds.upper], dtype=np.int64)
    hits = hits.only((values.counts[hits.group] > 0) & inside[hits.cell])
    ends = _horizon(hits, values, ends)
    above, missed, edges = _chances(hits, values, ends)
    for cell in np.flatnonzero(inside):
        part = slice(edges[cell], edges[cell + 1])
        survival = np.concatenate(([1.0], np.cumprod(missed[part])))
        chance = (survival[:-1] - survival[1:]) / (1.0 - survival[-1])
        shift = float(above[part] @ chance)
        mean[cell] = ends[cell] + shift
        std[cell] = np.sqrt(max(float((above[part] - shift) ** 2 @ chance), 0.0))
    return Spread(mean, std)


def maximum(hits: Hits, values: Values, bounds: Interval) -> Spread:
    """MAX: MIN seen in the mirror."""
    flipped = Interval([], [None if bound is None else -bound for bound in bounds.lower], [])
    mirror = minimum(hits.mirrored(len(values.sizes)), values.mirrored, flipped)
    return Spread(-mirror.mean, mirror.std)


def _draws(hits: Hits, values: Values) -> Floats:
    """h (N-h)/(N-1): what multiplies a population variance under drawing without replacement."""
    size, h = values.sizes[hits.group], hits.expected
    draws: Floats = h * ((size - h) / np.maximum(size - 1, 1))
    return draws if hits.variance is None else draws - hits.variance / np.maximum(size - 1, 1)


def _is_plain(hits: Hits, values: Values) -> bool:
    """Tell whether a known number of rows draws values that all count."""
    return values.is_complete and hits.variance is None and values.moments.inner is None


def _total(hits: Hits, values: Values, shift: Floats) -> tuple[Floats, Floats]:
    """Mean and variance per cell of the sum of (value - shift of the cell)."""
    if len(hits.group) > MANY and hits.cells > 1 and _is_plain(hits, values):
        return moment_sums(hits, values, shift)
    moments, size = values.moments, values.sizes[hits.group]
    centre = moments.mean[hits.group] - shift[hits.cell]
    if _is_plain(hits, values):
        variance = hits.expected * (size - hits.expected) * values.scatter[hits.group]
        return means(hits, hits.expected * centre), means(hits, variance)
    share = moments.share[hits.group]
    outer, inner = moments.spread(hits.group, centre)
    variance = _draws(hits, values) * outer
    if inner is not None:
        variance = variance + hits.expected * inner
    if hits.variance is not None:
        variance = variance + hits.variance * (share * centre) ** 2
    return means(hits, hits.expected * share * centre), means(hits, variance)


def _chance_of_null(hits: Hits, values: Values) -> Floats:
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
    logs = np.log(_missed(hits, values, owner, order))
    return np.where(forced, 0.0, np.exp(np.bincount(hits.cell[owner], weights=logs, minlength=hits.cells)))


def _horizon(hits: Hits, values: Values, ends: Ints) -> Ints:
    """Draw each cell's end in to where a larger minimum is less likely than the last digit of a float.

    A group's smallest value is missed with chance 1 - h/N at most, so the nearest smallest values decide.
    """
    ends, edges = ends.copy(), np.searchsorted(hits.cell, np.arange(hits.cells + 1))
    for cell in np.flatnonzero(np.diff(edges) > _NEAREST):
        group = hits.group[edges[cell] : edges[cell + 1]]
        smallest = values.lows[values.offsets[group]]
        near = np.argpartition(smallest, _NEAREST)[:_NEAREST]
        near = near[np.argsort(smallest[near])]
        weight = np.cumsum(hits.expected[edges[cell] + near] / values.sizes[group[near]])
        if weight[-1] >= _CERTAIN:
            ends[cell] = min(ends[cell], smallest[near[np.searchsorted(weight, _CERTAIN)]])
    return ends


def _chances(hits: Hits, values: Values, ends: Ints) -> tuple[Floats, Floats, Ints]:
    """Values up to each cell's end, ascending by cell: distance to the end, and chance to be missed.

    The chance is given that all smaller ones were missed; the third result is where each cell starts.
    """
    hits = hits.only(values.lows[values.offsets[hits.group]] <= ends[hits.cell])
    owner, order = unrolled(rank(values, values.lows, hits.group, ends[hits.cell] + 1))
    cell, low = hits.cell[owner], values.lows[values.offsets[hits.group[owner]] + order]
    ascending = np.lexsort((low, cell))
    above = (low - ends[cell])[ascending].astype(np.float64)
    edges = np.searchsorted(cell[ascending], np.arange(hits.cells + 1))
    return above, _missed(hits, values, owner, order)[ascending], edges


def _missed(hits: Hits, values: Values, owner: Ints, order: Ints) -> Floats:
    """Chance that the rows hit miss a group's value number `order`, given that they missed the smaller ones."""
    size, h = values.sizes[hits.group[owner]], np.maximum(hits.expected, _RARELY)[owner]
    missed: Floats = np.maximum(size - h - order, 0) / (size - order)
    if values.chances is not None:
        # A value that is drawn, but does not count, is missed as well.
        chances = values.chances[values.offsets[hits.group[owner]] + order]
        missed = 1.0 - (1.0 - missed) * np.maximum(chances, _RARELY)
    return missed


def _divide(number: Floats, by: Floats) -> Floats:
    quotient: Floats = np.divide(number, by, out=np.full(len(number), np.nan), where=by > 0)
    return quotient
