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
from hedgerow.partition.robust.crowd import Crowd

__all__ = ["Check"]

_FEW_STATES = 1 << 14
"""In the search a permanent beyond this is not worth its time: another row is cheaper."""


@dataclass(frozen=True)
class Check:
    """The test for groups of one crowd."""

    crowd: Crowd
    r: Fraction
    model: Model

    def holds(self, rows: NDArray[np.int32]) -> bool:
        """Tell whether the group is robust, with any number of occurrences of each protected set."""
        return self.holds_binary(rows) and (self.model == "binary" or self.holds_full(rows))

    def holds_binary(self, rows: NDArray[np.int32]) -> bool:
        """The test for x against not x."""
        counts = np.bincount(self.crowd.secret[rows], minlength=self.crowd.secrets + 1)[: self.crowd.secrets]
        if int(counts.max()) * self.r > len(rows):
            return False
        present = np.flatnonzero(counts)
        odds = self.crowd.odds[present[:, None, None], self.crowd.entry[self.crowd.cell[rows]]]
        high, count = odds.max(axis=1), counts[present, None]
        margin = 1.0 + relative_error(len(rows))
        # p of the row that stands out most is at most c o / sum of o, and equal to it for one occurrence.
        total = odds.sum(axis=1)
        bounded = np.isfinite(high) & (count * float_above(self.r) * high * margin <= total)
        fine = (odds.min(axis=1) == high) | bounded
        # By Maclaurin's inequality p is above 1/r where the others' odds are too few: no polynomials need be asked.
        others = (total - high) * (1.0 + relative_error(len(rows)))
        too_few = count * (float(self.r) - 1.0) * high * (len(rows) - 1) > others * (len(rows) - count)
        hopeless = ~fine & ((count == 1) | too_few)
        if hopeless.any():
            return False
        doubtful = np.argwhere(~fine)
        with np.errstate(invalid="ignore"):
            worst_first = doubtful[np.argsort(-(count * high / total)[~fine])]
        return all(self._exactly(odds[i, :, k], int(count[i, 0])) for i, k in worst_first)

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
