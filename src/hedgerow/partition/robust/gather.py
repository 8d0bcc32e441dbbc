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
from hedgerow.partition.robust.candidates import CandidateRows, new_group
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.grow import FreeRows, Group, GroupLimits, form, give_back, grow, rows_needed
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
"""Places are looked for of at most so many rows, drawn at random: the rest of a large table stays stuck."""


def rescue(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, allowed: int = 0) -> tuple[list[Rows], Rows]:
    """Find places for as many stuck rows as possible; return the groups and the rows that are still stuck."""
    if len(stuck) == 0 or not groups or len(stuck) > max(_FEW, _HOPELESS * allowed):
        return groups, stuck
    placement = _Placement(check, list(groups))
    stuck, rest = np.split(stuck[np.argsort(keys(len(stuck)))], [_MOST])
    for step in (placement.join, placement.unite, placement.exchange):
        in_secret_order = stuck[np.argsort(keys(len(stuck)))]
        stuck = in_secret_order[[not step(int(row)) for row in in_secret_order]]
    return [rows for rows in placement.groups if len(rows)], np.append(stuck, rest)


@dataclass
class _Placement:
    """The groups with their boxes of positions, kept up to date while rows move."""

    check: Check
    groups: list[Rows]
    low: NDArray[np.int32] = field(init=False)
    high: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        boxes = [_box(self.check.candidates, rows) for rows in self.groups]
        self.low, self.high = np.stack([low for low, _ in boxes]), np.stack([high for _, high in boxes])
        self.sizes = np.array([len(rows) for rows in self.groups])
        self.counts = np.stack([_counts(self.check.candidates, rows) for rows in self.groups])

    def join(self, row: int) -> bool:
        """Put the row into the closest group that holds with it."""
        x = self.check.candidates.secret[row]
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
        x = self.check.candidates.secret[row]
        for g in self._closest(row, self.counts[:, x] > 0)[:_EXCHANGES]:
            rows = self.groups[g]
            for out in rows[self.check.candidates.secret[rows] == x][:_EXCHANGES]:
                if self._replace(g, np.append(rows[rows != out], np.int32(row))):
                    if self.join(int(out)):
                        return True
                    self._set(g, rows)
        return False

    def _closest(self, row: int, among: NDArray[np.bool_]) -> list[int]:
        """The groups that would widen least with the row, closest first."""
        candidates = self.check.candidates
        x = candidates.secret[row]
        positions = candidates.positions[x, candidates.cell[row]]
        distance = (widening.compiled if candidates.size > SMALL else widening.plain)(
            self.low, self.high, x, positions, among
        )
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
        self.counts[g] = _counts(self.check.candidates, rows)
        if len(rows):
            self.low[g], self.high[g] = _box(self.check.candidates, rows)


