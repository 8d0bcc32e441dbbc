"""ART: groups in which p is at most 1/r for every row, for an adversary who knows the odds.

Source     [Wong 2009], section 4.2
Guarantee  every group satisfies inference.robust; rows that fit no group are returned as suppressed
Cost       a search in a tree per row, near n log n; groups that need many rows come last
Deviates   groups grow until p itself is at most 1/r, not the printed bound, which is wider and for many values false;
           a group takes single rows until it is robust and is then left alone; the number of rows that a group may take
           starts at a multiple of r and doubles, so that the few rows of greatest odds cannot use up the companions of
           all others; the first searches start with the greatest odds; order and ties are secret random numbers; stuck
           rows are placed by sums (`check`) and then one by one
Bound      the number of rows that a group may take doubles until it reaches the free rows, beyond which nobody has
           companions: at most log2 n rounds, in each of which a row joins a growing group at most `WORK` n times

Rows that find no place (the paper does not treat stuck groups, though they are common) are placed afterwards, in this
order: a stuck row joins the closest group that is still robust with one occurrence more; or several groups unite around
it until the union is robust; or it takes the place of a row of its value that fits elsewhere. In a table of few rows
those that need no companion can be united as well, and finally all rows, so that a table that is robust as one group is
never refused. Robust groups stay robust; a row that fits nowhere stays stuck. That costs O(G K) per stuck row for G
groups and K attribute sets, and at most some forty tests. If far more rows are stuck than may be suppressed, nothing is
tried: such an r is out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.exact import float_above
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.candidates import RobustRows, new_group
from hedgerow.partition.robust.check import Check, Rows, cut_groups, place_by_sums
from hedgerow.partition.robust.grow import (
    FreeRows,
    GatheredGroups,
    Group,
    GroupLimits,
    form,
    gather,
    give_back,
    grow,
    needed_rows,
)
from hedgerow.randomness import Keys, system_keys

_TRIES = 6
"""How many of the closest groups are asked: beyond these the spread of odds is too wide anyway."""

_ALL = 64
"""Of at most so many rows all are united if need be: few people have few companions."""

_EXCHANGES = 2
"""How many groups, and rows of each, are asked for an exchange: each needs a place elsewhere, which is rare."""

_LARGEST = 50
"""Unions of more than this many times r rows are not made: whoever asks about them learns next to nothing."""


_HOPELESS = 3
"""With more than this many times as many stuck rows as may be left out, and more than `_FEW`, none is rescued."""

_FEW = 500

_MOST = 400
"""Places are looked for of at most so many rows, drawn at random: where more must find one, none is looked for."""


def rescue(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, allowed: int = 0) -> tuple[list[Rows], Rows]:
    """Find places for as many stuck rows as possible; return the groups and the rows that are still stuck."""
    is_hopeless = len(stuck) > max(_FEW, min(_HOPELESS * allowed, allowed + _MOST))
    if len(stuck) == 0 or is_hopeless:
        return groups, stuck
    if not groups:
        return ([stuck], stuck[:0]) if check.candidates.size <= _ALL and check.holds(stuck) else (groups, stuck)
    placement = _Placement(check, list(groups))
    stuck, rest = np.split(stuck[np.argsort(keys(len(stuck)))], [_MOST])
    for step in (placement.join, placement.unite, placement.exchange):
        in_secret_order = stuck[np.argsort(keys(len(stuck)))]
        stuck = in_secret_order[[not step(int(row)) for row in in_secret_order]]
    if len(stuck) > allowed and check.candidates.size <= _ALL and placement.unite(*stuck.tolist()):
        stuck = stuck[:0]
    return [rows for rows in placement.groups if len(rows)], np.append(stuck, rest)


class _PositionBoxes(NamedTuple):
    """For one value the least and the greatest position of each group in every attribute set, and its rows with it."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    counts: Ints


