"""Bounds, mean and deviation of VARIANCE over all assignments.

Source     own
Guarantee  the true variance lies inside. With known numbers of rows the least one is reached; the greatest one is a
           minimax value that may exceed the best. With uncertain numbers: zero, and what two values at the ends give
Cost       O(n log n): one sweep of the centre over the points at which a group changes its choice

The variance of m values is 1/m times the least sum of squared distances to any centre. For a fixed centre each group
takes its h nearest values, or its h farthest ones: a window, or both ends, that shifts as the centre moves along.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values, best, deviation, matches, means, totals, unroll

__all__ = ["STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "variance"]

_DIGIT = 1e-15  # each step of a running sum of floats may cost this much of its size


def variance(hits: Hits, values: Values, *, is_sample: bool) -> tuple[Interval, Spread]:
    """Bounds and expectation of the variance, in squared ticks."""
    least, most = matches(hits, values)
    number = np.array(totals(hits, most))
    enough = number > (1 if is_sample else 0)
    if values.ranged or not np.array_equal(least, most):
        interval = _crude(hits, values, enough, is_sample)
    else:
        interval = _swept(hits, values, most, number, is_sample)
    return interval, _spread(hits, values, is_sample)


def _crude(hits: Hits, values: Values, enough: Any, is_sample: bool) -> Interval:
    """From nothing to a quarter of the squared range, which half of the values at either end would give."""
    least, most = matches(hits, values)
    low = best(np.minimum, hits, most >= 1, lambda group: values.lows[values.offsets[group]])
    high = best(np.maximum, hits, most >= 1, lambda group: values.highs[values.offsets[group + 1] - 1])
    upper: list[Any] = [None] * hits.cells
    for cell, (a, b) in enumerate(zip(low, high, strict=True)):
        if a is not None and b is not None and enough[cell]:
            # Two values at the ends have the largest sample variance of all.
            upper[cell] = Fraction((b - a) ** 2, 2 if is_sample else 4)
    lower = [None if bound is None else Fraction(0) for bound in upper]
    needed = 2 if is_sample else 1
    sure = [number >= needed for number in totals(hits, least)]  # otherwise some assignment has no variance at all
    return Interval(lower, upper, [bound is None or (bound == 0 and s) for bound, s in zip(upper, sure, strict=True)])


def _swept(hits: Hits, values: Values, taken: Ints, number: Ints, is_sample: bool) -> Interval:
    lower: list[Any] = [None] * hits.cells
    upper: list[Any] = [None] * hits.cells
    exact = [True] * hits.cells
    edges = np.searchsorted(hits.cell, np.arange(hits.cells + 1))
    for cell in np.flatnonzero(number > (1 if is_sample else 0)).tolist():
        part = slice(int(edges[cell]), int(edges[cell + 1]))
        by = int(number[cell]) - (1 if is_sample else 0)
        least, greatest, is_exact = _one_cell(values, hits.group[part], taken[part])
        lower[cell], upper[cell], exact[cell] = least / by, greatest / by, is_exact
    return Interval(lower, upper, exact)


def _one_cell(values: Values, group: Ints, taken: Ints) -> tuple[Fraction, Fraction, bool]:
    """The least and the greatest sum of squared distances from the mean."""
    filled = values.counts[group] > 0
    group, taken = group[filled], taken[filled]
    start, size = values.offsets[group], values.counts[group]
    owner, order = unroll(taken)
    first = values.lows[start[owner] + order]
    number = len(first)
    centre = round(float(first.mean()))
    loose = np.flatnonzero(taken < size)
    if not len(loose) and not values.is_rounded:
        exact = _squares([int(tick) - centre for tick in first.tolist()])
        return exact, exact, True
    shifted = (values.lows - centre).astype(np.float64)
    window = _sweep(shifted, start[loose], start[loose] + taken[loose], (size - taken)[loose])
    least = _least(shifted[start[owner] + order], window, number)
    last = shifted[(start + size - taken)[owner] + order]
    ends = _sweep(shifted, (start + size - taken)[loose], start[loose], taken[loose])
    greatest = _least_of_greatest(last, ends, number)
    scale = float(np.abs(shifted[_spans(start, size)]).max(initial=1.0))
    steps = number + len(window[0]) + len(ends[0])
    margin = number * scale * (scale * steps * _DIGIT + (4.0 if values.is_rounded else 0.0))
    is_exact = not values.is_rounded and greatest <= least + margin and _is_constant(values, group, taken)
    return Fraction(max(least - margin, 0.0)), Fraction(greatest + margin), is_exact


def _is_constant(values: Values, group: Ints, taken: Ints) -> bool:
    """Tell whether every choice takes the same values, because a group's values are equal or all taken."""
    start, end = values.offsets[group], values.offsets[group + 1]
    same = values.lows[start] == values.lows[end - 1]
    return bool(np.all(same | (taken == end - start)))


