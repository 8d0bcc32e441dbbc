"""The compiled part of ART: find the closest admissible row, and grow a group until p is at most 1/r for every row.

Rows are kept in stacks by cell (equal signatures in every attribute set) and protected value. The rows of a stack are
interchangeable but for a secret rank, which breaks ties: the closest row of the least rank is one and the same for the
tree and for exhaustive search.

Distances are sums of whole numbers: `positions` are the probabilities f as multiples of a step so small that a sum
over all attribute sets fits 32 bits. Such sums need no order, so the machine adds eight at a time.

A row's odds of a protected value in an attribute set are those of its signature: `odds` lists them once per signature,
`entry` is the position of a cell's odds. A group only looks at the values that it holds, so that hundreds of other
values cost nothing.

`FreeRows` arrays: `stack_head` to `stack_end` are the positions in `stacked` of a stack's rows, `place` and `stack`
say where a row is; `cell_stacks` where a cell's stacks begin; `node_rank` is the least rank and `node_mask` the values
that are left below a node of each tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.kernel import kernel

NOBODY = np.iinfo(np.int64).max
"""The rank of no row: above every rank."""

_LEAVES = 64
"""How many leaves a search looks at, the nearest first: in many dimensions the rest hardly ever holds a closer row."""


class FreeRows(NamedTuple):
    """Rows that are still free, and the trees that find them: one tree for each protected value."""

    positions: NDArray[np.int32]
    odds: Floats
    entry: NDArray[np.int32]
    cell: NDArray[np.int32]
    value: NDArray[np.int32]
    rank: Ints
    is_free: Bools
    stacked: NDArray[np.int32]
    place: Ints
    stack: NDArray[np.int32]
    stack_value: NDArray[np.int32]
    stack_head: Ints
    stack_end: Ints
    cell_stacks: Ints
    cell_rank: Ints
    cell_mask: Ints
    order: NDArray[np.int32]
    borders: Ints
    leaf: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    node_rank: Ints
    node_mask: Ints


class Group(NamedTuple):
    """A group that grows: for each protected value and attribute set the range of f (in positions) and of the odds.

    Only values that the group holds have a range; the entries of others are meaningless. `is_full` marks the values of
    which the group takes no further row.
    """

    rows: NDArray[np.int32]
    counts: Ints
    is_full: Bools
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    odds_low: Floats
    odds_high: Floats
    odds_sum: Floats


class GroupLimits(NamedTuple):
    """When a group is done: no probability above 1/r and at least so many rows; and when it is given up."""

    r: float
    at_least: int
    most: int


class GatheredGroups(NamedTuple):
    """Groups that were found, one after the other, and the work that is left: rows that may still be tried."""

    rows: NDArray[np.int32]
    ends: Ints
    number: Ints
    work: Ints


@kernel
def _refresh(free: FreeRows, cell: int) -> None:
    """Bring a cell and the nodes above it up to date after a row left or came back."""
    least, mask = NOBODY, np.int64(0)
    for s in range(free.cell_stacks[cell], free.cell_stacks[cell + 1]):
        while free.stack_head[s] < free.stack_end[s] and not free.is_free[free.stacked[free.stack_head[s]]]:
            free.stack_head[s] += 1
        if free.stack_head[s] < free.stack_end[s]:
            least = min(least, free.rank[free.stacked[free.stack_head[s]]])
            mask |= np.int64(1) << np.int64(free.stack_value[s] % 62)
    free.cell_rank[cell], free.cell_mask[cell] = least, mask
    first_leaf = len(free.borders) - 2
    if first_leaf == 0:
        return  # a single leaf is looked through in any case
    for t in range(len(free.order)):
        node = free.leaf[t, cell]
        least, mask = NOBODY, np.int64(0)
        for place in range(free.borders[node - first_leaf], free.borders[node - first_leaf + 1]):
            least = min(least, free.cell_rank[free.order[t, place]])
            mask |= free.cell_mask[free.order[t, place]]
        free.node_rank[t, node], free.node_mask[t, node] = least, mask
        while node > 0:
            node = (node - 1) // 2
            free.node_rank[t, node] = min(free.node_rank[t, 2 * node + 1], free.node_rank[t, 2 * node + 2])
            free.node_mask[t, node] = free.node_mask[t, 2 * node + 1] | free.node_mask[t, 2 * node + 2]


@kernel
def _admissible(free: FreeRows, group: Group, cell: int) -> int:
    """The stack of a cell whose top row has the least rank among the values that the group takes, or -1."""
    best, least = -1, NOBODY
    for s in range(free.cell_stacks[cell], free.cell_stacks[cell + 1]):
        value = free.stack_value[s]
        is_taken = value == len(group.counts) or not group.is_full[value]
        if is_taken and free.stack_head[s] < free.stack_end[s]:
            rank = free.rank[free.stacked[free.stack_head[s]]]
            if rank < least:
                best, least = s, rank
    return best


@kernel
def _overhang(
    low: NDArray[np.int32], high: NDArray[np.int32], least: NDArray[np.int32], greatest: NDArray[np.int32]
) -> int:
    """The least increase of Delta, summed over attribute sets, by a point between `least` and `greatest`."""
    nothing, total = np.int32(0), np.int32(0)
    for k in range(len(low)):
        above, below = np.int32(least[k] - high[k]), np.int32(low[k] - greatest[k])
        total = np.int32(total + np.int32(max(above, nothing) + max(below, nothing)))
    return int(total)


@kernel
def closest(free: FreeRows, group: Group, x: int) -> int:
    """The stack of the row that increases the group's Delta with respect to x least; -1 where none is admissible."""
    low, high = group.low[x], group.high[x]
    taken = np.int64(0)
    if len(group.counts) < 62:
        for v in range(len(group.counts)):
            if group.is_full[v]:
                taken |= np.int64(1) << np.int64(v)
    leaves, looked = len(free.borders) - 1, 0
    stack, depth = np.empty(128, np.int64), 1
    bounds = np.empty(128, np.int64)
    stack[0], bounds[0] = 0, _overhang(low, high, free.low[x, 0], free.high[x, 0])
    best, least, found = NOBODY, NOBODY, -1
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        if bound > best or (bound == best and free.node_rank[x, node] >= least):
            continue
        if free.node_rank[x, node] == NOBODY or free.node_mask[x, node] & ~taken == 0:
            continue
        if node >= leaves - 1:
            looked += 1
            if looked > _LEAVES and found >= 0:
                return found
            for place in range(free.borders[node - leaves + 1], free.borders[node - leaves + 2]):
                cell = free.order[x, place]
                if free.cell_mask[cell] & ~taken == 0:
                    continue
                distance = _overhang(low, high, free.positions[x, cell], free.positions[x, cell])
                if distance > best or (distance == best and free.cell_rank[cell] >= least):
                    continue
                s = _admissible(free, group, cell)
                if s >= 0:
                    rank = free.rank[free.stacked[free.stack_head[s]]]
                    if distance < best or rank < least:
                        best, least, found = distance, rank, s
            continue
        left, right = 2 * node + 1, 2 * node + 2
        left_bound = _overhang(low, high, free.low[x, left], free.high[x, left])
        right_bound = _overhang(low, high, free.low[x, right], free.high[x, right])
        if left_bound < right_bound:  # the nearer child is looked at first, so it goes on top
            left, right, left_bound, right_bound = right, left, right_bound, left_bound
        stack[depth], bounds[depth] = left, left_bound
        stack[depth + 1], bounds[depth + 1] = right, right_bound
        depth += 2
    return found


