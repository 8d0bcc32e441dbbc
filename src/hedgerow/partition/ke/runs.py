"""Cut sorted distinct values into runs, best by two aims in order: the program that three partitions share.

Source     dissertation on permutation-based microdata protection, section 2.6 (least total range)
Guarantee  run d..i is taken only if earliest[i] <= d <= latest[i]; every value is covered
Cost       O(u) time and memory on u distinct values: both limits never decrease, so a monotone queue holds the starts
Deviates   two neighbouring runs may share a value that occurs at least twice; a second cost decides among equals

The costs are the total range and the number of runs below zero, in either order: each is a length on a line plus a fee
for every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import ticks
from hedgerow.kernel import kernel
from hedgerow.partition.ke.pieces import Pieces, from_memberships

__all__ = ["cut_runs", "first_within"]


def cut_runs(
    positions: NDArray[Any],
    counts: NDArray[np.int64],
    latest: NDArray[np.int64],
    *,
    earliest: NDArray[np.int64] | None = None,
    most_groups: bool,
) -> Pieces:
    """Cut into runs whose starts lie within the limits: the most groups first, or the least total range first."""
    # Whole ticks make equal totals equal; a float total would see a difference in the order of addition.
    where = ticks(positions)[0]
    span, number = (where, 0), (np.zeros_like(where), -1)
    costs = (*number, *span) if most_groups else (*span, *number)
    limits = np.zeros_like(latest) if earliest is None else earliest
    starts, shared = best_starts(limits, latest, counts > 1, *costs)
    first, last = follow(starts, shared)
    lengths = last - first + 1
    groups = np.repeat(np.arange(len(first)), lengths)
    values = np.arange(len(groups)) + (first - (np.cumsum(lengths) - lengths))[groups]
    return from_memberships(values, groups, counts)


@kernel
def best_starts(
    earliest: NDArray[np.int64],
    latest: NDArray[np.int64],
    tied: NDArray[np.bool_],
    line: NDArray[np.int64],
    fee: int,
    second_line: NDArray[np.int64],
    second_fee: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each i the start of the last run of the best cut of 0..i (-1: no cut), and whether it shares that start."""
    size = len(latest)
    starts, shared = np.full(size, -1, np.int64), np.zeros(size, np.bool_)
    cost, second_cost = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)  # of the best cut before value i
    entry, second_entry = np.zeros(size, np.int64), np.zeros(size, np.int64)  # of a run from d, without its end
    queue, joins = np.empty(size, np.int64), np.zeros(size, np.bool_)
    head, tail, start = 0, 0, 0
    for i in range(size):
        while start <= latest[i]:
            d, start = start, start + 1
            apart = d == 0 or starts[d - 1] >= 0
            together = tied[d] and starts[d] >= 0
            if not (apart or together):
                continue
            joins[d] = together and (not apart or (cost[d + 1], second_cost[d + 1]) < (cost[d], second_cost[d]))
            before = d + 1 if joins[d] else d
            entry[d], second_entry[d] = cost[before] - line[d], second_cost[before] - second_line[d]
            while tail > head and (entry[d], second_entry[d]) <= (
                entry[queue[tail - 1]],
                second_entry[queue[tail - 1]],
            ):
                tail -= 1
            queue[tail] = d
            tail += 1
        while head < tail and queue[head] < earliest[i]:
            head += 1
        if head < tail:
            d = queue[head]
            starts[i], shared[i] = d, joins[d]
            cost[i + 1] = entry[d] + line[i] + fee
            second_cost[i + 1] = second_entry[d] + second_line[i] + second_fee
    return starts, shared


@kernel
def follow(starts: NDArray[np.int64], shared: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Walk back from the last value: the first and last value of every run, ascending."""
    size = len(starts)
    first, last = np.empty(size, np.int64), np.empty(size, np.int64)
    place, end = size, size - 1
    while end >= 0:
        place -= 1
        first[place], last[place] = starts[end], end
        end = starts[end] if shared[end] else starts[end] - 1
    return first[place:].copy(), last[place:].copy()


@kernel
def first_within(positions: NDArray[Any], widest: Any) -> NDArray[np.int64]:
    """For each i the smallest d with positions[i] - positions[d] <= widest."""
    earliest = np.zeros(len(positions), np.int64)
    d = 0
    for i in range(len(positions)):
        while positions[i] - positions[d] > widest:
            d += 1
        earliest[i] = d
    return earliest
