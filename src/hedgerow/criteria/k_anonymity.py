"""k-anonymity: a group holds at least k rows.

Source     [Sweeney 2002]; [Samarati 2001]
Guarantee  nobody's row can be told from fewer than k - 1 others by its published quasi-identifiers
Cost       O(1) per group
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Limited, Limits
from hedgerow.parameters import read_whole

__all__ = ["KAnonymity"]


@dataclass(frozen=True)
class KAnonymity(Limited):
    """At least `k` rows."""

    k: int

    absorbing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", read_whole("k", self.k, least=2, why="A group of one hides nobody."))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """At least k rows."""
        return Limits.of(overall, rows=self.k)

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Say what could be promised instead."""
        return f"{self.k}-anonymity needs {self.k} rows; there are {int(overall.sum())}."
