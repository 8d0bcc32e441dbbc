"""Divide rows between two opposite corners for as long as both parts stay l-diverse, then deal each part.

Source     permutation anonymization, algorithm 2 and then 1
Guarantee  frequency l-diversity: every group has l to 2l - 1 rows, all of different values; feasible exactly when
           l times the most frequent value is at most the rows
Cost       O(n d) time per round of attempts, expected O(n d log n); two copies of the columns as 32-bit floats
Deviates   the two artificial rows stand at the corners of the part, not of the whole domain, from where all of a small
           part is on one side; they are not counted when a part is checked; rows come in secret random order, which
           a first attempt inherits from the part above
Minimality the search follows quasi-identifiers and tests sensitive values: where it stops tells something about them

Each row, in random order, joins the side whose normalized certainty penalty, its extent times its rows, grows least.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.criteria.parameters import read_whole
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.secret import by_code, by_value, permutation
from hedgerow.randomness import Keys, system_keys

__all__ = ["deal_parts", "ncp_split"]

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]


class Records(NamedTuple):
    """Rows that move: where they lie in each column, their sensitive codes, their numbers."""

    points: NDArray[np.float32]
    codes: Codes
    rows: Codes


class Scratch(NamedTuple):
    """Working memory: an order and a side per row, and room for the records of a part."""

    order: Codes
    sides: Bools
    records: Records


def ncp_split(
    quasi: Codes,
    sizes: Sequence[int],
    sensitive: Codes,
    *,
    l: int,  # noqa: E741
    tries: int = 5,
    places: Sequence[NDArray[np.float64]] | None = None,
    keys: Keys = system_keys,
) -> Codes:
    """Return a group number per row, from 0 without gaps.

    `quasi` holds one row of codes per quasi-identifier, `sizes` their numbers of codes. `places` says where each code
    lies between 0 and 1, ascending; without it codes lie evenly. A part that `tries` orders do not divide stays whole.
    """
    criterion, most = FrequencyDiversity(l), read_whole("tries", tries, least=1)
    require([criterion], [np.bincount(sensitive)])
    lines = [np.linspace(0.0, 1.0, size) for size in sizes] if places is None else places
    rows = permutation(len(sensitive), keys=keys)
    points = np.empty((len(rows), len(quasi)), np.float32)
    for place, (line, codes) in enumerate(zip(lines, quasi, strict=True)):
        points[:, place] = line.astype(np.float32)[codes[rows]]
    starts = _divided(Records(points, sensitive[rows], rows), criterion.l, most, keys)
    parts = np.empty(len(rows), np.int32)
    parts[rows] = np.cumsum(starts, dtype=np.int32) - np.int32(1)
    return deal_parts(parts, sensitive, l=criterion.l, keys=keys)


def deal_parts(parts: Codes, sensitive: Codes, *, l: int, keys: Keys) -> Codes:  # noqa: E741
    """Deal each part, in the order of its sensitive values, to as many groups as it has l rows for."""
    ascending = by_value(sensitive, np.bincount(sensitive), keys=keys)
    sizes = np.bincount(parts)
    rows = ascending[by_code(parts[ascending], sizes)]
    groups = sizes // l
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = np.empty(len(rows), np.int32)
    labels[rows] = place % np.repeat(groups, sizes) + np.repeat(np.cumsum(groups) - groups, sizes)
    return labels


def _divided(records: Records, l: int, tries: int, keys: Keys) -> Bools:  # noqa: E741
    """Bring the rows of each part together and mark where parts begin: one attempt a round for each open part."""
    rows = len(records.rows)
    workers = len(os.sched_getaffinity(0)) if rows > SMALL else 1
    values = int(records.codes.max()) + 1
    copy = Records(np.empty_like(records.points), np.empty_like(records.codes), np.empty_like(records.rows))
    scratch = Scratch(np.arange(rows, dtype=np.int32), np.empty(rows, np.bool_), copy)
    counts = [np.zeros((2, values), np.int64) for _ in range(workers)]
    starts = np.zeros(rows, np.bool_)
    starts[0] = True
    attempt = _round.plain if rows <= SMALL else _round.compiled

    def work(worker: int, parts: Ints, drawn: NDArray[np.uint64]) -> Ints:
        return attempt(records, scratch, parts, drawn, l, tries, counts[worker], starts)

    open_parts = np.array([[0, rows, tries]], np.int64)
    with ThreadPoolExecutor(workers) as pool:
        while len(open_parts):
            shares = _shares(open_parts, workers)
            drawn = [keys(_retried(share, tries)) for share in shares]
            open_parts = np.concatenate(list(pool.map(work, range(workers), shares, drawn)))
    return starts


def _shares(open_parts: Ints, workers: int) -> list[Ints]:
    """Divide the open parts among workers by their rows."""
    upto = np.cumsum(open_parts[:, 1] - open_parts[:, 0])
    borders = np.searchsorted(upto, upto[-1] * np.arange(1, workers) / workers, side="right")
    return np.split(open_parts, borders)


def _retried(parts: Ints, tries: int) -> int:
    """How many rows are to be shuffled: those of parts that were tried before."""
    return int((parts[:, 1] - parts[:, 0])[parts[:, 2] < tries].sum())


@kernel
def _round(
    records: Records,
    scratch: Scratch,
    open_parts: Ints,
    keys: NDArray[np.uint64],
    l: int,  # noqa: E741
    tries: int,
    counts: Ints,
    starts: Bools,
) -> Ints:
    """Try each open part once; return the parts that are open then."""
    after = np.empty((2 * len(open_parts), 3), np.int64)
    found, drawn = 0, 0
    for part in range(len(open_parts)):
        lo, hi, left_tries = open_parts[part, 0], open_parts[part, 1], open_parts[part, 2]
        order, sides = scratch.order[lo:hi], scratch.sides[lo:hi]
        if left_tries < tries:
            _shuffle(order, keys[drawn : drawn + hi - lo])
            drawn += hi - lo
        left = _choose_sides(records.points[lo:hi], order, sides)
        if _are_diverse(records.codes[lo:hi], sides, left, l, counts):
            _gather(records, scratch, lo, hi, left)
            starts[lo + left] = True
            for begin, end in ((lo, lo + left), (lo + left, hi)):
                if end - begin >= 2 * l:
                    after[found, 0], after[found, 1], after[found, 2] = begin, end, tries
                    found += 1
        elif left_tries > 1:
            after[found, 0], after[found, 1], after[found, 2] = lo, hi, left_tries - 1
            found += 1
    return after[:found]


@kernel
def _shuffle(order: Codes, keys: NDArray[np.uint64]) -> None:
    half = np.uint64(32)
    for i in range(len(order)):
        j = np.int64(((keys[i] >> half) * np.uint64(i + 1)) >> half)
        order[i], order[j] = order[j], order[i]


@kernel
def _choose_sides(points: NDArray[np.float32], order: Codes, sides: Bools) -> int:
    """Put each row on the side that it costs least; return how many are on the first, where `sides` is False."""
    columns = points.shape[1]
    box = np.empty((4, columns), np.float32)
    for column in range(columns):
        box[0, column] = box[2, column] = points[0, column]
    for n in range(len(points)):
        for column in range(columns):
            box[0, column] = min(box[0, column], points[n, column])
            box[2, column] = max(box[2, column], points[n, column])
    # The artificial rows: side 0 lies between box[0] and box[1], side 1 between box[2] and box[3].
    box[1], box[3] = box[0], box[2]
    extent_0, extent_1, members_0, members_1 = np.float32(0.0), np.float32(0.0), 1, 1
    base = order.min()
    for n in range(len(order)):
        at = points[order[n] - base]
        wider_0, wider_1 = np.float32(0.0), np.float32(0.0)
        for column in range(columns):
            wider_0 += max(box[0, column] - at[column], at[column] - box[1, column], np.float32(0.0))
            wider_1 += max(box[2, column] - at[column], at[column] - box[3, column], np.float32(0.0))
        cost_0, cost_1 = extent_0 + wider_0 * (members_0 + 1), extent_1 + wider_1 * (members_1 + 1)
        side = 0 if cost_0 < cost_1 or (cost_0 == cost_1 and members_0 < members_1) else 1
        for column in range(columns):
            box[2 * side, column] = min(box[2 * side, column], at[column])
            box[2 * side + 1, column] = max(box[2 * side + 1, column], at[column])
        if side == 0:
            extent_0, members_0 = extent_0 + wider_0, members_0 + 1
        else:
            extent_1, members_1 = extent_1 + wider_1, members_1 + 1
        sides[order[n] - base] = side == 1
    return members_0 - 1


@kernel
def _are_diverse(codes: Codes, sides: Bools, left: int, l: int, counts: Ints) -> bool:  # noqa: E741
    """Tell whether no value fills more than 1/l of either side; `counts` is zero before and after."""
    right = len(codes) - left
    if left < l or right < l:
        return False
    diverse = True
    for n in range(len(codes)):
        side = 1 if sides[n] else 0
        counts[side, codes[n]] += 1
        if counts[side, codes[n]] * l > (right if side else left):
            diverse = False
            break
    for n in range(len(codes)):
        counts[0, codes[n]] = 0
        counts[1, codes[n]] = 0
    return diverse


@kernel
def _gather(records: Records, scratch: Scratch, lo: int, hi: int, left: int) -> None:
    """Bring the rows of the first side to the front, in the order in which they were tried."""
    copy = scratch.records
    a, b = lo, lo + left
    for n in range(lo, hi):
        row = scratch.order[n]
        to = b if scratch.sides[row] else a
        a, b = (a, b + 1) if scratch.sides[row] else (a + 1, b)
        for column in range(records.points.shape[1]):
            copy.points[to, column] = records.points[row, column]
        copy.codes[to], copy.rows[to] = records.codes[row], records.rows[row]
    records.points[lo:hi] = copy.points[lo:hi]
    records.codes[lo:hi] = copy.codes[lo:hi]
    records.rows[lo:hi] = copy.rows[lo:hi]
    for n in range(lo, hi):
        scratch.order[n] = n
