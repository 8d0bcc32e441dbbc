"""Uniform shuffles, and rows in the order of their values with equal values in a secret random order.

Source     [Fisher 1938], forward form: element i swaps with one of the i + 1 elements up to itself
Guarantee  uniform over all permutations of each run, the identity included; runs and calls are independent. So a
           partition that looks at values and this order alone tells nothing about which of equal rows went where
Cost       one pass and one 64-bit key per element; keys are drawn in blocks, so memory stays that of the array

A key picks one of m places by a 64 x 32 bit product, which favours no place by more than m / 2^64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["by_code", "by_value", "permutation", "shuffle_within"]

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


def by_value(codes: NDArray[np.int32], counts: NDArray[np.int64], *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return the rows value after value, those of one value in random order; `counts` are the rows of each code."""
    rows = by_code(codes, counts)
    shuffle_within(rows, np.append(0, np.cumsum(counts)), keys=keys)
    return rows


def by_code(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the rows value after value, those of one value in the order of the input."""
    rows = np.empty(len(codes), np.int32)
    _place(codes, np.cumsum(counts) - counts, rows)
    return rows


@kernel
def _shuffle_block(
    array: NDArray[np.int32], offsets: NDArray[np.int64], keys: NDArray[np.uint64], first: int, group: int
) -> None:
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
def _place(codes: NDArray[np.int32], nexts: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
    """Write the rows code after code; `nexts` says where the next row of each code goes."""
    for row in range(len(codes)):
        code = codes[row]
        rows[nexts[code]] = row
        nexts[code] += 1
