"""Passes over very many entries of (cell, group), compiled: one pass each where NumPy makes several over memory.

Few entries stay with NumPy: loading compiled code takes longer than they do. Both ways add the same numbers in the
same order, so answers do not depend on which one ran.
"""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.cores import cores, on_cores
from hedgerow.kernel import kernel
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values

__all__ = [
    "MANY",
    "both_totals",
    "count_entries",
    "count_marked",
    "drawn_totals",
    "moment_sums",
    "moment_terms",
    "rank",
]

MANY = 2**16
"""From this many entries on the compiled passes pay."""
_SHARED = 2**19
_PIECES = 4
"""Pieces into which a pass over more entries than that is cut; waking another core takes longer than fewer do."""
_STEPS = 8
"""An entry takes as long in a bisection as so many in other passes."""
_BLOCK = 512
"""Groups whose sums stay in a core's own memory."""
_CELLS = 1024
"""Up to this many cells the entries of pieces are put together cell by cell."""


def count_marked(words: NDArray[np.uint64], before: Ints, offsets: Ints) -> Hits:
    """Count marked rows per group, from marks as bits and the number of those before each word of them."""
    group, number = _count_bits(words, before, offsets)
    return Hits.exactly(1, np.zeros(len(group), dtype=np.int64), group, number)


def count_entries(index: Ints, cell: Ints, groups: Ints, cells: int) -> Hits:
    """Count rows, given by ascending `index` and their cells, per cell and group."""
    parts = _pieces(len(index) if cells <= _CELLS else 0)
    # Whole groups: a group that is cut would have two entries.
    starts = [int(np.searchsorted(index, np.searchsorted(groups, groups[index[part.start]]))) for part in parts[1:]]
    parts = _slices([0, *starts, len(index)])
    counted = on_cores(lambda part: _count(index[part], cell[part], groups, cells), parts, rows=len(index))
    ends = [np.concatenate(([0], np.cumsum(used))) for used, _, _ in counted]
    group, number = (
        np.concatenate(
            [part[kind][end[c] : end[c + 1]] for c in range(cells) for part, end in zip(counted, ends, strict=True)]
        )
        if len(counted) > 1
        else counted[0][kind]
        for kind in (1, 2)
    )
    used = np.sum([part[0] for part in counted], axis=0)
    return Hits.exactly(cells, np.repeat(np.arange(cells), used), group, number)


