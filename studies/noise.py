"""Additive noise, scaled until it distorts a table as much as another method does: what a release is compared with.

Source     [Xue 2011], section 5.2 (random perturbation with a uniform variable)
Cost       one pass per column; distortion is proportional to the width, so one trial gives the scale
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.randomness import Keys, system_keys
from hedgerow.utility.measures import distortion

__all__ = ["noise_at_distortion"]


def noise_at_distortion(
    original: NDArray[np.float64], wanted: NDArray[np.float64] | list[float], *, keys: Keys = system_keys
) -> NDArray[np.float64]:
    """Add uniform noise on [-a, a] to each column, a chosen so that the column's distortion is `wanted`."""
    columns = [_noisy(column, share, keys) for column, share in zip(original.T, wanted, strict=True)]
    return np.column_stack(columns)


def _noisy(column: NDArray[np.float64], wanted: float, keys: Keys) -> NDArray[np.float64]:
    unit = (keys(len(column)) >> np.uint64(11)).astype(float) / 2.0**52 - 1.0
    scale = distortion(column[:, None], (column + unit)[:, None])
    noisy: NDArray[np.float64] = column + unit * (wanted / scale)
    return noisy
