"""Cut sorted values into runs whose largest range is least, each run (k,e)-anonymous.

Source     dissertation on permutation-based microdata protection, section 2.6.2, problem 2.6.3
Guarantee  every group satisfies criteria.ke; no partition into groups whose ranges do not overlap has a smaller
           largest range, and no partition at all has less than half of it
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   the printed program is quadratic; a queue of undominated starts makes it linear. Among partitions with the
           least largest range this takes the most groups, and among those the least total range
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.kernel import kernel
from hedgerow.partition.ke.pieces import Pieces
from hedgerow.partition.ke.runs import cut_runs, first_within

__all__ = ["ke_max"]


def ke_max(positions: Positions, counts: NDArray[np.int64], *, k: int, e: Number) -> Pieces:
    """Partition rows into groups that do not overlap with the least largest range; ties by more groups."""
    KE(k, e).require(positions)
    latest = latest_start(positions, k=k, e=e)
    earliest = first_within(positions, least_largest(positions, latest, counts > 1))
    return cut_runs(positions, counts, latest, earliest=earliest, most_groups=True)


@kernel
def least_largest(positions: NDArray[Any], latest: NDArray[np.int64], tied: NDArray[np.bool_]) -> Any:
    """The least largest range over all cuts of the values into runs that start no later than `latest`.

    A start costs `entry`, the least largest range before it. A later start with no larger entry dominates, so in the
    queue entries rise and ranges fall. Once the front's range reaches the next entry, it stays above it for good.
    """
    size = len(positions)
    widest, reached = np.zeros_like(positions), np.zeros(size, np.bool_)  # of the values 0..i
    entry, queue = np.zeros_like(positions), np.empty(size, np.int64)
    head, tail, start = 0, 0, 0
    for i in range(size):
        while start <= latest[i]:
            d, start = start, start + 1
            apart = d == 0 or reached[d - 1]
            together = tied[d] and reached[d]
            if not (apart or together):
                continue
            if d > 0:
                entry[d] = widest[d - 1] if apart else widest[d]
                if together and widest[d] < entry[d]:
                    entry[d] = widest[d]
            while tail > head and entry[queue[tail - 1]] >= entry[d]:
                tail -= 1
            queue[tail] = d
            tail += 1
        while tail - head > 1 and positions[i] - positions[queue[head]] >= entry[queue[head + 1]]:
            head += 1
        if head < tail:
            reached[i] = True
            widest[i] = max(entry[queue[head]], positions[i] - positions[queue[head]])
    return widest[size - 1]
