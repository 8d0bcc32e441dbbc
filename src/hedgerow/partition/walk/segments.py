"""Cut a column into segments of a few values that are walked independently.

Source     [Xue 2011], section 4.2
Guarantee  every row belongs to exactly one variable, equal values of a segment are one variable, and any choice of
           values within `lows` and `highs` keeps the order of runs
Cost       O(u) for runs of u distinct values, O(n log n) for n rows that are scattered
Deviates   equal values are merged, else integer columns leave no room to move; runs stay in cells of their own, else
           localities, which do not change when a segment is moved and stretched, would let it fill the whole domain

`runs` cuts the sorted distinct values. `scattered` deals the rows to segments at random, so that a segment spans the
domain and the order of rows in different segments is not kept: more distortion, and ranks that tell less.

Localities of sorted values: which of two neighbours on either side of a value lies nearer to it.

Source     [Xue 2011], section 3.1
Guarantee  for i < j < k every relation between d_j - d_i and d_k - d_j follows from the ones returned and the order
Cost       O(n^2) time on a segment of n values with a pointer that moves one way; memory of the result
Deviates   the printed search starts over for every pair; a relation with k = j says nothing and is left out

For i < j the breakpoint 2 d_j - d_i parts the values above d_j into those at most as far from d_j as d_i is and those
farther away. The last of the first and the first of the second give the two relations that imply all others. Both
are linear because the order of the three values is known, which is why the order has to be kept with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import SMALL, kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["Localities", "Segments", "keep_sides", "localities", "runs", "sample", "scattered"]


@dataclass(frozen=True, eq=False)
class Segments:
    """Variables, segment after segment and ascending inside each: original value, least and greatest allowed value.

    `variables[row]` is the variable of a row; `offsets` are the borders of the segments.
    """

    values: NDArray[np.int64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    offsets: NDArray[np.int64]
    variables: NDArray[np.int32]


def runs(distinct: NDArray[np.int64], codes: NDArray[np.int32], *, segment: int, low: int, high: int) -> Segments:
    """Cut ascending distinct values into runs of nearly equal length, at most `segment`; `codes` are the rows'."""
    offsets = _even_cuts(len(distinct), segment)
    cells = np.diff(offsets)
    inner = offsets[1:-1]
    # Half-way between neighbours: both sides may come equally close, and neither can reach the other.
    border = distinct[inner - 1] + (distinct[inner] - distinct[inner - 1]) // 2
    lows, highs = np.append(low, border + 1), np.append(border, high)
    return Segments(distinct, np.repeat(lows, cells), np.repeat(highs, cells), offsets, codes)


def scattered(
    distinct: NDArray[np.int64],
    codes: NDArray[np.int32],
    *,
    segment: int,
    low: int,
    high: int,
    keys: Keys = system_keys,
) -> Segments:
    """Deal rows to segments of nearly equal size, at most `segment`, at random; equal values of a segment merge."""
    cuts = _even_cuts(len(codes), segment)
    dealt = np.empty(len(codes), np.int64)
    dealt[np.argsort(keys(len(codes)))] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    pairs, variables = np.unique(dealt * len(distinct) + codes, return_inverse=True)
    sizes = np.bincount(pairs // len(distinct), minlength=len(cuts) - 1)
    values = distinct[pairs % len(distinct)]
    return Segments(
        values,
        np.full(len(values), low),
        np.full(len(values), high),
        np.append(0, np.cumsum(sizes)),
        variables.astype(np.int32),
    )


def keep_sides(segments: Segments, firsts: NDArray[np.int64]) -> Segments:
    """Narrow the bounds so that every value stays on its side of each threshold, given by the first value above it."""
    lows, highs = segments.lows.copy(), segments.highs.copy()
    for first in firsts:
        above = segments.values >= first
        np.maximum(lows, first, out=lows, where=above)
        np.minimum(highs, first - 1, out=highs, where=~above)
    return replace(segments, lows=lows, highs=highs)


def _even_cuts(count: int, most: int) -> NDArray[np.int64]:
    """Borders of the fewest parts of at most `most` things, their sizes differing by at most one."""
    parts = -(-count // most)
    return np.arange(parts + 1, dtype=np.int64) * count // parts


@dataclass(frozen=True, eq=False)
class Localities:
    """Relations of values i < j < k: d_j - d_i >= d_k - d_j where `nearer`, d_j - d_i <= d_k - d_j elsewhere.

    `triples` are positions in the array of all values; `offsets` tell which relations belong to which segment.
    """

    triples: NDArray[np.int32]
    nearer: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nearer)


def localities(values: NDArray[np.int64], offsets: NDArray[np.int64]) -> Localities:
    """Find the informative localities of each segment `offsets[s]:offsets[s + 1]` of strictly ascending values."""
    # The work is quadratic in the segments, so the length of the arrays does not tell whether compiling pays.
    pairs = int((np.diff(offsets) ** 2).sum()) // 2
    extract = _extract.plain if pairs <= SMALL else _extract.compiled
    counts = np.zeros(len(offsets) - 1, np.int64)
    extract(values, offsets, counts, np.empty((0, 3), np.int32), np.empty(0, np.bool_))
    starts = np.append(0, np.cumsum(counts))
    triples, nearer = np.empty((int(starts[-1]), 3), np.int32), np.empty(int(starts[-1]), np.bool_)
    extract(values, offsets, counts, triples, nearer)
    return Localities(triples, nearer, starts)


def sample(found: Localities, share: float, *, keys: Keys) -> Localities:
    """Keep a uniformly random `share` of each segment's localities, rounded to the nearest whole number."""
    sizes = np.diff(found.offsets)
    wanted = np.rint(share * sizes).astype(np.int64)
    # One sort by segment and, inside it, by 40 random bits: a third of the time of a sort by two columns.
    segments = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    order = np.argsort((segments << np.uint64(40)) | (keys(len(found)) >> np.uint64(24)))
    rank = np.arange(len(found)) - np.repeat(found.offsets[:-1], sizes)
    chosen = np.sort(order[rank < np.repeat(wanted, sizes)])
    return Localities(found.triples[chosen], found.nearer[chosen], np.append(0, np.cumsum(wanted)))


@kernel
def _extract(
    values: NDArray[np.int64],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    triples: NDArray[np.int32],
    nearer: NDArray[np.bool_],
) -> None:
    """Count the localities of each segment, and write them down where there is room for them."""
    room = len(nearer) > 0
    place = 0
    for segment in range(len(offsets) - 1):
        first, last = offsets[segment], offsets[segment + 1]
        begun = place
        for j in range(first + 1, last - 1):
            beyond = last  # the first value above the breakpoint; it falls as i, and with it d_i, rises
            for i in range(first, j):
                while beyond > j + 1 and values[beyond - 1] - values[j] > values[j] - values[i]:
                    beyond -= 1
                for k, is_nearer in ((beyond - 1, True), (beyond, False)):
                    if j < k < last:
                        if room:
                            triples[place, 0], triples[place, 1], triples[place, 2] = i, j, k
                            nearer[place] = is_nearer
                        place += 1
        counts[segment] = place - begun
