"""Decide quickly whether a group is r-robust, or which of thousands of groups can take one more row and stays so.

Sums come first; polynomials or permanents decide where sums do not.

Guarantee  says yes only if every p is certainly at most 1/r; says no if rounding leaves a doubt
Cost       O(N K) for N rows and K attribute sets where sums decide

How far any partition can go (own, from Maclaurin's inequality; [Wong 2009] does not treat tables that cannot be
grouped): `least_suppressed` is never above the number of rows that the best partition leaves out, after one sort of n
odds per protected value and attribute set. A group in which c rows have x, the greatest odds are o and the odds add up
to S has p >= 1/r for the row of these odds unless S - o >= (r - 1) c o: e_c <= e_(c-1) e_1 / c over the other rows. So
a row whose odds times r exceed the sum of all odds can be in no group, and r - 1 times the odds of the rows that have x
is at most the sum of all. An occurrence also fills at most 1/r of its group.

Places for stuck rows by sums of odds alone: the first of thousands of groups that can take one more.

Source     own; [Wong 2009] does not treat rows without companions
Guarantee  a group changes only where c r times its greatest odds is at most the sum of its odds, for every protected
           value that it holds and every attribute set, which bounds p by 1/r
Cost       at most `_ASKED` groups looked at per kind of stuck rows, `_WORK` in all, one pass over the rows of each

Groups are linked lists: `first` is a row of each group or -1, `following` the next row of the same group or -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.exact import float_above
from hedgerow.inference.full import binary_posteriors, full_by_group, relative_error
from hedgerow.inference.robust import Model, least_suppressed, pair_bound
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.candidates import RobustRows
from hedgerow.randomness import Keys

_FEW_STATES = 1 << 14
"""In the search a permanent beyond this is not worth its time: another row is cheaper."""


@dataclass(frozen=True)
class Check:
    """The test for groups of one set of candidate rows."""

    candidates: RobustRows
    r: Fraction
    model: Model = "binary"

    def holds(self, rows: NDArray[np.int32]) -> bool:
        """Return whether the group is robust, with any number of occurrences of each protected set."""
        return self.holds_binary(rows) and (self.model == "binary" or self.holds_full(rows))

    def holds_binary(self, rows: NDArray[np.int32]) -> bool:
        """The test for x against not x."""
        candidates = self.candidates
        counts = np.bincount(candidates.secret[rows], minlength=candidates.secrets + 1)[: candidates.secrets]
        if int(counts.max()) * self.r > len(rows):
            return False
        run = decide.compiled if candidates.size > SMALL else decide.plain
        doubtful = np.zeros((candidates.secrets, candidates.entry.shape[1]), bool)
        margin = 1.0 + relative_error(len(rows))
        if not run(
            candidates.odds, candidates.entry[candidates.cell[rows]], counts, float_above(self.r), margin, doubtful
        ):
            return False
        return all(
            self._exactly(candidates.odds[i, candidates.entry[candidates.cell[rows], k]], int(counts[i]))
            for i, k in zip(*np.nonzero(doubtful), strict=True)
        )

    def _exactly(self, odds: Floats, count: int) -> bool:
        ends, calls = np.array([0, len(odds)]), self.candidates.size * len(self.candidates.signatures)
        p = binary_posteriors(np.ascontiguousarray(odds), ends, np.array([count]), calls=calls)
        return bool(p.max() * float_above(self.r) * (1.0 + relative_error(len(odds))) <= 1.0)

    def holds_full(self, rows: NDArray[np.int32]) -> bool:
        """The test for all values: the bound by pairs of rows, then permanents."""
        distinct, counts = np.unique(self.candidates.values[rows], return_counts=True)
        inside = self.candidates.member[:, distinct].T.astype(np.float64)
        return all(self._full(k, rows, distinct, counts, inside) for k in range(len(self.candidates.signatures)))

    def _full(self, k: int, rows: NDArray[np.int32], distinct: Ints, counts: Ints, inside: Floats) -> bool:
        known, signatures = self.candidates.distributions[k], self.candidates.signatures[k][rows]
        if (signatures == signatures[0]).all():
            return all(int(count) * self.r <= len(rows) for count in counts @ inside)
        limit = (1.0 - relative_error(4 * len(rows))) / float_above(self.r)
        bound = pair_bound(known.f[signatures][:, distinct], counts)
        if (bound @ inside).max() <= limit:
            return True
        values, ends = self.candidates.values[rows].astype(np.int32), np.array([0, len(rows)])
        p, too_large = full_by_group(known.f, signatures, values, ends, self.candidates.member, _FEW_STATES)
        return not too_large.any() and bool(p.max() <= limit)


@kernel
def decide(odds: Floats, entry: NDArray[np.int32], counts: Ints, r: float, margin: float, doubtful: Bools) -> bool:
    """Decide a group by sums: False where it fails; `doubtful` pairs of value and attribute set are left open.

    The largest p of a group is at most c o / sum of o, o the greatest odds, and equal to it for one occurrence; by
    Maclaurin's inequality it is above 1/r if the other rows' odds are too small.
    """
    size, sets = entry.shape
    for x in range(len(counts)):
        c = counts[x]
        if c == 0:
            continue
        for k in range(sets):
            low = high = odds[x, entry[0, k]]
            total = 0.0
            for place in range(size):
                o = odds[x, entry[place, k]]
                low, high, total = min(low, o), max(high, o), total + o
            if low == high or (high < np.inf and c * r * high * margin <= total):
                continue
            if c == 1 or c * (r - 1.0) * high * (size - 1) > (total - high) * margin * margin * (size - c):
                return False
            doubtful[x, k] = True
    return True


_ROUNDING = 1e-9
"""Sums of odds round: a row is called lost only where its lack of companions is far above any rounding."""


def largest_r(below: Fraction, holds: Callable[[Fraction], bool], *, near: Fraction = Fraction(0)) -> Fraction:
    """Bisect for the largest r below `below` that works, to a hundredth or to the share `near` of it; 1 if none does.

    If a smaller r may fail although a larger one works, the result is some r that works.
    """
    low, high = 100, math.ceil(below * 100)
    while high - low > 1 and high - low > near * low:
        middle = max(low + 1, math.isqrt(low * high))
        low, high = (middle, high) if holds(Fraction(middle, 100)) else (low, middle)
    return Fraction(low, 100)


@dataclass(frozen=True, eq=False)
class RobustLimits:
    """What the odds and the counts of candidate rows rule out."""

    candidates: RobustRows

    def least_suppressed(self, r: Fraction, *, most: int) -> Ints:
        """By protected set: how many of its rows no r-robust partition publishes; once above `most`, not further."""
        counts = np.bincount(self.candidates.secret, minlength=self.candidates.secrets + 1)[: self.candidates.secrets]
        lost = np.array([self._count_lost(x, float(r)) for x in range(self.candidates.secrets)], np.int64)
        return least_suppressed(counts, self.candidates.size, r, most=most, lost=lost)

    def largest_r(self, below: Fraction, allowed: int, x: int | None = None) -> Fraction:
        """`below` where it is not ruled out, for all protected sets or one, else the largest one below; at least 1."""

        def is_ruled_out(r: Fraction) -> bool:
            if x is None:
                return bool(self.least_suppressed(r, most=allowed).sum() > allowed)
            count = np.array([(self.candidates.secret == x).sum()])
            lost = least_suppressed(count, self.candidates.size, r, most=allowed, lost=self._count_lost(x, float(r)))
            return bool(lost.sum() > allowed)

        return below if not is_ruled_out(below) else largest_r(below, lambda r: not is_ruled_out(r))

    @cached_property
    def _levels(self) -> list[list[_Level]]:
        """By protected set and attribute set: everybody's odds, ascending, one signature after the other."""
        candidates, found = self.candidates, []
        ends = np.cumsum([0, *(len(known.totals) for known in candidates.distributions)])
        for x in range(candidates.secrets):
            of_x = []
            for k, signatures in enumerate(candidates.signatures):
                odds = candidates.odds[x, ends[k] : ends[k + 1]]
                rows = np.bincount(signatures, minlength=len(odds))
                inside = np.bincount(signatures[candidates.secret == x], minlength=len(odds))
                order = np.argsort(odds)
                of_x.append(_Level(odds[order], rows[order], inside[order]))
            found.append(of_x)
        return found

    def _count_lost(self, x: int, r: float) -> int:
        return max((level.count_lost(r) for level in self._levels[x]), default=0)


