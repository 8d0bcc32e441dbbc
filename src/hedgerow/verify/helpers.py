"""Check that the help table follows from the release: an edited bound would be believed by every database.

Every bound is recomputed by sorting each group's values and adding them up, and compared exactly. Where floats have no
common decimal unit the table holds bounds rounded outwards; there they must agree to 12 digits of the largest value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.exact import Line, column_line
from hedgerow.verify.help_bounds import agree, counts_fit, running_sums
from hedgerow.verify.ke import group_starts
from hedgerow.verify.structure import layout_of
from hedgerow.verify.subdomain_help import check_subdomain_help
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_help"]


def check_help(release: PublishedRelease, helper: pa.Table) -> str:
    """Compare the help table with what the published rows say."""
    if layout_of(release).may_have_fakes:
        return check_subdomain_help(release, helper)
    table = _valued(release)
    starts = group_starts(table, release)
    sizes = np.diff(np.append(starts, table.num_rows))
    if helper.num_rows != table.num_rows or not counts_fit(helper, sizes):
        raise BrokenPromise("help.parquet does not list every number of hits of every group once.")
    compared = sum(_check_column(release, helper, name, starts, sizes) for name in release.columns.sensitive)
    return f"help.parquet: {compared} columns of bounds follow from the published rows"


def _valued(release: PublishedRelease) -> pa.Table:
    """The published table that holds the sensitive values."""
    return release.tables["sensitive" if "sensitive" in release.tables else "release"]


def _check_column(
    release: PublishedRelease, helper: pa.Table, name: str, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> int:
    prefix = "" if len(release.columns.sensitive) == 1 else f"{name}_"
    if f"{prefix}sum_lower" not in helper.column_names:
        return 0
    where = column_line(_valued(release).column(name))
    bounds = _bounds(where.positions, starts, sizes)
    for bound, wanted in bounds.items():
        if not agree(column_line(helper.column(prefix + bound)), Line(wanted, where.unit)):
            raise BrokenPromise(f"help.parquet: '{prefix + bound}' does not follow from the published rows.")
    return len(bounds)


def _bounds(values: NDArray[Any], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Recompute every bound: h hits take the h smallest or the h largest values of their group."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    ascending = values[np.lexsort((values, groups))]
    descending = values[np.lexsort((-values, groups))]
    return {
        "sum_lower": running_sums(ascending, starts, sizes),
        "sum_upper": running_sums(descending, starts, sizes),
        "min_lower": np.repeat(ascending[starts], sizes),
        "min_upper": descending,
        "max_lower": ascending,
        "max_upper": np.repeat(descending[starts], sizes),
    }
