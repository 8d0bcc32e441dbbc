"""Bounds on p that need no possible worlds: the printed one, and two that hold for many values and occurrences.

Source     [Wong 2009], theorem 1 and inequality 4
Guarantee  `rate_bound` and `pair_bound` are never below the exact p; `delta_max` is what the paper prints
Cost       `rate_bound` O(N D), `pair_bound` O(N^2 D) for a group of N rows and D distinct values
Deviates   the printed bound holds for x against not x and one occurrence; c occurrences need c*r in place of r, and
           with many values it is false: p reaches .998 while Delta is 0

`pair_bound` compares rows by pairs. Exchanging the values of rows u and v turns a world in which u has x into one in
which v has it, and divides its weight by at most rho(u, v), the largest f_u(x) f_v(y) / (f_v(x) f_u(y)) over the other
values y of the group. So p(u:x) <= c / (1 + sum over v of 1 / max(1, rho(u, v))).
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import SMALL, kernel

__all__ = ["delta_max", "least_held_back", "pair_bound", "printed_bound_holds", "rate_bound"]


def least_held_back(
    counts: NDArray[np.int64], rows: int, r: Fraction, *, most: int, lost: NDArray[np.int64] | int = 0
) -> NDArray[np.int64]:
    """How many rows of each value no r-robust partition can publish, once above `most` in all not further.

    The p of a group add up to the occurrences of a value: it fills at most 1/r of the group, and of all groups. `lost`
    are rows of each value that are known to be left out.
    """
    held = np.zeros_like(counts) + lost
    while held.sum() <= most:
        cap = int((rows - int(held.sum())) // r)
        needed = np.maximum(held, counts - cap)
        if (needed == held).all():
            break
        held = needed
    return held


def delta_max(rows: int, r: Fraction | int, f_max: Fraction | float) -> Fraction | float:
    """The widest spread of f in a group of `rows` rows for which the paper promises p <= 1/r."""
    if f_max == 0 or f_max == 1:
        return f_max * 0
    exact = Fraction(r) if isinstance(f_max, Rational) else float(r)
    return (rows - exact) * f_max / (f_max * (exact - 1) / (1 - f_max) + (rows - 1))


def printed_bound_holds(f: NDArray[np.float64], r: Fraction | int, *, occurrences: int = 1) -> bool:
    """Tell whether a group satisfies the paper's condition for one value x, r replaced by c*r for c occurrences."""
    if occurrences == 0:
        return True
    widest = float(delta_max(len(f), r * occurrences, float(f.max())))
    return len(f) >= r * occurrences and float(f.max() - f.min()) <= widest


def rate_bound(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """A bound on p for each value (column of f) from the ratios of greatest to least f in the group (rows of f)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(f.max(axis=0) == f.min(axis=0), 1.0, f.max(axis=0) / f.min(axis=0))
    if len(rates) == 1:
        return np.asarray(np.minimum(counts / len(f), 1.0))
    ranked = np.sort(rates)
    others = np.where(rates == ranked[-1], ranked[-2] if (rates == ranked[-1]).sum() == 1 else ranked[-1], ranked[-1])
    rho = np.minimum(rates * others, 1e300)
    return np.asarray(np.minimum(counts * rho / (rho + len(f) - 1), 1.0))


def pair_bound(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """A bound on p for each row and value (rows and columns of f) of one group; `counts` are the occurrences."""
    program = by_pairs.plain if len(f) * f.size <= SMALL else by_pairs.compiled
    return program(np.ascontiguousarray(f), counts)


@kernel
def by_pairs(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The loop of `pair_bound`."""
    rows, values = f.shape
    bound = np.ones((rows, values))
    if f.min() <= 0.0:
        return bound  # an impossible value makes some ratio infinite: nothing is promised
    for u in range(rows):
        shares = np.ones(values)
        for v in range(rows):
            if v == u:
                continue
            best, second, where = 0.0, 0.0, -1
            for y in range(values):
                ratio = f[v, y] / f[u, y]
                if ratio > best:
                    best, second, where = ratio, best, y
                elif ratio > second:
                    second = ratio
            for x in range(values):
                other = second if x == where else best
                if other == 0.0:
                    other = f[v, x] / f[u, x]  # the only value: an exchange changes nothing
                shares[x] += min(1.0, f[v, x] / (f[u, x] * other))
        for x in range(values):
            bound[u, x] = min(1.0, counts[x] / shares[x])
    return bound
