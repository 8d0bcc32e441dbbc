"""Average class size: how much larger groups are than they would have to be.

Source     [LeFevre 2006]
Cost       O(n)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.parameters import read_whole

__all__ = ["average_class_size"]


def average_class_size(labels: NDArray[np.int32], *, k: int = 1) -> float:
    """Rows per group over `k`; 1 is the best that k-anonymity can do. Rows held back, labelled -1, do not count."""
    kept = labels[labels >= 0]
    groups = len(np.unique(kept))
    return len(kept) / groups / read_whole("k", k, least=1) if groups else float("nan")
