"""Cut sorted distinct values into runs by two objectives in order: the dynamic program of three partitions.

Source     [Zhang 2008], section 2.6 (least total range)
Guarantee  run d..i is taken only if earliest[i] <= d <= latest[i]; every value is covered
Cost       O(u) time and memory on u distinct values: both limits never decrease, so a monotone queue holds the starts
Deviates   two neighbouring runs may share a value that occurs at least twice; a second cost decides among equals

The costs are the total range and the negative number of runs, in either order: each is a length plus a fee per run.

What a partition over distinct values is: how many rows of which value go to which group.

Rows with equal sensitive values are interchangeable for every criterion here, so a partition of a billion rows is a
short list of pieces. Which of the tied rows go where is decided later, at random.

Cut sorted values into as many (k,e)-anonymous runs as there can be.

Source     [Zhang 2008], section 2.6 (the search space of runs)
Guarantee  every group satisfies criteria.ke; no partition into groups whose ranges do not overlap has more groups
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   cutting at the earliest place gives as many groups; of all such cuts this takes the least total range

Cut sorted values into runs with the least total range, each run (k,e)-anonymous.

Source     [Zhang 2008], section 2.6.1
Guarantee  every group satisfies criteria.ke; no partition of the rows, overlapping or not, has a smaller total range
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   the printed recurrence takes a maximum and starts at infinity; the sum needs + and 0. A running minimum
           replaces the inner loop. Equal totals are decided by more groups: a tied value may end one and start the next

Cut sorted values into runs whose largest range is least, each run (k,e)-anonymous.

Source     [Zhang 2008], section 2.6.2, problem 2.6.3
Guarantee  every group satisfies criteria.ke; no partition into groups whose ranges do not overlap has a smaller
           largest range, and no partition at all has less than half of it
Cost       O(u) time and memory on u distinct values, after one counting pass over n rows
Deviates   the printed program is quadratic; a queue of undominated starts makes it linear. Among partitions with the
           least largest range this takes the most groups, and among those the least total range

Fill (k,e)-anonymous groups in random order: the baseline that every search has to beat.

Source     [Zhang 2008], section 2.7 (the random partition it compares with)
Guarantee  every group satisfies criteria.ke
Cost       O(n + u) time and memory on n rows with u distinct values
Deviates   rows are drawn at random, not in the order of the file, which would show in the groups; rows that are left
           when no further group qualifies join the last one

Divide (k,e)-anonymous groups by quasi-identifiers, as long as the parts stay (k,e)-anonymous.

Source     own, beyond [Zhang 2008]; the cuts are those of `mondrian`
Guarantee  every part is (k,e)-anonymous, lies in one of the given groups, and cannot be cut further at a median
Cost       O(n d) per level, all groups at once

With far more rows than distinct values, a group of neighbouring values has rows of all quasi-identifiers, so hardly any
condition selects it entirely, and its range widens every answer. Its parts have similar quasi-identifiers: a condition
selects most of them entirely or not at all, and these add nothing to the width of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.criteria.groupwise import All
from hedgerow.criteria.ke import KE, GroupwiseKE, Number, Positions, latest_start
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.exact import ticks
from hedgerow.kernel import kernel
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.randomness import Keys, system_keys


def cut_runs(
    positions: NDArray[Any], counts: Ints, latest: Ints, *, earliest: Ints | None = None, most_groups: bool
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
    earliest: Ints, latest: Ints, tied: Bools, line: Ints, fee: int, second_line: Ints, second_fee: int
) -> tuple[Ints, Bools]:
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
def follow(starts: Ints, shared: Bools) -> tuple[Ints, Ints]:
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
def first_within(positions: NDArray[Any], widest: Any) -> Ints:
    """For each i the smallest d with positions[i] - positions[d] <= widest."""
    earliest = np.zeros(len(positions), np.int64)
    d = 0
    for i in range(len(positions)):
        while positions[i] - positions[d] > widest:
            d += 1
        earliest[i] = d
    return earliest


@dataclass(frozen=True, eq=False)
class Pieces:
    """Group `groups[p]` takes `counts[p]` rows of distinct value `values[p]`; sorted by (value, group).

    Groups are numbered 0..G-1 in no secret order: a form relabels them before anything is published.
    """

    values: NDArray[np.int32]
    groups: NDArray[np.int32]
    counts: Ints

    @cached_property
    def num_groups(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def distinct(self) -> Ints:
        """The number of distinct values of each group."""
        return np.bincount(self.groups, minlength=self.num_groups)

    def lowest(self) -> NDArray[np.int32]:
        """The rank of the least value of each group."""
        first = np.empty(self.num_groups, np.int32)
        first[self.groups[::-1]] = self.values[::-1]  # values ascend, and the last assignment stays
        return first

    def highest(self) -> NDArray[np.int32]:
        """The rank of the greatest value of each group."""
        last = np.empty(self.num_groups, np.int32)
        last[self.groups] = self.values
        return last

    def rows(self) -> Ints:
        """The number of rows of each group."""
        return np.bincount(self.groups, self.counts, minlength=self.num_groups).astype(np.int64)


def from_memberships(values: Ints, groups: Ints, counts: Ints) -> Pieces:
    """Divide each value's rows evenly over its groups; memberships come sorted by (value, group), at most one a pair.

    An even split avoids groups in which a frequent value dominates.
    """
    sharing = np.bincount(values, minlength=len(counts))
    rank = np.arange(len(values)) - (np.cumsum(sharing) - sharing)[values]
    share, rest = counts[values] // sharing[values], counts[values] % sharing[values]
    return Pieces(values.astype(np.int32), groups.astype(np.int32), share + (rank < rest))


def ke_count(positions: Positions, counts: Ints, *, k: int, e: Number) -> Pieces:
    """Partition rows into the most groups that do not overlap; equal numbers are decided by a smaller total range."""
    KE(k, e).require(positions)
    return cut_runs(positions, counts, latest_start(positions, k=k, e=e), most_groups=True)


def ke_sum(positions: Positions, counts: Ints, *, k: int, e: Number) -> Pieces:
    """Partition rows with the least sum of group ranges; equal sums are decided by more groups."""
    KE(k, e).require(positions)
    return cut_runs(positions, counts, latest_start(positions, k=k, e=e), most_groups=False)


@np.errstate(over="ignore")  # a range beyond the largest float is infinite, and compared as such
def ke_max(positions: Positions, counts: Ints, *, k: int, e: Number) -> Pieces:
    """Partition rows into groups that do not overlap with the least largest range; ties by more groups."""
    KE(k, e).require(positions)
    latest = latest_start(positions, k=k, e=e)
    earliest = first_within(positions, least_largest(positions, latest, counts > 1))
    return cut_runs(positions, counts, latest, earliest=earliest, most_groups=True)


@kernel
def least_largest(positions: NDArray[Any], latest: Ints, tied: Bools) -> Any:
    """The least largest range over all cuts of the values into runs that start no later than `latest`.

    A start costs `entry`, the least largest range before it. A later start with no larger entry dominates, so in the
    queue entries rise and ranges fall. Once the front's range reaches the next entry, it stays above it for good.
    """
    size = len(positions)
    widest, reached = np.zeros_like(positions), np.zeros(size, np.bool_)  # of the values 0..i
    entry, queue = np.zeros_like(positions), np.empty(size, np.int64)
    head, tail, start = 0, 0, 0
    for i in range(size):
        while start <= latest[i]:
            d, start = start, start + 1
            apart = d == 0 or reached[d - 1]
            together = tied[d] and reached[d]
            if not (apart or together):
                continue
            if d > 0:
                entry[d] = widest[d - 1] if apart else widest[d]
                if together and widest[d] < entry[d]:
                    entry[d] = widest[d]
            while tail > head and entry[queue[tail - 1]] >= entry[d]:
                tail -= 1
            queue[tail] = d
            tail += 1
        while tail - head > 1 and positions[i] - positions[queue[head]] >= entry[queue[head + 1]]:
            head += 1
        if head < tail:
            reached[i] = True
            widest[i] = max(entry[queue[head]], positions[i] - positions[queue[head]])
    return widest[size - 1]


def ke_random(positions: Positions, counts: Ints, *, k: int, e: Number, keys: Keys = system_keys) -> Pieces:
    """Scan the rows in random order and close a group as soon as it qualifies."""
    criterion = KE(k, e)
    criterion.require(positions)
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # With two values, a range of at least e is all that is asked: the pair (lowest, highest) answers it by rank.
    wide = latest_start(positions, k=2, e=e)
    groups = close_early(values.copy(), keys(len(values)), np.cumsum(counts) - counts, wide, criterion.k)
    return _pieces(values, groups)


@kernel
def close_early(
    rows: NDArray[np.int32], keys: NDArray[np.uint64], offsets: Ints, wide: Ints, k: int
) -> NDArray[np.int32]:
    """The group of each row, rows sorted by value and, within a value, by group: a counting sort on the way.

    `rows` are the ranks of their values; they are shuffled in place.
    """
    size = len(rows)
    groups, place = np.empty(size, np.int32), offsets.copy()
    seen = np.full(len(offsets), -1, np.int32)  # the last group that met a value
    group, distinct, lowest, highest = 0, 0, len(offsets), -1
    for i in range(size):
        # The remainder of a 64-bit key favours no row by more than size / 2^64.
        drawn = i + int(keys[i] % np.uint64(size - i))
        value = rows[drawn]
        rows[drawn] = rows[i]
        groups[place[value]] = group
        place[value] += 1
        if seen[value] == group:
            continue
        seen[value] = group
        distinct, lowest, highest = distinct + 1, min(lowest, value), max(highest, value)
        if distinct >= k and lowest <= wide[highest]:
            group, distinct, lowest, highest = group + 1, 0, len(offsets), -1
    return np.minimum(groups, np.int32(group - 1))


def _pieces(values: NDArray[np.int32], groups: NDArray[np.int32]) -> Pieces:
    """Count equal neighbours."""
    changes = np.flatnonzero((values[1:] != values[:-1]) | (groups[1:] != groups[:-1])) + 1
    first = np.concatenate([[0], changes])
    return Pieces(values[first], groups[first], np.diff(first, append=len(values)))


def ke_refine(
    labels: Codes,
    quasi: Codes,
    scales: Sequence[int | Floats],
    sensitive: Codes,
    positions: Positions,
    *,
    criterion: KE,
    l: int | None = None,  # noqa: E741
) -> Codes:
    """Return finer group numbers than `labels`, whose groups must keep `criterion` and the cap 1/`l`, as `mondrian`."""
    kept = GroupwiseKE(criterion, positions)
    return mondrian(quasi, scales, sensitive, kept if l is None else All(kept, FrequencyDiversity(l)), within=labels)
