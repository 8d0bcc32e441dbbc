"""Passes over very many entries of (cell, group), compiled: one pass each where NumPy makes several over memory.

Few entries stay with NumPy: loading compiled code takes longer than they do. Both ways add the same numbers in the
same order, so answers do not depend on which one ran.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values

__all__ = ["MANY", "both_totals", "count_entries", "drawn_totals", "moment_sums"]

MANY = 2**16
"""From this many entries on the compiled passes pay."""


def count_entries(index: Ints, cell: Ints, groups: Ints, cells: int) -> Hits:
    """Count rows, given by ascending `index` and their cells, per cell and group."""
    used, group, number = _count(index, cell, groups, cells)
    return Hits.exactly(cells, np.repeat(np.arange(cells), used), group, number)


def drawn_totals(hits: Hits, values: Values, taken: Ints) -> tuple[list[int], list[int]]:
    """Per cell the sum of the `taken` smallest lows of each group, exactly, and how many these are."""
    high, low, number = _draw_sums(hits.cell, hits.group, taken, values.offsets, values.prefix, hits.cells)
    sums = [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
    return sums, number.tolist()


def both_totals(hits: Hits, values: Values) -> tuple[list[int], list[int], list[int]]:
    """Per cell the least and the greatest sum of the values that a known number of rows may have, and that number.

    Both ends of a group lie side by side in memory, so one pass costs little more than either end alone.
    """
    half = len(hits.cell) // 2
    arguments = [
        (hits.cell[part], hits.group[part], hits.upper[part], values.offsets, values.prefix, hits.cells)
        for part in (slice(half), slice(half, None))
    ]
    # Whole numbers add up to the same in any order, so two threads share the entries.
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(_ends, *arguments[1])
        sums, number = (mine + its for mine, its in zip(_ends(*arguments[0]), other.result(), strict=True))
    low, high = ([(up << 32) + down for up, down in zip(*halves.tolist(), strict=True)] for halves in sums)
    return low, high, number.tolist()


def moment_sums(hits: Hits, values: Values, shift: Floats) -> tuple[Floats, Floats]:
    """Mean and variance per cell of the sum of (value - shift), where a known number of rows draws."""
    sizes = np.ascontiguousarray(values.sizes)
    return _moments(hits.cell, hits.group, hits.expected, shift, values.moments.mean, sizes, values.scatter)


@kernel
def _count(index: Ints, cell: Ints, groups: Ints, cells: int) -> tuple[Ints, Ints, Ints]:
    """Entries per cell, then group and number of each entry, by cell.

    Rows come by group, so a row either belongs to the entry that its cell opened last or opens the next one.
    """
    start = np.zeros(cells + 1, dtype=np.int64)
    for c in cell:
        start[c + 1] += 1
    start = np.cumsum(start)
    last = start[:-1] - 1
    group, number = np.empty(len(index), dtype=np.int64), np.zeros(len(index), dtype=np.int64)
    for i in range(len(index)):
        c, g = cell[i], groups[index[i]]
        at = last[c]
        if at < start[c] or group[at] != g:
            at += 1
            last[c] = at
            group[at] = g
        number[at] += 1
    used = last + 1 - start[:-1]
    end = 0
    for c in range(cells):
        for at in range(start[c], start[c] + used[c]):
            group[end], number[end] = group[at], number[at]
            end += 1
    return used, group[:end].copy(), number[:end].copy()


@kernel
def _draw_sums(
    cell: Ints, group: Ints, taken: Ints, offsets: Ints, prefix: Ints, cells: int
) -> tuple[Ints, Ints, NDArray[np.int64]]:
    """High and low halves of the sums per cell, which cannot overflow, and the numbers of values."""
    high, low = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    number = np.zeros(cells, dtype=np.int64)
    for i in range(len(cell)):
        c, first = cell[i], offsets[group[i]]
        drawn = prefix[first + taken[i]] - prefix[first]
        high[c] += drawn >> 32
        low[c] += drawn & 0xFFFFFFFF
        number[c] += taken[i]
    return high, low, number


@kernel
def _ends(
    cell: Ints, group: Ints, taken: Ints, offsets: Ints, prefix: Ints, cells: int
) -> tuple[NDArray[np.int64], Ints]:
    """Sums per cell of the `taken` smallest (first) and largest (second), as high and low halves; numbers of values."""
    sums, number = np.zeros((2, 2, cells), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    for i in range(len(cell)):
        c, first, end = cell[i], offsets[group[i]], offsets[group[i] + 1]
        least, most = prefix[first + taken[i]] - prefix[first], prefix[end] - prefix[end - taken[i]]
        sums[0, 0, c] += least >> 32
        sums[0, 1, c] += least & 0xFFFFFFFF
        sums[1, 0, c] += most >> 32
        sums[1, 1, c] += most & 0xFFFFFFFF
        number[c] += taken[i]
    return sums, number


@kernel
def _moments(
    cell: Ints, group: Ints, drawn: Ints | Floats, shift: Floats, mean: Floats, sizes: Ints, scatter: Floats
) -> tuple[Floats, Floats]:
    """Sums per cell of the groups' means and variances, in the order of the entries."""
    means, variances = np.zeros(len(shift)), np.zeros(len(shift))
    for i in range(len(cell)):
        c, g = cell[i], group[i]
        means[c] += drawn[i] * (mean[g] - shift[c])
        variances[c] += drawn[i] * (sizes[g] - drawn[i]) * scatter[g]
    return means, variances
