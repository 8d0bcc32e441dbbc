"""Cut sorted distinct values into runs, best by two aims in order: the program that three partitions share.

Source     dissertation on permutation-based microdata protection, section 2.6 (least total range)
Guarantee  run d..i is taken only if earliest[i] <= d <= latest[i]; every value is covered
Cost       O(u) time and memory on u distinct values: both limits never decrease, so a monotone queue holds the starts
Deviates   two neighbouring runs may share a value that occurs at least twice; equal first aims are decided by the second

The aims are the number of runs (more is better) and the total range (less is better), in either order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import ticks
from hedgerow.kernel import kernel
from hedgerow.partition.pieces import Pieces, from_memberships

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
    limits = np.zeros(len(latest), np.int64) if earliest is None else earliest
    starts, shared = best_starts(where, limits, latest, counts > 1, most_groups)
    first, last = follow(starts, shared)
    lengths = last - first + 1
    groups = np.repeat(np.arange(len(first)), lengths)
    values = np.arange(len(groups)) + (first - (np.cumsum(lengths) - lengths))[groups]
    return from_memberships(values, groups, counts)


@kernel
def best_starts(
    where: NDArray[np.int64],
    earliest: NDArray[np.int64],
    latest: NDArray[np.int64],
    tied: NDArray[np.bool_],
    most_groups: bool,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each i the start of the last run of the best cut of 0..i (-1: no cut), and whether it shares that start."""
    size = len(where)
    starts, shared = np.full(size, -1, np.int64), np.zeros(size, np.bool_)
    cost, runs = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)  # of the best cut before value i
    queue, joins = np.empty(size, np.int64), np.zeros(size, np.bool_)
    first, second = np.zeros(size, np.int64), np.zeros(size, np.int64)  # the aims of a run from d, less its end
    head, tail, start = 0, 0, 0
    for i in range(size):
        while start <= latest[i]:
            d, start = start, start + 1
            apart = d == 0 or starts[d - 1] >= 0
            together = tied[d] and starts[d] >= 0
            if not (apart or together):
                continue
            if apart and together:
                better_runs, better_cost = runs[d + 1] - runs[d], cost[d] - cost[d + 1]
                if most_groups:
                    joins[d] = better_runs > 0 or (better_runs == 0 and better_cost > 0)
                else:
                    joins[d] = better_cost > 0 or (better_cost == 0 and better_runs > 0)
            else:
                joins[d] = together
            before = d + 1 if joins[d] else d
            total, fewer = cost[before] - where[d], -runs[before]
            first[d], second[d] = (fewer, total) if most_groups else (total, fewer)
            while tail > head and (
                first[queue[tail - 1]] > first[d]
                or (first[queue[tail - 1]] == first[d] and second[queue[tail - 1]] >= second[d])
            ):
                tail -= 1
            queue[tail] = d
            tail += 1
        while head < tail and queue[head] < earliest[i]:
            head += 1
        if head < tail:
            d = queue[head]
            total, fewer = (second[d], first[d]) if most_groups else (first[d], second[d])
            starts[i], shared[i], cost[i + 1], runs[i + 1] = d, joins[d], total + where[i], 1 - fewer
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
