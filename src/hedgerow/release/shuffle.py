"""The order in which rows leave: dealt to groups in secret, group after group, in random order inside each.

Guarantee  which of the rows of one value go to which of the groups that share it is uniformly random; group numbers,
           the order of the rows inside a group and the order of the input are independent of each other
Cost       O(n) time, two passes, and one 64-bit key per row of a value that several groups share
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_code, permutation, shuffle_within
from hedgerow.randomness import Keys, order_keys, system_keys

__all__ = ["deal", "group_numbers", "grouped_rows", "permutation", "reshuffled", "shuffle_within", "taken"]


def deal(
    codes: NDArray[np.int32],
    values: NDArray[np.int32],
    groups: NDArray[np.int32],
    counts: NDArray[np.int64],
    *,
    keys: Keys = system_keys,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Hand each row to a group: `counts[p]` rows of value `values[p]` go to `groups[p]`, which ones is secret.

    The pieces are sorted by value. Returns the rows, group after group, and the offsets of the groups. The order
    inside a group is that of the input: shuffle it before it leaves.
    """
    per_value = np.bincount(values, weights=counts).astype(np.int64)
    rows = by_code(codes, per_value)
    _shuffle_shared(rows, per_value, values, keys)
    offsets = np.append(_starts(per_group := np.bincount(groups, weights=counts).astype(np.int64)), per_group.sum())
    dealt = np.empty_like(rows)
    _copy_pieces(rows, np.append(0, np.cumsum(counts)), groups, offsets[:-1].copy(), dealt)
    return dealt, offsets


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of several consecutive runs begins."""
    return np.cumsum(sizes) - sizes


def _shuffle_shared(
    rows: NDArray[np.int32], per_value: NDArray[np.int64], values: NDArray[np.int32], keys: Keys
) -> None:
    """Shuffle the rows of each value that several groups share; the others need no secret to be dealt."""
    is_shared = np.bincount(values) > 1
    places = np.flatnonzero(np.repeat(is_shared, per_value))
    shared = rows[places]
    shuffle_within(shared, np.append(0, np.cumsum(per_value[is_shared])), keys=keys)
    rows[places] = shared


@kernel
def _copy_pieces(
    rows: NDArray[np.int32],
    piece_starts: NDArray[np.int64],
    groups: NDArray[np.int32],
    nexts: NDArray[np.int64],
    dealt: NDArray[np.int32],
) -> None:
    for piece in range(len(groups)):
        group = groups[piece]
        for position in range(piece_starts[piece], piece_starts[piece + 1]):
            dealt[nexts[group]] = rows[position]
            nexts[group] += 1


Rows = NDArray[np.int32]

Offsets = NDArray[np.int64]


def grouped_rows(labels: NDArray[np.int32], *, keys: Keys = system_keys) -> tuple[Rows, Offsets]:
    """Return the rows group after group and where each group begins and ends; rows labelled -1 are suppressed."""
    kept = np.flatnonzero(labels >= 0).astype(np.int32)
    secret = permutation(int(labels.max(initial=-1)) + 1, keys=order_keys(keys))
    numbers = secret[labels[kept]]
    counts = np.bincount(numbers, minlength=len(secret))
    groups = np.arange(len(secret), dtype=np.int32)
    places, offsets = deal(numbers, groups, groups, counts, keys=keys)
    shuffle_within(places, offsets, keys=order_keys(keys))
    return kept[places], offsets


def reshuffled(rows: Rows, offsets: Offsets, *, keys: Keys = system_keys) -> Rows:
    """Return the rows in another random order inside each group, independent of the first."""
    again = rows.copy()
    shuffle_within(again, offsets, keys=order_keys(keys))
    return again


def group_numbers(offsets: Offsets) -> pa.Array:
    """The published group column: 0, 0, ..., 1, 1, ..."""
    return pa.array(np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)))


def taken(kept: pa.Table, names: Iterable[str], rows: Rows) -> dict[str, pa.ChunkedArray]:
    """The named columns at these rows."""
    places = pa.array(rows)
    return {name: kept.column(name).take(places) for name in names}
