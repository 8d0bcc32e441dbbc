"""Groups of at least k near rows, for publishing their means.

Source     [Hansen 2003] (one column, optimal); [Domingo-Ferrer 2002], MDAV of [Domingo-Ferrer 2005] (several)
Guarantee  every group has k to 2k-1 rows; with one column no other grouping has a smaller sum of squared deviations
Cost       one column: a sort and O(n k). Several: O(n log n) to cut the rows into blocks of at most `block`, then
           O(n block / k) inside the blocks
Deviates   MDAV looks at all rows for every group, O(n^2 / k). Here a row looks only inside its block, a cell of a
           balanced tree of medians; the loss against plain MDAV is measured in docs/methods/microaggregate.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import Infeasible
from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys, system_keys

Points = Floats

_WORTH = 1024
"""Rows from which compiling pays: MDAV does much more than one step per row."""


def microaggregate(
    points: Points, *, k: int, block: int = 256, spread: Floats | None = None, keys: Keys = system_keys
) -> NDArray[np.int32]:
    """Return a group number per row of `points` (rows x columns); columns are compared in units of their spread.

    `spread` is the standard deviation of each column in the whole table, of which the points may be a part.
    """
    if len(points) < k:
        raise Infeasible(f"Groups of {k:,} rows need at least as many; there are {len(points):,}.")
    scale = points.std(axis=0) if spread is None else spread
    # Rows at equal distance are taken in the order in which they lie, so that order has to be secret.
    order = permutation(len(points), keys=keys)
    scaled = np.ascontiguousarray(((points - points.mean(axis=0)) / np.where(scale > 0, scale, 1.0))[order])
    labels = np.empty(len(points), np.int32)
    labels[order] = _optimal(scaled[:, 0], k) if scaled.shape[1] == 1 else _near(scaled, k, max(block, 4 * k))
    return labels


def _near(points: Points, k: int, block: int) -> NDArray[np.int32]:
    rows, starts = _blocks(points, block)
    group = _grouped_blocks.plain if len(points) <= _WORTH else _grouped_blocks.compiled
    return group(points, rows, starts, k)


def _optimal(values: Floats, k: int) -> NDArray[np.int32]:
    order = np.argsort(values)
    ascending = values[order]
    sums = np.append(0.0, np.cumsum(ascending))
    squares = np.append(0.0, np.cumsum(ascending**2))
    labels = np.empty(len(values), np.int32)
    labels[order] = _cuts(sums, squares, k)
    return labels


def _blocks(points: Points, most: int) -> tuple[Ints, Ints]:
    """Cut the rows at medians of the widest column until no part has more than `most`."""
    rows = np.arange(len(points))
    pending, starts = [(0, len(points))], [0]
    while pending:
        low, high = pending.pop()
        if high - low <= most:
            continue
        mine = rows[low:high]
        here = points[mine]
        column = here[:, int(np.argmax(np.ptp(here, axis=0)))]
        middle = (high - low) // 2
        rows[low:high] = mine[np.argpartition(column, middle)]
        starts.append(low + middle)
        pending += [(low, low + middle), (low + middle, high)]
    return rows, np.array([*sorted(starts), len(points)])


@kernel
def _cuts(sums: Floats, squares: Floats, k: int) -> NDArray[np.int32]:
    """Number the runs of sorted values with the least sum of squared deviations, each of k to 2k-1 values."""
    count = len(sums) - 1
    best = np.full(count + 1, np.inf)
    size = np.zeros(count + 1, np.int64)
    best[0] = 0.0
    for end in range(k, count + 1):
        for length in range(k, min(2 * k, end + 1)):
            start = end - length
            total = sums[end] - sums[start]
            cost = best[start] + (squares[end] - squares[start]) - total * total / length
            if cost < best[end]:
                best[end] = cost
                size[end] = length
    labels = np.empty(count, np.int32)
    end, number = count, 0
    while end > 0:
        labels[end - size[end] : end] = number
        end -= size[end]
        number += 1
    return labels


@kernel
def _grouped_blocks(points: Points, rows: Ints, starts: Ints, k: int) -> NDArray[np.int32]:
    """MDAV inside each block: groups of k around the row farthest from the centre and the one farthest from that."""
    labels = np.empty(len(points), np.int32)
    seed = np.empty(points.shape[1])
    number = 0
    for block in range(len(starts) - 1):
        rest = rows[starts[block] : starts[block + 1]].copy()
        left = len(rest)
        while left >= 2 * k:
            _centre(points, rest, left, seed)
            for _ in range(2):
                if left >= 2 * k:
                    _move_to_farthest(points, rest, left, seed)
                    left = _take_nearest(points, rest, left, seed, k, labels, number)
                    number += 1
        for i in range(left):
            labels[rest[i]] = number
        number += 1
    return labels


@kernel
def _centre(points: Points, rest: Ints, left: int, centre: Floats) -> None:
    """Write the mean of the rows that are left."""
    for column in range(len(centre)):
        total = 0.0
        for i in range(left):
            total += points[rest[i], column]
        centre[column] = total / left


@kernel
def _move_to_farthest(points: Points, rest: Ints, left: int, seed: Floats) -> None:
    """Move `seed` to the row that is farthest from it."""
    chosen, most = 0, -1.0
    for i in range(left):
        distance = 0.0
        for column in range(len(seed)):
            distance += (points[rest[i], column] - seed[column]) ** 2
        if distance > most:
            chosen, most = i, distance
    for column in range(len(seed)):
        seed[column] = points[rest[chosen], column]


@kernel
def _take_nearest(
    points: Points, rest: Ints, left: int, seed: Floats, k: int, labels: NDArray[np.int32], number: int
) -> int:
    """Give the k rows nearest to `seed` a number; the others move to the front of `rest`."""
    nearest, away = np.full(k, np.inf), np.empty(left)
    for i in range(left):
        distance = 0.0
        for column in range(len(seed)):
            distance += (points[rest[i], column] - seed[column]) ** 2
        away[i] = distance
        place = k - 1
        if distance < nearest[place]:
            while place > 0 and nearest[place - 1] > distance:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distance
    border = nearest[k - 1]
    ties = 0
    for place in range(k):
        if nearest[place] == border:
            ties += 1
    kept = 0
    for i in range(left):
        is_tied = away[i] == border and ties > 0
        if is_tied:
            ties -= 1
        if is_tied or away[i] < border:
            labels[rest[i]] = number
        else:
            rest[kept] = rest[i]
            kept += 1
    return kept
