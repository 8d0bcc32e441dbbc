"""How much single cells changed: the mean relative change.

Source     [Xue 2011], equation 6
Deviates   a cell that is zero has no relative change; it is measured against the mean size of its column
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["distortion"]


def distortion(original: NDArray[np.float64], published: NDArray[np.float64]) -> float:
    """Mean of |published - original| / |original| over all cells of two aligned tables (rows x columns)."""
    sizes = np.abs(original)
    measure = np.where(sizes > 0, sizes, sizes.mean(axis=0))
    changes = np.abs(published - original)
    # A column of zeros that stays one did not change; any change of it is boundless.
    relative = np.divide(changes, measure, out=np.where(changes > 0, np.inf, 0.0), where=measure > 0)
    return float(relative.mean())
