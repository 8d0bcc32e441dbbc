"""Cut sorted values into runs of least total or largest range, (k,e)-anonymous and no value above 1/l of its rows.

Source     own; the recurrence is that of [Zhang 2008], section 2.6.1
Guarantee  every group satisfies criteria.ke and l c(v) <= N for each of its values; no partition of the rows,
           overlapping or not, has a smaller total range. "max" and "count" are best among cuts between values
Cost       O(u s log u) on u distinct values, s the number of different counts that fall towards a value: few, and never
           above the square root of twice the rows; "max" and "count" O(u^2), so for at most `MOST_VALUES`
Deviates   where a value can be shared by two groups without more range, it is: more groups for the same total

Why runs of whole values suffice: two groups whose ranges meet have a union whose range is at most the sum of theirs,
and the union keeps k, e and the cap, since c1 + c2 <= (N1 + N2) / l. So some best partition has no two groups that
meet. For the same reason the table can be published for an l exactly when it can as one group.

That union is wider than either group, so "max" and "count" have no such argument: a cut inside a value can beat every
cut between values, and how a value is best divided is not known. They cut between values, exactly, and then divide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import ticks
from hedgerow.kernel import kernel
from hedgerow.partition.ke.runs import Pieces, follow

_FAR = np.iinfo(np.int64).max

MOST_VALUES = 20_000
"""Distinct values up to which "max" and "count" are cut under a cap: the time grows with their square."""


def largest_l(counts: Ints) -> int:
    """The largest l for which no value need fill more than 1/l of a group: that of all rows together."""
    return int(counts.sum()) // int(counts.max())


def ke_capped(
    positions: Positions,
    counts: Ints,
    *,
    k: int,
    e: Number,
    l: int,  # noqa: E741
    objective: str = "sum",
) -> Pieces:
    """Partition rows under the cap: the least sum of ranges, the least largest range ("max") or most groups ("count").

    Equal sums and equal largest ranges are decided by more groups, equal numbers of groups by a smaller sum.
    """
    KE(k, e).require(positions)
    if (most := largest_l(counts)) < l:
        reach = f"l = {most} is the largest" if most > 1 else "no l of 2 or more is"
        raise Infeasible(
            f"the most frequent sensitive value fills more than 1/{l} of all rows; {reach} that this table allows."
        )
    where = ticks(positions)[0]
    step = len(where) + 1  # a unit of range outweighs all groups
    fine = where - where[0]
    line = fine * step if int(fine[-1]) < _FAR // (4 * step) else fine
    counts, latest = counts.astype(np.int64), latest_start(positions, k=k, e=e)
    if objective == "sum":
        starts = best_capped(line.astype(np.int64), counts, latest, l)
    else:
        if len(where) > MOST_VALUES:
            raise ParameterError(
                f"'l' with objective '{objective}' takes at most {MOST_VALUES:,} distinct values, and there are "
                f"{len(where):,}; objective 'sum' has no such limit."
            )
        fine = fine.astype(np.int64)
        widest = least_largest_capped(fine, counts, latest, l) if objective == "max" else int(fine[-1])
        starts = most_capped(fine, counts, latest, l, widest)
    first, last = follow(starts, np.zeros(len(starts), bool))
    return Pieces(*share_ends(first, last, counts.astype(np.int64), latest, l))


@kernel
def least_largest_capped(
    line: Ints,
    counts: Ints,
    latest: Ints,
    l: int,  # noqa: E741
) -> int:
    """The least largest range over all cuts between values into runs that keep k, e and the cap."""
    far = np.iinfo(np.int64).max
    widest = np.full(len(line) + 1, far, np.int64)  # of the values before i
    widest[0] = 0
    for i in range(len(line)):
        rows, most = 0, 0
        for d in range(i, -1, -1):
            rows, most = rows + counts[d], max(most, counts[d])
            if d <= latest[i] and l * most <= rows:
                widest[i + 1] = min(widest[i + 1], max(widest[d], line[i] - line[d]))
            if line[i] - line[d] >= widest[i + 1]:
                break
    return int(widest[-1])


@kernel
def most_capped(
    line: Ints,
    counts: Ints,
    latest: Ints,
    l: int,  # noqa: E741
    widest: int,
) -> Ints:
    """For each i the start of the last run of the cut of 0..i with most runs, none wider than `widest`, -1 if none.

    Equal numbers are decided by the smaller total range.
    """
    size = len(line)
    starts, number, total = np.full(size, -1, np.int64), np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    for i in range(size):
        rows, most, best = 0, 0, -1
        for d in range(i, -1, -1):
            if line[i] - line[d] > widest:
                break
            rows, most = rows + counts[d], max(most, counts[d])
            if d > latest[i] or l * most > rows or (d > 0 and starts[d - 1] < 0):
                continue
            runs, spread = number[d] + 1, total[d] + line[i] - line[d]
            if runs > best or (runs == best and spread < total[i + 1]):
                best, starts[i], number[i + 1], total[i + 1] = runs, d, runs, spread
    return starts


@kernel
def best_capped(
    line: Ints,
    counts: Ints,
    latest: Ints,
    l: int,  # noqa: E741
) -> Ints:
    """For each i the start of the last run of the best cut of 0..i, -1 where there is none.

    The starts before i are kept in blocks by the greatest count between them and i; inside a block the cap asks for
    enough rows, so its starts up to some place are good, and a tree over all starts finds the cheapest.
    """
    size = len(line)
    leaves = 1
    while leaves < size:
        leaves *= 2
    tree = np.full(2 * leaves, np.iinfo(np.int64).max, np.int64)
    starts, cost = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    before = np.zeros(size + 1, np.int64)  # rows before value i
    for i in range(size):
        before[i + 1] = before[i] + counts[i]
    firsts, greatest, depth = np.empty(size, np.int64), np.empty(size, np.int64), 0
    for i in range(size):
        if i == 0 or starts[i - 1] >= 0:
            node = leaves + i
            tree[node] = (cost[i - 1] if i else 0) - line[i]
            while node > 1:
                node //= 2
                tree[node] = min(tree[2 * node], tree[2 * node + 1])
        first = i
        while depth > 0 and greatest[depth - 1] <= counts[i]:
            depth -= 1
            first = firsts[depth]
        firsts[depth], greatest[depth] = first, counts[i]
        depth += 1
        best, where = np.iinfo(np.int64).max, 0
        for block in range(depth):
            low = firsts[block]
            high = firsts[block + 1] - 1 if block + 1 < depth else i
            room = before[i + 1] - l * greatest[block]  # rows that may lie before the start
            if room < before[low]:
                continue
            high = min(high, latest[i], np.searchsorted(before, room, side="right") - 1)
            if high < low:
                continue
            left, right = low + leaves, high + leaves + 1
            while left < right:
                if left % 2 == 1:
                    if tree[left] < best:
                        best, where = tree[left], left
                    left += 1
                if right % 2 == 1:
                    right -= 1
                    if tree[right] < best:
                        best, where = tree[right], right
                left //= 2
                right //= 2
        if best < np.iinfo(np.int64).max:
            while where < leaves:
                where = 2 * where if tree[2 * where] == best else 2 * where + 1
            starts[i], cost[i] = where - leaves, best + line[i] - 1
    return starts


@kernel
def share_ends(
    first: Ints,
    last: Ints,
    counts: Ints,
    latest: Ints,
    l: int,  # noqa: E741
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
    """Cut each run further at values that both sides can share; the pieces by value and group.

    A run d..i that is cut at v keeps its total range. The left side takes b of the c rows of v: as many as its cap
    allows and both sides need; the earliest cut is taken, then the rest is cut again.
    """
    room = 2 * len(counts) + 2
    values, groups, taken = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    end, group = 0, 0
    above, peak = np.zeros(len(counts) + 1, np.int64), np.zeros(len(counts) + 1, np.int64)
    for run in range(len(first)):
        start, stop = first[run], last[run]
        above[stop + 1], peak[stop + 1] = 0, 0
        for v in range(stop, start - 1, -1):  # rows and greatest count from v to the end
            above[v], peak[v] = above[v + 1] + counts[v], max(peak[v + 1], counts[v])
        mine = counts[start]  # rows of the first value that are left for this group
        rows, most, v = mine, mine, start + 1
        while v < stop:
            c = counts[v]
            if start <= latest[v] and v <= latest[stop] and c > 1:
                low = max(1, l * most - rows, c - above[v + 1] // (l - 1))
                high = min(c - 1, rows // (l - 1), c - max(1, l * peak[v + 1] - above[v + 1]))
                if low <= high:
                    b = (low + high) // 2
                    for value in range(start, v + 1):
                        values[end], groups[end] = value, group
                        taken[end] = mine if value == start else b if value == v else counts[value]
                        end += 1
                    group += 1
                    start, mine = v, c - b
                    rows, most = mine, mine
                    v += 1
                    continue
            rows, most = rows + c, max(most, c)
            v += 1
        for value in range(start, stop + 1):
            values[end], groups[end] = value, group
            taken[end] = mine if value == start else counts[value]
            end += 1
        group += 1
    return values[:end].copy(), groups[:end].copy(), taken[:end].copy()
