"""Discernibility: every row is charged the number of rows that it cannot be told from.

Source     [Bayardo 2005]
Cost       O(n)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["discernibility"]


def discernibility(labels: NDArray[np.int32]) -> int:
    """Add up the squared sizes of the groups; a row held back, labelled -1, is charged the whole table."""
    sizes = np.bincount(labels[labels >= 0]).astype(np.int64)
    held_back = int((labels < 0).sum())
    return int((sizes**2).sum()) + held_back * len(labels)
