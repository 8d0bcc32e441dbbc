"""Fill (k,e)-anonymous groups in random order: the baseline that every search has to beat.

Source     [Zhang 2008], section 2.7 (the random partition it compares with)
Guarantee  every group satisfies criteria.ke
Cost       O(n + u) time and memory on n rows with u distinct values
Deviates   rows are drawn at random, not in the order of the file, which would show in the groups; rows that are left
           when no further group qualifies join the last one
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.kernel import kernel
from hedgerow.partition.ke.runs import Pieces
from hedgerow.randomness import Keys, system_keys

__all__ = ["ke_random"]


def ke_random(
    positions: Positions, counts: NDArray[np.int64], *, k: int, e: Number, keys: Keys = system_keys
) -> Pieces:
    """Scan the rows in random order and close a group as soon as it qualifies."""
    criterion = KE(k, e)
    criterion.require(positions)
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # With two values, a range of at least e is all that is asked: the pair (lowest, highest) answers it by rank.
    wide = latest_start(positions, k=2, e=e)
    groups = close_early(values.copy(), keys(len(values)), np.cumsum(counts) - counts, wide, criterion.k)
    return _pieces(values, groups)


@kernel
def close_early(
    rows: NDArray[np.int32], keys: NDArray[np.uint64], offsets: NDArray[np.int64], wide: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """The group of each row, rows sorted by value and, within a value, by group: a counting sort on the way.

    `rows` are the ranks of their values; they are shuffled in place.
    """
    size = len(rows)
    groups, place = np.empty(size, np.int32), offsets.copy()
    seen = np.full(len(offsets), -1, np.int32)  # the last group that met a value
    group, distinct, lowest, highest = 0, 0, len(offsets), -1
    for i in range(size):
        # The remainder of a 64-bit key favours no row by more than size / 2^64.
        drawn = i + int(keys[i] % np.uint64(size - i))
        value = rows[drawn]
        rows[drawn] = rows[i]
        groups[place[value]] = group
        place[value] += 1
        if seen[value] == group:
            continue
        seen[value] = group
        distinct, lowest, highest = distinct + 1, min(lowest, value), max(highest, value)
        if distinct >= k and lowest <= wide[highest]:
            group, distinct, lowest, highest = group + 1, 0, len(offsets), -1
    return np.minimum(groups, np.int32(group - 1))


def _pieces(values: NDArray[np.int32], groups: NDArray[np.int32]) -> Pieces:
    """Count equal neighbours."""
    changes = np.flatnonzero((values[1:] != values[:-1]) | (groups[1:] != groups[:-1])) + 1
    first = np.concatenate([[0], changes])
    return Pieces(values[first], groups[first], np.diff(first, append=len(values)))
