"""Uniform shuffles inside groups, and the secret dealing of equal rows to groups.

Source     Fisher and Yates, forward form: element i swaps with one of the i + 1 elements up to itself
Guarantee  uniform over all permutations of each group, the identity included; groups and calls are independent
Cost       one pass and one 64-bit key per element; keys are drawn in blocks, so memory stays that of the array

A key picks one of m places by a 64 x 32 bit product, which favours no place by more than m / 2^64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["deal", "permutation", "shuffle_within"]

_BLOCK = 1 << 20


def shuffle_within(array: NDArray[np.int32], offsets: NDArray[np.int64], *, keys: Keys = system_keys) -> None:
    """Shuffle `array` in place inside each run `offsets[g]:offsets[g + 1]`."""
    for first in range(0, len(array), _BLOCK):
        last = min(first + _BLOCK, len(array))
        group = int(np.searchsorted(offsets, first, side="right")) - 1
        _shuffle_block(array, offsets, keys(last - first), first, group)


def permutation(size: int, *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return a uniformly random order of `size` things."""
    order = np.arange(size, dtype=np.int32)
    shuffle_within(order, np.array([0, size]), keys=keys)
    return order


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
    rows = np.empty(len(codes), np.int32)
    per_value = np.bincount(values, weights=counts).astype(np.int64)
    _place(codes, _starts(per_value), rows)
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
def _shuffle_block(
    array: NDArray[np.int32], offsets: NDArray[np.int64], keys: NDArray[np.uint64], first: int, group: int
) -> None:
    half = np.uint64(32)
    low_half = np.uint64(0xFFFFFFFF)
    for n in range(len(keys)):
        i = first + n
        while offsets[group + 1] <= i:
            group += 1
        start = offsets[group]
        places = np.uint64(i - start + 1)
        key = keys[n]
        chosen = ((key >> half) * places + (((key & low_half) * places) >> half)) >> half
        j = start + np.int64(chosen)
        array[i], array[j] = array[j], array[i]


@kernel
def _place(codes: NDArray[np.int32], nexts: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
    for row in range(len(codes)):
        code = codes[row]
        rows[nexts[code]] = row
        nexts[code] += 1


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
