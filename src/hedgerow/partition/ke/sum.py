"""Cut sorted values into runs with the least total range, each run (k,e)-anonymous.

Source     dissertation on permutation-based microdata protection, section 2.6.1
Guarantee  every group satisfies criteria.ke; no partition of the rows, overlapping or not, has a smaller total range
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   the printed recurrence takes a maximum and starts at infinity; the sum needs + and 0. A running minimum
           replaces the inner loop. Equal totals are decided by more groups: a tied value may end one and start the next
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.partition.ke.pieces import Pieces
from hedgerow.partition.ke.runs import cut_runs

__all__ = ["ke_sum"]


def ke_sum(positions: Positions, counts: NDArray[np.int64], *, k: int, e: Number) -> Pieces:
    """Partition rows with the least sum of group ranges; equal sums are decided by more groups."""
    KE(k, e).require(positions)
    return cut_runs(positions, counts, latest_start(positions, k=k, e=e), most_groups=False)
