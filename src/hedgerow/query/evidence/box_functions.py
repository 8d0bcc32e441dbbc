"""A function of one column that is published as boxes: the least and the greatest value that it has in each box.

Source     own
Guarantee  the function of every value of a box lies inside; both ends are values of it where the box is of whole
           numbers, days or a set
Cost       one evaluation over all whole numbers (days, listed values) of all boxes, and a table of minima of runs
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import is_numeric
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.ranges import Range

__all__ = ["MOST_VALUES", "range_in_intervals", "range_in_sets", "with_gaps"]

MOST_VALUES = 2**17
"""Whole numbers between the least and the greatest end up to which a function is computed for each."""

Function = Callable[[pa.Array], pa.Array]
Mask = NDArray[np.bool_]


def range_in_intervals(low: pa.Array, high: pa.Array, function: Function) -> Range | None:
    """Of intervals of whole numbers or days; None where there are too many, or the function gives no numbers."""
    width = pa.int32() if pa.types.is_date32(low.type) else low.type
    first, last = (end.cast(width).to_numpy(zero_copy_only=False).astype(np.int64) for end in (low, high))
    least, greatest = int(first.min(initial=0)), int(last.max(initial=0))
    if greatest - least >= MOST_VALUES:
        return None
    values = pa.array(np.arange(least, greatest + 1)).cast(width).cast(low.type)
    found = _numbers(function(values))
    if found is None:
        return None
    present = found.sure
    start, end = first - least, last - least
    ends = [_extreme(np.minimum, np.where(present, found.low, np.inf), start, end)]
    ends += [_extreme(np.maximum, np.where(present, found.high, -np.inf), start, end)]
    before = np.concatenate(([0], np.cumsum(present)))
    number = before[end + 1] - before[start]
    return _range(ends[0], ends[1], number == end - start + 1, number > 0)


def range_in_sets(values: pa.Array, sets: Ints, number: int, function: Function) -> Range | None:
    """Of sets of listed values; one range a set."""
    found = _numbers(function(values))
    if found is None:
        return None
    present = found.sure
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(low, sets[present], found.low[present])
    np.maximum.at(high, sets[present], found.high[present])
    some, every = np.bincount(sets[present], minlength=number), np.bincount(sets, minlength=number)
    return _range(low, high, some == every, some > 0)


def with_gaps(ranges: Range, gaps: Mask, filled: Mask, of_nothing: pa.Array) -> Range:
    """Let values be missing in some boxes, and all of them where a box is not filled."""
    found = _numbers(of_nothing)
    if found is None:
        nothing = np.zeros(1)
        found = Range(nothing, nothing, nothing > 0, nothing > 0)
    missing = found.take(np.zeros(len(gaps), dtype=np.int64))
    return missing.where(~filled, ranges.where(~gaps, ranges.hull(missing)))


def _numbers(found: pa.Array) -> Range | None:
    kind = found.type
    if not is_numeric(kind):
        return None
    if pa.types.is_integer(kind) and (pc.max(pc.abs(found)).as_py() or 0) >= 2**53:
        return None
    return Range.of(found)


def _range(low: Floats, high: Floats, sure: Mask, possible: Mask) -> Range:
    return Range(np.where(possible, low, 0.0), np.where(possible, high, 0.0), sure, possible)


def _extreme(choose: np.ufunc, numbers: Floats, start: Ints, end: Ints) -> Floats:
    """The extreme of each run from start to end: that of two runs whose length is a power of two."""
    levels = [numbers]
    longest = int((end - start + 1).max(initial=1))
    while 2 ** len(levels) <= longest:
        last, step = levels[-1], 2 ** (len(levels) - 1)
        levels.append(choose(last[:-step], last[step:]))
    level = np.floor(np.log2(end - start + 1)).astype(np.int64)
    found = np.empty(len(start))
    for power, table in enumerate(levels):
        at = level == power
        found[at] = choose(table[start[at]], table[end[at] - 2**power + 1])
    return found
