"""Check (eps,m)-anonymity of a published release of any form: count the neighbours of every value in its group.

Source     proximity paper, definition 5
Guarantee  passes exactly the releases in which at most 1/m of a group lies in the neighbourhood of any of its values
Cost       O(n log n) time; a sorted copy of the column beyond the table

Neighbourhoods are found here by comparing distinct values as fractions, one bisection an end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.frequency import sensitive_groups
from hedgerow.errors import BrokenPromise
from hedgerow.exact import column_line
from hedgerow.release import Release

__all__ = ["check_proximity"]


def check_proximity(release: Release) -> str:
    """No neighbourhood holds more than 1/m of a group, in any sensitive column."""
    parameters = release.guarantee.parameters
    m, share = int(parameters["m"]), Fraction(parameters["relative"])
    below, above = Fraction(parameters["below"]), Fraction(parameters["above"])
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    for name in release.columns.sensitive:
        column = table.column(name)
        if column.null_count:
            raise BrokenPromise(f"'{name}' has missing values, which have no distance to others.")
        where = column_line(column, name)
        distinct, codes = np.unique(where.positions, return_inverse=True)
        values = [Fraction(position) * where.unit for position in distinct.tolist()]
        lows = np.array([bisect_left(values, v - below - share * abs(v)) for v in values])
        highs = np.array([bisect_right(values, v + above + share * abs(v)) for v in values])
        if crowded := _count_crowded(codes, lows, highs, sizes, m):
            raise BrokenPromise(f"{crowded} group(s) hold more than 1/{m} of their rows near one value of '{name}'.")
    spread = f"({sizes.min():,} to {sizes.max():,} rows)"
    return f"in each of {len(sizes):,} groups {spread} at most 1/{m} of the rows lie near any sensitive value"


def _count_crowded(
    codes: NDArray[np.int64], lows: NDArray[np.int64], highs: NDArray[np.int64], sizes: NDArray[np.int64], m: int
) -> int:
    """Count the groups in which some row has more than 1/m of the group between its ends."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    width = len(lows) + 1
    keys = np.sort(groups * width + codes)
    codes = keys % width
    near = np.searchsorted(keys, groups * width + highs[codes]) - np.searchsorted(keys, groups * width + lows[codes])
    return len(np.unique(groups[near * m > sizes[groups]]))
