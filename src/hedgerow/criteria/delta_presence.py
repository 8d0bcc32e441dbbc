"""delta-presence: from a person's group nobody can tell well whether the person is in the private table.

Source     Nergiz, Atzori and Clifton, 2007
Guarantee  in every group the share of rows that are members lies between low and high
Cost       O(p) on p (group, value) pairs

The table is the public population, and its sensitive column says who is a member of the private table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.caps import floor_fraction
from hedgerow.criteria.groupwise import Limited, Limits
from hedgerow.errors import ParameterError
from hedgerow.parameters import read_number

__all__ = ["DeltaPresence"]


@dataclass(frozen=True)
class DeltaPresence(Limited):
    """A share of members from `low` to `high`; `member` is their code in a column of at most two codes."""

    low: Fraction
    high: Fraction
    member: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", read_number("low", self.low, least=0, most=1))
        object.__setattr__(self, "high", read_number("high", self.high, least=0, most=1))
        if self.low > self.high:
            raise ParameterError("'low' must not exceed 'high'.")

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """Members fill at most `high`, the others at most 1 - `low`."""
        if len(overall) > 2:
            raise ParameterError(f"delta-presence needs a column of two values, member or not; got {len(overall)}.")
        rows = int(overall.sum())
        wanted = [self.high if code == self.member else 1 - self.low for code in range(len(overall))]
        caps = [floor_fraction(share, rows) for share in wanted]
        numerators, denominators = ([cap.numerator for cap in caps], [cap.denominator for cap in caps])
        return Limits(1, 1, np.array(numerators, np.int64), np.array(denominators, np.int64))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Say what could be promised instead."""
        members = int(overall[self.member]) if 0 <= self.member < len(overall) else 0
        return f"delta-presence needs bounds around {members}/{int(overall.sum())}, the share of members."
