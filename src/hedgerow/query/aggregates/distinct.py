"""How many different values the rows hit have: bounds and expectation of COUNT(DISTINCT x).

Source     own
Guarantee  the true number lies inside. Both ends are reached where all rows hit are in one group; over several groups
           the least number is a covering problem, and the bounds here may be wider than the best
Cost       O(values) after their sort

At least as many values as some group needs by itself, and all values that some group cannot avoid; at most one new
value per row hit and no more than there are in reach. Of ranges: at least as many as the most that must be there and
do not overlap; at most one per range, and points count once. What is expected of ranges takes every tick
of one for equally likely, and ticks as independent.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread
from hedgerow.query.evidence.groups import Hits, Ints, Values, deviation, matches, runs_of, totals, unroll

__all__ = ["AVG_DISTINCT", "DISTINCT", "SUM_DISTINCT", "distinct"]


def distinct(hits: Hits, values: Values) -> tuple[Interval, Spread]:
    """Bounds and expectation of the number of different values."""
    least, most = matches(hits, values)
    if values.ranged:
        return _ranged(hits, values, least, most)
    group, tick, count = _runs(values)
    kinds = np.bincount(group, minlength=len(values.counts))
    entry, run = runs_of(hits.group, np.concatenate(([0], np.cumsum(kinds))))
    label = _labels(tick)[run]
    reached = most[entry] > 0
    in_reach = _different(hits, entry[reached], label[reached])
    slots = totals(hits, np.minimum(most, kinds[hits.group]))
    upper = [min(a, b) for a, b in zip(in_reach, slots, strict=True)]
    forced = values.counts[hits.group][entry] - count[run] < least[entry]
    alone = _fewest(hits, least, entry, count[run])
    lower = [max(a, b) for a, b in zip(_different(hits, entry[forced], label[forced]), alone, strict=True)]
    spread = _spread(hits, values, entry, label, count[run])
    return Interval(lower, upper, [a == b for a, b in zip(lower, upper, strict=True)]), spread


def _ranged(hits: Hits, values: Values, least: Ints, most: Ints) -> tuple[Interval, Spread]:
    """Values that lie anywhere in ranges: bounds that hold, and what to expect."""
    entry, place = runs_of(hits.group, values.offsets)
    low, high = values.lows[place], values.highs[place]
    lower = _disjoint(hits, least, values, (entry, low, high))
    point = (low == high) & (most[entry] > 0)
    spans = np.bincount(entry[low < high], minlength=len(most))
    points = _different(hits, entry[point], _labels(low[point]))
    spread_out = totals(hits, np.minimum(most, spans))
    upper = [min(a + b, c) for a, b, c in zip(points, spread_out, totals(hits, most), strict=True)]
    spread = _expected(hits, values, entry, place)
    mean = np.clip(spread.mean, np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64))
    is_exact = [a == b for a, b in zip(lower, upper, strict=True)]
    return Interval(lower, upper, is_exact), Spread(mean, np.where(is_exact, 0.0, spread.std))


def _disjoint(hits: Hits, least: Ints, values: Values, ranges: tuple[Ints, Ints, Ints]) -> list[int]:
    """The most ranges of a cell that do not overlap, among those that must be there: one value cannot serve two.

    A group of which all values must be there gives all its ranges, another one the range of all that it may have.
    """
    entry, low, high = ranges
    whole = least >= values.counts[hits.group]
    first, last = np.full(len(least), np.iinfo(np.int64).max), np.full(len(least), np.iinfo(np.int64).min)
    np.minimum.at(first, entry, low)
    np.maximum.at(last, entry, high)
    partly = np.flatnonzero(~whole & (least > 0))
    mine = whole[entry]
    cell = np.concatenate((hits.cell[entry[mine]], hits.cell[partly]))
    start, end = np.concatenate((low[mine], first[partly])), np.concatenate((high[mine], last[partly]))
    number, reached, current = [0] * hits.cells, 0, -1
    for place in np.lexsort((start, end, cell)).tolist():
        is_next = cell[place] != current
        if is_next or start[place] > reached:
            current, reached = cell[place], end[place]
            number[current] += 1
    return number


def _expected(hits: Hits, values: Values, entry: Ints, place: Ints) -> Spread:
    """Mean and deviation: a tick is missed by all rows with a chance; logarithms add up over the ranges over it."""
    low, high = values.lows[place], values.highs[place]
    share = hits.expected[entry] / np.maximum(values.sizes[hits.group[entry]], 1)
    chance = share if values.chances is None else share * values.chances[place]
    width = (high - low).astype(np.float64) + 1.0
    load = -np.log1p(-np.minimum(chance / width, 1.0 - 1e-16))
    cell, tick = np.tile(hits.cell[entry], 2), np.concatenate((low, high + 1))
    order = np.lexsort((tick, cell))
    cell, tick = cell[order], tick[order]
    open_ranges = np.cumsum(np.concatenate((np.ones(len(low)), -np.ones(len(low))))[order])
    loads = np.cumsum(np.concatenate((load, -load))[order])
    # Floats that were added and taken away leave a rest, which must not count where no range is open.
    loads = np.where(open_ranges > 0.5, np.maximum(loads, 0.0), 0.0)[:-1]
    length = np.where(cell[1:] == cell[:-1], tick[1:] - tick[:-1], 0).astype(np.float64)
    found = -np.expm1(-loads)
    mean = np.bincount(cell[:-1], length * found, minlength=hits.cells).astype(np.float64)
    around = np.bincount(cell[:-1], length * found * (1.0 - found), minlength=hits.cells).astype(np.float64)
    return Spread(mean, deviation(around))


def _runs(values: Values) -> tuple[Ints, Ints, Ints]:
    """Group, value and number of copies of each different value of each group."""
    owner = np.repeat(np.arange(len(values.counts)), values.counts)
    is_new = np.ones(len(owner), dtype=np.bool_)
    value = values.identity
    is_new[1:] = (owner[1:] != owner[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(is_new)
    return owner[starts], value[starts], np.diff(np.append(starts, len(owner)))


def _labels(ticks: Ints) -> Ints:
    labels: Ints = np.unique(ticks, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return labels


def _different(hits: Hits, entry: Ints, label: Ints) -> list[int]:
    width = int(label.max(initial=0)) + 1
    pairs = np.unique(hits.cell[entry] * width + label)
    counts: list[int] = np.bincount(pairs // width, minlength=hits.cells).tolist()
    return counts


def _fewest(hits: Hits, least: Ints, entry: Ints, count: Ints) -> list[int]:
    """The most, over the groups of a cell, of the fewest values that fill the rows that must be filled."""
    order = np.lexsort((-count, entry))
    entry, count = entry[order], count[order]
    running = np.concatenate(([0], np.cumsum(count)))
    start = np.searchsorted(entry, np.arange(len(least)))
    before = running[:-1] - running[start[entry]]
    needed = np.bincount(entry[before < least[entry]], minlength=len(least))
    fewest = np.zeros(hits.cells, dtype=np.int64)
    np.maximum.at(fewest, hits.cell, needed)
    found: list[int] = fewest.tolist()
    return found


def _spread(hits: Hits, values: Values, entry: Ints, label: Ints, count: Ints) -> Spread:
    """A value is missed by a group's rows with a hypergeometric chance; deviations take values as independent."""
    owner, order = unroll(count)
    size, h = values.sizes[hits.group[entry[owner]]], hits.expected[entry[owner]]
    missed: NDArray[np.float64] = np.maximum(size - h - order, 1e-300) / (size - order)
    logs = np.bincount(owner, np.log(missed), minlength=len(entry))
    width = int(label.max(initial=0)) + 1
    pairs, place = np.unique(hits.cell[entry] * width + label, return_inverse=True)
    found = 1.0 - np.exp(np.bincount(place.reshape(-1), logs, minlength=len(pairs)))
    cell = pairs // width
    mean = np.bincount(cell, found, minlength=hits.cells).astype(np.float64)
    return Spread(mean, deviation(np.bincount(cell, found * (1.0 - found), minlength=hits.cells).astype(np.float64)))


