"""Sums of the smallest or largest few numbers of each group.

Cost       O(n log s) on n numbers in groups of s
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel

__all__ = ["largest_sums", "smallest_sums"]

Ints = NDArray[np.int64]

_LARGE = 64
"""Up to this size insertion beats the general sort: groups are small, and most of their numbers are equal."""


def smallest_sums(values: Ints, sizes: Ints, counts: Ints) -> Ints:
    """For each group, whose numbers stand together, add up the `counts[g]` smallest."""
    offsets = np.append(0, np.cumsum(sizes))
    sums = np.zeros(len(sizes), np.int64)
    _smallest(values, offsets, counts, sums)
    return sums


def largest_sums(values: Ints, sizes: Ints, counts: Ints) -> Ints:
    """For each group, whose numbers stand together, add up the `counts[g]` largest."""
    return -smallest_sums(-values, sizes, counts)


@kernel
def _smallest(values: Ints, offsets: Ints, counts: Ints, sums: Ints) -> None:
    for group in range(len(counts)):
        inside = values[offsets[group] : offsets[group + 1]]
        if counts[group] < len(inside):
            inside = np.sort(inside) if len(inside) > _LARGE else _sorted_by_insertion(inside)
            inside = inside[: counts[group]]
        sums[group] = inside.sum()


@kernel
def _sorted_by_insertion(values: Ints) -> Ints:
    ascending = values.copy()
    for place in range(1, len(ascending)):
        value = ascending[place]
        before = place - 1
        while before >= 0 and ascending[before] > value:
            ascending[before + 1] = ascending[before]
            before -= 1
        ascending[before + 1] = value
    return ascending
