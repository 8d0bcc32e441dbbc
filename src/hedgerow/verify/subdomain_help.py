"""Check that the help table follows from the release where there may be more values, or subdomains, than rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.exact import Line, column_line
from hedgerow.verify.help_bounds import agree, counts_fit, running_sums
from hedgerow.verify.names import subdomain_columns
from hedgerow.verify.structure import layout_of
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_subdomain_help"]


def check_subdomain_help(release: PublishedRelease, helper: pa.Table) -> str:
    """Compare every bound with sorted lows and highs; rows may be fewer than subdomains."""
    people = release.tables["release" if "release" in release.tables else "quasi"]
    values = release.tables["release" if "release" in release.tables else "sensitive"]
    rows = np.bincount(people.column(release.group_column).to_numpy(), minlength=release.groups)
    if helper.num_rows != people.num_rows or not counts_fit(helper, rows):
        raise BrokenPromise("help.parquet does not list every number of hits of every group once.")
    if "sum_lower" not in helper.column_names:
        return "help.parquet: hits only, the sensitive column is not made of numbers"
    low, high = _ends(release)
    bounds = _bounds(values, release.group_column, low, high, rows)
    for name, wanted in bounds.items():
        if not agree(column_line(helper.column(name)), wanted):
            raise BrokenPromise(f"help.parquet: '{name}' does not follow from the published subdomains.")
    return f"help.parquet: {len(bounds)} columns of bounds follow from the published subdomains"


def _ends(release: PublishedRelease) -> tuple[str, str]:
    """The columns with the least and the greatest value of each subdomain; a value is both."""
    if not layout_of(release).has_subdomains:
        return release.columns.sensitive[0], release.columns.sensitive[0]
    return subdomain_columns(release.columns, release.group_column)[:2]


def _bounds(values: pa.Table, group_column: str, low: str, high: str, rows: NDArray[np.int64]) -> dict[str, Line]:
    groups = values.column(group_column).to_numpy()
    sizes = np.bincount(groups, minlength=len(rows))
    starts = np.cumsum(sizes) - sizes
    # One line for both ends, so that they share a unit.
    both = column_line(pa.chunked_array([*values.column(low).chunks, *values.column(high).chunks]))
    lows, highs = both.positions[: len(groups)], both.positions[len(groups) :]
    ascending, descending = lows[np.lexsort((lows, groups))], highs[np.lexsort((-highs, groups))]
    places = np.repeat(starts - (np.cumsum(rows) - rows), rows) + np.arange(rows.sum())  # the h-th of each group

    def line(numbers: NDArray[Any]) -> Line:
        return Line(numbers[places], both.unit)

    return {
        "sum_lower": line(running_sums(ascending, starts, sizes)),
        "sum_upper": line(running_sums(descending, starts, sizes)),
        "min_lower": line(np.repeat(ascending[starts], sizes)),
        "min_upper": line(descending),
        "max_lower": line(ascending),
        "max_upper": line(np.repeat(descending[starts], sizes)),
    }
