"""Group rows so that the largest range is least, groups free to overlap: the exact min-max problem of (k,e).

Source     [Zhang 2008], section 2.6.2, problem 2.6.1 with max
Guarantee  every group satisfies criteria.ke; no partition of the rows has a smaller largest range
Cost       O(u^2 log u) time and O(u^2) memory on u distinct values, after one counting pass over n rows
Deviates   the printed program is O(n^6), closes a group without looking at its range, leaves the opened part out of
           the last group's range, and can hand away a group's own ends; this one asks "is R enough?" for differences R

Some best partition has no value inside three ranges, starts and ends both ascending (docs/methods/ke_max_overlap.md).
So two rows of a value are all that matters, and a partial solution is a state (start, covered): every value up to
`covered` has a group, and the open group starts at `start`. Of two ways into a state the better one has handed more
distinct values to the open group. A state keeps this number less `covered`, its credit: closing the open group at
`end` gives it `end + credit` distinct values plus one for each value that the next group shares with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.criteria.ke import KE, Number, Positions, latest_start
from hedgerow.errors import ParameterError
from hedgerow.partition.ke.runs import Pieces, first_within, from_memberships, ke_max

MOST_VALUES = 10_000
"""The table of states has the square of this many entries of two bytes, twice."""


@np.errstate(over="ignore")  # a range beyond the largest float is infinite, and compared as such
def ke_max_overlap(positions: Positions, counts: Ints, *, k: int, e: Number) -> Pieces:
    """Partition rows with the least largest range of all partitions; without overlap where that is as good."""
    KE(k, e).require(positions)
    if len(positions) > MOST_VALUES:
        raise ParameterError(
            f"the exact least largest range takes at most {MOST_VALUES} distinct values; got {len(positions)}. "
            "Without overlap ('ke_max') there is no limit, and the largest range is at most twice as large."
        )
    apart = ke_max(positions, counts, k=k, e=e)
    widest = (positions[apart.highest()] - positions[apart.lowest()]).max()
    problem = _Problem(positions, latest_start(positions, k=2, e=e), counts > 1, int(k))
    least = _search(problem, widest)
    if least == widest:
        return apart
    return _hand_out(problem, _trace(problem, _fill(problem, least)), counts)


class _Problem(NamedTuple):
    """What every step needs: places, the latest start of a wide enough group by end, which values can be shared, k."""

    positions: Positions
    latest: Ints
    tied: Bools
    k: int


class _States(NamedTuple):
    """The states under one limit on ranges: credit by [start, covered], shifted so that 0 means out of reach."""

    credit: NDArray[np.uint16]
    clean: Bools  # a group may start here with everything before it closed
    earliest: Ints
    solved: bool


def _search(problem: _Problem, widest: Any) -> Any:
    """The least limit on ranges that has a solution, given that `widest` has one without overlap."""
    low, high = _just_below(_half(widest)), widest  # without overlap at most doubles the range
    while (limit := _middle_difference(problem.positions, low, high)) is not None:
        if _fill(problem, limit).solved:
            high = limit
        else:
            low = limit
    return high


def _half(number: Any) -> Any:
    """Half, rounded up to a whole number among whole numbers."""
    return number - number // 2 if isinstance(number, np.integer) else number / 2


def _just_below(number: Any) -> Any:
    """The next smaller number of the same kind."""
    return number - 1 if isinstance(number, np.integer) else np.nextafter(number, 0.0)


def _middle_difference(positions: Positions, low: Any, high: Any) -> Any:
    """A pairwise difference strictly between `low` and `high` with a quarter of them on either side, or None."""
    begin, end = first_within(positions, _just_below(high)), first_within(positions, low)
    rows = np.flatnonzero(begin < end)
    if not rows.size:
        return None
    medians = positions[rows] - positions[(begin[rows] + end[rows]) // 2]
    order = np.argsort(medians)
    weight = np.cumsum((end - begin)[rows][order])
    return medians[order][np.searchsorted(weight, (weight[-1] + 1) // 2)]


def _fill(problem: _Problem, limit: Any) -> _States:
    """Reach every state that groups with ranges up to `limit` can reach, ends ascending."""
    size, k = len(problem.positions), problem.k
    shift = _shift(size)
    earliest, latest = first_within(problem.positions, limit), problem.latest
    ties = np.concatenate([[0], np.cumsum(problem.tied)])
    single = (~problem.tied).astype(np.int64)
    credit, clean = np.zeros((size, size), np.uint16), np.zeros(size + 1, np.bool_)
    credit[0, 0], clean[0] = shift + 1, True
    window = Window(size)
    for end in range(1, size):
        window.add(credit, end - 1)
        low = int(earliest[end])
        best = np.maximum.accumulate(window.slide(low, int(latest[end]), end)).astype(np.int64) - shift
        starts = np.arange(low + 1, end + 1)  # of the next group, which begins beyond what was covered before
        shared = ties[end + 1] - ties[starts]
        handed = np.minimum(end + 1 - starts - single[end], end - k + shared + best)
        kept = handed >= shared + single[starts]  # the next group must get its own start
        column = credit[low + 1 : end + 1, end]
        np.maximum(column, np.where(kept, handed + shift - end, 0).astype(np.uint16), out=column)
        if best.size and end + best[-1] >= k:
            clean[end + 1] = True
            if end + 1 < size:
                credit[end + 1, end + 1] = shift - end
    return _States(credit, clean, earliest, bool(clean[size]))


def _shift(size: int) -> int:
    """Far enough that a state out of reach looks hopeless to every comparison."""
    return 2 * size + 2


class Window:
    """The largest credit by `covered` over a window of starts whose two ends only move up.

    Starts up to `split` are kept as maxima from each start to the split; starts beyond it as one running maximum.
    When the window leaves the split behind, the split moves to its end: every state is touched a constant number
    of times, and always for a whole stretch of `covered` at once.
    """

    def __init__(self, size: int) -> None:
        self.front = np.zeros((size, size), np.uint16)
        self.back = np.zeros(size, np.uint16)
        self.low, self.split, self.last = 0, -1, -1

    def add(self, credit: NDArray[np.uint16], covered: int) -> None:
        """Take the states of a new `covered`."""
        low, split, last = self.low, max(self.low, self.split + 1), max(self.low, self.last + 1)
        column = credit[low : covered + 1, covered].copy()
        self.back[covered] = column[split - low : last - low].max(initial=0)
        column[: split - low] = np.maximum.accumulate(column[: split - low][::-1])[::-1]
        self.front[low : covered + 1, covered] = column

    def slide(self, low: int, last: int, size: int) -> NDArray[np.uint16]:
        """Move the window to the starts low..last; the largest credit for each covered value from low to size - 1."""
        for start in range(self.last + 1, last + 1):
            np.maximum(self.back[start:size], self.front[start, start:size], out=self.back[start:size])
        self.low, self.last = low, last
        if low > self.split:
            for start in range(last - 1, low - 1, -1):
                here = self.front[start, start + 1 : size]
                np.maximum(here, self.front[start + 1, start + 1 : size], out=here)
            self.split = last
            self.back[low:size] = 0
        if low > self.split:
            return self.back[low:size].copy()
        return np.maximum(self.back[low:size], self.front[low, low:size])


def _trace(problem: _Problem, states: _States) -> list[tuple[int, int]]:
    """Walk back from the last value: the first and last value of every group, ascending."""
    ranges: list[tuple[int, int]] = []
    end = len(problem.positions) - 1
    beyond = end  # the open group was opened, and its values before covered, below this
    while end >= 0:
        low, last = int(states.earliest[end]), int(problem.latest[end])
        block = states.credit[low : last + 1, low:beyond]
        start, covered = (low + int(x) for x in np.unravel_index(block.argmax(), block.shape))
        ranges.append((start, end))
        apart = start == covered and states.clean[start]
        end, beyond = (start - 1, start - 1) if apart else (covered, start)
    return ranges[::-1]


def _hand_out(problem: _Problem, ranges: list[tuple[int, int]], counts: Ints) -> Pieces:
    """Give every value to the groups around it, so that each gets k distinct values and both its ends."""
    owner = np.full((len(counts), 2), -1, np.int64)
    have, following = 0, [*ranges[1:], (len(counts), len(counts))]
    covered = -1
    for group, ((_, end), (opening, _)) in enumerate(zip(ranges, following, strict=True)):
        owner[covered + 1 : min(end + 1, opening), 0] = group
        have += min(end + 1, opening) - (covered + 1)
        overlap = np.arange(opening, end + 1)
        mine = _lower_share(problem, overlap, problem.k - have)
        owner[overlap[mine], 0] = group
        theirs = ~mine | problem.tied[overlap]
        owner[overlap[theirs], 1] = group + 1
        have, covered = int(theirs.sum()), end
    values, side = np.nonzero(owner >= 0)
    return from_memberships(values, owner[values, side], counts)


def _lower_share(problem: _Problem, overlap: Ints, missing: int) -> Bools:
    """Which values of an overlap the lower group takes: the tied ones, its end, and the lowest of the rest it needs."""
    mine = problem.tied[overlap]
    if overlap.size:
        mine[-1] = True
        free = np.flatnonzero(~mine[1:]) + 1  # the first value starts the upper group
        mine[free[: max(0, missing - int(mine.sum()))]] = True
    return mine
