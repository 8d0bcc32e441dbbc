"""Kinds of arrays that pass between modules, columns as one array, numeric types, distinct keys, freed memory."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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


def has_column(table: pa.Table, name: str) -> bool:
    """Tell whether a table has a column, without a list of all."""
    return bool(table.schema.get_field_index(name) >= 0)


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether the values of a type have sums and means: whole numbers, floats and decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys, ascending, and the place of each: by marking them where there is room, else by sorting."""
    most = int(keys.max(initial=0))
    if most > 4 * len(keys) + 1024:
        used, places = np.unique(keys, return_inverse=True)
        return used, places
    seen = np.zeros(most + 1, np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def free_unused() -> None:
    """Give memory that was freed back to the system, so that the peak of the next step does not add to this one's."""
    pa.default_memory_pool().release_unused()
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    """What does so for arrays of NumPy; None where the C library has no such function."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
