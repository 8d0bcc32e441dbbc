"""Cut sorted values into as many (k,e)-anonymous runs as there can be.

Source     dissertation on permutation-based microdata protection, section 2.6 (the search space of runs)
Guarantee  every group satisfies criteria.ke; no partition into groups whose ranges do not overlap has more groups
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   cutting at the earliest place gives as many groups; of all such cuts this takes the least total range
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.partition.ke.pieces import Pieces
from hedgerow.partition.ke.runs import cut_runs

__all__ = ["ke_count"]


def ke_count(positions: Positions, counts: NDArray[np.int64], *, k: int, e: Number) -> Pieces:
    """Partition rows into the most groups that do not overlap; equal numbers are decided by a smaller total range."""
    KE(k, e).require(positions)
    return cut_runs(positions, counts, latest_start(positions, k=k, e=e), most_groups=True)
