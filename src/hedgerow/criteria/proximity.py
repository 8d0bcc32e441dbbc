"""(eps,m)-anonymity: of a group of N rows at most N/m lie in the private neighbourhood of any of its values.

Source     proximity paper, definitions 5, 7 and 9 to 11, theorem 1
Guarantee  nobody's value can be placed near the true one with a probability above 1/m
Cost       O(p log p) on p (group, value) pairs; the two-pointer loops of `partition.proximity` are linear
Deviates   a group of one row with m >= 2 is a violation (the printed check lets it pass)

Not monotone: {40, 60} and {50, 80} satisfy (15, 2), their union does not. So two good groups are never merged unseen.
But whether a set of rows can be divided into good groups is told by one number, `largest_cover`: it can exactly when
m <= rows // largest_cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Groups, group_sums
from hedgerow.criteria.neighbourhood import Neighbourhood, Reach
from hedgerow.errors import Infeasible
from hedgerow.exact import Line
from hedgerow.parameters import read_whole

__all__ = ["Proximity", "largest_cover", "largest_m", "require_proximity"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Proximity:
    """At most 1/`m` of a group in the reach of any of its values. `m` = 1 allows anything."""

    reach: Reach
    m: int

    monotone: ClassVar[bool] = False
    """A row's neighbourhood may be sparse in each of two groups and crowded by the rows of both."""

    relative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", read_whole("m", self.m, least=1))

    @classmethod
    def on(cls, where: Line, neighbourhood: Neighbourhood, m: int) -> Proximity:
        """The criterion for a column."""
        return cls(neighbourhood.reach(where), m)

    def limits(self, overall: Counts) -> None:
        """Neighbours are more than a few numbers."""

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell for each group whether no neighbourhood holds more than 1/m of it."""
        held: NDArray[np.bool_] = group_sums(groups, self._covered(groups) * self.m > groups.sizes[groups.owners]) == 0
        return held

    def risks(self, groups: Groups) -> NDArray[np.float64]:
        """The largest share of each group that lies in one neighbourhood."""
        return np.maximum.reduceat(self._covered(groups), groups.starts) / groups.sizes

    def _covered(self, groups: Groups) -> Counts:
        """How many rows of its group each (group, value) pair reaches."""
        width = len(groups.overall)
        bases = groups.owners * width
        keys = bases + groups.values
        upto = np.append(0, np.cumsum(groups.counts))
        first = np.searchsorted(keys, bases + self.reach.first[groups.values])
        behind = np.searchsorted(keys, bases + self.reach.last[groups.values], side="right")
        covered: Counts = upto[behind] - upto[first]
        return covered

    def nearest(self, overall: Counts) -> str:
        """Say what could be promised instead."""
        return f"the largest m that works is {largest_m(self.reach, overall)}."


def largest_cover(reach: Reach, counts: Counts) -> int:
    """The rows in the larger half of the most crowded neighbourhood: up to its value, or from it on."""
    upto = np.append(0, np.cumsum(counts))
    own = np.arange(len(counts))
    left, right = upto[own + 1] - upto[reach.first], upto[reach.last + 1] - upto[own]
    # Take both sides: for negative values in relative neighbourhoods the right sets are the larger ones.
    return int(np.where(counts > 0, np.maximum(left, right), 0).max(initial=0))


def largest_m(reach: Reach, counts: Counts) -> int:
    """The largest m for which a column can be divided into good groups."""
    cover = largest_cover(reach, counts)
    return int(counts.sum()) // cover if cover else 0


def require_proximity(reach: Reach, counts: Counts, *, m: int, column: str) -> None:
    """Raise Infeasible, naming the largest m, where a column cannot be divided into good groups."""
    rows, works = int(counts.sum()), largest_m(reach, counts)
    if m > rows:
        raise Infeasible(f"A risk of at most 1/{m:,} needs groups of {m:,} rows; there are {rows:,}.")
    if m > works:
        cover = largest_cover(reach, counts)
        raise Infeasible(
            f"With these neighbourhoods a risk of at most 1/{m:,} is out of reach for '{column}': "
            f"{cover:,} of {rows:,} "
            f"rows lie so near each other that the largest m that works is {works:,}. A smaller eps allows more."
        )
