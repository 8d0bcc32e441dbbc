"""Divide rows at medians of quasi-identifiers for as long as both parts can be made (eps,m)-anonymous, then deal.

Source     [Li 2008], section 5
Guarantee  every group satisfies criteria.proximity; feasible exactly when m <= rows // largest_cover
Cost       O(n d) time per level of the tree, about log(n/m) levels, on two cores; two packed copies of the columns
Deviates   parts are dealt to as many groups as there are m rows for, which are smaller than the printed ones and just
           as good; a cut is at the border of the median's value that is nearest to the middle; in columns with over
           four times as many codes as a part has rows, medians and widths are taken over bins; equal values are dealt
           in secret order
Minimality the search follows quasi-identifiers and tests sensitive values: where it stops reveals something about them

Rows are sorted by sensitive value once, and parts keep that order, so that the most crowded neighbourhood of a part is
found by two pointers.

The compiled half of `proximity_split`: cut and check runs of rows that are sorted by sensitive value.

Cost       O(n d) time per level; a second copy of the run that is being cut

A run lo:hi is a part. A cut is a column and a code: rows up to the code go left, order kept on both sides. The loss of
a cut needs the extent of both sides in every column. One pass finds all of them: each code of each column collects a
mask of the sides of each cut on which the code occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.cores import cores, on_cores
from hedgerow.criteria.proximity import Reach, require_proximity
from hedgerow.kernel import SMALL, kernel
from hedgerow.parameters import read_whole
from hedgerow.partition.shuffles import by_value
from hedgerow.randomness import Keys, system_keys

_SUBTREE = 1 << 16  # rows below which a subtree is one thread's work
_FEW_COLUMNS = 16  # squared columns up to which the rows alone say whether compiling pays


def proximity_split(
    quasi: NDArray[np.int32],
    scales: Sequence[int | Floats],
    sensitive: NDArray[np.int32],
    reach: Reach,
    *,
    m: int,
    finest: bool = True,
    keys: Keys = system_keys,
) -> NDArray[np.int32]:
    """Return a group number per row, from 0 without gaps.

    `quasi` holds one row of codes per quasi-identifier; `scales` says for each how many codes it has, and the loss of
    the column is the share of its codes that are covered, or where each code lies between 0 and 1, ascending.
    `finest` False keeps parts that are good whole and deals others to as few groups as possible, as the paper does.
    """
    counts = np.bincount(sensitive, minlength=len(reach.first))
    read_whole("m", m, least=1)
    require_proximity(reach, counts, m=m)
    rows = by_value(sensitive, counts, keys=keys)
    lines = [scale if isinstance(scale, np.ndarray) else np.arange(scale) / scale for scale in scales]
    widths = np.array([len(line) for line in lines], np.int64)
    rules = NeighbourRules(np.concatenate(lines), np.cumsum(widths) - widths, reach.first, reach.last, m, finest)
    labels = np.empty(len(rows), np.int32)
    _grow_in_threads(_sort_rows(quasi, int(widths.max()), sensitive, rows), rules, labels)
    used = np.zeros(len(rows), np.bool_)
    used[labels] = True
    return (np.cumsum(used, dtype=np.int32) - np.int32(1))[labels]


def _sort_rows(
    quasi: NDArray[np.int32], most_codes: int, sensitive: NDArray[np.int32], rows: NDArray[np.int32]
) -> SortedRows:
    """The rows in order of their sensitive values, their codes in 16 bits where they fit."""
    kind = np.dtype(np.uint16 if most_codes <= 1 << 16 else np.int32)
    points = np.empty(quasi.shape, kind)

    def gather(place: int) -> None:
        # Narrow first: rows come in random order, and half as wide a column is nearer to the processor.
        np.take(quasi[place].astype(kind), rows, out=points[place], mode="clip")

    on_cores(gather, range(len(quasi)), rows=len(rows))
    return SortedRows(points, np.take(sensitive, rows), rows)


def _grow_in_threads(table: SortedRows, rules: NeighbourRules, labels: NDArray[np.int32]) -> None:
    """Split large runs one by one, hand their parts to a pool, and let each thread finish the small ones alone."""
    # Every column's cut is weighed in every column, so many columns make even a few rows worth compiling for.
    small = len(labels) * max(1, len(rules.starts) ** 2 // _FEW_COLUMNS) <= SMALL
    split_one, grow_all = (split.plain, grow.plain) if small else (split.compiled, grow.compiled)

    def work(lo: int, hi: int, most: int) -> list[tuple[int, int, int]]:
        scratch = buffers_for(table, rules, hi - lo)
        if hi - lo > _SUBTREE and (middle := split_one(table, rules, scratch, lo, hi, most)) >= 0:
            left, right = scratch.covers.tolist()
            return [(lo, middle, left), (middle, hi, right)]
        grow_all(table, rules, scratch, lo, hi, most, labels)
        return []

    if len(labels) <= _SUBTREE:
        work(0, len(labels), len(labels))
        return
    with ThreadPoolExecutor(cores()) as pool:
        pending: set[Future[list[tuple[int, int, int]]]] = {pool.submit(work, 0, len(labels), len(labels))}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            parts = [part for finished in done for part in finished.result()]
            pending |= {pool.submit(work, *part) for part in parts}


_MASKED = 32  # columns whose two sides fit one mask of 64 bits
_BINS = 4  # bins of a column per row of the part
_FEWEST = 16  # rows below which a part has bins as if it had so many
_STACK = 64  # the larger part waits, so 64 entries serve 2^64 rows


class SortedRows(NamedTuple):
    """Rows by sensitive value: codes of the quasi-identifiers, a line a column; sensitive codes; row numbers."""

    points: NDArray[Any]
    codes: NDArray[np.int32]
    rows: NDArray[np.int32]


class NeighbourRules(NamedTuple):
    """Where codes lie (column c from starts[c] on), what each value reaches, m, and whether parts are dealt finely."""

    places: Floats
    starts: Ints
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    m: int
    finest: bool


class NeighbourBuffers(NamedTuple):
    """Working memory of one thread: per column extents, shift, first bin, cut and loss; bins; one run of rows."""

    low: Ints
    high: Ints
    shift: Ints
    base: Ints
    cut: Ints
    loss: Floats
    bins: Ints
    masks: NDArray[Any]
    sides: NDArray[Any]
    points: NDArray[Any]
    codes: NDArray[np.int32]
    order: NDArray[np.int32]
    covers: Ints


def buffers_for(table: SortedRows, rules: NeighbourRules, rows: int) -> NeighbourBuffers:
    """Working memory for a run of `rows` rows."""
    columns = len(rules.starts)
    widths = np.diff(np.append(rules.starts, len(rules.places)))
    # Two bits a cut: 8 columns fit 16 bits, which several times as many registers hold.
    mask = np.dtype(np.uint16 if columns <= 8 else np.uint64)
    bins = int(np.minimum(widths, _BINS * max(rows, _FEWEST)).sum()) + columns
    return NeighbourBuffers(
        low=np.zeros(columns, np.int64),
        high=np.zeros(columns, np.int64),
        shift=np.zeros(columns, np.int64),
        base=np.zeros(columns + 1, np.int64),
        cut=np.zeros(columns, np.int64),
        loss=np.zeros(columns),
        bins=np.zeros(bins, np.int64),
        masks=np.zeros(bins, mask),
        sides=np.empty(rows, mask),
        points=np.empty(rows, table.points.dtype),
        codes=np.empty(rows, np.int32),
        order=np.empty(rows, np.int32),
        covers=np.zeros(2, np.int64),
    )


@kernel
def grow(
    table: SortedRows,
    rules: NeighbourRules,
    scratch: NeighbourBuffers,
    lo: int,
    hi: int,
    most: int,
    labels: NDArray[np.int32],
) -> None:
    """Cut a run, whose largest cover is at most `most`, into groups; their labels lie between lo and hi, with gaps."""
    stack = np.empty((_STACK, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = lo, hi, most
    waiting = 1
    while waiting > 0:
        waiting -= 1
        lo, hi, most = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        middle = split(table, rules, scratch, lo, hi, most)
        if middle < 0:
            _deal(table, rules, lo, hi, labels)
            continue
        larger = 0 if middle - lo > hi - middle else 1
        stack[waiting + larger, 0], stack[waiting + larger, 1] = lo, middle
        stack[waiting + 1 - larger, 0], stack[waiting + 1 - larger, 1] = middle, hi
        stack[waiting + larger, 2], stack[waiting + 1 - larger, 2] = scratch.covers[0], scratch.covers[1]
        waiting += 2


@kernel
def split(table: SortedRows, rules: NeighbourRules, scratch: NeighbourBuffers, lo: int, hi: int, most: int) -> int:
    """Divide a run by the cut of least loss whose parts can both be dealt; return the border, or -1.

    `most` is at least the run's largest cover; `scratch.covers` is at least those of the parts afterwards.
    """
    if hi - lo < 2 * rules.m:
        return -1
    for column in range(len(rules.starts)):
        _count(table.points[column, lo:hi], scratch, column)
    for begin in range(0, len(rules.starts), _MASKED):
        _collect(table.points, scratch, begin, lo, hi)
        for column in range(begin, min(begin + _MASKED, len(rules.starts))):
            scratch.loss[column] = _loss(rules, scratch, column, 2 * (column - begin), hi - lo)
    for _ in range(len(rules.starts)):
        best = np.argmin(scratch.loss)
        if scratch.loss[best] == np.inf:
            return -1
        left = _divide(table.points[best, lo:hi], table.codes[lo:hi], scratch, scratch.cut[best])
        if _can_deal(scratch.codes[:left], rules, most, scratch.covers[:1]) and _can_deal(
            scratch.codes[left : hi - lo], rules, most, scratch.covers[1:]
        ):
            _write_back(table, scratch, lo, hi)
            return lo + left
        scratch.loss[best] = np.inf
    return -1


@kernel
def _count(points: NDArray[Any], scratch: NeighbourBuffers, column: int) -> None:
    """Count a column's codes, in bins where they are far more than rows, and choose the border nearest to the middle.

    The cut is the last code that goes left, -1 where all codes are equal.
    """
    lowest, highest = points[0], points[0]  # in the width of the codes, so that many are compared at once
    for n in range(len(points)):
        lowest, highest = min(lowest, points[n]), max(highest, points[n])
    low, high = np.int64(lowest), np.int64(highest)
    shift, most = 0, _BINS * max(len(points), _FEWEST)
    while ((high - low) >> shift) >= most:
        shift += 1
    base, last = scratch.base[column], (high - low) >> shift
    bins = scratch.bins[base : base + last + 1]
    bins[:] = 0
    for n in range(len(points)):
        bins[(np.int64(points[n]) - low) >> shift] += 1
    cut, upto, nearest = np.int64(-1), 0, len(points)
    for offset in range(last):
        upto += bins[offset]
        # Of two borders that are equally near, the paper takes the one with the median on the left.
        if abs(2 * upto - len(points)) <= nearest:
            nearest = abs(2 * upto - len(points))
            cut = low + ((offset + 1) << shift) - 1
        if 2 * upto >= len(points):
            break
    scratch.low[column], scratch.high[column], scratch.shift[column] = low, high, shift
    scratch.base[column + 1], scratch.cut[column] = base + last + 1, cut


@kernel
def _collect(points: NDArray[Any], scratch: NeighbourBuffers, begin: int, lo: int, hi: int) -> None:
    """Collect for each code of each column on which sides of the cuts from column `begin` on it occurs."""
    sides = scratch.sides[: hi - lo]
    sides[:] = 0
    for column in range(begin, min(begin + _MASKED, len(scratch.cut))):
        codes, cut = points[column, lo:hi], scratch.cut[column]
        left = np.uint64(1) << np.uint64(2 * (column - begin))
        right = left << np.uint64(1)
        for n in range(len(codes)):
            sides[n] = np.uint64(sides[n]) | (right if np.int64(codes[n]) > cut else left)
    for column in range(len(scratch.cut)):
        codes, low, shift = points[column, lo:hi], scratch.low[column], scratch.shift[column]
        masks = scratch.masks[scratch.base[column] : scratch.base[column + 1]]
        masks[:] = 0
        for n in range(len(codes)):
            masks[(np.int64(codes[n]) - low) >> shift] |= sides[n]


@kernel
def _loss(rules: NeighbourRules, scratch: NeighbourBuffers, cut: int, bit: int, rows: int) -> float:
    """Weigh a cut: the extents of its two sides in all columns, times their rows."""
    if scratch.cut[cut] < 0:
        return np.inf
    left = np.int64(0)
    for offset in range(((scratch.cut[cut] - scratch.low[cut]) >> scratch.shift[cut]) + 1):
        left += scratch.bins[scratch.base[cut] + offset]
    total = 0.0
    for side in range(2):
        wanted = np.uint64(1) << np.uint64(bit + side)
        extent = 0.0
        for column in range(len(scratch.cut)):
            low, shift = scratch.low[column], scratch.shift[column]
            a, b = scratch.base[column], scratch.base[column + 1] - 1
            while np.uint64(scratch.masks[a]) & wanted == np.uint64(0):
                a += 1
            while np.uint64(scratch.masks[b]) & wanted == np.uint64(0):
                b -= 1
            lowest = low + ((a - scratch.base[column]) << shift)
            highest = min(low + ((b - scratch.base[column] + 1) << shift) - 1, scratch.high[column])
            extent += rules.places[rules.starts[column] + highest] - rules.places[rules.starts[column] + lowest]
        total += extent * (left if side == 0 else rows - left)
    return total


@kernel
def _divide(points: NDArray[Any], codes: NDArray[np.int32], scratch: NeighbourBuffers, cut: int) -> int:
    """List a run's places and sensitive codes in the scratch memory, left side first, order kept."""
    left = 0
    for n in range(len(points)):
        left += 1 if np.int64(points[n]) <= cut else 0
    a, b = 0, left
    for n in range(len(points)):
        # Selects positions instead of branching: the sides alternate unpredictably, so branches would be mispredicted.
        is_left = bool(np.int64(points[n]) <= cut)
        place = a if is_left else b
        scratch.codes[place], scratch.order[place] = codes[n], n
        a += is_left
        b += not is_left
    return left


