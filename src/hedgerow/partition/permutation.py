"""Divide rows between two opposite corners for as long as both parts stay l-diverse, then deal each part.

Source     [Li 2015], algorithm 2 and then 1
Guarantee  frequency l-diversity: every group has l to 2l - 1 rows, all of different values; feasible exactly when
           l times the most frequent value is at most the rows
Cost       O(n d) time per round of attempts, expected O(n d log n); two copies of the columns in 16 bits
Deviates   the two artificial rows are at the corners of the part, not of the whole domain, for which all of a small
           part would be on one side; they are not counted when a part is checked; rows come in secret random order,
           which a first attempt inherits from the part above places are read to 1/32767 of a column's range: whole
           numbers of 16 bits, so that costs are compared exactly
Minimality the search follows quasi-identifiers and tests sensitive values: where it stops reveals something about them

Each row, in random order, joins the side whose normalized certainty penalty, its extent times its rows, grows least.

Deal rows in the order of their sensitive values to as many groups as l-diversity allows.

Source     [Li 2015], algorithm 1
Guarantee  frequency l-diversity: every group has l to 2l - 1 rows, all of different values; feasible exactly when
           l times the most frequent value is at most the rows. Looks at nothing but the sensitive values
Cost       O(n) time after drawing one key per row
Deviates   a value may fill exactly 1/l of the table (the printed test refuses that); equal values are in secret order;
           the printed further division of large groups never happens here and would break l-diversity elsewhere
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.cores import cores
from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.kernel import SMALL, kernel
from hedgerow.parameters import read_whole
from hedgerow.partition.shuffles import by_code, by_value, permutation
from hedgerow.randomness import Keys, system_keys

_STEPS = np.iinfo(np.int16).max  # a difference of two places still fits
_LANES = 8  # columns are filled up to a multiple of these with zeros, which cost nothing and let one instruction do 8


class CornerRows(NamedTuple):
    """Rows that move: where they lie in each column, their sensitive codes, their numbers."""

    points: NDArray[np.int16]
    codes: Codes
    rows: Codes


class CornerBuffers(NamedTuple):
    """Working memory: an order and a side per row, room for the records of a part, and counts that are zero at rest."""

    order: Codes
    sides: Bools
    records: CornerRows
    counts: Ints


def ncp_split(
    quasi: Codes,
    scales: Sequence[int | Floats],
    sensitive: Codes,
    *,
    l: int,  # noqa: E741
    tries: int = 5,
    keys: Keys = system_keys,
) -> Codes:
    """Return a group number per row, from 0 without gaps.

    `quasi` holds one row of codes per quasi-identifier; `scales` says for each how many codes it has, which then lie
    evenly, or where each code lies between 0 and 1, ascending. A part that `tries` orders do not divide stays whole.
    """
    criterion, most = FrequencyDiversity(l), read_whole("tries", tries, least=1)
    require([criterion], [np.bincount(sensitive)])
    lines = [scale if isinstance(scale, np.ndarray) else np.linspace(0.0, 1.0, scale) for scale in scales]
    rows = permutation(len(sensitive), keys=keys)
    points = np.take(_points(quasi, lines), rows, axis=0)  # far faster than an index for rows of many columns
    starts = _divide(CornerRows(points, sensitive[rows], rows), criterion.l, most, keys)
    parts = np.empty(len(rows), np.int32)
    parts[rows] = np.cumsum(starts, dtype=np.int32) - np.int32(1)
    return deal_parts(parts, sensitive, l=criterion.l, keys=keys)


def _is_small(rows: int, columns: int) -> bool:
    """Return whether a plain loop over all rows and columns takes less than compiling it."""
    return rows * columns <= SMALL


def _points(quasi: Codes, lines: Sequence[Floats]) -> NDArray[np.int16]:
    """Where each row lies in each column, in steps; a line a row."""
    columns, rows = quasi.shape
    lanes = 1 if _is_small(rows, columns) else _LANES  # a plain loop has one lane
    points = np.zeros((rows, -(-columns // lanes) * lanes), np.int16)
    for column, (line, codes) in enumerate(zip(lines, quasi, strict=True)):
        points[:, column] = np.rint(line * _STEPS).astype(np.int16)[codes]
    return points


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


def _divide(records: CornerRows, l: int, tries: int, keys: Keys) -> Bools:  # noqa: E741
    """Bring the rows of each part together and mark where parts begin: one attempt a round for each open part."""
    rows = len(records.rows)
    small = _is_small(*records.points.shape)
    workers = 1 if small else cores()
    values = int(records.codes.max()) + 1
    copy = CornerRows(np.empty_like(records.points), np.empty_like(records.codes), np.empty_like(records.rows))
    order, sides = np.arange(rows, dtype=np.int32), np.empty(rows, np.bool_)
    scratch = [CornerBuffers(order, sides, copy, np.zeros((2, values), np.int64)) for _ in range(workers)]
    starts = np.zeros(rows, np.bool_)
    starts[0] = True
    attempt = _round.plain if small else _round.compiled

    def work(worker: int, parts: Ints, drawn: NDArray[np.uint64]) -> Ints:
        return attempt(records, scratch[worker], parts, drawn, l, tries, starts)

    open_parts = np.array([[0, rows, tries]], np.int64)
    with ThreadPoolExecutor(workers) as pool:
        while len(open_parts):
            shares = _shares(open_parts, workers)
            drawn = [keys(_count_retried(share, tries)) for share in shares]
            open_parts = np.concatenate(list(pool.map(work, range(workers), shares, drawn)))
    return starts


def _shares(open_parts: Ints, workers: int) -> list[Ints]:
    """Divide the open parts among workers by their rows."""
    upto = np.cumsum(open_parts[:, 1] - open_parts[:, 0])
    borders = np.searchsorted(upto, upto[-1] * np.arange(1, workers) / workers, side="right")
    return np.split(open_parts, borders)


def _count_retried(parts: Ints, tries: int) -> int:
    """How many rows are to be shuffled: those of parts that were tried before."""
    return int((parts[:, 1] - parts[:, 0])[parts[:, 2] < tries].sum())


@kernel
def _round(
    records: CornerRows,
    scratch: CornerBuffers,
    open_parts: Ints,
    keys: NDArray[np.uint64],
    l: int,  # noqa: E741
    tries: int,
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
        left = _choose_sides(records.points[lo:hi], order, lo, sides)
        if _are_diverse(records.codes[lo:hi], sides, left, l, scratch.counts):
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
    """Shuffle `order` in place, one key per element."""
    half = np.uint64(32)
    for i in range(len(order)):
        j = np.int64(((keys[i] >> half) * np.uint64(i + 1)) >> half)
        order[i], order[j] = order[j], order[i]


@kernel
def _choose_sides(points: NDArray[np.int16], order: Codes, base: int, sides: Bools) -> int:
    """Put each row on the side that it costs least; return how many are on the first, where `sides` is False."""
    # The artificial rows: the first side begins at the lowest corner of the part, the second at the highest.
    low_0, high_1 = _corners(points)
    high_0, low_1 = low_0.copy(), high_1.copy()
    extent_0, extent_1, members_0, members_1 = 0, 0, 1, 1
    for n in range(len(order)):
        row = order[n] - base
        at = points[row]
        wider_0, wider_1 = np.int32(0), np.int32(0)
        for column in range(len(at)):
            place = np.int32(at[column])
            wider_0 += max(low_0[column] - place, place - high_0[column], np.int32(0))
            wider_1 += max(low_1[column] - place, place - high_1[column], np.int32(0))
        growth_0, growth_1 = int(wider_0), int(wider_1)
        cost_0, cost_1 = extent_0 + growth_0 * (members_0 + 1), extent_1 + growth_1 * (members_1 + 1)
        first = (cost_0 < cost_1) | ((cost_0 == cost_1) & (members_0 < members_1))
        members_0, members_1 = (members_0 + 1, members_1) if first else (members_0, members_1 + 1)
        # Boxes soon contain nearly every row, so the rare case is tested first.
        if (growth_0 if first else growth_1) > 0:
            if first:
                extent_0 += growth_0
                _widen(low_0, high_0, at)
            else:
                extent_1 += growth_1
                _widen(low_1, high_1, at)
        sides[row] = not first
    return members_0 - 1


@kernel
def _corners(points: NDArray[np.int16]) -> tuple[Codes, Codes]:
    """The lowest and the highest place in each column."""
    low, high = points[0].astype(np.int32), points[0].astype(np.int32)
    for n in range(len(points)):
        _widen(low, high, points[n])
    return low, high


@kernel
def _widen(low: Codes, high: Codes, at: NDArray[np.int16]) -> None:
    """Make room for a row in a box."""
    for column in range(len(at)):
        low[column] = min(low[column], at[column])
        high[column] = max(high[column], at[column])


@kernel
def _are_diverse(codes: Codes, sides: Bools, left: int, l: int, counts: Ints) -> bool:  # noqa: E741
    """Return whether no value fills more than 1/l of either side; `counts` is zero before and after."""
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
def _gather(records: CornerRows, scratch: CornerBuffers, lo: int, hi: int, left: int) -> None:
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


def round_robin(sensitive: NDArray[np.int32], *, l: int, keys: Keys = system_keys) -> NDArray[np.int32]:  # noqa: E741
    """Return a group number per row, from 0 without gaps."""
    counts = np.bincount(sensitive)
    criterion = FrequencyDiversity(l)
    require([criterion], [counts])
    labels = np.empty(len(sensitive), np.int32)
    groups = len(sensitive) // criterion.l
    # Equal values are at most n/l, and so at most as many as there are groups: no group gets two of them.
    labels[by_value(sensitive, counts, keys=keys)] = np.arange(len(sensitive), dtype=np.int32) % np.int32(groups)
    return labels
