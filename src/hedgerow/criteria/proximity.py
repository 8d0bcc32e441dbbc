"""(eps,m)-anonymity: of a group of N rows at most N/m lie in the private neighbourhood of any of its values.

Source     [Li 2008], definitions 5, 7 and 9 to 11, theorems 1 and 2, section 4.4
Guarantee  nobody's value can be placed near the true one with a probability above 1/m; `eps_below` is exact: with eps
           below the bound m works, at the bound it does not
Cost       O(p log p) on p (group, value) pairs; the two-pointer loops of `partition.proximity` are linear
Deviates   a group of one row with m >= 2 is a violation (the printed check lets it pass); relative
           neighbourhoods for any sign, without logarithms; m above the rows is refused, m = 1 allows any eps

Not monotone: {40, 60} and {50, 80} satisfy (15, 2), their union does not. So two good groups are never merged unseen.
But whether a set of rows can be divided into good groups is told by one number, `largest_cover`: it can exactly when
m <= rows // largest_cover.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Groups, group_sums
from hedgerow.criteria.neighbourhood import Neighbourhood, Reach, absolute, relative
from hedgerow.errors import Infeasible
from hedgerow.exact import Line
from hedgerow.parameters import Number, read_whole

__all__ = [
    "EpsBound",
    "EpsM",
    "achievable",
    "eps_below",
    "largest_cover",
    "largest_m",
    "m_for",
    "require_proximity",
]


@dataclass(frozen=True, eq=False)
class EpsM:
    """At most 1/`m` of a group in the reach of any of its values. `m` = 1 allows anything."""

    reach: Reach
    m: int

    monotone: ClassVar[bool] = False
    """A row's neighbourhood may be sparse in each of two groups and crowded by the rows of both."""

    relative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", read_whole("m", self.m, least=1))

    @classmethod
    def on(cls, where: Line, neighbourhood: Neighbourhood, m: int) -> EpsM:
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


def require_proximity(reach: Reach, counts: Counts, *, m: int, column: str = "sensitive") -> None:
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


@dataclass(frozen=True)
class EpsBound:
    """eps must be below `below`; None: any works; 0: none does. `largest` is the largest eps on the column's grid."""

    below: Fraction | None
    largest: Fraction | None


def m_for(where: Line, counts: Counts, *, eps: Number, is_relative: bool = False) -> int:
    """The largest m that works with this eps."""
    return largest_m(_neighbourhood(eps, is_relative).reach(where), counts)


def achievable(where: Line, counts: Counts, *, eps: Number, m: int, is_relative: bool = False) -> bool:
    """Tell whether (eps,m)-anonymity can be reached."""
    return _read_m(m, counts) <= m_for(where, counts, eps=eps, is_relative=is_relative)


def eps_below(where: Line, counts: Counts, *, m: int, is_relative: bool = False) -> EpsBound:
    """The bound below which every eps works with this m."""
    rows = int(counts.sum())
    apart = rows // _read_m(m, counts)
    values = np.repeat(np.arange(len(counts)), counts)
    low, high = where.positions[values[: rows - apart]], where.positions[values[apart:]]
    if not len(low):
        return EpsBound(None, Fraction(1) if is_relative else None)
    return _relative_bound(low, high) if is_relative else _absolute_bound(low, high, where)


def _absolute_bound(low: NDArray[Any], high: NDArray[Any], where: Line) -> EpsBound:
    """Rows that stand `apart` places from each other must be farther than eps from each other."""
    nearest = _least(high - low, low, high, lambda lower, upper: upper - lower)
    below = nearest * where.unit
    on_grid = low.dtype.kind == "i" and nearest > 0
    return EpsBound(below, (nearest - 1) * where.unit if on_grid else None)


def _relative_bound(low: NDArray[Any], high: NDArray[Any]) -> EpsBound:
    """The smallest share at which the farther of two such rows from zero reaches the other."""
    larger = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        shares = np.where(larger > 0, (high.astype(np.float64) - low) / larger, 0.0)
    below = _least(shares, low, high, _share)
    return EpsBound(None, Fraction(1)) if below > 1 else EpsBound(below, None)


def _share(low: Fraction, high: Fraction) -> Fraction:
    return (high - low) / larger if (larger := max(abs(low), abs(high))) else Fraction(0)


def _least(
    rounded: NDArray[Any], low: NDArray[Any], high: NDArray[Any], exact: Callable[[Fraction, Fraction], Fraction]
) -> Fraction:
    """The least of a number of many pairs: floats narrow down which, fractions decide."""
    least = float(rounded.min())
    near = np.flatnonzero(rounded <= least + abs(least) * 1e-9)
    pairs = np.unique(np.stack([low[near], high[near]], axis=1), axis=0)
    return min(exact(Fraction(lower), Fraction(upper)) for lower, upper in pairs.tolist())


def _read_m(m: object, counts: Counts) -> int:
    whole, rows = read_whole("m", m, least=1), int(counts.sum())
    if whole > rows:
        raise Infeasible(f"A risk of at most 1/{whole:,} needs groups of {whole:,} rows; there are {rows:,}.")
    return whole


def _neighbourhood(eps: Number, is_relative: bool) -> Neighbourhood:
    return relative(eps) if is_relative else absolute(eps)
