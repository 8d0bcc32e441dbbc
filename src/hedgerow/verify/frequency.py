"""Check frequency l-diversity of a published release of any form: no value fills more than 1/l of a group.

Source     [Li 2015], definition 2
Guarantee  passes exactly the releases in which l * c <= N for every group of N rows and every value, of which it has c,
           in each sensitive column; where rows and values are in two tables, both have the same groups
Cost       O(n log n) time; codes and a sorted copy of one column beyond the table
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.verify.ke import group_starts
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_frequency", "sensitive_groups", "value_codes"]


def check_frequency(release: PublishedRelease) -> str:
    """No value fills more than 1/l of a group, in any sensitive column."""
    l = int(release.guarantee.parameters["l"])  # noqa: E741
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for name in release.columns.sensitive:
        if crowded := _count_crowded(groups, value_codes(table.column(name)), sizes, l):
            raise BrokenPromise(f"{crowded} group(s) hold one value of '{name}' in more than 1/{l} of their rows.")
    spread = f"({sizes.min():,} to {sizes.max():,} rows)"
    return f"in each of {len(sizes):,} groups {spread} no sensitive value fills more than 1/{l}"


def sensitive_groups(release: PublishedRelease) -> tuple[pa.Table, NDArray[np.int64]]:
    """Find the table of sensitive values and where its groups begin; both tables must have the same groups."""
    if release.guarantee.columns != release.columns.sensitive:
        raise BrokenPromise("The guarantee does not cover every sensitive column.")
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    starts = group_starts(table, release)
    if "quasi" in release.tables:
        people = release.tables["quasi"]
        if people.num_rows != table.num_rows or not np.array_equal(group_starts(people, release), starts):
            raise BrokenPromise("The two published tables do not have the same groups.")
    return table, starts


def value_codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Number the values of a column; missing is a value like any other."""
    encoded = column.combine_chunks().dictionary_encode()
    codes: NDArray[np.int64] = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
    return codes


def _count_crowded(
    groups: NDArray[np.int64],
    codes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    l: int,  # noqa: E741
) -> int:
    """Count the groups in which a run of equal values is longer than 1/l of the group."""
    ascending = np.sort(groups * (int(codes.max(initial=0)) + 1) + codes)
    firsts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    owners = groups[firsts]
    runs = np.diff(np.append(firsts, len(ascending)))
    return len(np.unique(owners[runs > sizes[owners] // l]))
