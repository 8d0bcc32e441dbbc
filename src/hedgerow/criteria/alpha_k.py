"""(alpha,k)-anonymity: at least k rows, and no sensitive value in more than a share alpha of them.

Source     Wong, Li, Fu and Wang, 2006, in its general form: every value is sensitive
Guarantee  a group of N rows has N >= k and c(v) <= alpha * N for every value v
Cost       O(p) on p (group, value) pairs
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.caps import cap_arrays
from hedgerow.criteria.groupwise import Limited, Limits
from hedgerow.parameters import read_number, read_whole

__all__ = ["AlphaK"]


@dataclass(frozen=True)
class AlphaK(Limited):
    """At least `k` rows, no value in more than `alpha` of them."""

    alpha: Fraction
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", read_number("alpha", self.alpha, above=0, most=1))
        object.__setattr__(self, "k", read_whole("k", self.k, least=2, why="A group of one hides nobody."))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """At least k rows and a cap of alpha."""
        return Limits(self.k, 1, *cap_arrays(lambda _: self.alpha, overall))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Say what could be promised instead."""
        rows, most = int(overall.sum()), int(overall.max(initial=0))
        return f"(alpha, k)-anonymity works for k up to {rows} and alpha from {most}/{rows} on."
