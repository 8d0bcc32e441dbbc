"""beta-likeness: no sensitive value gains more than a factor in a group.

Source     Cao and Karras, 2012
Guarantee  with p the share of a value in a group and q its share in the column, p <= (1 + beta) * q; enhanced:
           p <= (1 + min(beta, -ln q)) * q, which keeps frequent values below certainty
Cost       O(p) on p (group, value) pairs, after one cap per distinct frequency
Deviates   decided exactly, logarithms included (see `caps`)
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.caps import cap_arrays, enclose, floor_irrational
from hedgerow.criteria.groupwise import Limited, Limits
from hedgerow.parameters import read_number

__all__ = ["BetaLikeness"]

_FIRST_DIGITS = 40


@dataclass(frozen=True)
class BetaLikeness(Limited):
    """No value's share in a group exceeds its share in the column by more than `beta` times that share."""

    beta: Fraction
    enhanced: bool = True

    relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", read_number("beta", self.beta, above=0))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """A cap per value."""
        rows = int(overall.sum())
        return Limits(1, 1, *cap_arrays(lambda frequency: self._cap(frequency, rows), overall))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Say what could be promised instead: in the column itself nothing gains."""
        return "the column as one group gains nothing, so any beta works."

    def _cap(self, frequency: int, rows: int) -> Fraction:
        share = Fraction(frequency, rows)
        if not self.enhanced or frequency == 0 or self._below_log(share):
            return (1 + self.beta) * share
        if share == 1:
            return share

        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            low, high = enclose(Decimal.ln, 1 / share, digits)
            return (1 + low) * share, (1 + high) * share

        return floor_irrational(bounds, rows)

    def _below_log(self, share: Fraction) -> bool:
        """Tell whether beta < -ln(share); a logarithm of a fraction other than 1 is never a fraction."""
        if share == 1:
            return False
        digits = _FIRST_DIGITS
        while True:
            low, high = enclose(Decimal.ln, 1 / share, digits)
            if self.beta < low or self.beta > high:
                return self.beta < low
            digits *= 2
