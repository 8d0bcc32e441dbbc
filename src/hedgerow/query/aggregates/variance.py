"""Bounds, mean and deviation of VARIANCE over all assignments.

Source     own
Guarantee  the true variance lies inside. With known numbers of rows the least one is reached; the greatest one is a
           minimax value that may exceed the best. With uncertain numbers: zero, and what two values at the ends give
Cost       O(n log n): one sweep of the centre over the points at which a group changes its choice

The variance of m values is 1/m times the least sum of squared distances to any centre. For a fixed centre each group
takes its h nearest values, or its h farthest ones: a window, or both ends, that shifts as the centre moves along. What
groups choose is added up in whole numbers, and only the sweep over all of them is in floats, so that bounds do not
depend on the order of groups, nor on the parts in which they come.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.query.aggregates.aggregator import (
    Aggregator,
    Gives,
    Interval,
    Spread,
    least_value,
    mirror_ends,
    numbers_of_matches,
    spread_of_points,
    sums_of_smallest,
)
from hedgerow.query.aggregates.precise import sum_of_squares, sum_of_wholes
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Ints, Values, deviation, matches, means, unroll

__all__ = ["STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "variance"]

_DIGIT = 2e-15  # each step of a running sum of floats may cost this much of its size


def variance(evidence: Evidence, *, is_sample: bool) -> tuple[Interval, Spread]:
    """Bounds and expectation of the variance, in squared ticks."""
    number = np.array(numbers_of_matches(evidence)[1])
    enough = number > (1 if is_sample else 0)
    if evidence.is_ranged or not evidence.every(_is_fixed):
        interval = _crude(evidence, enough, is_sample)
    else:
        interval = _sweep(evidence, number, is_sample)
    return interval, spread_of_points(evidence, _spread(evidence, is_sample))


def _is_fixed(hits: Hits, values: Values) -> bool:
    return np.array_equal(*matches(hits, values))


def _crude(evidence: Evidence, enough: Any, is_sample: bool) -> Interval:
    """From nothing to a quarter of the squared range, which half of the values at either end would give."""
    low, high = least_value(evidence), mirror_ends(least_value(evidence.mirrored))
    upper: list[Any] = [None] * evidence.cells
    for cell, (a, b) in enumerate(zip(low, high, strict=True)):
        if a is not None and b is not None and enough[cell]:
            # Two values at the ends have the largest sample variance of all.
            upper[cell] = Fraction((b - a) ** 2, 2 if is_sample else 4)
    lower = [None if bound is None else Fraction(0) for bound in upper]
    needed = 2 if is_sample else 1
    # Otherwise some assignment has no variance at all.
    sure = [number >= needed for number in numbers_of_matches(evidence)[0]]
    return Interval(lower, upper, [bound is None or (bound == 0 and s) for bound, s in zip(upper, sure, strict=True)])


def _sweep(evidence: Evidence, number: Ints, is_sample: bool) -> Interval:
    lower: list[Any] = [None] * evidence.cells
    upper: list[Any] = [None] * evidence.cells
    exact = [True] * evidence.cells
    sums = evidence.added(lambda hits, values: sums_of_smallest(hits, values, matches(hits, values)[1])[0])
    centres = [round(Fraction(s, int(n))) if n else 0 for s, n in zip(sums, number, strict=True)]
    wanted = np.flatnonzero(number > (1 if is_sample else 0)).tolist()

    def choices(hits: Hits, values: Values) -> list[_Choices]:
        taken, edges = matches(hits, values)[1], np.searchsorted(hits.cell, np.arange(hits.cells + 1))
        parts = [(slice(int(edges[cell]), int(edges[cell + 1])), centres[cell]) for cell in wanted]
        return [_Choices.of(values, hits.group[part], taken[part], centre) for part, centre in parts]

    for cell, pieces in zip(wanted, zip(*evidence.each(choices), strict=True), strict=True):
        by = int(number[cell]) - (1 if is_sample else 0)
        together = functools.reduce(_Choices.join, pieces)
        least, greatest, exact[cell] = together.ends(int(number[cell]), is_rounded=evidence.is_rounded)
        lower[cell], upper[cell] = least / by, greatest / by
    return Interval(lower, upper, exact)


@dataclass(frozen=True, eq=False)
class _Steps:
    """A choice of values by its sum and sum of squares, and how the sum changes as the centre moves up past `where`.

    Changes are whole numbers in halves, of which the upper ones count 2^32 each. At one place the same sum of a value
    that leaves and one that enters is twice the place, so that squares change by this times what the sum does.
    """

    total: int
    square: int
    where: Floats
    upper: Ints
    lower: Ints

    @staticmethod
    def of(first: Ints, out: Ints, into: Ints) -> _Steps:
        """From the values that are chosen first, and those that leave and enter; steps at one place are one."""
        places, rise = out / 2.0 + into / 2.0, into - out
        halves = _at_places(places, rise >> 32, rise & (2**32 - 1))
        return _Steps(sum_of_wholes(first), sum_of_squares(first), *halves)

    def join(self, other: _Steps) -> _Steps:
        """The choices of both."""
        halves = ("where", "upper", "lower")
        both = (np.concatenate((getattr(self, name), getattr(other, name))) for name in halves)
        return _Steps(self.total + other.total, self.square + other.square, *_at_places(*both))

    @property
    def _running(self) -> tuple[Floats, Floats]:
        change = self.upper * 2.0**32 + self.lower
        total = np.concatenate(([0.0], np.cumsum(change))) + float(self.total)
        return total, np.concatenate(([0.0], np.cumsum(2.0 * self.where * change))) + float(self.square)

    def least(self, number: int) -> float:
        """The least sum of squared distances over all choices that the sweep passes."""
        total, square = self._running
        return float((square - total**2 / number).min())

    def least_of_greatest(self, number: int) -> float:
        """The least, over all centres, of the greatest sum of squared distances to it."""
        total, square = self._running
        centre = total / number
        centre[1:] = np.maximum(centre[1:], self.where)
        centre[:-1] = np.minimum(centre[:-1], self.where)
        return float((square - 2.0 * centre * total + number * centre**2).min())


def _at_places(places: Floats, upper: Ints, lower: Ints) -> tuple[Floats, Ints, Ints]:
    """The different places, ascending, and the sum of each half at each of them."""
    where, place = np.unique(places, return_inverse=True)
    sums = []
    for half in (upper, lower):
        sums.append(np.zeros(len(where), dtype=np.int64))
        np.add.at(sums[-1], place.reshape(-1), half)
    return where, sums[0], sums[1]


@dataclass(frozen=True, eq=False)
class _Choices:
    """What the groups of one cell may take, in distances from its centre.

    `nearest` sweeps windows of the nearest values, `farthest` both ends. `scale` is the greatest distance, `steps` how
    often a running sum of them was added to.
    """

    nearest: _Steps
    farthest: _Steps
    scale: float
    steps: int
    is_loose: bool
    is_constant: bool

    @staticmethod
    def of(values: Values, group: Ints, taken: Ints, centre: int) -> _Choices:
        """The choices of some groups."""
        filled = values.counts[group] > 0
        group, taken = group[filled], taken[filled]
        start, size = values.offsets[group], values.counts[group]
        owner, order = unroll(taken)
        away = values.lows[start[owner] + order] - centre
        loose = np.flatnonzero(taken < size)
        shifted = values.lows - centre
        leaving, t = unroll((size - taken)[loose])
        out, into = start[loose][leaving] + t, (start + taken)[loose][leaving] + t
        nearest = _Steps.of(away, shifted[out], shifted[into])
        leaving, t = unroll(taken[loose])
        out, into = (start + size - taken)[loose][leaving] + t, start[loose][leaving] + t
        last = shifted[(start + size - taken)[owner] + order]
        farthest = _Steps.of(last, shifted[out], shifted[into])
        scale = float(np.abs(shifted[_spans(start, size)]).max(initial=1.0))
        steps = len(away) + len(loose) + int(size[loose].sum())
        return _Choices(nearest, farthest, scale, steps, len(loose) > 0, _is_constant(values, group, taken))

    def join(self, other: _Choices) -> _Choices:
        """The choices of both."""
        return _Choices(
            self.nearest.join(other.nearest),
            self.farthest.join(other.farthest),
            max(self.scale, other.scale),
            self.steps + other.steps,
            self.is_loose or other.is_loose,
            self.is_constant and other.is_constant,
        )

    def ends(self, number: int, *, is_rounded: bool) -> tuple[Fraction, Fraction, bool]:
        """The least and the greatest sum of squared distances from the mean of so many values."""
        if not self.is_loose and not is_rounded:
            exact = self.nearest.square - Fraction(self.nearest.total**2, number)
            return exact, exact, True
        least, greatest = self.nearest.least(number), self.farthest.least_of_greatest(number)
        margin = number * self.scale * (self.scale * self.steps * _DIGIT + (4.0 if is_rounded else 0.0))
        is_exact = not is_rounded and greatest <= least + margin and self.is_constant
        return Fraction(max(least - margin, 0.0)), Fraction(greatest + margin), is_exact


def _is_constant(values: Values, group: Ints, taken: Ints) -> bool:
    """Tell whether every choice takes the same values, because a group's values are equal or all taken."""
    start, end = values.offsets[group], values.offsets[group + 1]
    same = values.lows[start] == values.lows[end - 1]
    return bool(np.all(same | (taken == end - start)))


