"""The secret dealing of equal rows to groups; the shuffles themselves are those of `partition.shuffles`.

Guarantee  which of the rows of one value go to which of the groups that share it is uniformly random
Cost       two passes, and one 64-bit key per row of a value that several groups share
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_code, permutation, shuffle_within
from hedgerow.randomness import Keys, system_keys

__all__ = ["deal", "permutation", "shuffle_within"]


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
