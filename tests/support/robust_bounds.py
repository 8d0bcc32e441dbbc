"""Bounds on p that the product does without: the condition of [Wong 2009], theorem 1, and one by ratios."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from studies.robust_measures import delta_max


def printed_bound_holds(f: NDArray[np.float64], r: Fraction | int, *, occurrences: int = 1) -> bool:
    """Return whether a group satisfies the paper's condition for one value x, r replaced by c*r for c occurrences."""
    if occurrences == 0:
        return True
    widest = float(delta_max(len(f), r * occurrences, float(f.max())))
    return len(f) >= r * occurrences and float(f.max() - f.min()) <= widest


def rate_bound(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """A bound on p for each value (column of f) from the ratios of greatest to least f in the group (rows of f)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(f.max(axis=0) == f.min(axis=0), 1.0, f.max(axis=0) / f.min(axis=0))
    if len(rates) == 1:
        return np.asarray(np.minimum(counts / len(f), 1.0))
    ranked = np.sort(rates)
    others = np.where(rates == ranked[-1], ranked[-2] if (rates == ranked[-1]).sum() == 1 else ranked[-1], ranked[-1])
    rho = np.minimum(rates * others, 1e300)
    return np.asarray(np.minimum(counts * rho / (rho + len(f) - 1), 1.0))