def _spans(start: Ints, size: Ints) -> Ints:
    owner, order = unroll(size)
    spans: Ints = start[owner] + order
    return spans


def _spread(evidence: Evidence, is_sample: bool) -> Spread:
    """The mean: squares less the squared mean of all. The deviation: that of the squares about the mean."""

    def sums(hits: Hits, values: Values) -> tuple[Floats, Floats]:
        share = hits.expected * values.moments.share[hits.group]
        return means(hits, share), means(hits, share * values.moments.mean[hits.group])

    number, total = evidence.added(sums)
    centre = np.divide(total, number, out=np.zeros(evidence.cells), where=number > 0)

    def around(hits: Hits, values: Values) -> tuple[Floats, Floats, Floats]:
        moments = values.moments
        distance = moments.mean[hits.group] - centre[hits.cell]
        outer, inner = moments.spread(hits.group, distance)
        size, h = values.sizes[hits.group], hits.expected
        square = outer + (moments.share[hits.group] * distance) ** 2 + (0.0 if inner is None else inner)
        draws = h * (size - h) / np.maximum(size - 1, 1)
        fourth = draws * _fourth(hits, values, centre)
        return means(hits, h * square), means(hits, draws * outer), means(hits, fourth)

    squares, of_sum, of_squares = evidence.added(around)
    by = number - (1.0 if is_sample else 0.0)
    by = np.where(by > 0, by, 1.0)  # where too few rows are to be expected, those of the sum stand in
    mean = np.maximum(squares - of_sum / np.maximum(number, 1e-300), 0.0) / by
    return Spread(mean, deviation(of_squares) / by)


