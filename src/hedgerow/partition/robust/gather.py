"""ART: rows gather in groups in which nobody stands out, even to an adversary who knows the odds.

Source     [Wong 2009], section 4.2
Guarantee  every group satisfies inference.robust; rows that fit nowhere are left out and say so
Cost       a search in a tree per row, near n log n; groups that need many rows come last
Deviates   groups grow until p itself is at most 1/r, not the printed bound, which is wider and for many values false;
           a group takes single rows until it holds and is then left alone; the number of rows that a group may take
           starts small and doubles, so that the few who stand out most cannot use up everybody else's companions;
           every other start serves those first who stand out most; order and ties are secret-random; stuck rows are
           rescued (`art_rescue`)
Bound      the number of rows that a group may take doubles until it reaches the free rows, beyond which nobody has
           companions: at most log2 n rounds, in each of which a row joins a growing group at most `WORK` n times

Rows that find no place (the paper does not treat stuck groups, though they are common) are placed afterwards, in this
order: a stuck row joins the closest group that still holds with one occurrence more; or several groups unite around it
until the union holds; or it takes the place of a row of its value that finds a place elsewhere. Groups that hold stay
groups that hold; a row that finds no place stays stuck. That costs O(G K) per stuck row for G groups and K attribute
sets, and at most some forty tests. Where far more rows are stuck than may be left out, no place is looked for: such an
r is out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.candidates import Crowd, new_group
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.grow import Group, GroupLimits, Pool, form, give_back, grow, needed
from hedgerow.randomness import Keys, system_keys

__all__ = ["RobustGroups", "art", "rescue", "widening"]

Rows = NDArray[np.int32]
_TRIES = 6
"""How many of the closest groups are asked: beyond these the spread of odds is too wide anyway."""

_EXCHANGES = 2
"""How many groups, and rows of each, are asked for an exchange: each needs a place elsewhere, which is rare."""

_LARGEST = 50
"""Unions of more than this many times r rows are not made: whoever asks about them learns next to nothing."""


_HOPELESS = 3
"""With more than this many times as many stuck rows as may be left out, and more than `_FEW`, none is rescued."""

_FEW = 500

_MOST = 1500
"""Places are looked for of at most so many rows, drawn by coins: the rest of a large table stays stuck."""


def rescue(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, allowed: int = 0) -> tuple[list[Rows], Rows]:
    """Find places for as many stuck rows as possible; return the groups and the rows that are still stuck."""
    if len(stuck) == 0 or not groups or len(stuck) > max(_FEW, _HOPELESS * allowed):
        return groups, stuck
    hall = _Hall(check, list(groups))
    stuck, rest = np.split(stuck[np.argsort(keys(len(stuck)))], [_MOST])
    for step in (hall.join, hall.unite, hall.exchange):
        in_secret_order = stuck[np.argsort(keys(len(stuck)))]
        stuck = in_secret_order[[not step(int(row)) for row in in_secret_order]]
    return [rows for rows in hall.groups if len(rows)], np.append(stuck, rest)


@dataclass
class _Hall:
    """The groups with their boxes of ticks, kept up to date while rows move."""

    check: Check
    groups: list[Rows]
    low: NDArray[np.int32] = field(init=False)
    high: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        boxes = [_box(self.check.crowd, rows) for rows in self.groups]
        self.low, self.high = np.stack([low for low, _ in boxes]), np.stack([high for _, high in boxes])
        self.sizes = np.array([len(rows) for rows in self.groups])
        self.counts = np.stack([_counts(self.check.crowd, rows) for rows in self.groups])

    def join(self, row: int) -> bool:
        """Put the row into the closest group that holds with it."""
        x = self.check.crowd.secret[row]
        # Without any knowledge somebody of the group has x with probability c / N: more than 1/r cannot hold.
        roomy = (self.counts[:, x] + 1) * float(self.check.r) <= self.sizes + 1
        for g in self._closest(row, roomy)[:_TRIES]:
            if self._replace(g, np.append(self.groups[g], np.int32(row))):
                return True
        return False

    def unite(self, row: int) -> bool:
        """Unite the closest groups around the row until the union holds."""
        union = np.array([row], np.int32)
        taken: list[int] = []
        for g in self._closest(row, self.sizes > 0)[:_TRIES]:
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
        x = self.check.crowd.secret[row]
        for g in self._closest(row, self.counts[:, x] > 0)[:_EXCHANGES]:
            rows = self.groups[g]
            for out in rows[self.check.crowd.secret[rows] == x][:_EXCHANGES]:
                if self._replace(g, np.append(rows[rows != out], np.int32(row))):
                    if self.join(int(out)):
                        return True
                    self._set(g, rows)
        return False

    def _closest(self, row: int, among: NDArray[np.bool_]) -> list[int]:
        """The groups that would widen least with the row, closest first."""
        crowd = self.check.crowd
        x = crowd.secret[row]
        ticks = crowd.ticks[x, crowd.cell[row]]
        distance = (widening.compiled if crowd.size > SMALL else widening.plain)(self.low, self.high, x, ticks, among)
        count = min(_TRIES, int(among.sum()))
        nearest = np.argpartition(distance, count - 1)[:count] if count else np.zeros(0, np.int64)
        return [int(g) for g in nearest[np.lexsort((nearest, distance[nearest]))]]

    def _replace(self, g: int, rows: Rows) -> bool:
        if not self.check.holds(rows):
            return False
        self._set(g, rows)
        return True

    def _set(self, g: int, rows: Rows) -> None:
        self.groups[g], self.sizes[g] = rows, len(rows)
        self.counts[g] = _counts(self.check.crowd, rows)
        if len(rows):
            self.low[g], self.high[g] = _box(self.check.crowd, rows)


def _box(crowd: Crowd, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ticks = crowd.ticks[:, crowd.cell[rows]]
    return ticks.min(axis=1), ticks.max(axis=1)


def _counts(crowd: Crowd, rows: Rows) -> NDArray[np.int64]:
    return np.bincount(crowd.secret[rows], minlength=crowd.secrets + 1)


@kernel
def widening(
    low: NDArray[np.int32], high: NDArray[np.int32], x: int, ticks: NDArray[np.int32], among: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """By how much each box of `low` and `high` widens for value x with a row of these ticks; endless if not `among`."""
    distance = np.full(len(low), np.iinfo(np.int64).max, np.int64)
    for g in range(len(low)):
        if among[g]:
            total = 0
            for k in range(len(ticks)):
                total += max(ticks[k] - high[g, x, k], 0) + max(low[g, x, k] - ticks[k], 0)
            distance[g] = total
    return distance


WORK = 8
"""How often each row is tried in a group, on average, before a round ends."""

_FAR = 2
"""A start that leaves out this many times as many rows as allowed is not repeated: coins change little."""

_OFTEN = 64
"""Rows between two words of progress."""

_SLICE = 1 << 16
"""Rows whose odds are looked at together."""


@dataclass(frozen=True, eq=False)
class RobustGroups:
    """A partition: the group of each row, numbered from 0, or -1 for rows that no group could take."""

    groups: NDArray[np.int32]

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
    """Partition the rows; start again with other coins, up to `restarts` times, while more than `allowed` are left out.

    `exhaustive` looks at every cell for the closest row instead of asking the tree: the oracle, quadratic.
    """
    crowd = check.crowd
    best = None
    for start in range(1 + restarts):

        def report(share: float, done: int = start) -> None:
            progress((done + share) / (1 + restarts))

        search = _Search(crowd, check, crowd.pool(keys), new_group(crowd), exhaustive)
        seeds = _seeds(crowd, keys, hardest_first=start % 2 == 1)
        groups, stuck = _gather(search, seeds, report)
        groups, stuck = rescue(check, groups, stuck, keys, allowed)
        if best is None or len(stuck) < len(best[1]):
            best = groups, stuck
        if len(best[1]) <= allowed or len(best[1]) > _FAR * max(allowed, 100):
            break
    assert best is not None
    return RobustGroups(_numbered(crowd, *best))


@dataclass(eq=False)
class _Search:
    crowd: Crowd
    check: Check
    pool: Pool
    group: Group
    exhaustive: bool
    tried: int = 0
    """How many rows the last attempt put into its group."""

    @property
    def at_least(self) -> int:
        """The fewest rows of any group."""
        return math.ceil(self.check.r)

    @property
    def is_small(self) -> bool:
        """Tell whether plain loops finish before compiled ones are loaded."""
        return self.crowd.size * self.crowd.secrets * len(self.crowd.signatures) <= SMALL

    def attempt(self, row: int, most: int) -> tuple[Rows | None, float]:
        """Grow a group from a row; else tell how many rows it would need, infinitely many where none is left for it."""
        group, r, at_least = self.group, float_above(self.check.r), self.at_least
        run = form.plain if self.is_small else form.compiled
        size = run(self.pool, group, row, GroupLimits(r, at_least, most), self.exhaustive)
        self.tried = abs(size)
        while size > 0 and self.check.model == "full" and not self.check.holds_full(group.rows[:size]):
            size = self._one_more(group, size, most)
        if size > 0:
            return group.rows[:size].copy(), 0.0
        rows = max((needed.plain if self.is_small else needed.compiled)(group, -size, r), -size + 1.0)
        return None, rows if rows > most else math.inf

    def _one_more(self, group: Group, size: int, most: int) -> int:
        """Add a row to a group that fails only the test for all values."""
        x = int(np.argmax(group.counts > 0))
        run = grow.plain if self.is_small else grow.compiled
        limits = GroupLimits(float_above(self.check.r), self.at_least, most)
        grown = run(self.pool, group, size, limits, x, self.exhaustive)
        if grown < 0:
            (give_back.plain if self.is_small else give_back.compiled)(self.pool, group.rows[:-grown])
        return grown


def _gather(search: _Search, waiting: Rows, progress: Callable[[float], None]) -> tuple[list[Rows], Rows]:
    """Form groups around all rows with a protected value, those that need few companions first."""
    groups: list[Rows] = []
    needs = np.zeros(search.crowd.size)
    most = 2 * search.at_least
    share = 0.5  # of the work, by guess: the first round half, the second half of the rest
    while len(waiting):
        work = WORK * max(search.crowd.size, most)
        for place, row in enumerate(waiting.tolist()):
            if search.pool.is_free[row] and needs[row] <= most and work > 0:
                found, needs[row] = search.attempt(row, most)
                work -= search.tried
                if found is not None:
                    groups.append(found)
            if place % _OFTEN == 0:
                progress(1.0 - 2.0 * share + share * place / len(waiting))
        waiting = waiting[search.pool.is_free[waiting]]
        if most >= search.pool.is_free.sum():
            break  # nobody who still waits can have the companions they need
        most, share = min(2 * most, search.crowd.size), share / 2.0
    progress(1.0)
    return groups, waiting


def _seeds(crowd: Crowd, keys: Keys, *, hardest_first: bool) -> Rows:
    """Rows with a protected value: the most frequent value first, which runs out of companions, or the greatest odds.

    Secret order inside.
    """
    order = np.argsort(keys(crowd.size)).astype(np.int32)
    order = order[crowd.secret[order] < crowd.secrets]
    if hardest_first:
        slices = [_greatest(crowd, first, order) for first in range(0, len(order), _SLICE)]
        greatest = np.concatenate([np.zeros(0), *slices])
        return order[np.argsort(-greatest, kind="stable")]
    frequency = np.bincount(crowd.secret, minlength=crowd.secrets + 1)
    return order[np.argsort(-frequency[crowd.secret[order]], kind="stable")]


def _greatest(crowd: Crowd, start: int, order: Rows) -> NDArray[np.float64]:
    """The greatest odds of their own value over all attribute sets, of a slice of the rows."""
    rows = order[start : start + _SLICE]
    return np.asarray(crowd.odds[crowd.secret[rows][:, None], crowd.entry[crowd.cell[rows]]].max(axis=1))


def _numbered(crowd: Crowd, groups: list[Rows], stuck: Rows) -> NDArray[np.int32]:
    """Number the groups; every row that needed no companion is a group by itself."""
    number = np.full(crowd.size, -2, np.int32)
    number[stuck] = -1
    for g, rows in enumerate(groups):
        number[rows] = g
    alone = np.flatnonzero(number == -2)
    number[alone] = len(groups) + np.arange(len(alone))
    return number
