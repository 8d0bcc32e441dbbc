"""Names for the kinds of arrays that pass between modules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Codes", "Counts", "Floats", "Ints"]

Ints = NDArray[np.int64]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
"""Codes of a column's values, or rows: what is kept once per row of the table takes four bytes."""