@dataclass
class _Placement:
    """The groups, with their boxes for each value that is asked about, kept up to date while rows move."""

    check: Check
    groups: list[Rows]
    known: dict[int, _PositionBoxes] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sizes = np.array([len(rows) for rows in self.groups])
        self.rows, self.starts = np.concatenate(self.groups), np.cumsum(self.sizes) - self.sizes

    def boxes(self, x: int) -> _PositionBoxes:
        """Where the groups lie for value x, and how often they hold it: a pass over all rows, once for each x."""
        if x not in self.known:
            candidates = self.check.candidates
            positions = candidates.positions[x, candidates.cell[self.rows]]
            is_x = (candidates.secret[self.rows] == x).astype(np.int64)
            low, high = (end.reduceat(positions, self.starts) for end in (np.minimum, np.maximum))
            self.known[x] = _PositionBoxes(low, high, np.add.reduceat(is_x, self.starts))
            for g in self.changed:
                self._update(g, x)
        return self.known[x]

    def join(self, row: int) -> bool:
        """Put the row into the closest group that holds with it."""
        x = self.check.candidates.secret[row]
        # Without any knowledge somebody of the group has x with probability c / N: more than 1/r cannot hold.
        roomy = (self.boxes(x).counts + 1) * float(self.check.r) <= self.sizes + 1
        return any(self._replace(g, np.append(self.groups[g], np.int32(row))) for g in self._closest(row, roomy))

    def unite(self, *rows: int) -> bool:
        """Unite the groups that are closest to the first of the rows around them all until the union holds."""
        union = np.array(rows, np.int32)
        taken: list[int] = []
        for g in self._closest(rows[0], self.sizes > 0, _ALL if self.check.candidates.size <= _ALL else _TRIES):
            union = np.append(union, self.groups[g])
            if len(union) > _LARGEST * self.check.r:
                return False
            if self._replace(g, union):
                for other in taken:
                    self._set(other, union[:0])
                return True
            taken.append(g)
        return False

    def exchange(self, row: int) -> bool:
        """Take the place of a row of the same value that finds another place."""
        x = self.check.candidates.secret[row]
        for g in self._closest(row, self.boxes(x).counts > 0)[:_EXCHANGES]:
            rows = self.groups[g]
            for out in rows[self.check.candidates.secret[rows] == x][:_EXCHANGES]:
                if self._replace(g, np.append(rows[rows != out], np.int32(row))):
                    if self.join(int(out)):
                        return True
                    self._set(g, rows)
        return False

    def _closest(self, row: int, among: Bools, most: int = _TRIES) -> list[int]:
        """The groups that would widen least with the row, closest first."""
        candidates = self.check.candidates
        x = candidates.secret[row]
        positions = candidates.positions[x, candidates.cell[row]]
        distance = (widening.compiled if candidates.size > SMALL else widening.plain)(
            self.boxes(x).low, self.boxes(x).high, positions, among
        )
        count = min(most, int(among.sum()))
        nearest = np.argpartition(distance, count - 1)[:count] if count else np.zeros(0, np.int64)
        return [int(g) for g in nearest[np.lexsort((nearest, distance[nearest]))]]

    def _replace(self, g: int, rows: Rows) -> bool:
        if not self.check.holds(rows):
            return False
        self._set(g, rows)
        return True

    def _set(self, g: int, rows: Rows) -> None:
        self.groups[g], self.sizes[g] = rows, len(rows)
        self.changed.add(g)
        for x in self.known:
            self._update(g, x)

    def _update(self, g: int, x: int) -> None:
        candidates, rows, boxes = self.check.candidates, self.groups[g], self.known[x]
        boxes.counts[g] = (candidates.secret[rows] == x).sum()
        if len(rows):
            positions = candidates.positions[x, candidates.cell[rows]]
            boxes.low[g], boxes.high[g] = positions.min(axis=0), positions.max(axis=0)


@kernel
def widening(low: NDArray[np.int32], high: NDArray[np.int32], positions: NDArray[np.int32], among: Bools) -> Ints:
    """By how much each box `low` to `high` widens with a row of these positions; endless if not `among`."""
    distance = np.full(len(low), np.iinfo(np.int64).max, np.int64)
    for g in range(len(low)):
        if among[g]:
            total = 0
            for k in range(len(positions)):
                total += max(positions[k] - high[g, k], 0) + max(low[g, k] - positions[k], 0)
            distance[g] = total
    return distance


WORK = 8
"""How often each row is tried in a group, on average, before a round ends."""

_STARTS = ((True, 16), (True, 64), (False, 2))
"""For one start after the other: whether those who stand out most are served first, and how many times r rows a group
may take in the first round."""