@kernel
def closest_exhaustive(free: FreeRows, group: Group, x: int) -> int:
    """The same by looking at every cell: the oracle."""
    best, least, found = NOBODY, NOBODY, -1
    for cell in range(len(free.cell_rank)):
        s = _admissible(free, group, cell)
        if s >= 0:
            distance = _overhang(group.low[x], group.high[x], free.positions[x, cell], free.positions[x, cell])
            rank = free.rank[free.stacked[free.stack_head[s]]]
            if distance < best or (distance == best and rank < least):
                best, least, found = distance, rank, s
    return found


@kernel
def _widen(free: FreeRows, group: Group, v: int, cell: int, is_first: bool) -> None:
    """Count a row of a cell in the ranges of one value; the first row is the range."""
    for k in range(group.low.shape[1]):
        position = free.positions[v, cell, k]
        group.low[v, k] = position if is_first else min(group.low[v, k], position)
        group.high[v, k] = position if is_first else max(group.high[v, k], position)
    for k in range(group.odds_sum.shape[1]):
        odds = free.odds[v, free.entry[cell, k]]
        group.odds_low[v, k] = odds if is_first else min(group.odds_low[v, k], odds)
        group.odds_high[v, k] = odds if is_first else max(group.odds_high[v, k], odds)
        group.odds_sum[v, k] = odds if is_first else group.odds_sum[v, k] + odds


@kernel
def _add(free: FreeRows, group: Group, size: int, row: int) -> None:
    """Put a free row into the group."""
    cell, value = free.cell[row], free.value[row]
    group.rows[size] = row
    for v in range(len(group.counts)):
        if group.counts[v] > 0:
            _widen(free, group, v, cell, False)
    if value < len(group.counts):
        if group.counts[value] == 0:
            for place in range(size + 1):
                _widen(free, group, value, free.cell[group.rows[place]], place == 0)
        group.counts[value] += 1
        group.is_full[value] = True
    free.is_free[row] = False
    _refresh(free, cell)


