"""Check that the help table follows from the release: an edited bound would be believed by every database.

Every bound is recomputed by sorting each group's values and adding them up, and compared exactly. Where floats have no
common decimal unit the table holds bounds rounded outwards; there they must agree to 12 digits of the largest value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.audit.ke import group_starts
from hedgerow.errors import BrokenPromise
from hedgerow.exact import Line, column_line
from hedgerow.release import Release

__all__ = ["check_help"]


def check_help(release: Release, helper: pa.Table) -> str:
    """Compare the help table with what the published rows say."""
    table = release.tables["release"]
    starts = group_starts(table, release)
    sizes = np.diff(np.append(starts, table.num_rows))
    if helper.num_rows != table.num_rows or not _counts_fit(helper, sizes):
        raise BrokenPromise("help.parquet does not list every number of hits of every group once.")
    compared = sum(_check_column(release, helper, name, starts, sizes) for name in release.columns.sensitive)
    return f"help.parquet: {compared} columns of bounds follow from the published rows"


def _counts_fit(helper: pa.Table, sizes: NDArray[np.int64]) -> bool:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return np.array_equal(helper.column("group"), groups) and np.array_equal(helper.column("hits"), hits)


def _check_column(
    release: Release, helper: pa.Table, name: str, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> int:
    prefix = "" if len(release.columns.sensitive) == 1 else f"{name}_"
    if f"{prefix}sum_lower" not in helper.column_names:
        return 0
    where = column_line(release.tables["release"].column(name))
    bounds = _bounds(where.positions, starts, sizes)
    for bound, wanted in bounds.items():
        if not _agree(column_line(helper.column(prefix + bound)), Line(wanted, where.unit)):
            raise BrokenPromise(f"help.parquet: '{prefix + bound}' does not follow from the published rows.")
    return len(bounds)


def _bounds(values: NDArray[Any], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Recompute every bound: h hits take the h smallest or the h largest values of their group."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    ascending = values[np.lexsort((values, groups))]
    descending = values[np.lexsort((-values, groups))]
    return {
        "sum_lower": _running_sums(ascending, starts, sizes),
        "sum_upper": _running_sums(descending, starts, sizes),
        "min_lower": np.repeat(ascending[starts], sizes),
        "min_upper": descending,
        "max_lower": ascending,
        "max_upper": np.repeat(descending[starts], sizes),
    }


def _running_sums(values: NDArray[Any], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Add up inside each group; whole numbers wrap around and back, so the difference of two sums is exact."""
    totals: NDArray[Any] = np.cumsum(values)
    sums: NDArray[Any] = totals - np.repeat(totals[starts] - values[starts], sizes)
    return sums


def _agree(found: Line, wanted: Line) -> bool:
    if wanted.positions.dtype.kind == "i" and found.positions.dtype.kind == "i":
        ratio = wanted.unit / found.unit
        scaled = wanted.positions.astype(object) * ratio if ratio != 1 else wanted.positions
        return bool((found.positions == scaled).all())
    near = np.asarray(found.positions, float) * float(found.unit)
    exact = np.asarray(wanted.positions, float) * float(wanted.unit)
    slack = 1e-12 * (np.abs(exact).max(initial=0.0) * len(exact))
    return bool((np.abs(near - exact) <= slack).all())
