"""delta-disclosure privacy: no sensitive value is much more or much less frequent in a group than in the column.

Source     Brickell and Shmatikov, 2008
Guarantee  with p the share of a value in a group and q its share in the column, |ln(p / q)| < delta for every value of
           the column; so every value occurs in every group
Cost       O(p) on p (group, value) pairs, after two caps per distinct frequency
Deviates   the logarithm is natural; it is decided exactly: e^delta is irrational, so no share lies on the border
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.caps import cap_arrays, enclose, floor_irrational
from hedgerow.criteria.groupwise import Groups, Limits, group_sums
from hedgerow.parameters import read_number

__all__ = ["DeltaDisclosure"]

_BEYOND = Fraction(100)  # e^100 exceeds the square of any number of rows: from there on only presence counts

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class DeltaDisclosure:
    """Shares between e^-`delta` and e^`delta` times those of the column."""

    delta: Fraction

    monotone: ClassVar[bool] = True
    """A share of a union lies between the shares of its parts."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_number("delta", self.delta, above=0))

    def limits(self, overall: Counts) -> Limits:
        """Every value of the column, and a cap per value; how rare a value may be is left to `holds`."""
        distinct = int(np.count_nonzero(overall))
        upper = cap_arrays(lambda frequency: self._share(1, frequency, int(overall.sum())), overall)
        return Limits(distinct, distinct, *upper, whole=False)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell for each group whether every value of the column is neither too frequent nor too rare in it."""
        rows = int(groups.overall.sum())
        numerators, denominators = cap_arrays(lambda frequency: self._share(-1, frequency, rows), groups.overall)
        size, values = groups.sizes[groups.owners], groups.values
        rare = groups.counts * denominators[values] <= numerators[values] * size
        common: NDArray[np.bool_] = group_sums(groups, rare) == 0
        return self.limits(groups.overall).hold(groups) & common

    def nearest(self, overall: Counts) -> str:
        """Say what could be promised instead: the column's shares are its own."""
        return "the column as one group discloses nothing, so any delta works."

    def _share(self, sign: int, frequency: int, rows: int) -> Fraction:
        """The largest share of at most `rows` rows that is below e^(sign * delta) * frequency / rows."""
        if frequency == 0:
            return Fraction(0)
        return floor_irrational(self._bounds(sign, Fraction(frequency, rows)), rows)

    def _bounds(self, sign: int, share: Fraction) -> Callable[[int], tuple[Fraction, Fraction]]:
        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            low, high = enclose(Decimal.exp, min(self.delta, _BEYOND), digits)
            return (low * share, high * share) if sign > 0 else (share / high, share / low)

        return bounds
