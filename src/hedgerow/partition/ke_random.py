"""Fill (k,e)-anonymous groups in random order: the baseline that every search has to beat.

Source     dissertation on permutation-based microdata protection, section 2.7 (the random partition it compares with)
Guarantee  every group satisfies criteria.ke
Cost       O(n log n) for the random order of n rows, then O(n + u)
Deviates   rows that are left when no further group qualifies join the last group
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.kernel import kernel
from hedgerow.partition.pieces import Pieces
from hedgerow.randomness import Keys, system_keys

__all__ = ["ke_random"]


def ke_random(
    positions: Positions, counts: NDArray[np.int64], *, k: int, e: Number, keys: Keys = system_keys
) -> Pieces:
    """Scan the rows in random order and close a group as soon as it qualifies."""
    criterion = KE(k, e)
    criterion.require(positions)
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    order = values[np.argsort(keys(len(values)))]
    # With two values, a range of at least e is all that is asked: the pair (lowest, highest) answers it by rank.
    wide = latest_start(positions, k=2, e=e)
    groups = close_early(order, np.cumsum(counts) - counts, wide, criterion.k)
    return _pieces(values, groups)


@kernel
def close_early(
    order: NDArray[np.int32], offsets: NDArray[np.int64], wide: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """The group of each row, rows sorted by value and, within a value, by group: a counting sort on the way."""
    groups, place = np.empty(len(order), np.int32), offsets.copy()
    seen = np.full(len(offsets), -1, np.int32)  # the last group that met a value
    group, distinct, lowest, highest = 0, 0, len(offsets), -1
    for value in order:
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
