"""Whether a group of a crowd is r-robust, quickly: sums first, polynomials or permanents where sums do not decide.

Guarantee  says yes only where every p is at most 1/r for sure; says no where rounding leaves a doubt
Cost       O(N K) for N rows and K attribute sets where sums decide
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.inference.binary import binary_posteriors, relative_error
from hedgerow.inference.bounds import pair_bound
from hedgerow.inference.full import full_by_group
from hedgerow.inference.robust import Model
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.candidates import Crowd

__all__ = ["Check", "decide"]

_FEW_STATES = 1 << 14
"""In the search a permanent beyond this is not worth its time: another row is cheaper."""


@dataclass(frozen=True)
class Check:
    """The test for groups of one crowd."""

    crowd: Crowd
    r: Fraction
    model: Model = "binary"

    def holds(self, rows: NDArray[np.int32]) -> bool:
        """Tell whether the group is robust, with any number of occurrences of each protected set."""
        return self.holds_binary(rows) and (self.model == "binary" or self.holds_full(rows))

    def holds_binary(self, rows: NDArray[np.int32]) -> bool:
        """The test for x against not x."""
        crowd = self.crowd
        counts = np.bincount(crowd.secret[rows], minlength=crowd.secrets + 1)[: crowd.secrets]
        if int(counts.max()) * self.r > len(rows):
            return False
        run = decide.compiled if crowd.size > SMALL else decide.plain
        doubtful = np.zeros((crowd.secrets, crowd.entry.shape[1]), bool)
        margin = 1.0 + relative_error(len(rows))
        if not run(crowd.odds, crowd.entry[crowd.cell[rows]], counts, float_above(self.r), margin, doubtful):
            return False
        return all(
            self._exactly(crowd.odds[i, crowd.entry[crowd.cell[rows], k]], int(counts[i]))
            for i, k in zip(*np.nonzero(doubtful), strict=True)
        )

    def _exactly(self, odds: NDArray[np.float64], count: int) -> bool:
        ends, calls = np.array([0, len(odds)]), self.crowd.size * len(self.crowd.signatures)
        p = binary_posteriors(np.ascontiguousarray(odds), ends, np.array([count]), calls=calls)
        return bool(p.max() * float_above(self.r) * (1.0 + relative_error(len(odds))) <= 1.0)

    def holds_full(self, rows: NDArray[np.int32]) -> bool:
        """The test for all values: the bound by pairs of rows, then permanents."""
        distinct, counts = np.unique(self.crowd.values[rows], return_counts=True)
        inside = self.crowd.member[:, distinct].T.astype(np.float64)
        return all(self._full(k, rows, distinct, counts, inside) for k in range(len(self.crowd.signatures)))

    def _full(
        self,
        k: int,
        rows: NDArray[np.int32],
        distinct: NDArray[np.int64],
        counts: NDArray[np.int64],
        inside: NDArray[np.float64],
    ) -> bool:
        known, signatures = self.crowd.distributions[k], self.crowd.signatures[k][rows]
        if (signatures == signatures[0]).all():
            return all(int(count) * self.r <= len(rows) for count in counts @ inside)
        limit = (1.0 - relative_error(4 * len(rows))) / float_above(self.r)
        bound = pair_bound(known.f[signatures][:, distinct], counts)
        if (bound @ inside).max() <= limit:
            return True
        values, ends = self.crowd.values[rows].astype(np.int32), np.array([0, len(rows)])
        p, too_large = full_by_group(known.f, signatures, values, ends, self.crowd.member, _FEW_STATES)
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

    p of the row that stands out most is at most c o / sum of o, and equal to it for one occurrence; by Maclaurin's
    inequality it is above 1/r where the others' odds are too few.
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
