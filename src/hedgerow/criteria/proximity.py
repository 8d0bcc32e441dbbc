"""(eps,m)-anonymity: of a group of N rows at most N/m lie in the private neighbourhood of any of its values.

Source     [Li 2008], definitions 5, 7 and 9 to 11, theorems 1 and 2, section 4.4
Guarantee  nobody's value can be guessed to within its neighbourhood with a probability above 1/m; `eps_below` is exact:
           with eps below the bound m works, at the bound it does not
Cost       O(p log p) on p (group, value) pairs; the two-pointer loops of `partition.proximity` are linear
Deviates   a group of one row with m >= 2 is a violation (the printed check lets it pass); relative
           neighbourhoods for any sign, without logarithms; m above the rows is refused, m = 1 allows any eps

Not monotone: {40, 60} and {50, 80} satisfy (15, 2), their union does not, so a union of good groups is checked again.
But one number, `largest_cover`, decides whether a set of rows can be divided into good groups: it can exactly when
m <= rows // largest_cover.

A private neighbourhood ([Li 2008], definitions 4, 6 and 8) holds the values that are too near to a value to count
as different. Ends are compared exactly; both ends never decrease as the value grows, and the value lies between them;
O(u log u) on u distinct values. It is one of

    absolute     s - eps     .. s + eps
    one-sided    s - e1      .. s + e2
    relative     s - eps|s|  .. s + eps|s|,  eps at most 1
    general      low(s)      .. high(s),     given by a function on fractions

Relative ones are by |s|, which for negative values are not empty; there are no logarithms, which miss values that lie
on an end. On a column with distinct values 0..u-1 in ascending order it becomes a `Reach`: value i reaches
first[i]..last[i].

How often a value may be published unchanged while the others are replaced at random ([Li 2008], section 7; randomized
response [Warner 1965]): the largest p for which P[true value near | published value near] <= 1/m around every value
that occurs, in O(u) on u values of the domain. A value is kept with probability p and otherwise drawn uniformly from
the domain of W values. Around a value lie c of n rows and w of W values, P = c/n and I = w/W, and the
risk P (p + (1-p) I) / (P p + (1-p) I) grows with p from P at p = 0. So it is feasible exactly if m c <= n everywhere,
and then p = w (n - m c) / (w (n - m c) + W c (m - 1)) is the largest around that value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Groups, group_sums
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import Line
from hedgerow.parameters import Number, read_number, read_whole, what_works

_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Reach:
    """Value i reaches the values first[i]..last[i], itself among them; both never decrease."""

    first: NDArray[np.int32]
    last: NDArray[np.int32]


@dataclass(frozen=True)
class Neighbourhood:
    """From s - below - share|s| to s + above + share|s|, in the column's own terms; or from low to high of `ends`."""

    below: Fraction = Fraction(0)
    above: Fraction = Fraction(0)
    share: Fraction = Fraction(0)
    ends: Callable[[Fraction], tuple[Fraction, Fraction]] | None = None

    def reach(self, where: Line) -> Reach:
        """Say which of a column's distinct values each of them reaches."""
        if self.ends is not None:
            return _reach_by_function(where, self.ends)
        below, above = where.distance(self.below), where.distance(self.above)
        if where.positions.dtype.kind == "f":
            return _reach_by_search(where.positions.astype(np.float64, copy=False), below, above, self.share)
        return _reach_on_grid(where.positions.astype(np.int64, copy=False), below, above, self.share)


def absolute(eps: Number) -> Neighbourhood:
    """Values at most `eps` away."""
    return one_sided(eps, eps, names=("eps", "eps"))


def one_sided(e1: Number, e2: Number, *, names: tuple[str, str] = ("e1", "e2")) -> Neighbourhood:
    """Values at most `e1` below and at most `e2` above."""
    return Neighbourhood(read_number(names[0], e1, least=0), read_number(names[1], e2, least=0))


def relative(eps: Number) -> Neighbourhood:
    """Values at most the share `eps` of the value away, of either sign."""
    return Neighbourhood(share=read_number("eps", eps, least=0, most=1))


def general(ends: Callable[[Fraction], tuple[Fraction, Fraction]]) -> Neighbourhood:
    """Values from low to high, both never decreasing, as `ends` says for each value."""
    if not callable(ends):
        raise ParameterError("'ends' must be a function from a value to the two ends of its neighbourhood.")
    return Neighbourhood(ends=ends)


def same_value(values: int) -> Reach:
    """Every value reaches itself alone, which makes proximity the frequency of values."""
    own = np.arange(values, dtype=np.int32)
    return Reach(own, own)


