"""How far any partition can go: rows that no r-robust group can take, whatever the grouping, found without a search.

Source     own, from Maclaurin's inequality; [Wong 2009] has no word for tables that cannot be grouped
Guarantee  `least_suppressed` is never above the number of rows that the best partition leaves out
Cost       one sort of n odds per protected value and attribute set, then one look per r

A group in which c rows have x, the greatest odds are o and the odds add up to S has p >= 1/r for the row of these odds
unless S - o >= (r - 1) c o: e_c <= e_(c-1) e_1 / c over the other rows. So no row whose odds times r exceed everybody's
sum finds companions in any table of these people, and r - 1 times the odds of those who have x is at most the sum of
all. An occurrence also fills at most 1/r of its group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.bounds import least_held_back
from hedgerow.partition.robust.crowd import Crowd

__all__ = ["RobustLimits"]

_ROUNDING = 1e-9
"""Sums of odds round: a row is called lost only where its lack of companions is far above any rounding."""


@dataclass(frozen=True, eq=False)
class RobustLimits:
    """What the odds and the counts of a crowd rule out."""

    crowd: Crowd

    def least_suppressed(self, r: Fraction, *, most: int) -> NDArray[np.int64]:
        """By protected set: how many of its rows no r-robust partition publishes; once above `most`, not further."""
        counts = np.bincount(self.crowd.secret, minlength=self.crowd.secrets + 1)[: self.crowd.secrets]
        lost = np.array([self._lost(x, float(r)) for x in range(self.crowd.secrets)], np.int64)
        return least_held_back(counts, self.crowd.size, r, most=most, lost=lost)

    def largest_r(self, below: Fraction, allowed: int, x: int | None = None) -> Fraction:
        """`below` where it is not ruled out, for all protected sets or for one, else the largest tenth; at least 1."""

        def is_ruled_out(r: Fraction) -> bool:
            if x is None:
                return bool(self.least_suppressed(r, most=allowed).sum() > allowed)
            count = np.array([(self.crowd.secret == x).sum()])
            lost = least_held_back(count, self.crowd.size, r, most=allowed, lost=self._lost(x, float(r)))
            return bool(lost.sum() > allowed)

        if not is_ruled_out(below):
            return below
        low, high = 10, math.ceil(below * 10)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_ruled_out(Fraction(middle, 10)) else (middle, high)
        return Fraction(low, 10)

    @cached_property
    def _levels(self) -> list[list[_Level]]:
        """By protected set and attribute set: everybody's odds, ascending, one signature after the other."""
        crowd, found = self.crowd, []
        ends = np.cumsum([0, *(len(known.totals) for known in crowd.distributions)])
        for x in range(crowd.secrets):
            of_x = []
            for k, signatures in enumerate(crowd.signatures):
                odds = crowd.odds[x, ends[k] : ends[k + 1]]
                rows = np.bincount(signatures, minlength=len(odds))
                inside = np.bincount(signatures[crowd.secret == x], minlength=len(odds))
                order = np.argsort(odds)
                of_x.append(_Level(odds[order], rows[order], inside[order]))
            found.append(of_x)
        return found

    def _lost(self, x: int, r: float) -> int:
        return max((level.lost(r) for level in self._levels[x]), default=0)


@dataclass(frozen=True, eq=False)
class _Level:
    """Odds of one protected set by the signatures of one attribute set, ascending; rows, and those that have it."""

    odds: NDArray[np.float64]
    rows: NDArray[np.int64]
    inside: NDArray[np.int64]

    def lost(self, r: float) -> int:
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