@kernel
def _write_back(table: SortedRows, scratch: NeighbourBuffers, lo: int, hi: int) -> None:
    """Put a divided run where it came from, column by column."""
    order = scratch.order[: hi - lo]
    table.codes[lo:hi] = scratch.codes[: hi - lo]
    for n in range(hi - lo):
        scratch.codes[n] = table.rows[lo + order[n]]
    table.rows[lo:hi] = scratch.codes[: hi - lo]
    for column in range(len(table.points)):
        codes = table.points[column, lo:hi]
        for n in range(hi - lo):
            scratch.points[n] = codes[order[n]]
        codes[:] = scratch.points[: hi - lo]


@kernel
def _can_deal(codes: NDArray[np.int32], rules: NeighbourRules, most: int, cover: Ints) -> bool:
    """Return whether m times the largest cover fits a part; `cover` is what is known of it afterwards.

    A part of a run has no larger cover than the run, so that of the run often decides.
    """
    cover[0] = most if rules.m * most <= len(codes) else largest_cover(codes, rules.first, rules.last)
    return bool(rules.m * cover[0] <= len(codes))


@kernel
def largest_cover(codes: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32]) -> int:
    """The larger half of the most crowded neighbourhood of sorted codes, by two pointers."""
    most, a, b = 0, 0, 0
    for n in range(len(codes)):
        while codes[a] < first[codes[n]]:
            a += 1
        while b < len(codes) and codes[b] <= last[codes[n]]:
            b += 1
        most = max(most, n - a + 1, b - n)
    return most


@kernel
def is_crowded(codes: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32], m: int) -> bool:
    """Return whether some neighbourhood holds more than 1/m of the rows with these sorted codes."""
    a, b = 0, 0
    for n in range(len(codes)):
        while codes[a] < first[codes[n]]:
            a += 1
        while b < len(codes) and codes[b] <= last[codes[n]]:
            b += 1
        if m * (b - a) > len(codes):
            return True
    return False


@kernel
def _deal(table: SortedRows, rules: NeighbourRules, lo: int, hi: int, labels: NDArray[np.int32]) -> None:
    """Deal a run in turn, so that no two rows of a group are near each other.

    As many groups as the largest cover are enough, and a run that is not crowded is a group as it is. As many as there
    are m rows for are good, too, and smaller.
    """
    codes = table.codes[lo:hi]
    if rules.finest:
        groups = (hi - lo) // rules.m
    elif is_crowded(codes, rules.first, rules.last, rules.m):
        groups = largest_cover(codes, rules.first, rules.last)
    else:
        groups = 1
    for n in range(hi - lo):
        labels[table.rows[lo + n]] = lo + n % groups
