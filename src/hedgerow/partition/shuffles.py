"""Uniform shuffles, and rows in the order of their values with equal values in a secret random order.

Source     [Fisher 1938], forward form: element i swaps with one of the i + 1 elements up to itself
Guarantee  uniform over all permutations of each run, the identity included; runs and calls are independent. So a
           partition that looks at values and this order alone reveals nothing about which of equal rows went where
Cost       one pass and one 64-bit key per element; keys are drawn in blocks, so memory stays that of the array

A key picks one of m places by a 64 x 32 bit product, which favours no place by more than m / 2^64.

The order in which rows are published: assigned to groups in secret, by group, in random order inside each. Which of the
rows of one value go to which of the groups that share it is uniformly random; group numbers, the order of the rows
inside a group and the order of the input are independent of each other. That costs O(n) time, two passes, and one
64-bit key per row of a value that several groups share.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, order_keys, system_keys

_BLOCK = 1 << 17


def shuffle_within(array: NDArray[np.int32], offsets: Ints, *, keys: Keys = system_keys) -> None:
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


def by_value(codes: NDArray[np.int32], counts: Ints, *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return the rows value after value, those of one value in random order; `counts` are the rows of each code."""
    rows = by_code(codes, counts)
    shuffle_within(rows, np.append(0, np.cumsum(counts)), keys=keys)
    return rows


def by_code(codes: NDArray[np.int32], counts: Ints) -> NDArray[np.int32]:
    """Return the rows value after value, those of one value in the order of the input."""
    rows = np.empty(len(codes), np.int32)
    _place(codes, np.cumsum(counts) - counts, rows)
    return rows


@kernel
def _shuffle_block(array: NDArray[np.int32], offsets: Ints, keys: NDArray[np.uint64], first: int, group: int) -> None:
    """Shuffle each run of `array` in place, for the elements from `first` on, one key per element."""
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
def _place(codes: NDArray[np.int32], nexts: Ints, rows: NDArray[np.int32]) -> None:
    """Write the rows code after code; `nexts` says where the next row of each code goes."""
    for row in range(len(codes)):
        code = codes[row]
        rows[nexts[code]] = row
        nexts[code] += 1


def deal(
    codes: NDArray[np.int32],
    values: NDArray[np.int32],
    groups: NDArray[np.int32],
    counts: Ints,
    *,
    keys: Keys = system_keys,
) -> tuple[NDArray[np.int32], Ints]:
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


def _starts(sizes: Ints) -> Ints:
    """Return where each of several consecutive runs begins."""
    return np.cumsum(sizes) - sizes


def _shuffle_shared(rows: NDArray[np.int32], per_value: Ints, values: NDArray[np.int32], keys: Keys) -> None:
    """Shuffle the rows of each value that several groups share; the others need no secret to be dealt."""
    is_shared = np.bincount(values) > 1
    places = np.flatnonzero(np.repeat(is_shared, per_value))
    shared = rows[places]
    shuffle_within(shared, np.append(0, np.cumsum(per_value[is_shared])), keys=keys)
    rows[places] = shared


@kernel
def _copy_pieces(
    rows: NDArray[np.int32], piece_starts: Ints, groups: NDArray[np.int32], nexts: Ints, dealt: NDArray[np.int32]
) -> None:
    """Append the rows of each piece to the rows of its group."""
    for piece in range(len(groups)):
        group = groups[piece]
        for position in range(piece_starts[piece], piece_starts[piece + 1]):
            dealt[nexts[group]] = rows[position]
            nexts[group] += 1


Rows = NDArray[np.int32]


def grouped_rows(labels: NDArray[np.int32], *, keys: Keys = system_keys) -> tuple[Rows, Ints]:
    """Return the rows group after group, in random order inside each, and where each group begins and ends.

    Rows labelled -1 are suppressed.
    """
    rows, offsets = gathered_rows(labels, keys=keys)
    shuffle_within(rows, offsets, keys=order_keys(keys))
    return rows, offsets


def gathered_rows(labels: NDArray[np.int32], *, keys: Keys = system_keys) -> tuple[Rows, Ints]:
    """The same in the order of the input inside each group: shuffle it before it leaves."""
    kept = np.flatnonzero(labels >= 0).astype(np.int32) if labels.min(initial=0) < 0 else None
    secret = permutation(int(labels.max(initial=-1)) + 1, keys=order_keys(keys))
    numbers = secret[labels if kept is None else labels[kept]]
    counts = np.bincount(numbers, minlength=len(secret))
    places, offsets = by_code(numbers, counts), np.append(0, np.cumsum(counts))
    return places if kept is None else kept[places], offsets


def reshuffle(rows: Rows, offsets: Ints, *, keys: Keys = system_keys) -> Rows:
    """Return the rows in another random order inside each group, independent of the first."""
    again = rows.copy()
    shuffle_within(again, offsets, keys=order_keys(keys))
    return again


def group_numbers(offsets: Ints) -> pa.Array:
    """The published group column: 0, 0, ..., 1, 1, ..."""
    return pa.array(np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)))
