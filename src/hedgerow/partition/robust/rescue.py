"""Places for rows that ART could not place: other groups, unions of groups, exchanges.

Guarantee  groups that hold stay groups that hold; a row that finds no place stays stuck
Cost       O(G K) per stuck row for G groups and K attribute sets, and at most some forty tests
Bound      where far more rows are stuck than may be left out, no place is looked for: such an r is out of reach
Deviates   the paper has no word for stuck groups, though they are common

In this order: a stuck row joins the closest group that still holds with one occurrence more; or several groups unite
around it until the union holds; or it takes the place of a row of its value that finds a place elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.crowd import Crowd
from hedgerow.randomness import Keys

__all__ = ["rescue", "widening"]

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

_MOST = 400
"""Places are looked for of at most so many rows, drawn by coins: where more must find one, none is looked for."""


def rescue(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, allowed: int = 0) -> tuple[list[Rows], Rows]:
    """Find places for as many stuck rows as possible; return the groups and the rows that are still stuck."""
    is_hopeless = len(stuck) > max(_FEW, min(_HOPELESS * allowed, allowed + _MOST))
    if len(stuck) == 0 or not groups or is_hopeless:
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
