"""Reconstruction error: how far the values that a release suggests for each person are from the true one.

Source     [Xiao 2006]; [Li 2015], section 2.3
Cost       O(n log n)
Deviates   the printed density of a scattered release multiplies counts by a product that is no posterior; here a value
           v has the chance s c(v)/N, s being the chance that the person's row exists in the group at all: 1 where
           quasi-identifiers are published as they are

For a person with value v in a group of N rows the error is (1 - s c(v)/N)^2 + sum over other values w of (s c(w)/N)^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rce", "rce_bound"]


def rce(
    labels: NDArray[np.int32], sensitive: NDArray[np.int32], *, presence: NDArray[np.float64] | None = None
) -> float:
    """Add up the error of every row; `presence` is the chance of each row's combination of quasi-identifiers."""
    width = int(sensitive.max()) + 1
    groups, counts = np.unique(labels.astype(np.int64) * width + sensitive, return_counts=True)
    sizes = np.bincount(labels)
    owners = groups // width
    concentration = np.bincount(owners, weights=(counts / sizes[owners]) ** 2, minlength=len(sizes))
    own = counts[np.searchsorted(groups, labels.astype(np.int64) * width + sensitive)] / sizes[labels]
    chance = np.ones(len(labels)) if presence is None else presence
    return float((1.0 - 2.0 * chance * own + chance**2 * concentration[labels]).sum())


def rce_bound(rows: int, *, l: int) -> float:  # noqa: E741
    """The least error of l-diverse groups of l to 2l-1 rows under quasi-identifiers as they are: rows times 1 - 1/l.

    Larger groups may have less: a group of all rows in which no value fills more than 1/l can still follow the truth.
    """
    return rows * (1.0 - 1.0 / l)
