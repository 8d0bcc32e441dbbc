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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.kernel import SMALL
from hedgerow.partition.robust.candidates import Crowd, new_group
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.grow import Group, GroupLimits, Pool, form, give_back, grow, needed
from hedgerow.partition.robust.rescue import rescue
from hedgerow.randomness import Keys, system_keys

__all__ = ["RobustGroups", "art"]

Rows = NDArray[np.int32]

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
