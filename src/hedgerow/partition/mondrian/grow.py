"""The compiled part of Mondrian: rows as packed records, split in place under limits on rows, values and shares.

Cost       O(n d) per level of the tree; one packed copy of the columns and a row number per row

Records move with their rows, so that every node is a contiguous run, and small nodes fit the cache. A finished group
is a mark at its first position.

A cut is three numbers: column, code and ties. Rows up to the code go left, and so do the first `ties` rows of the next
code, which only the relaxed form asks for.

A column with a hierarchy has its codes in the order of the tree's leaves and a rank per border between two codes: the
depth of the lowest node above both. Borders of low rank are tried first, so that a node is cut between its children
where both sides have enough rows, and inside of a child only where that is not so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.kernel import inline_kernel, kernel
from hedgerow.partition.mondrian.records import PackedRows, SplitBuffers, SplitRules

LEAF = -1
_WIDE = 4  # counting a column is worth it while its range is at most this many times the rows
DONE = 32767  # a column has no cut left to try
_STACK = 64  # the larger part waits, so 64 entries serve 2^64 rows


@inline_kernel
def tighten(records: PackedRows, lo: int, hi: int, column: int, scratch: SplitBuffers) -> None:
    """Make the bounds of one column those of a run of rows."""
    words = records.words[lo:hi, records.places[column]]
    shift = records.shifts[column]
    mask = records.masks[column] << shift
    least = words[0] & mask
    most = least
    for row in range(1, len(words)):
        here = words[row] & mask
        least = min(least, here)
        most = max(most, here)
    scratch.low[column] = least >> shift
    scratch.high[column] = most >> shift
    scratch.is_tight[column] = True


@inline_kernel
def next_widest(places: Floats, firsts: Ints, low: Ints, high: Ints, tried: NDArray[np.int16]) -> int:
    """The column of largest extent that can be cut, first of those not tried yet, or LEAF."""
    best = LEAF
    widest = 0.0
    for column in range(len(low)):
        if tried[column] == DONE or high[column] == low[column]:
            continue
        width = places[firsts[column] + high[column]] - places[firsts[column] + low[column]]
        first = best == LEAF or (tried[best] > 0 and tried[column] == 0)
        if first or (width > widest and (tried[best] > 0) == (tried[column] > 0)):
            best = column
            widest = width
    return best


@inline_kernel
def count_codes(records: PackedRows, lo: int, hi: int, column: int, histogram: Ints) -> None:
    """Count how many rows of a run have each code of a column."""
    words = records.words[lo:hi, records.places[column]]
    shift = records.shifts[column]
    mask = records.masks[column]
    for row in range(len(words)):
        histogram[(words[row] >> shift) & mask] += 1


@inline_kernel
def median_by_counting(
    records: PackedRows, lo: int, hi: int, column: int, low: int, high: int, histogram: Ints
) -> tuple[int, int, int]:
    """The median code of a column over a run, and how many rows lie below it and at it: by a histogram."""
    count_codes(records, lo, hi, column, histogram)
    found, below, at = median_of(histogram[low:], hi - lo)
    histogram[low : high + 1] = 0
    return low + found, below, at


@inline_kernel
def median_of(histogram: Ints, rows: int) -> tuple[int, int, int]:
    """The median place of a histogram of so many rows, and how many of them lie below it and at it."""
    place = 0
    below = 0
    while below + histogram[place] <= rows // 2:
        below += histogram[place]
        place += 1
    return place, below, histogram[place]


@kernel
def median_by_sorting(records: PackedRows, lo: int, hi: int, column: int) -> tuple[int, int, int]:
    """The median code of a column over a run, and how many rows lie below it and at it: by sorting."""
    ordered = np.sort((records.words[lo:hi, records.places[column]] >> records.shifts[column]) & records.masks[column])
    half = (hi - lo) // 2
    code = ordered[half]
    below = half
    while below > 0 and ordered[below - 1] == code:
        below -= 1
    after = half
    while after < hi - lo and ordered[after] == code:
        after += 1
    return int(code), below, after - below


@inline_kernel
def find_cut(
    records: PackedRows, lo: int, hi: int, column: int, relaxed: bool, scratch: SplitBuffers
) -> tuple[int, int, int]:
    """Return code, ties and the rows that go left: at the median, or at the border of its code nearest to it."""
    low, high = scratch.low[column], scratch.high[column]
    if high - low <= _WIDE * (hi - lo):
        code, below, at = median_by_counting(records, lo, hi, column, low, high, scratch.histogram)
    else:
        code, below, at = median_by_sorting(records, lo, hi, column)
    return border_of(code, below, at, hi - lo, relaxed)


@inline_kernel
def border_of(code: int, below: int, at: int, rows: int, relaxed: bool) -> tuple[int, int, int]:
    """Code, ties and the rows that go left, for a median code with so many rows below it and at it."""
    if relaxed:
        return code - 1, rows // 2 - below, rows // 2
    # Twice the distance of either border from the middle; a border at an end of the run is no cut.
    if below > 0 and (below + at == rows or rows - 2 * below <= 2 * (below + at) - rows):
        return code - 1, 0, below
    return code, 0, below + at


@inline_kernel
def find_tree_cut(
    records: PackedRows, lo: int, hi: int, column: int, rules: SplitRules, scratch: SplitBuffers
) -> tuple[int, int, int]:
    """Return code, rows that go left and rank of the border nearest to the middle, least rank first; rank DONE: none.

    Both sides have enough rows, and the rank is one that was not tried.
    """
    low, high = scratch.low[column], scratch.high[column]
    count_codes(records, lo, hi, column, scratch.histogram)
    found = tree_border(scratch.histogram[low:], hi - lo, low, high, column, rules, scratch.tried[column])
    scratch.histogram[low : high + 1] = 0
    return found


@kernel
def tree_border(
    histogram: Ints, rows: int, low: int, high: int, column: int, rules: SplitRules, tried: int
) -> tuple[int, int, int]:
    """The same for the histogram of the codes from `low` to `high`."""
    best, left, chosen, nearest = low, 0, DONE, rows
    below = 0
    for code in range(low, high):
        below += histogram[code - low]
        rank = int(rules.ranks[rules.firsts[column] + code])
        away = abs(2 * below - rows)
        if rank < tried or min(below, rows - below) < rules.rows:
            continue
        if rank < chosen or (rank == chosen and away < nearest):
            best, left, chosen, nearest = code, below, rank, away
    return best, left, chosen


@kernel
def sides_hold(
    records: PackedRows, rules: SplitRules, counts: Ints, lo: int, hi: int, cut: tuple[int, int, int]
) -> bool:
    """Return whether both sides of a cut keep the limits of every sensitive column."""
    column, code, ties = cut
    words = records.words[lo:hi]
    where = records.places[column]
    mask = records.masks[column] << records.shifts[column]
    border = code << records.shifts[column]
    tie = (code + 1) << records.shifts[column]
    offset = 0
    good = True
    for place in range(len(rules.widths)):
        width = rules.widths[place]
        field = len(rules.firsts) + place
        value_where = records.places[field]
        value_shift = records.shifts[field]
        value_mask = records.masks[field]
        left = 0
        if ties == 0:
            for row in range(len(words)):
                goes_left = (words[row, where] & mask) <= border
                left += goes_left
                counts[2 * ((words[row, value_where] >> value_shift) & value_mask) + goes_left] += 1
        else:
            spare = ties
            for row in range(len(words)):
                here = words[row, where] & mask
                is_tie = spare > 0 and here == tie
                spare -= is_tie
                goes_left = is_tie or here <= border
                left += goes_left
                counts[2 * ((words[row, value_where] >> value_shift) & value_mask) + goes_left] += 1
        seen_left = 0
        seen_right = 0
        # Whatever is fewer, rows or values, is walked to compare the counts and to clear them.
        by_row = hi - lo < width
        for step in range(hi - lo if by_row else width):
            value = (words[step, value_where] >> value_shift) & value_mask if by_row else step
            right_count = counts[2 * value]
            left_count = counts[2 * value + 1]
            counts[2 * value] = 0
            counts[2 * value + 1] = 0
            seen_left += left_count > 0
            seen_right += right_count > 0
            share = rules.numerators[offset + value]
            of = rules.denominators[offset + value]
            good &= (left_count * of <= share * left) & (right_count * of <= share * (hi - lo - left))
        good &= min(seen_left, seen_right) >= rules.distinct[place]
        offset += width
        if not good:
            return False
    return True


@kernel
def apply_cut(records: PackedRows, lo: int, hi: int, column: int, code: int, ties: int) -> int:
    """Move the rows that go left to the front of the run; return where the others begin."""
    words = records.words
    where = records.places[column]
    mask = records.masks[column] << records.shifts[column]
    border = code << records.shifts[column]
    tie = (code + 1) << records.shifts[column]
    middle = lo
    # Swapping every row, needed or not, avoids an unpredictable branch.
    if ties == 0 and words.shape[1] == 1:
        for row in range(lo, hi):
            kept = words[row, 0]
            words[row, 0] = words[middle, 0]
            words[middle, 0] = kept
            middle += (kept & mask) <= border
        return middle
    for row in range(lo, hi):
        here = words[row, where] & mask
        is_tie = ties > 0 and here == tie
        ties -= is_tie
        for word in range(words.shape[1]):
            kept = words[row, word]
            words[row, word] = words[middle, word]
            words[middle, word] = kept
        middle += is_tie or here <= border
    return middle


@inline_kernel
def next_cut(records: PackedRows, rules: SplitRules, scratch: SplitBuffers, lo: int, hi: int) -> tuple[int, int, int]:
    """Find the widest column whose next cut keeps the limits; return its cut, column LEAF for none.

    A column that is the widest with bounds that are not tight is looked at and compared again; one whose bounds are
    tight is at least as wide as any other can be, so that most columns need no look.
    """
    if hi - lo < 2 * rules.rows:
        return LEAF, 0, 0
    scratch.is_tight[:] = False
    while True:
        column = next_widest(rules.places, rules.firsts, scratch.low, scratch.high, scratch.tried)
        if column == LEAF:
            return LEAF, 0, 0
        if not scratch.is_tight[column]:
            tighten(records, lo, hi, column, scratch)
            continue
        if rules.has_tree[column]:
            code, left, rank = find_tree_cut(records, lo, hi, column, rules, scratch)
            ties = 0
            scratch.tried[column] = DONE if rank == DONE else rank + 1
            if rank == DONE:
                continue
        else:
            code, ties, left = find_cut(records, lo, hi, column, rules.relaxed, scratch)
            scratch.tried[column] = DONE
        enough = min(left, hi - lo - left) >= rules.rows
        if enough and sides_hold(records, rules, scratch.counts, lo, hi, (column, code, ties)):
            return column, code, ties


@inline_kernel
def split(records: PackedRows, rules: SplitRules, scratch: SplitBuffers, lo: int, hi: int) -> tuple[int, int, int, int]:
    """Split a run whose codes lie in the bounds, or mark it as a group and return LEAF.

    Returns where the right part begins, the column of the cut, a bound above the left part's codes and one below the
    right part's.
    """
    scratch.tried[:] = 0
    column, code, ties = next_cut(records, rules, scratch, lo, hi)
    if column == LEAF:
        records.starts[lo] = True
        return LEAF, 0, 0, 0
    return apply_cut(records, lo, hi, column, code, ties), column, code + (ties > 0), code + 1


@kernel
def grow(records: PackedRows, rules: SplitRules, scratch: SplitBuffers, lo: int, hi: int) -> None:
    """Split a run and its parts until nothing splits."""
    columns = len(rules.firsts)
    low = scratch.low
    high = scratch.high
    stack = np.empty((_STACK, 2), np.int64)
    bounds = np.empty((_STACK, 2, columns), np.int64)
    waiting = 0
    while True:
        middle, column, most, least = split(records, rules, scratch, lo, hi)
        if middle == LEAF:
            if waiting == 0:
                return
            waiting -= 1
            lo = stack[waiting, 0]
            hi = stack[waiting, 1]
            for place in range(columns):
                low[place] = bounds[waiting, 0, place]
                high[place] = bounds[waiting, 1, place]
            continue
        for place in range(columns):
            bounds[waiting, 0, place] = low[place]
            bounds[waiting, 1, place] = high[place]
        if middle - lo < hi - middle:
            stack[waiting, 0] = middle
            stack[waiting, 1] = hi
            bounds[waiting, 0, column] = least
            high[column] = most
            hi = middle
        else:
            stack[waiting, 0] = lo
            stack[waiting, 1] = middle
            bounds[waiting, 1, column] = most
            low[column] = least
            lo = middle
        waiting += 1


@kernel
def propose(
    records: PackedRows,
    rules: SplitRules,
    scratch: SplitBuffers,
    nodes: Ints,
    tried: NDArray[np.int16],
    cuts: Ints,
    sides: NDArray[np.int8],
) -> None:
    """Find the next cut of many nodes at once and the side of each of their rows."""
    for node in range(len(nodes)):
        lo = nodes[node, 0]
        hi = nodes[node, 1]
        scratch.tried[:] = tried[node]
        scratch.low[:] = 0
        scratch.high[:] = rules.sizes - 1
        column, code, ties = next_cut(records, rules, scratch, lo, hi)
        tried[node] = scratch.tried
        cuts[node, 0] = column
        cuts[node, 1] = code
        cuts[node, 2] = ties
        for row in range(lo, hi if column != LEAF else lo):
            here = (records.words[row, records.places[column]] >> records.shifts[column]) & records.masks[column]
            goes_left = here <= code
            if ties > 0 and here == code + 1:
                goes_left = True
                ties -= 1
            sides[row] = not goes_left


@kernel
def apply_cuts(records: PackedRows, nodes: Ints, cuts: Ints, middles: Ints) -> None:
    """Carry out many cuts."""
    for node in range(len(nodes)):
        middles[node] = apply_cut(records, nodes[node, 0], nodes[node, 1], cuts[node, 0], cuts[node, 1], cuts[node, 2])
