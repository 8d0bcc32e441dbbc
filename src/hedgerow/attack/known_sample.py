"""The adversary who knows the true values of a few people and reads the others off the release between them.

Knows      for a random sample of people both the true and the published value of one column
Guesses    a target's true value by interpolating the sample at the target's published value
Rate       the share of targets whose true value is at most `within` standard deviations away from the guess
Baseline   one guess for everybody, without the release: the value that has most of the sample within reach
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.adversaries.aligned import pick_rows
from hedgerow.attack.rate import Rate
from hedgerow.randomness import Keys, system_keys

__all__ = ["known_sample"]


def known_sample(
    original: NDArray[np.float64],
    published: NDArray[np.float64],
    *,
    known: int = 50,
    within: float = 0.05,
    targets: int = 1000,
    keys: Keys = system_keys,
) -> Rate:
    """Attack one aligned column: entry i of both belongs to the same person."""
    chosen = pick_rows(len(original), known + targets, keys=keys)
    # A small table is shared out: at least one person to know and one to guess.
    sample, others = np.split(chosen, [min(known, len(chosen) // 2)])
    guesses = _interpolated(published[sample], original[sample], published[others])
    tolerance = within * original.std()
    truth = original[others]
    blind = np.abs(_likeliest(original[sample], tolerance) - truth) <= tolerance
    return Rate(int((np.abs(guesses - truth) <= tolerance).sum()), len(others), float(blind.mean()))


def _likeliest(true: NDArray[np.float64], tolerance: float) -> float:
    """The known person's value that has the most known people within `tolerance`; a median may lie where nobody is."""
    near = (np.abs(true[:, None] - true[None, :]) <= tolerance).sum(axis=1)
    return float(true[near.argmax()])


def _interpolated(seen: NDArray[np.float64], true: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate linearly; people with equal published values are averaged first."""
    places, codes, counts = np.unique(seen, return_inverse=True, return_counts=True)
    means = np.bincount(codes, weights=true) / counts
    return np.interp(at, places, means)