def _squares(numbers: list[int]) -> Fraction:
    total = sum(numbers)
    return sum(number * number for number in numbers) - Fraction(total * total, len(numbers))


def _sweep(ticks: Floats, leaves: Ints, enters: Ints, steps: Ints) -> tuple[Floats, Floats, Floats]:
    """Where, as the centre moves up, a value leaves a group's choice and another enters; change of sum and squares.

    The t-th step of a group exchanges the t-th values from `leaves` and from `enters` on.
    """
    owner, order = unroll(steps)
    out, into = ticks[leaves[owner] + order], ticks[enters[owner] + order]
    where = (out + into) / 2.0
    by_place = np.argsort(where, kind="stable")
    return where[by_place], (into - out)[by_place], (into**2 - out**2)[by_place]


def _least(first: Floats, steps: tuple[Floats, Floats, Floats], number: int) -> float:
    """The least sum of squared distances over all choices that the sweep passes."""
    _, change, squares = steps
    total = np.concatenate(([0.0], np.cumsum(change))) + float(first.sum())
    square = np.concatenate(([0.0], np.cumsum(squares))) + float((first**2).sum())
    return float((square - total**2 / number).min())


def _least_of_greatest(first: Floats, steps: tuple[Floats, Floats, Floats], number: int) -> float:
    """The least, over all centres, of the greatest sum of squared distances to it."""
    where, change, squares = steps
    total = np.concatenate(([0.0], np.cumsum(change))) + float(first.sum())
    square = np.concatenate(([0.0], np.cumsum(squares))) + float((first**2).sum())
    centre = total / number
    centre[1:] = np.maximum(centre[1:], where)
    centre[:-1] = np.minimum(centre[:-1], where)
    return float((square - 2.0 * centre * total + number * centre**2).min())


def _spans(start: Ints, size: Ints) -> Ints:
    owner, order = unroll(size)
    spans: Ints = start[owner] + order
    return spans


def _spread(hits: Hits, values: Values, is_sample: bool) -> Spread:
    """The mean: squares less the squared mean of all. The deviation: that of the squares about the mean."""
    moments = values.moments
    share = moments.share[hits.group]
    number = means(hits, hits.expected * share)
    centre = np.divide(
        means(hits, hits.expected * share * moments.mean[hits.group]),
        number,
        out=np.zeros(hits.cells),
        where=number > 0,
    )
    distance = moments.mean[hits.group] - centre[hits.cell]
    outer, inner = moments.spread(hits.group, distance)
    size, h = values.sizes[hits.group], hits.expected
    square = outer + (share * distance) ** 2 + (0.0 if inner is None else inner)
    draws = h * (size - h) / np.maximum(size - 1, 1)
    of_sum = means(hits, draws * outer)
    by = number - (1.0 if is_sample else 0.0)
    by = np.where(by > 0, by, 1.0)  # where too few rows are to be expected, those of the sum stand in
    mean = np.maximum(means(hits, h * square) - of_sum / np.maximum(number, 1e-300), 0.0) / by
    return Spread(mean, deviation(means(hits, draws * _fourth(hits, values, centre))) / by)


def _fourth(hits: Hits, values: Values, centre: Floats) -> Floats:
    """The variance over each group of its values' squared distances to the cell's centre."""
    owner, order = unroll(values.counts[hits.group])
    squares = (values.lows[values.offsets[hits.group[owner]] + order] - centre[hits.cell[owner]]) ** 2
    size = values.sizes[hits.group]
    mean = np.bincount(owner, squares, minlength=len(size)) / size
    result: Floats = np.maximum(np.bincount(owner, squares**2, minlength=len(size)) / size - mean**2, 0.0)
    return result


def _sample(hits: Hits, values: Values, _: Fraction | None) -> tuple[Interval, Spread]:
    return variance(hits, values, is_sample=True)


def _population(hits: Hits, values: Values, _: Fraction | None) -> tuple[Interval, Spread]:
    return variance(hits, values, is_sample=False)


VAR_SAMP = Aggregator("var_samp", Gives.SQUARE, _sample, ("Variance",), is_tight=False)
VAR_POP = Aggregator("var_pop", Gives.SQUARE, _population, ("VariancePop",), is_tight=False)
STDDEV_SAMP = Aggregator("stddev_samp", Gives.ROOT, _sample, ("Stddev", "StddevSamp"), is_tight=False)
STDDEV_POP = Aggregator("stddev_pop", Gives.ROOT, _population, ("StddevPop",), is_tight=False)
