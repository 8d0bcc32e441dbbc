"""Private neighbourhoods: which values are too near to a value to be told apart from it.

Source     [Li 2008], definitions 4, 6 and 8
Guarantee  ends are compared exactly; both ends never decrease as the value grows, and the value lies between them
Cost       O(u log u) on u distinct values
Deviates   relative neighbourhoods are s - eps|s| .. s + eps|s|, which for negative values are not empty; no logarithms,
           which miss values that lie on an end

A neighbourhood is one of

    absolute     s - eps     .. s + eps
    one-sided    s - e1      .. s + e2
    relative     s - eps|s|  .. s + eps|s|,  eps at most 1
    general      low(s)      .. high(s),     given by a function on fractions

On a column with distinct values 0..u-1 in ascending order it becomes a `Reach`: value i reaches first[i]..last[i].

How often a value may be published as it is, the others being replaced by chance, so that nobody's is told.

Source     [Li 2008], section 7 (perturbation); randomized response [Warner 1965]
Guarantee  the largest p for which P[true value near | published value near] <= 1/m around every value that occurs
Cost       O(u) on u values of the domain, after their reach is known

A value is kept with probability p and otherwise drawn uniformly from the domain of W values. Around a value lies a
neighbourhood with c of n rows and w of W values, P = c/n and I = w/W, and the risk

    P (p + (1-p) I) / (P p + (1-p) I)

grows with p from P at p = 0. So it is feasible exactly if m c <= n everywhere, and then
p = w (n - m c) / (w (n - m c) + W c (m - 1)) is the largest around that value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import Line
from hedgerow.parameters import Number, read_number

__all__ = [
    "Neighbourhood",
    "Reach",
    "absolute",
    "general",
    "largest_retention",
    "one_sided",
    "relative",
    "retention_risk",
    "same_value",
]

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
    return _reach(np.searchsorted(positions, _clipped(least)), np.searchsorted(positions, _clipped(most), side="right"))


def _clipped(ends: NDArray[Any]) -> NDArray[np.int64]:
    return ends if ends.dtype != object else np.clip(ends, -_LARGEST, _LARGEST).astype(np.int64)


def _reach_by_search(positions: NDArray[np.float64], below: Fraction, above: Fraction, share: Fraction) -> Reach:
    """Floats decide where rounding cannot matter; the few values near an end are compared as fractions."""

    def low(value: Fraction) -> Fraction:
        return value - below - share * abs(value)

    def high(value: Fraction) -> Fraction:
        return value + above + share * abs(value)

    with np.errstate(over="ignore"):
        widths = np.abs(positions) * float(share)
        rounding = 8 * np.spacing(np.abs(positions) + widths + float(max(below, above)))
        lows, highs = positions - float(below) - widths, positions + float(above) + widths
    first = _settled(positions, lows - rounding, lows + rounding, low, strict=False)
    return _reach(first, _settled(positions, highs - rounding, highs + rounding, high, strict=True))


def _settled(
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
    """The chance that a value lies in a neighbourhood, once it was published there.

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
            f"neighbourhood, which even pure chance would tell. The largest m that works is {rows // crowded:,}."
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
