"""Check (eps,m)-anonymity of a published release of any form: count the neighbours of every value in its group.

Source     [Li 2008], definition 5
Guarantee  passes exactly the releases in which at most 1/m of a group lies in the neighbourhood of any of its values
Cost       O(n log n) time; a sorted copy of the column beyond the table

Neighbourhoods are found here by comparing distinct values over one denominator, as Python's integers, one bisection an
end: fractions compare the same, but a million of them take minutes.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Counts
from hedgerow.errors import BrokenPromise, counted
from hedgerow.verify.frequency import sensitive_groups
from hedgerow.verify.structure import number_line
from hedgerow.verify.values import PublishedRelease, spread

__all__ = ["check_proximity"]


def check_proximity(release: PublishedRelease) -> str:
    """No neighbourhood holds more than 1/m of a group, in any sensitive column."""
    parameters = release.guarantee.parameters
    m, share = int(parameters["m"]), Fraction(parameters["relative"])
    below, above = Fraction(parameters["below"]), Fraction(parameters["above"])
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    for name in release.columns.sensitive:
        where = number_line(table.column(name), name)
        distinct, codes = np.unique(where.positions, return_inverse=True)
        lows, highs = _ends(distinct.tolist(), where.unit, below, above, share)
        if crowded := _count_crowded(codes, lows, highs, sizes, m):
            raise BrokenPromise(
                f"{counted(crowded, 'group holds', 'groups hold')} more than 1/{m} of their rows "
                f"near one value of '{name}'."
            )
    groups, rows = spread(release, sizes)
    return f"in each of {groups} ({rows} rows) at most 1/{m} of the rows lie near any sensitive value"


def _ends(
    positions: list[int] | list[float], unit: Fraction, below: Fraction, above: Fraction, share: Fraction
) -> tuple[Counts, Counts]:
    """For each value the number of values below its neighbourhood, and of those not above it."""
    ratios = [position.as_integer_ratio() for position in positions]
    common = math.lcm(*{bottom for _, bottom in ratios})
    finer = math.lcm(below.denominator, above.denominator, share.denominator)
    step, part = unit.numerator * finer, int(share * finer)
    down, up = (int(width * common * unit.denominator * finer) for width in (below, above))
    values = [top * (common // bottom) * step for top, bottom in ratios]
    # A value is a multiple of `finer`, so its share is whole.
    lows = np.array([bisect_left(values, v - down - abs(v) // finer * part) for v in values])
    highs = np.array([bisect_right(values, v + up + abs(v) // finer * part) for v in values])
    return lows, highs


def _count_crowded(codes: Counts, lows: Counts, highs: Counts, sizes: Counts, m: int) -> int:
    """Count the groups in which some row has more than 1/m of the group between its ends."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    width = len(lows) + 1
    keys = np.sort(groups * width + codes)
    codes = keys % width
    near = np.searchsorted(keys, groups * width + highs[codes]) - np.searchsorted(keys, groups * width + lows[codes])
    return len(np.unique(groups[near > sizes[groups] // m]))