@dataclass(frozen=True, eq=False)
class _Level:
    """Odds of one protected set by the signatures of one attribute set, ascending; rows, and those that have it."""

    odds: Floats
    rows: Ints
    inside: Ints

    def count_lost(self, r: float) -> int:
        """How many of those who have it no group can take, at least."""
        r *= 1.0 - _ROUNDING
        finite = np.where(np.isfinite(self.odds), self.odds, 0.0)
        sums = np.cumsum(self.rows * finite)
        companions = np.flatnonzero(np.isfinite(self.odds) & (self.rows > 0) & (r * finite <= sums))
        last = companions[-1] + 1 if len(companions) else 0
        lost = int(self.inside[last:].sum())
        held = self.inside[:last] * finite[:last]
        lack = (r - 1.0) * held.sum() - (sums[last - 1] if last else 0.0)
        if lack <= 0.0:  # always where r is at most 2
            return lost
        # One row less takes its odds from both sides, so r - 2 times them are won.
        falling, still = np.cumsum(held[::-1]), lack / (r - 2.0)
        whole = int(np.searchsorted(falling, still * (1.0 - _ROUNDING)))
        lost += int(self.inside[:last][::-1][:whole].sum())
        before = falling[whole - 1] if whole else 0.0
        if whole < last and finite[last - 1 - whole] > 0.0:
            lost += int(np.ceil((still * (1.0 - _ROUNDING) - before) / finite[last - 1 - whole]))
        return lost


