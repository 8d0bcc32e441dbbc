"""Rank swapping: values that change places with others of nearby rank. A baseline.

Source     [Moore 1996]; compared with in [Zhang 2008], section 2.7
Guarantee  a published value is the true value of somebody whose rank is at most `window` away, and every value is
           published once; equal values get ranks in secret random order. No privacy is promised
Cost       O(n) after the rows are put in the order of their values
Deviates   the partner is uniform among the rows up to `window` ranks higher that have no partner yet, drawn with one
           key from a pool that slides along; a row that finds none keeps its value
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_value
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.example import altered_example
from hedgerow.release.forms.form import Form

Positions = NDArray[np.int64] | NDArray[np.float64]


def swapped_rows(codes: NDArray[np.int32], *, window: int, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return for each row the row whose value it gets; `codes` ascend with the values."""
    by_rank = by_value(codes, np.bincount(codes), keys=keys)
    partners = _pair_ranks(keys(len(codes)), min(window, len(codes)))
    sources = np.empty(len(codes), np.int32)
    sources[by_rank] = by_rank[partners]
    return sources


def window_for(positions: Positions, counts: NDArray[np.int64], *, k: int, e: Fraction) -> int | None:
    """The least window such that the ranks up to it on either side of any row have k distinct values over a range e.

    None if no window does. `positions` ascend and have `counts` rows each.
    """
    rows = int(counts.sum())
    least = math.ceil(e) if positions.dtype.kind == "i" else float(e)
    low, high = 0, rows
    if not _is_wide(positions, counts, rows, k, least):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_wide(positions, counts, middle, k, least) else (middle + 1, high)
    return low


@np.errstate(over="ignore")  # a range beyond the largest float is infinite, and compared as such
def _is_wide(positions: Positions, counts: NDArray[np.int64], window: int, k: int, e: float) -> bool:
    """Return whether every window holds k distinct values over a range of at least e."""
    ends = np.cumsum(counts)
    rows = int(ends[-1])
    # Of the windows that begin with a value the first reaches least far: it is the one around that rank.
    ranks = np.append(0, (ends - counts)[1:] + window)
    first = np.flatnonzero(ranks < rows)
    last = np.searchsorted(ends, np.minimum(ranks[first] + window, rows - 1), side="right")
    return bool(((last - first + 1 >= k) & (positions[last] - positions[first] >= e)).all())


@kernel
def _pair_ranks(keys: NDArray[np.uint64], window: int) -> NDArray[np.int64]:
    """Pair ranks at most `window` apart: each takes one of the free ranks ahead, all equally likely."""
    count = len(keys)
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    partners = np.arange(count)
    is_free = np.ones(count, np.bool_)
    pool = np.empty(count, np.int64)
    place = np.empty(count, np.int64)
    waiting = 0
    added = 0
    for rank in range(count):
        while added < count and added <= rank + window:
            pool[waiting] = added
            place[added] = waiting
            waiting += 1
            added += 1
        if not is_free[rank]:
            continue
        waiting -= 1
        pool[place[rank]] = pool[waiting]
        place[pool[waiting]] = place[rank]
        if waiting == 0:
            continue
        key, places = keys[rank], np.uint64(waiting)
        chosen = np.int64(((key >> half) * places + (((key & low_half) * places) >> half)) >> half)
        other = pool[chosen]
        waiting -= 1
        pool[chosen] = pool[waiting]
        place[pool[waiting]] = chosen
        is_free[other] = False
        partners[rank], partners[other] = other, rank
    return partners


SWAPPED = Form(
    name="swapped",
    is_altered=True,
    done="Values of {sensitive} changed places with others of nearby rank. Rows are in random order.",
    files={"release": "the columns {columns}"},
    unverifiable=None,
    example=altered_example,
    evidence="altered",
)