def _reach_on_grid(positions: NDArray[np.int64], below: Fraction, above: Fraction, share: Fraction) -> Reach:
    """Compare whole numbers over a common denominator: in 64 bits where they fit, else in Python's integers."""
    common = math.lcm(below.denominator, above.denominator, share.denominator)
    down, up, part = (int(number * common) for number in (below, above, share))
    longest = (common + part) * int(np.abs(positions).max(initial=0)) + max(down, up)
    at: NDArray[Any] = positions if longest < _LARGEST else positions.astype(object)
    lows, highs = at * common - np.abs(at) * part - down, at * common + np.abs(at) * part + up
    # Rounding inwards to whole positions loses none of them.
    least, most = -(-lows // common), highs // common
    return _reach(np.searchsorted(positions, _clip(least)), np.searchsorted(positions, _clip(most), side="right"))


def _clip(ends: NDArray[Any]) -> NDArray[np.int64]:
    clipped: NDArray[np.int64] = np.clip(ends, -_LARGEST, _LARGEST).astype(np.int64)
    return clipped


def _reach_by_search(positions: NDArray[np.float64], below: Fraction, above: Fraction, share: Fraction) -> Reach:
    """Floats decide where rounding cannot matter; the few values near an end are compared as fractions."""

    def low(value: Fraction) -> Fraction:
        return value - below - share * abs(value)

    def high(value: Fraction) -> Fraction:
        return value + above + share * abs(value)

    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.abs(positions) * float(share)
        farthest = np.abs(positions) + widths + float(max(below, above))
        rounding = 8 * np.spacing(farthest)
        lows, highs = positions - float(below) - widths, positions + float(above) + widths
        # An end beyond the range of floats is compared with every value.
        known = np.isfinite(farthest)
        near = [
            (np.where(known, end - rounding, -np.inf), np.where(known, end + rounding, np.inf)) for end in (lows, highs)
        ]
    first = _settle(positions, *near[0], low, strict=False)
    return _reach(first, _settle(positions, *near[1], high, strict=True))


def _settle(
    positions: NDArray[np.float64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    exact: Callable[[Fraction], Fraction],
    *,
    strict: bool,
) -> NDArray[np.int64]:
    """For each value count the positions below its end (or, `strict`, not above it), which lies in least..most."""
    few = np.searchsorted(positions, least)
    many = np.searchsorted(positions, most, side="right")
    for i in np.flatnonzero(few < many).tolist():
        end = exact(Fraction(positions[i].item()))
        near = positions[few[i] : many[i]].tolist()
        few[i] += sum(Fraction(value) <= end if strict else Fraction(value) < end for value in near)
    return few


def _reach_by_function(where: Line, ends: Callable[[Fraction], tuple[Fraction, Fraction]]) -> Reach:
    values = [Fraction(position) * where.unit for position in where.positions.tolist()]
    first, last, a, b = [], [], 0, 0
    before: tuple[Fraction, Fraction] | None = None
    for value in values:
        low, high = ends(value)
        if not low <= value <= high or (before is not None and (low < before[0] or high < before[1])):
            raise ParameterError("'ends' must give a low and a high end around each value that never decrease.")
        before = (low, high)
        while values[a] < low:
            a += 1
        while b < len(values) and values[b] <= high:
            b += 1
        first.append(a)
        last.append(b)
    return _reach(np.array(first, np.int64), np.array(last, np.int64))


def _reach(first: NDArray[Any], behind: NDArray[Any]) -> Reach:
    return Reach(first.astype(np.int32), (behind - 1).astype(np.int32))


def retention_risk(p: Fraction, inside: Fraction, width: Fraction) -> Fraction:
    """The probability that a value lies in a neighbourhood, once it was published there.

    `inside` is the share of the rows and `width` the share of the domain in the neighbourhood.
    """
    return inside * (p + (1 - p) * width) / (inside * p + (1 - p) * width)


def largest_retention(reach: Reach, counts: Counts, *, m: int, column: str = "column") -> Fraction:
    """The largest p that keeps the risk at 1/m or below; `counts` are rows per value of the domain, 0 included."""
    inside, width = _neighbours(reach, counts)
    rows, values = int(counts.sum()), len(counts)
    crowded = int(inside.max())
    if crowded * m > rows:
        raise Infeasible(
            f"A risk of at most 1/{m:,} is out of reach for '{column}': {crowded:,} of {rows:,} rows lie in one "
            f"neighbourhood, so that guessing is right more often; {what_works('m', rows // crowded)}."
        )
    if m == 1:
        return Fraction(1)
    free = width * (rows - m * inside).astype(np.float64)
    ratios = free / (values * (m - 1) * inside.astype(np.float64))
    # Floats find the few smallest ratios; fractions decide between them.
    near = np.flatnonzero(ratios <= ratios.min() * (1 + 1e-9))
    pairs = {(int(inside[i]), int(width[i])) for i in near}
    return min(_retention(c, w, rows, values, m) for c, w in pairs)


def _neighbours(reach: Reach, counts: Counts) -> tuple[Counts, Counts]:
    """Rows and values in the neighbourhood of each value that occurs."""
    upto = np.append(0, np.cumsum(counts))
    occurs = counts > 0
    first, last = reach.first[occurs].astype(np.int64), reach.last[occurs].astype(np.int64)
    return upto[last + 1] - upto[first], last + 1 - first


def _retention(inside: int, width: int, rows: int, values: int, m: int) -> Fraction:
    free = width * (rows - m * inside)
    return Fraction(free, free + values * inside * (m - 1))


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
        """No limits: neighbourhoods are checked by `holds`."""

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether no neighbourhood holds more than 1/m of it."""
        held: NDArray[np.bool_] = (
            group_sums(groups, self._count_reached(groups) * self.m > groups.sizes[groups.owners]) == 0
        )
        return held

    def risks(self, groups: Groups) -> NDArray[np.float64]:
        """The largest share of each group that lies in one neighbourhood."""
        return np.maximum.reduceat(self._count_reached(groups), groups.starts) / groups.sizes

    def _count_reached(self, groups: Groups) -> Counts:
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
        """Describe what the column could satisfy instead."""
        return f"{what_works('m', largest_m(self.reach, overall))}."


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
        raise Infeasible(
            f"A risk of at most 1/{m:,} needs groups of {m:,} rows; there are {rows:,}, and {what_works('m', works)}."
        )
    if m > works:
        cover = largest_cover(reach, counts)
        raise Infeasible(
            f"With these neighbourhoods a risk of at most 1/{m:,} is out of reach for '{column}': "
            f"{cover:,} of {rows:,} "
            f"rows lie so near each other that {what_works('m', works)}. A smaller eps allows more."
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
    """Return whether (eps,m)-anonymity can be reached."""
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
    """Rows whose positions differ by `apart` must have values more than eps apart."""
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
    """The least value of a function over many pairs: floats preselect pairs, fractions decide."""
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
