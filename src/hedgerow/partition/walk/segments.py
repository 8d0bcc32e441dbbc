"""Cut a column into segments of a few values that are walked independently.

Source     preserving properties of interest, section 4.2
Guarantee  every row belongs to exactly one variable, equal values of a segment are one variable, and any choice of
           values within `lows` and `highs` keeps the order of runs
Cost       O(u) for runs of u distinct values, O(n log n) for n rows that are scattered
Deviates   equal values are merged, else integer columns leave no room to move; runs stay in cells of their own, else
           localities, which do not change when a segment is moved and stretched, would let it fill the whole domain

`runs` cuts the sorted distinct values. `scattered` deals the rows to segments at random, so that a segment spans the
domain and the order of rows in different segments is not kept: more distortion, and ranks that tell less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.randomness import Keys, system_keys

__all__ = ["Segments", "keep_sides", "runs", "scattered"]


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
