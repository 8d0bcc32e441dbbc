"""ART: rows gather in groups in which nobody stands out, even to an adversary who knows the odds.

Source     [Wong 2009], section 4.2
Guarantee  every group satisfies inference.robust; rows that fit nowhere are left out and say so
Cost       a search in a tree per row, near n log n; groups that need many rows come last
Deviates   groups grow until p itself is at most 1/r, not the printed bound, which is wider and for many values false;
           a group takes single rows until it holds and is then left alone; the number of rows that a group may take
           starts at a multiple of r and doubles, so that the few who stand out most cannot use up everybody else's
           companions; the first starts serve those first who stand out most; order and ties are secret-random; stuck
           rows are placed by sums (`place`) and then one by one (`rescue`)
Bound      the number of rows that a group may take doubles until it reaches the free rows, beyond which nobody has
           companions: at most log2 n rounds, in each of which a row joins a growing group at most `WORK` n times
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.kernel import SMALL
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.crowd import Crowd, new_group
from hedgerow.partition.robust.grow import Gathered, Group, GroupLimits, Pool, form, gather, give_back, grow, needed
from hedgerow.partition.robust.place import place_by_sums
from hedgerow.partition.robust.rescue import rescue
from hedgerow.randomness import Keys, system_keys

__all__ = ["RobustGroups", "art"]

Rows = NDArray[np.int32]

WORK = 8
"""How often each row is tried in a group, on average, before a round ends."""

_STARTS = ((True, 16), (True, 64), (False, 2))
"""For one start after the other: whether those who stand out most are served first, and how many times r rows a group
may take in the first round."""

_FAR = 2
"""A start that leaves out this many times as many rows as allowed is not repeated: coins change little."""

_HOPELESS = 8
"""With more rows without companions than this many times those that may be left out a search is given up."""

_OFTEN = 2048
"""Rows between two words of progress, fewer where there are few."""

_SLICE = 1 << 16
"""Rows whose odds are looked at together."""


@dataclass(frozen=True, eq=False)
class RobustGroups:
    """A partition: the group of each row, numbered from 0, or -1 for rows that no group could take."""

    groups: NDArray[np.int32]
    is_given_up: bool = False
    """Tell whether the search ended early, when far more rows than allowed had no companions left."""

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
    best, hopeless = None, _HOPELESS * max(allowed, 100)
    for start in range(1 + restarts):

        def report(share: float, done: int = start) -> None:
            progress((done + share) / (1 + restarts))

        search = _Search(crowd, check, crowd.pool(keys), new_group(crowd), exhaustive)
        hardest_first, multiple = _STARTS[start % len(_STARTS)]
        seeds = _seeds(crowd, keys, hardest_first=hardest_first)
        groups, stuck, is_given_up = _gather(search, seeds, multiple * search.at_least, hopeless, report)
        if check.model == "binary":
            groups, stuck = place_by_sums(check, groups, stuck, keys, hopeless)
        groups, stuck = rescue(check, groups, stuck, keys, allowed)
        if best is None or len(stuck) < len(best[1]):
            best = groups, stuck, is_given_up
        if len(best[1]) <= allowed or len(best[1]) > _FAR * max(allowed, 100):
            break
    assert best is not None
    return RobustGroups(_numbered(crowd, *best[:2]), best[2])


@dataclass(eq=False)
class _Search:
    crowd: Crowd
    check: Check
    pool: Pool
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
        """Tell whether plain loops finish before compiled ones are loaded."""
        return self.crowd.size * self.crowd.secrets * len(self.crowd.signatures) <= SMALL

    def gather(self, waiting: Rows, needs: NDArray[np.float64], most: int, work: int) -> tuple[list[Rows], int]:
        """Grow groups of at most `most` rows from the waiting ones; return them and the work that is left."""
        limits = GroupLimits(self.r, self.at_least, most)
        if self.check.model == "full" or self.exhaustive:
            return self._one_by_one(waiting, needs, limits, work)
        size = self.crowd.size
        found = Gathered(
            np.empty(size, np.int32), np.zeros(size + 1, np.int64), np.zeros(1, np.int64), np.array([work])
        )
        run = gather.plain if self.is_small else gather.compiled
        run(self.pool, self.group, waiting, needs, limits, found)
        number = int(found.number[0])
        groups = np.split(found.rows[: found.ends[number]].copy(), found.ends[1:number]) if number else []
        return groups, int(found.work[0])

    def _one_by_one(
        self, waiting: Rows, needs: NDArray[np.float64], limits: GroupLimits, work: int
    ) -> tuple[list[Rows], int]:
        """The same where every group is also tested by other means, or exhaustively."""
        groups: list[Rows] = []
        for row in waiting.tolist():
            if self.pool.is_free[row] and needs[row] <= limits.most and work > 0:
                size = (form.plain if self.is_small else form.compiled)(
                    self.pool, self.group, row, limits, self.exhaustive
                )
                work -= abs(size)
                while size > 0 and self.check.model == "full" and not self.check.holds_full(self.group.rows[:size]):
                    size = self._one_more(size, limits)
                if size > 0:
                    groups.append(self.group.rows[:size].copy())
                    continue
                rows = max((needed.plain if self.is_small else needed.compiled)(self.group, -size, self.r), 1.0 - size)
                needs[row] = rows if rows > limits.most else math.inf
        return groups, work

    def _one_more(self, size: int, limits: GroupLimits) -> int:
        """Add a row to the group, which fails only the test for all values."""
        x = int(np.argmax(self.group.counts > 0))
        run = grow.plain if self.is_small else grow.compiled
        grown = run(self.pool, self.group, size, limits, x, self.exhaustive)
        if grown < 0:
            (give_back.plain if self.is_small else give_back.compiled)(self.pool, self.group.rows[:-grown])
        return grown


def _gather(
    search: _Search, waiting: Rows, most: int, hopeless: int, progress: Callable[[float], None]
) -> tuple[list[Rows], Rows, bool]:
    """Form groups around all rows with a protected value, of at most `most` rows at first; tell whether it gave up."""
    groups: list[Rows] = []
    needs = np.zeros(search.crowd.size)
    share = 0.5  # of the work, by guess: the first round half, the second half of the rest
    while len(waiting):
        work = WORK * max(search.crowd.size, most)
        step = min(_OFTEN, len(waiting) // 16 + 1)
        for place in range(0, len(waiting), step):
            found, work = search.gather(waiting[place : place + step], needs, most, work)
            groups += found
            progress(1.0 - 2.0 * share + share * place / len(waiting))
            if (np.isinf(needs) & search.pool.is_free).sum() > hopeless:
                return groups, waiting[search.pool.is_free[waiting]], True
        waiting = waiting[search.pool.is_free[waiting]]
        if most >= search.pool.is_free.sum():
            break  # nobody who still waits can have the companions they need
        most, share = min(2 * most, search.crowd.size), share / 2.0
    progress(1.0)
    return groups, waiting, False


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
