"""(k,e)-anonymity as a search over groups of rows sees it: histograms of codes, and where the codes lie on the line.

Source     dissertation on permutation-based microdata protection, section 2.3
Cost       O(1) per group beyond its histogram
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Groups, Limits
from hedgerow.criteria.ke import KE, Positions

__all__ = ["GroupwiseKE"]


@dataclass(frozen=True, eq=False)
class GroupwiseKE:
    """A criterion on histograms: code c stands for the value at `positions[c]`, in the units of the criterion's e."""

    ke: KE
    positions: Positions

    monotone: ClassVar[bool] = True
    absorbing: ClassVar[bool] = True
    relative: ClassVar[bool] = False

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """Distinct values, and the rows to have them; a spread is beyond numbers of rows."""
        return Limits.of(overall, rows=self.ke.k, distinct=self.ke.k, whole=self.ke.e == 0)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell for each group whether it has enough values, far enough apart."""
        ends = np.append(groups.starts[1:], len(groups.values)) - 1
        lowest, highest = (self.positions[groups.values[places]] for places in (groups.starts, ends))
        return self.ke.holds(groups.distinct, lowest, highest)

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Say what a column that is not good as a whole could satisfy."""
        return f"it has {np.count_nonzero(overall):,} distinct values, or they lie closer together than e."