@kernel
def _violation(group: Group, size: int, r: float, at_least: int) -> int:
    """A value of the group that some row has with p above 1/r, or -1.

    With one occurrence p = o / sum of o, with c at most c times that. Sums round, so a margin covers that; equal odds
    are decided by the size alone.
    """
    margin = 1.0 + (4.0 * size + 16.0) * 2.0**-52
    for v in range(len(group.counts)):
        if group.counts[v] == 0:
            continue
        most = r * group.counts[v]
        for k in range(group.odds_sum.shape[1]):
            if group.odds_low[v, k] == group.odds_high[v, k]:
                if size < at_least or (group.counts[v] > 1 and size < most):
                    return v
            elif group.odds_high[v, k] == np.inf or most * group.odds_high[v, k] * margin > group.odds_sum[v, k]:
                return v
    return -1


@kernel
def _make_room(group: Group, size: int, r: float, x: int) -> bool:
    """Let the group take values again of which one more keeps p at most 1/r; return whether there are any."""
    is_any = False
    for v in range(len(group.counts)):
        if v == x or not group.is_full[v]:
            continue
        most = r * (group.counts[v] + 1)
        fits = size >= most
        for k in range(group.odds_sum.shape[1]):
            fits = fits and most * group.odds_high[v, k] <= group.odds_sum[v, k]
        if fits:
            group.is_full[v] = False
            is_any = True
    return is_any


@kernel
def needed_rows(group: Group, size: int, r: float) -> float:
    """How many rows the group would need if those to come were like those that it has; they are no closer."""
    rows = 0.0
    for v in range(len(group.counts)):
        if group.counts[v] > 0:
            for k in range(group.odds_sum.shape[1]):
                if group.odds_low[v, k] == group.odds_high[v, k]:
                    rows = max(rows, r * group.counts[v])
                elif group.odds_high[v, k] == np.inf:
                    rows = np.inf
                else:
                    most = r * group.counts[v] * group.odds_high[v, k]
                    rows = max(rows, most * size / group.odds_sum[v, k])
    return rows


@kernel
def give_back(free: FreeRows, rows: NDArray[np.int32]) -> None:
    """Make the rows of a failed group free again."""
    for row in rows:
        free.is_free[row] = True
        s = free.stack[row]
        free.stack_head[s] = min(free.stack_head[s], free.place[row])
        _refresh(free, free.cell[row])


@kernel
def form(free: FreeRows, group: Group, row: int, limits: GroupLimits, is_exhaustive: bool) -> int:
    """Grow a group from one row; where that fails its rows are free again and the size is negative."""
    group.counts[:] = 0
    group.is_full[:] = False
    _add(free, group, 0, row)
    size = grow(free, group, 1, limits, -1, is_exhaustive)
    if size < 0:
        give_back(free, group.rows[:-size])
    return size


@kernel
def grow(free: FreeRows, group: Group, size: int, limits: GroupLimits, x: int, is_exhaustive: bool) -> int:
    """Add the closest row until p is at most 1/r for every value; return the size.

    A value is taken a second time if rows of all others are used up and p stays at most 1/r. The size is
    negative where no row is left, or where more than the allowed rows are needed. With `x` of at least 0 one row,
    closest with respect to x, is added whatever the test says.
    """
    r, at_least, most = limits.r, limits.at_least, limits.most
    while True:
        v = x if x >= 0 else _violation(group, size, r, at_least)
        x = -1
        if v < 0:
            return size
        if size >= most or (size >= at_least and needed_rows(group, size, r) > most):
            return -size
        s = closest_exhaustive(free, group, v) if is_exhaustive else closest(free, group, v)
        if s < 0 and _make_room(group, size, r, v):
            s = closest_exhaustive(free, group, v) if is_exhaustive else closest(free, group, v)
        if s < 0:
            return -size
        _add(free, group, size, free.stacked[free.stack_head[s]])
        size += 1


@kernel
def gather(
    free: FreeRows,
    group: Group,
    waiting: NDArray[np.int32],
    needs: Floats,
    limits: GroupLimits,
    gathered: GatheredGroups,
) -> None:
    """Grow a group from each waiting row that is free and may need no more than the limit; `needs` is filled in."""
    for row in waiting:
        if not free.is_free[row] or needs[row] > limits.most or gathered.work[0] <= 0:
            continue
        size = form(free, group, row, limits, False)
        gathered.work[0] -= abs(size)
        if size > 0:
            start = gathered.ends[gathered.number[0]]
            gathered.rows[start : start + size] = group.rows[:size]
            gathered.number[0] += 1
            gathered.ends[gathered.number[0]] = start + size
        else:
            rows = max(needed_rows(group, -size, limits.r), -size + 1.0)
            needs[row] = rows if rows > limits.most else np.inf
