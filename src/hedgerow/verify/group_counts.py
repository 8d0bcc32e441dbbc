"""What a published release shows of its groups: rows, and how often each sensitive value occurs in each.

Cost       O(n log n) time per column

Nothing here is shared with the code that makes releases: groups are found by sorting the published rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.verify.frequency import sensitive_groups
from hedgerow.verify.values import PublishedRelease

__all__ = ["Counted", "Parameters", "counted", "require_shares"]

Parameters = dict[str, int | str]


@dataclass(frozen=True, eq=False)
class Counted:
    """One sensitive column: group `owners[i]` has `counts[i]` rows of `values[codes[i]]`; sorted by group, then code.

    Codes ascend with the values; a missing value has the last code and is not in `values`.
    """

    name: str
    values: pa.Array
    sizes: NDArray[np.int64]
    owners: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    overall: NDArray[np.int64]

    def runs(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The codes and counts of each group."""
        borders = np.flatnonzero(np.diff(self.owners)) + 1
        return list(zip(np.split(self.codes, borders), np.split(self.counts, borders), strict=True))


def counted(release: PublishedRelease) -> list[Counted]:
    """Count every sensitive column."""
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return [_column(name, table.column(name), groups, sizes) for name in release.columns.sensitive]


def _column(name: str, column: pa.ChunkedArray, groups: NDArray[np.int64], sizes: NDArray[np.int64]) -> Counted:
    encoded = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = len(order)
    codes = ranks[encoded.indices.fill_null(len(order)).to_numpy()]
    width = int(codes.max()) + 1
    ascending = np.sort(groups * width + codes)
    firsts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    owners, inside = np.divmod(ascending[firsts], width)
    counts = np.diff(np.append(firsts, len(ascending)))
    return Counted(name, encoded.dictionary.take(pa.array(order)), sizes, owners, inside, counts, np.bincount(codes))


def require_shares(column: Counted, good: Callable[[Fraction, Fraction], bool], broken: str) -> None:
    """Raise BrokenPromise unless `good` says so of every value's share in its group and in the whole column."""
    rows = int(column.sizes.sum())
    triples = _distinct(column.counts, column.sizes[column.owners], column.overall[column.codes])
    for count, size, frequency in triples:
        if not good(Fraction(count, size), Fraction(frequency, rows)):
            raise BrokenPromise(f"A value of '{column.name}' {broken}.")


def _distinct(*columns: NDArray[np.int64]) -> list[list[int]]:
    """The distinct rows of several columns of counts; packed into one number where they fit, which sorts faster."""
    widths = [int(column.max()) + 1 for column in columns]
    if math.prod(widths) >= 2**63:
        rows = np.unique(np.stack(columns, axis=1), axis=0)
    else:
        packed = np.unique(np.ravel_multi_index(columns, widths))
        rows = np.stack(np.unravel_index(packed, widths), axis=1)
    distinct: list[list[int]] = rows.tolist()
    return distinct
