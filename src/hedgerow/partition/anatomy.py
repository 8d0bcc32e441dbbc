"""Group rows so that no sensitive value fills more than 1/l of a group, using the sensitive values only.

Source     [Xiao 2006]; taken up by [Li 2015]
Guarantee  frequency l-diversity: groups of l rows with l different values, and at most l - 1 rows more in all, each in
           a group that lacks its value; feasible exactly when l times the most frequent value is at most the rows
Cost       O(n) time after drawing one key per row
Deviates   which of equally large buckets gives a row, which of its rows, and which group takes a row that is left over
           are secret random numbers; the printed algorithm takes the first

Each round takes one row from each of the l largest buckets. Buckets stand in descending order of what they have left;
all that have c left form a level, a run between two borders. A bucket that gives a row moves to the end of its level,
and the border moves over it, so that a round costs l steps.

Group rows so that no value of any of several sensitive columns fills more than 1/l of a group.

Source     own; [Xiao 2006] for one column
Guarantee  frequency l-diversity for every column; feasible exactly when the whole table as one group satisfies it.
           Uses the sensitive values only
Cost       O(n w l) time for w groups that are open at once, typically O(n)

Rows come in secret order and join the first open group that has none of their values; a group of l rows is closed.
Rows that are left at the end join closed groups, in secret order, until they are diverse: the criterion is monotone, so
merging never breaks it, and all rows in one group are diverse if any grouping is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_value
from hedgerow.randomness import Keys, system_keys


def anatomize(sensitive: NDArray[np.int32], *, l: int, keys: Keys = system_keys) -> NDArray[np.int32]:  # noqa: E741
    """Return a group number per row, from 0 without gaps."""
    counts = np.bincount(sensitive)
    criterion = FrequencyDiversity(l)
    require([criterion], [counts])
    rows = by_value(sensitive, counts, keys=keys)
    labels = np.full(len(sensitive), -1, np.int32)
    # Codes that do not occur come last, with empty buckets.
    buckets = np.argsort(-counts, kind="stable")
    ends = np.searchsorted(-counts[buckets], -np.arange(int(counts.max()) + 1), side="right")
    stops = np.cumsum(counts)
    groups = _rounds(rows, (stops - counts, stops, buckets, ends), keys(len(sensitive)), criterion.l, labels)
    left = np.flatnonzero(labels < 0)
    for row, key in zip(left.tolist(), keys(len(left)).tolist(), strict=True):
        stop = stops[sensitive[row]]
        labels[row] = _admissible(labels[rows[stop - counts[sensitive[row]] : stop]], groups, key)
    return labels


def _admissible(taken: NDArray[np.int32], groups: int, key: int) -> int:
    """Choose a group that has no row of this value yet; the rows that are left differ from each other."""
    is_free = np.ones(groups, np.bool_)
    is_free[taken[taken >= 0]] = False
    free = np.flatnonzero(is_free)
    return int(free[key * len(free) >> 64])


@kernel
def _rounds(
    rows: NDArray[np.int32],
    layout: tuple[Ints, Ints, Ints, Ints],
    keys: NDArray[np.uint64],
    l: int,  # noqa: E741
    labels: NDArray[np.int32],
) -> int:
    """Deal full rounds; bucket b has its rows at nexts[b]:stops[b], and `ends[c]` buckets have at least c left."""
    nexts, stops, buckets, ends = layout
    half = np.uint64(32)
    group, drawn = 0, 0
    while ends[1] >= l:
        given = 0
        while given < l:
            # All buckets of higher levels have given a row, so the next bucket in line determines the next level.
            level = stops[buckets[given]] - nexts[buckets[given]]
            last = ends[level]
            give = min(l - given, last - given)
            for n in range(give):
                places = np.uint64(last - n - given)
                pick = given + np.int64(((keys[drawn] >> half) * places) >> half)
                drawn += 1
                bucket = buckets[pick]
                buckets[pick] = buckets[last - 1 - n]
                buckets[last - 1 - n] = bucket
                labels[rows[nexts[bucket]]] = group
                nexts[bucket] += 1
            ends[level] = last - give
            given += give
        group += 1
    return group


_OPEN = 256


def anatomize_several(
    sensitive: Sequence[NDArray[np.int32]],
    *,
    l: int,  # noqa: E741
    keys: Keys = system_keys,
) -> NDArray[np.int32]:
    """Return a group number per row, from 0 without gaps."""
    criterion = FrequencyDiversity(l)
    require([criterion] * len(sensitive), [np.bincount(codes) for codes in sensitive])
    rows = len(sensitive[0])
    order = np.argsort(keys(rows)).astype(np.int32)
    values = np.ascontiguousarray(np.stack(sensitive, axis=1))
    labels = np.empty(rows, np.int32)
    members = np.empty((_OPEN, criterion.l), np.int32)
    closed = _fill(order, values, criterion.l, members, labels)
    _absorb(labels, values, closed, criterion.l, keys)
    return labels


def _absorb(labels: NDArray[np.int32], values: NDArray[np.int32], closed: int, l: int, keys: Keys) -> None:  # noqa: E741
    """Merge the rows that are left, labelled -1, with closed groups until they are diverse; renumber without gaps."""
    left = np.flatnonzero(labels < 0)
    if not len(left):
        return
    order = np.argsort(keys(closed))
    by_group = np.argsort(labels, kind="stable")[len(left) :].reshape(closed, l)
    counts = [np.bincount(values[left, c], minlength=int(values[:, c].max()) + 1) for c in range(values.shape[1])]
    size, taken = len(left), 0
    while any(l * int(count.max()) > size for count in counts):
        # Doubling: a logarithmic number of checks, and at most twice as many groups as necessary.
        more = by_group[order[taken : 2 * taken + 1]].ravel()
        for column, count in enumerate(counts):
            np.add.at(count, values[more, column], 1)
        size, taken = size + len(more), taken + len(more) // l
    merged = np.ones(closed, np.bool_)
    merged[order[:taken]] = False
    numbers = np.append(np.where(merged, np.cumsum(merged) - 1, merged.sum()), merged.sum())
    labels[:] = numbers[labels]


@kernel
def _fill(
    order: NDArray[np.int32],
    values: NDArray[np.int32],
    l: int,  # noqa: E741
    members: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> int:
    """Fill open groups; rows of those that stay open, and rows that fit none, are labelled -1."""
    filled = np.zeros(len(members), np.int64)
    closed, used = 0, 0
    for n in range(len(order)):
        row = order[n]
        labels[row] = -1
        for g in range(min(used + 1, len(members))):
            fits = True
            for other in range(filled[g]):
                for column in range(values.shape[1]):
                    if values[members[g, other], column] == values[row, column]:
                        fits = False
            if not fits:
                continue
            members[g, filled[g]] = row
            filled[g] += 1
            used = max(used, g + 1)
            if filled[g] == l:
                for other in range(l):
                    labels[members[g, other]] = closed
                closed += 1
                filled[g] = 0
            break
    return closed