Rows = NDArray[np.int32]

_ASKED = 20_000
"""How many groups are looked at for one stuck row."""

_WORK = 20_000_000
"""How many groups are looked at for all kinds of stuck rows together; shared evenly where they are many."""


class PeopleOdds(NamedTuple):
    """Everybody's odds, as in `FreeRows`."""

    odds: Floats
    entry: NDArray[np.int32]
    cell: NDArray[np.int32]
    value: NDArray[np.int32]


class LinkedGroups(NamedTuple):
    """Groups as linked lists of rows."""

    first: NDArray[np.int32]
    following: NDArray[np.int32]
    sizes: Ints


def place_by_sums(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, most: int) -> tuple[list[Rows], Rows]:
    """Find places for stuck rows, in secret order, each from a secret start; return the groups and who is left.

    More than `most` rows are out of reach: no place is looked for.
    """
    if len(groups) == 0 or not 0 < len(stuck) <= most:
        return groups, stuck
    candidates = check.candidates
    people = PeopleOdds(candidates.odds, candidates.entry, candidates.cell, candidates.secret)
    lists, r = _link(groups, candidates.size), float_above(check.r)
    is_small = candidates.size * candidates.secrets * len(candidates.signatures) <= SMALL
    stuck = stuck[np.argsort(keys(len(stuck)))]
    # Those alike come one after the other: a group that could not take one of them can hardly take the next.
    _, kind = np.unique(
        candidates.cell[stuck].astype(np.int64) * (candidates.secrets + 1) + candidates.secret[stuck],
        return_inverse=True,
    )
    stuck = stuck[np.argsort(kind, kind="stable")]
    asked = min(_ASKED, _WORK // (int(kind.max()) + 1), len(groups))
    starts = (keys(len(stuck)) % np.uint64(len(groups))).astype(np.int64)
    placed = (join_any.plain if is_small else join_any.compiled)(people, lists, stuck, starts, r, asked)
    return _lists_of(lists), stuck[~placed]


def _link(groups: list[Rows], size: int) -> LinkedGroups:
    rows, sizes = np.concatenate(groups), np.array([len(group) for group in groups], np.int64)
    ends = np.cumsum(sizes)
    following = np.full(size, -1, np.int32)
    following[rows[:-1]] = rows[1:]
    following[rows[ends - 1]] = -1
    return LinkedGroups(rows[ends - sizes].astype(np.int32), following, sizes)


def _lists_of(lists: LinkedGroups) -> list[Rows]:
    current = lists.first[lists.sizes > 0].astype(np.int32)
    owners, rows, owner = [], [], np.arange(len(current))
    while len(current):  # one step along all lists at once
        owners.append(owner)
        rows.append(current)
        current = lists.following[current]
        owner, current = owner[current >= 0], current[current >= 0]
    number = np.concatenate(owners)
    order = np.argsort(number, kind="stable")
    return cut_groups(np.concatenate(rows)[order], np.cumsum(np.bincount(number)))


def cut_groups(rows: Rows, ends: Ints) -> list[Rows]:
    """Rows that lie group after group, group by group; `ends` says where each ends."""
    return [rows[start:end] for start, end in pairwise([0, *ends.tolist()])]


@kernel
def _is_hidden(
    people: PeopleOdds, lists: LinkedGroups, g: int, row: int, held: tuple[int, int, float], hint: Ints
) -> bool:
    """Return whether c rows of group g and `row` can have v with p at most 1/r, by sums; `held` is v, c and r.

    `hint` is the attribute set that failed last, which mostly fails again.
    """
    (v, c, r), size, sets = held, lists.sizes[g] + 1, people.entry.shape[1]
    margin, most = 1.0 + (4.0 * size + 16.0) * 2.0**-52, r * c
    if most > size:
        return False
    for step in range(sets):
        k = (hint[v] + step) % sets
        low = high = total = people.odds[v, people.entry[people.cell[row], k]]
        member = lists.first[g]
        while member >= 0:
            o = people.odds[v, people.entry[people.cell[member], k]]
            low, high, total = min(low, o), max(high, o), total + o
            member = lists.following[member]
        if low != high and (high == np.inf or most * high * margin > total):
            hint[v] = k
            return False
    return True


@kernel
def _takes(people: PeopleOdds, lists: LinkedGroups, g: int, row: int, r: float, counts: Ints, hint: Ints) -> bool:
    """Return whether group g holds with one row more; `counts` are zeros before and after."""
    x = people.value[row]
    counts[x] += 1
    member = lists.first[g]
    while member >= 0:
        counts[people.value[member]] += 1
        member = lists.following[member]
    holds = _is_hidden(people, lists, g, row, (x, counts[x], r), hint)
    counts[x] = 0
    member = lists.first[g]
    while member >= 0:
        v = people.value[member]
        if holds and counts[v] > 0 and v < len(people.odds):
            holds = _is_hidden(people, lists, g, row, (v, counts[v], r), hint)
        counts[v] = 0
        member = lists.following[member]
    return holds


@kernel
def join_any(people: PeopleOdds, lists: LinkedGroups, stuck: Rows, starts: Ints, r: float, asked: int) -> Bools:
    """Put each stuck row into the first group, from its start on, that stays robust; return which were placed."""
    placed, hint = np.zeros(len(stuck), np.bool_), np.zeros(len(people.odds), np.int64)
    counts = np.zeros(len(people.odds) + 1, np.int64)
    looked, start = 0, np.int64(0)
    for i in range(len(stuck)):
        row = stuck[i]
        is_alike = (
            i > 0 and people.cell[row] == people.cell[stuck[i - 1]] and people.value[row] == people.value[stuck[i - 1]]
        )
        if not is_alike:
            looked, start = 0, starts[i]
        while looked < asked:
            g = int((start + looked) % len(lists.first))
            if _takes(people, lists, g, row, r, counts, hint):
                lists.following[row] = lists.first[g]
                lists.first[g] = row
                lists.sizes[g] += 1
                placed[i] = True
                break
            looked += 1
    return placed
