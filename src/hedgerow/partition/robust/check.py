"""Decide quickly whether a group is r-robust: by sums first, by polynomials or permanents where sums do not decide.

Guarantee  says yes only if every p is certainly at most 1/r; says no if rounding leaves a doubt
Cost       O(N K) for N rows and K attribute sets where sums decide

How far any partition can go (own, from Maclaurin's inequality; [Wong 2009] does not treat tables that cannot be
grouped): `least_suppressed` is never above the number of rows that the best partition leaves out, after one sort of n
odds per protected value and attribute set. A group in which c rows have x, the greatest odds are o and the odds add up
to S has p >= 1/r for the row of these odds unless S - o >= (r - 1) c o: e_c <= e_(c-1) e_1 / c over the other rows. So
a row whose odds times r exceed the sum of all odds can be in no group, and r - 1 times the odds of the rows that have x
is at most the sum of all. An occurrence also fills at most 1/r of its group.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.inference.bounds import least_suppressed, pair_bound
from hedgerow.inference.full import binary_posteriors, full_by_group, relative_error
from hedgerow.inference.robust import Model
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.candidates import RobustRows

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

    def _exactly(self, odds: NDArray[np.float64], count: int) -> bool:
        ends, calls = np.array([0, len(odds)]), self.candidates.size * len(self.candidates.signatures)
        p = binary_posteriors(np.ascontiguousarray(odds), ends, np.array([count]), calls=calls)
        return bool(p.max() * float_above(self.r) * (1.0 + relative_error(len(odds))) <= 1.0)

    def holds_full(self, rows: NDArray[np.int32]) -> bool:
        """The test for all values: the bound by pairs of rows, then permanents."""
        distinct, counts = np.unique(self.candidates.values[rows], return_counts=True)
        inside = self.candidates.member[:, distinct].T.astype(np.float64)
        return all(self._full(k, rows, distinct, counts, inside) for k in range(len(self.candidates.signatures)))

    def _full(
        self,
        k: int,
        rows: NDArray[np.int32],
        distinct: NDArray[np.int64],
        counts: NDArray[np.int64],
        inside: NDArray[np.float64],
    ) -> bool:
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
def decide(
    odds: NDArray[np.float64],
    entry: NDArray[np.int32],
    counts: NDArray[np.int64],
    r: float,
    margin: float,
    doubtful: NDArray[np.bool_],
) -> bool:
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

    def least_suppressed(self, r: Fraction, *, most: int) -> NDArray[np.int64]:
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

    odds: NDArray[np.float64]
    rows: NDArray[np.int64]
    inside: NDArray[np.int64]

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