def _fourth(hits: Hits, values: Values, centre: Floats) -> Floats:
    """The variance over each group of its values' squared distances to the cell's centre."""
    owner, order = unroll(values.counts[hits.group])
    squares = (values.lows[values.offsets[hits.group[owner]] + order] - centre[hits.cell[owner]]) ** 2
    size = values.sizes[hits.group]
    mean = np.bincount(owner, squares, minlength=len(size)) / size
    result: Floats = np.maximum(np.bincount(owner, squares**2, minlength=len(size)) / size - mean**2, 0.0)
    return result


def _sample(evidence: Evidence, _: Fraction | None) -> tuple[Interval, Spread]:
    return variance(evidence, is_sample=True)


def _population(evidence: Evidence, _: Fraction | None) -> tuple[Interval, Spread]:
    return variance(evidence, is_sample=False)


VAR_SAMP = Aggregator("var_samp", Gives.SQUARE, _sample, ("Variance",), is_tight=False)
VAR_POP = Aggregator("var_pop", Gives.SQUARE, _population, ("VariancePop",), is_tight=False)
STDDEV_SAMP = Aggregator("stddev_samp", Gives.ROOT, _sample, ("Stddev", "StddevSamp"), is_tight=False)
STDDEV_POP = Aggregator("stddev_pop", Gives.ROOT, _population, ("StddevPop",), is_tight=False)