_FAR = 2
"""A start that leaves out this many times as many rows as allowed is not repeated: chance changes little."""

_GIVEN_UP = 8
"""With more rows without companions than this many times those that may be left out a search is given up."""

_STEPS = 64
"""How often a round says how far it is and counts rows without companions, which takes a look at every row."""

_SLICE = 1 << 16
"""Rows whose odds are looked at together."""


@dataclass(frozen=True, eq=False)
class RobustGroups:
    """A partition: the group of each row, numbered from 0, or -1 for rows that no group could take."""

    groups: NDArray[np.int32]
    is_given_up: bool = False
    """Return whether the search ended early, when far more rows than allowed had no companions left."""

    @property
    def left_out(self) -> int:
        """How many rows no group could take."""
        return int((self.groups < 0).sum())


def art(
    check: Check,
    *,
    allowed: int = 0,
    restarts: int = 2,
    exhaustive: bool = False,
    keys: Keys = system_keys,
    progress: Callable[[float], None] = lambda share: None,
) -> RobustGroups:
    """Partition the rows; start again anew, up to `restarts` times, while more than `allowed` are left out.

    `exhaustive` looks at every cell for the closest row instead of asking the tree: the oracle, quadratic.
    """
    candidates = check.candidates
    best, hopeless = None, _GIVEN_UP * max(allowed, 100)
    for start in range(1 + restarts):

        def report(share: float, done: int = start) -> None:
            progress((done + share) / (1 + restarts))

        search = _GatherSearch(candidates, check, candidates.free(keys), new_group(candidates), exhaustive)
        hardest_first, multiple = _STARTS[start % len(_STARTS)]
        seeds = _seeds(candidates, keys, hardest_first=hardest_first)
        groups, stuck, is_given_up = _gather(search, seeds, multiple * search.at_least, hopeless, report)
        if check.model == "binary":
            groups, stuck = place_by_sums(check, groups, stuck, keys, hopeless)
        groups, stuck = rescue(check, groups + _alone(candidates, groups, stuck), stuck, keys, allowed)
        if best is None or len(stuck) < len(best[1]):
            best = groups, stuck, is_given_up
        if len(best[1]) <= allowed or len(best[1]) > _FAR * max(allowed, 100):
            break
    assert best is not None
    return RobustGroups(_number_groups(candidates, *best[:2]), best[2])


@dataclass(eq=False)
class _GatherSearch:
    candidates: RobustRows
    check: Check
    free: FreeRows
    group: Group
    exhaustive: bool

    @property
    def at_least(self) -> int:
        """The fewest rows of any group."""
        return math.ceil(self.check.r)

    @cached_property
    def r(self) -> float:
        """r as a float, not below it."""
        return float_above(self.check.r)

    @property
    def is_small(self) -> bool:
        """Return whether plain loops finish before compiled ones are loaded."""
        return self.candidates.size * self.candidates.secrets * len(self.candidates.signatures) <= SMALL

    @cached_property
    def new_groups(self) -> GatheredGroups:
        """Room for the groups that one call finds."""
        size, numbers = self.candidates.size, np.zeros((2, 1), np.int64)
        return GatheredGroups(np.empty(size, np.int32), np.zeros(size + 1, np.int64), numbers[0], numbers[1])

    def gather(self, waiting: Rows, needs: Floats, most: int, work: int) -> tuple[list[Rows], int]:
        """Grow groups of at most `most` rows from the waiting ones; return them and the work that is left."""
        limits = GroupLimits(self.r, self.at_least, most)
        if self.check.model == "full" or self.exhaustive:
            return self._one_by_one(waiting, needs, limits, work)
        found = self.new_groups
        found.number[0], found.work[0] = 0, work
        run = gather.plain if self.is_small else gather.compiled
        run(self.free, self.group, waiting, needs, limits, found)
        number = int(found.number[0])
        return cut_groups(found.rows[: found.ends[number]].copy(), found.ends[1 : number + 1]), int(found.work[0])

    def _one_by_one(self, waiting: Rows, needs: Floats, limits: GroupLimits, work: int) -> tuple[list[Rows], int]:
        """The same where every group is also tested by other means, or exhaustively."""
        groups: list[Rows] = []
        for row in waiting.tolist():
            if self.free.is_free[row] and needs[row] <= limits.most and work > 0:
                size = (form.plain if self.is_small else form.compiled)(
                    self.free, self.group, row, limits, self.exhaustive
                )
                work -= abs(size)
                while size > 0 and self.check.model == "full" and not self.check.holds_full(self.group.rows[:size]):
                    size = self._one_more(size, limits)
                if size > 0:
                    groups.append(self.group.rows[:size].copy())
                    continue
                rows = max(
                    (needed_rows.plain if self.is_small else needed_rows.compiled)(self.group, -size, self.r),
                    1.0 - size,
                )
                needs[row] = rows if rows > limits.most else math.inf
        return groups, work

    def _one_more(self, size: int, limits: GroupLimits) -> int:
        """Add a row to the group, which fails only the test for all values."""
        x = int(np.argmax(self.group.counts > 0))
        run = grow.plain if self.is_small else grow.compiled
        grown = run(self.free, self.group, size, limits, x, self.exhaustive)
        if grown < 0:
            (give_back.plain if self.is_small else give_back.compiled)(self.free, self.group.rows[:-grown])
        return grown