def _pieces(length: int, steps: int = 1) -> list[slice]:
    """Pieces of an array for several cores: more than there are cores, because these are not equally free."""
    pieces = _PIECES if cores() > 1 and length * steps > _SHARED else 1
    return _slices([length * piece // pieces for piece in range(pieces + 1)])


def _slices(cuts: list[int]) -> list[slice]:
    return [slice(first, end) for first, end in pairwise(cuts)]


def rank(values: Values, group: Ints, threshold: Ints) -> Ints:
    """Count the values of each group whose low is below its threshold."""
    if len(group) > MANY:
        found = on_cores(
            lambda part: _count_below(values.offsets, values.lows, group[part], threshold[part]),
            _pieces(len(group), _STEPS),
            rows=len(group),
        )
        return np.concatenate(found)
    start = values.offsets[group]
    low, high = start.copy(), values.offsets[group + 1]
    while np.any(active := low < high):
        middle = (low + high) >> 1
        below = np.zeros(len(group), dtype=np.bool_)
        below[active] = values.lows[middle[active]] < threshold[active]
        low = np.where(below, middle + 1, low)
        high = np.where(active & ~below, middle, high)
    return low - start


def drawn_totals(hits: Hits, values: Values, taken: Ints) -> tuple[list[int], list[int]]:
    """Per cell the sum of the `taken` smallest lows of each group, exactly, and how many these are."""
    high, low, number = _draw_sums(hits.cell, hits.group, taken, values.offsets, values.prefix, hits.cells)
    sums = [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
    return sums, number.tolist()


def both_totals(hits: Hits, values: Values) -> tuple[list[int], list[int], list[int]]:
    """Per cell the least and the greatest sum of the values that a known number of rows may have, and that number.

    Both ends of a group lie side by side in memory, so one pass costs little more than either end alone.
    """
    edges, within, blocks = _edges(hits), values.within, _blocks(hits, values)
    # Whole numbers add up to the same in any order, so entries are shared out as they come.
    found = on_cores(
        lambda part: _ends(
            np.clip(edges, part.start, part.stop), hits.group, hits.upper, values.offsets, within, blocks
        ),
        _pieces(len(hits.cell)),
        rows=len(hits.cell),
    )
    sums, number = (functools.reduce(np.add, parts) for parts in zip(*found, strict=True))
    low, high = ([(up << 32) + down for up, down in zip(*halves.tolist(), strict=True)] for halves in sums)
    return low, high, number.tolist()


def moment_sums(hits: Hits, values: Values, shift: Floats) -> tuple[Floats, Floats]:
    """Mean and variance per cell of the sum of (value - shift), where a known number of rows draws."""
    edges, each, blocks = _edges(hits), _each_group(values), _blocks(hits, values)
    # Whole cells: floats are added in the order of a cell's entries, however many threads there are.
    starts = [edges[hits.cell[part.start]] for part in _pieces(len(hits.cell))[1:]]
    found = on_cores(
        lambda part: _moments(np.clip(edges, part.start, part.stop), hits.group, hits.expected, shift, each, blocks),
        _slices([0, *starts, len(hits.cell)]),
        rows=len(hits.cell),
    )
    means, variances = (functools.reduce(np.add, parts) for parts in zip(*found, strict=True))
    return means, variances


def moment_terms(hits: Hits, values: Values, shift: float) -> tuple[Floats, Floats]:
    """What each entry of one cell adds to the mean and to the variance of the sum of (value - shift)."""
    return _terms(hits.group, hits.expected, shift, _each_group(values))


def _each_group(values: Values) -> tuple[Floats, Ints, Floats]:
    """Mean, size and scatter of each group."""
    return values.moments.mean, np.ascontiguousarray(values.sizes), values.scatter


def _edges(hits: Hits) -> Ints:
    """Where the entries of each cell begin, and where the last ends."""
    return np.searchsorted(hits.cell, np.arange(hits.cells + 1))


def _blocks(hits: Hits, values: Values) -> int:
    """How many blocks of groups to look at one after the other, each for all cells.

    Cell by cell a pass would fetch what is known of all groups as often as there are cells.
    """
    return max(min(len(values.sizes) // _BLOCK, len(hits.cell) // (8 * max(hits.cells, 1))), 1)


@kernel
def _count_bits(words: NDArray[np.uint64], before: Ints, places: Ints) -> tuple[Ints, Ints]:
    """Groups with marked rows and how many, from marks as bits and the number of those before each word of them."""
    group, number = np.empty(len(places), dtype=np.int64), np.empty(len(places), dtype=np.int64)
    found, last = 0, 0
    for g in range(len(places)):
        below = (np.uint64(1) << np.uint64(places[g] & 63)) - np.uint64(1)
        bits = words[places[g] >> 6] & below
        bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
        bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
        bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        bits = bits + (bits >> np.uint64(8))
        bits = bits + (bits >> np.uint64(16))
        bits = (bits + (bits >> np.uint64(32))) & np.uint64(127)
        marked = before[places[g] >> 6] + np.int64(bits)
        group[found], number[found] = g - 1, marked - last
        found += marked > last
        last = marked
    return group[:found].copy(), number[:found].copy()


@kernel
def _count(index: Ints, cell: Ints, groups: Ints, cells: int) -> tuple[Ints, Ints, Ints]:
    """Entries per cell, then group and number of each entry, by cell.

    Rows come by group, so a row either belongs to the entry that its cell opened last or opens the next one.
    """
    last, used = np.full(cells, -1, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    owner, found, counts = (
        np.empty(len(index), dtype=np.int32),
        np.empty(len(index), dtype=np.int32),
        np.empty(len(index), dtype=np.int32),
    )
    entries = 0
    for i in range(len(index)):
        c, g = cell[i], groups[index[i]]
        at = last[c]
        if at >= 0 and found[at] == g:
            counts[at] += 1
        else:
            last[c], owner[entries], found[entries], counts[entries] = entries, c, g, 1
            used[c] += 1
            entries += 1
    place = np.cumsum(used) - used
    group, number = np.empty(entries, dtype=np.int64), np.empty(entries, dtype=np.int64)
    for i in range(entries):
        at = place[owner[i]]
        group[at], number[at] = found[i], counts[i]
        place[owner[i]] += 1
    return used, group, number


@kernel
def _count_below(offsets: Ints, lows: Ints, group: Ints, threshold: Ints) -> Ints:
    """By bisection, one entry after the other."""
    found = np.empty(len(group), dtype=np.int64)
    for i in range(len(group)):
        low, high = offsets[group[i]], offsets[group[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if lows[middle] < threshold[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low - offsets[group[i]]
    return found


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
    edges: Ints, group: Ints, taken: Ints, offsets: Ints, within: Ints | Codes, blocks: int
) -> tuple[NDArray[np.int64], Ints]:
    """Sums per cell of the `taken` smallest (first) and largest (second), as high and low halves; numbers of values."""
    cells, groups = len(edges) - 1, len(offsets) - 1
    sums, number = np.zeros((2, 2, cells), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    at = edges[:-1].copy()
    for block in range(1, blocks + 1):
        limit = groups * block // blocks
        for c in range(cells):
            i = at[c]
            while i < edges[c + 1] and group[i] < limit:
                h, first, end = taken[i], offsets[group[i]], offsets[group[i] + 1]
                if h > 0:
                    least, most = np.int64(within[first + h - 1]), np.int64(within[end - 1])
                    if end - h > first:
                        most -= np.int64(within[end - h - 1])
                    sums[0, 0, c] += least >> 32
                    sums[0, 1, c] += least & 0xFFFFFFFF
                    sums[1, 0, c] += most >> 32
                    sums[1, 1, c] += most & 0xFFFFFFFF
                    number[c] += h
                i += 1
            at[c] = i
    return sums, number


@kernel
def _moments(
    edges: Ints,
    group: Ints,
    drawn: Ints | Floats,
    shift: Floats,
    each: tuple[Floats, Ints, Floats],
    blocks: int,
) -> tuple[Floats, Floats]:
    """Sums per cell of the groups' means and variances, in the order of the entries."""
    mean, sizes, scatter = each
    cells, groups = len(edges) - 1, len(sizes)
    means, variances = np.zeros(cells), np.zeros(cells)
    at = edges[:-1].copy()
    for block in range(1, blocks + 1):
        limit = groups * block // blocks
        for c in range(cells):
            i = at[c]
            while i < edges[c + 1] and group[i] < limit:
                g = group[i]
                means[c] += drawn[i] * (mean[g] - shift[c])
                variances[c] += drawn[i] * (sizes[g] - drawn[i]) * scatter[g]
                i += 1
            at[c] = i
    return means, variances


@kernel
def _terms(group: Ints, drawn: Ints | Floats, shift: float, each: tuple[Floats, Ints, Floats]) -> tuple[Floats, Floats]:
    """The same for one cell, not added up."""
    mean, sizes, scatter = each
    means, variances = np.empty(len(group)), np.empty(len(group))
    for i in range(len(group)):
        g = group[i]
        means[i] = drawn[i] * (mean[g] - shift)
        variances[i] = drawn[i] * (sizes[g] - drawn[i]) * scatter[g]
    return means, variances
