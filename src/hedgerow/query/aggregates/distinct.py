"""How many different values the rows hit have: bounds and expectation of COUNT(DISTINCT x).

Source     own
Guarantee  the true number lies inside. Both ends are reached where all rows hit are in one group; over several groups
           the least number is a covering problem, and the bounds here may be wider than the best
Cost       O(values) after their sort

At least as many values as some group needs by itself, and all values that some group cannot avoid; at most one new
value per row hit and no more than there are in reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread
from hedgerow.query.evidence.groups import Hits, Ints, Values, deviation, matches, runs_of, totals, unroll

__all__ = ["DISTINCT", "distinct"]


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
    """Intervals: all may be one value if they meet, and all may differ; to expect are those whose means differ."""
    group, tick, count = _runs(values.typical)
    kinds = np.bincount(group, minlength=len(values.counts))
    entry, run = runs_of(hits.group, np.concatenate(([0], np.cumsum(kinds))))
    spread = _spread(hits, values, entry, _labels(tick)[run], count[run])
    lower, upper = [min(number, 1) for number in totals(hits, least)], totals(hits, most)
    mean = np.clip(spread.mean, np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64))
    return Interval(lower, upper, [a == b for a, b in zip(lower, upper, strict=True)]), Spread(mean, spread.std)


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


DISTINCT = Aggregator("distinct", Gives.NUMBER, lambda hits, values, _: distinct(hits, values), takes_any=True)
