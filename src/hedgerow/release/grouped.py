"""The order in which grouped rows leave: group after group under secret numbers, in random order inside each.

Guarantee  group numbers, the order of the rows inside a group and the order of the input are independent of each other
Cost       O(n) time; row numbers beyond the table
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.randomness import Keys, system_keys
from hedgerow.release.shuffle import deal, permutation, shuffle_within

__all__ = ["group_numbers", "grouped_rows", "reshuffled", "taken"]

Rows = NDArray[np.int32]
Offsets = NDArray[np.int64]


def grouped_rows(labels: NDArray[np.int32], *, keys: Keys = system_keys) -> tuple[Rows, Offsets]:
    """Return the rows group after group and where each group begins and ends; rows labelled -1 are held back."""
    kept = np.flatnonzero(labels >= 0).astype(np.int32)
    secret = permutation(int(labels.max(initial=-1)) + 1, keys=keys)
    numbers = secret[labels[kept]]
    counts = np.bincount(numbers, minlength=len(secret))
    groups = np.arange(len(secret), dtype=np.int32)
    places, offsets = deal(numbers, groups, groups, counts, keys=keys)
    shuffle_within(places, offsets, keys=keys)
    return kept[places], offsets


def reshuffled(rows: Rows, offsets: Offsets, *, keys: Keys = system_keys) -> Rows:
    """Return the rows in another random order inside each group, independent of the first."""
    again = rows.copy()
    shuffle_within(again, offsets, keys=keys)
    return again


def group_numbers(offsets: Offsets) -> pa.Array:
    """The published group column: 0, 0, ..., 1, 1, ..."""
    return pa.array(np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)))


def taken(kept: pa.Table, names: Iterable[str], rows: Rows) -> dict[str, pa.ChunkedArray]:
    """The named columns at these rows."""
    places = pa.array(rows)
    return {name: kept.column(name).take(places) for name in names}