def _valued(function: str, hits: Hits, values: Values) -> tuple[Interval, Spread]:
    """SUM and AVG of different values: those that no assignment avoids count, others that are in reach may."""
    if values.ranged:
        raise QueryError("of a column that is published as ranges SUM and AVG of different values have no bound")
    if values.is_rounded:
        raise QueryError("of floats without a common number of decimals SUM and AVG of different values have no bound")
    least, most = matches(hits, values)
    group, tick, count = _runs(values)
    kinds = np.bincount(group, minlength=len(values.counts))
    entry, run = runs_of(hits.group, np.concatenate(([0], np.cumsum(kinds))))
    forced = values.counts[hits.group][entry] - count[run] < least[entry]
    reached = most[entry] > 0
    lower: list[Fraction | None] = []
    upper: list[Fraction | None] = []
    exact: list[bool] = []
    means: list[float] = []
    for cell in range(hits.cells):
        here = (hits.cell[entry] == cell) & reached
        sure = set(tick[run[here & forced]].tolist())
        loose = sorted(set(tick[run[here]].tolist()) - sure)
        ends = _ends(function, sorted(sure), loose)
        lower.append(None if ends is None else ends[0])
        upper.append(None if ends is None else ends[1])
        exact.append(not loose)
        every = [*sure, *loose]
        middle = sum(every) / (len(every) if function == "avg" else 1) if every else np.nan
        means.append(middle if not loose or ends is None else float((ends[0] + ends[1]) / 2))
    width = np.array([0.0 if a is None or b is None else float(b - a) for a, b in zip(lower, upper, strict=True)])
    return Interval(lower, upper, exact), Spread(np.array(means, dtype=np.float64), width / np.sqrt(12.0))


def _ends(function: str, sure: list[int], loose: list[int]) -> tuple[Fraction, Fraction] | None:
    """Least and greatest SUM or AVG of all that is sure and any of what is loose; None without any value."""
    if not sure and not loose:
        return None
    if function == "sum":
        parts = [sum(value for value in loose if (value > 0) == is_up) for is_up in (False, True)]
        if not sure:
            # Without a value there is no sum: one value at least is there.
            parts = [parts[0] if loose[0] < 0 else loose[0], parts[1] if loose[-1] > 0 else loose[-1]]
        return Fraction(sum(sure) + parts[0]), Fraction(sum(sure) + parts[1])
    return _best_mean(sure, loose), -_best_mean([-value for value in sure], [-value for value in reversed(loose)])


def _best_mean(sure: list[int], loose: list[int]) -> Fraction:
    """The least mean; what is loose comes in ascending order."""
    total, number = sum(sure), len(sure)
    for value in loose:
        if number and value * number >= total:
            break
        total, number = total + value, number + 1
    return Fraction(total, number)


SUM_DISTINCT = Aggregator(
    "sum_distinct", Gives.TOTAL, lambda hits, values, _: _valued("sum", hits, values), is_tight=False
)
AVG_DISTINCT = Aggregator(
    "avg_distinct", Gives.MEAN, lambda hits, values, _: _valued("avg", hits, values), is_tight=False
)
DISTINCT = Aggregator(
    "distinct", Gives.NUMBER, lambda hits, values, _: distinct(hits, values), takes_any=True, is_tight=False
)