def _gather(
    search: _GatherSearch, waiting: Rows, most: int, hopeless: int, progress: Callable[[float], None]
) -> tuple[list[Rows], Rows, bool]:
    """Form groups around all rows with a protected value, first of at most `most` rows; return whether it gave up."""
    groups: list[Rows] = []
    needs = np.zeros(search.candidates.size)
    share = 0.5  # of the work, by guess: the first round half, the second half of the rest
    while len(waiting):
        work = WORK * max(search.candidates.size, most)
        step = len(waiting) // _STEPS + 1
        for place in range(0, len(waiting), step):
            found, work = search.gather(waiting[place : place + step], needs, most, work)
            groups += found
            progress(1.0 - 2.0 * share + share * place / len(waiting))
            if (np.isinf(needs) & search.free.is_free).sum() > hopeless:
                return groups, waiting[search.free.is_free[waiting]], True
        waiting = waiting[search.free.is_free[waiting]]
        if most >= search.free.is_free.sum():
            break  # nobody who still waits can have the companions they need
        most, share = min(2 * most, search.candidates.size), share / 2.0
    progress(1.0)
    return groups, waiting, False


def _seeds(candidates: RobustRows, keys: Keys, *, hardest_first: bool) -> Rows:
    """Rows with a protected value: the most frequent value first, which runs out of companions, or the greatest odds.

    Secret order inside.
    """
    order = np.argsort(keys(candidates.size)).astype(np.int32)
    order = order[candidates.secret[order] < candidates.secrets]
    if hardest_first:
        slices = [_greatest(candidates, first, order) for first in range(0, len(order), _SLICE)]
        greatest = np.concatenate([np.zeros(0), *slices])
        return order[np.argsort(-greatest, kind="stable")]
    frequency = np.bincount(candidates.secret, minlength=candidates.secrets + 1)
    return order[np.argsort(-frequency[candidates.secret[order]], kind="stable")]


def _greatest(candidates: RobustRows, start: int, order: Rows) -> Floats:
    """The greatest odds of their own value over all attribute sets, of a slice of the rows."""
    rows = order[start : start + _SLICE]
    return np.asarray(
        candidates.odds[candidates.secret[rows][:, None], candidates.entry[candidates.cell[rows]]].max(axis=1)
    )


def _alone(candidates: RobustRows, groups: list[Rows], stuck: Rows) -> list[Rows]:
    """Rows that needed no companion, each a group by itself: stuck ones may join them, where all are few."""
    if not len(stuck) or candidates.size > _ALL:
        return []
    return [
        np.array([row], np.int32) for row in np.setdiff1d(np.arange(candidates.size), np.concatenate([*groups, stuck]))
    ]


def _number_groups(candidates: RobustRows, groups: list[Rows], stuck: Rows) -> NDArray[np.int32]:
    """Number the groups; every row that needed no companion is a group by itself."""
    number = np.full(candidates.size, -2, np.int32)
    number[stuck] = -1
    if groups:
        number[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    alone = np.flatnonzero(number == -2)
    number[alone] = len(groups) + np.arange(len(alone))
    return number