def _box(candidates: CandidateRows, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    positions = candidates.positions[:, candidates.cell[rows]]
    return positions.min(axis=1), positions.max(axis=1)


def _counts(candidates: CandidateRows, rows: Rows) -> NDArray[np.int64]:
    return np.bincount(candidates.secret[rows], minlength=candidates.secrets + 1)


@kernel
def widening(
    low: NDArray[np.int32], high: NDArray[np.int32], x: int, positions: NDArray[np.int32], among: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """By how much each box `low` to `high` widens for value x with a row of these positions; endless if not `among`."""
    distance = np.full(len(low), np.iinfo(np.int64).max, np.int64)
    for g in range(len(low)):
        if among[g]:
            total = 0
            for k in range(len(positions)):
                total += max(positions[k] - high[g, x, k], 0) + max(low[g, x, k] - positions[k], 0)
            distance[g] = total
    return distance


WORK = 8
"""How often each row is tried in a group, on average, before a round ends."""

_FAR = 2
"""A start that leaves out this many times as many rows as allowed is not repeated: chance changes little."""

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
    """Partition the rows; start again, up to `restarts` times, while more than `allowed` are left out.

    `exhaustive` looks at every cell for the closest row instead of asking the tree: the oracle, quadratic.
    """
    candidates = check.candidates
    best = None
    for start in range(1 + restarts):

        def report(share: float, done: int = start) -> None:
            progress((done + share) / (1 + restarts))

        search = _Search(candidates, check, candidates.free(keys), new_group(candidates), exhaustive)
        seeds = _seeds(candidates, keys, hardest_first=start % 2 == 1)
        groups, stuck = _gather(search, seeds, report)
        groups, stuck = rescue(check, groups, stuck, keys, allowed)
        if best is None or len(stuck) < len(best[1]):
            best = groups, stuck
        if len(best[1]) <= allowed or len(best[1]) > _FAR * max(allowed, 100):
            break
    assert best is not None
    return RobustGroups(_numbered(candidates, *best))


@dataclass(eq=False)
class _Search:
    candidates: CandidateRows
    check: Check
    free: FreeRows
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
        return self.candidates.size * self.candidates.secrets * len(self.candidates.signatures) <= SMALL

    def attempt(self, row: int, most: int) -> tuple[Rows | None, float]:
        """Grow a group from a row; else tell how many rows it would need, infinitely many where none is left for it."""
        group, r, at_least = self.group, float_above(self.check.r), self.at_least
        run = form.plain if self.is_small else form.compiled
        size = run(self.free, group, row, GroupLimits(r, at_least, most), self.exhaustive)
        self.tried = abs(size)
        while size > 0 and self.check.model == "full" and not self.check.holds_full(group.rows[:size]):
            size = self._one_more(group, size, most)
        if size > 0:
            return group.rows[:size].copy(), 0.0
        rows = max((rows_needed.plain if self.is_small else rows_needed.compiled)(group, -size, r), -size + 1.0)
        return None, rows if rows > most else math.inf

    def _one_more(self, group: Group, size: int, most: int) -> int:
        """Add a row to a group that fails only the test for all values."""
        x = int(np.argmax(group.counts > 0))
        run = grow.plain if self.is_small else grow.compiled
        limits = GroupLimits(float_above(self.check.r), self.at_least, most)
        grown = run(self.free, group, size, limits, x, self.exhaustive)
        if grown < 0:
            (give_back.plain if self.is_small else give_back.compiled)(self.free, group.rows[:-grown])
        return grown


def _gather(search: _Search, waiting: Rows, progress: Callable[[float], None]) -> tuple[list[Rows], Rows]:
    """Form groups around all rows with a protected value, those that need few companions first."""
    groups: list[Rows] = []
    needs = np.zeros(search.candidates.size)
    most = 2 * search.at_least
    share = 0.5  # of the work, by guess: the first round half, the second half of the rest
    while len(waiting):
        work = WORK * max(search.candidates.size, most)
        for place, row in enumerate(waiting.tolist()):
            if search.free.is_free[row] and needs[row] <= most and work > 0:
                found, needs[row] = search.attempt(row, most)
                work -= search.tried
                if found is not None:
                    groups.append(found)
            if place % _OFTEN == 0:
                progress(1.0 - 2.0 * share + share * place / len(waiting))
        waiting = waiting[search.free.is_free[waiting]]
        if most >= search.free.is_free.sum():
            break  # nobody who still waits can have the companions they need
        most, share = min(2 * most, search.candidates.size), share / 2.0
    progress(1.0)
    return groups, waiting


def _seeds(candidates: CandidateRows, keys: Keys, *, hardest_first: bool) -> Rows:
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


def _greatest(candidates: CandidateRows, start: int, order: Rows) -> NDArray[np.float64]:
    """The greatest odds of their own value over all attribute sets, of a slice of the rows."""
    rows = order[start : start + _SLICE]
    return np.asarray(
        candidates.odds[candidates.secret[rows][:, None], candidates.entry[candidates.cell[rows]]].max(axis=1)
    )


def _numbered(candidates: CandidateRows, groups: list[Rows], stuck: Rows) -> NDArray[np.int32]:
    """Number the groups; every row that needed no companion is a group by itself."""
    number = np.full(candidates.size, -2, np.int32)
    number[stuck] = -1
    for g, rows in enumerate(groups):
        number[rows] = g
    alone = np.flatnonzero(number == -2)
    number[alone] = len(groups) + np.arange(len(alone))
    return number
