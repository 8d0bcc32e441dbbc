"""Names for the kinds of arrays that pass between modules, and a column as one array."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["Bools", "Codes", "Counts", "Floats", "Ints", "one_array"]

Ints = NDArray[np.int64]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
"""Codes of a column's values, or rows: what is kept once per row of the table takes four bytes."""


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array, which is copied only where it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
