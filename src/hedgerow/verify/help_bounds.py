"""What audits of help tables share: sums inside groups, and the comparison of columns of bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.exact import Line

__all__ = ["agree", "counts_fit", "running_sums"]


def counts_fit(helper: pa.Table, sizes: NDArray[np.int64]) -> bool:
    """Tell whether the table lists hits 1..size for every group in order."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return np.array_equal(helper.column("group"), groups) and np.array_equal(helper.column("hits"), hits)


def running_sums(values: NDArray[Any], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Add up inside each group; whole numbers wrap around and back, so the difference of two sums is exact."""
    totals: NDArray[Any] = np.cumsum(values)
    sums: NDArray[Any] = totals - np.repeat(totals[starts] - values[starts], sizes)
    return sums


def agree(found: Line, wanted: Line) -> bool:
    """Tell whether two columns of bounds are the same numbers, or near enough where floats have no common unit."""
    if wanted.positions.dtype.kind == "i" and found.positions.dtype.kind == "i":
        ratio = wanted.unit / found.unit
        scaled = wanted.positions.astype(object) * ratio if ratio != 1 else wanted.positions
        return bool((found.positions == scaled).all())
    near = np.asarray(found.positions, float) * float(found.unit)
    exact = np.asarray(wanted.positions, float) * float(wanted.unit)
    slack = 1e-12 * (np.abs(exact).max(initial=0.0) * len(exact))
    return bool((np.abs(near - exact) <= slack).all())
