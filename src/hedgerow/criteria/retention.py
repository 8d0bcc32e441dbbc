"""How often a value may be published as it is, the others being replaced by chance, so that nobody's is told.

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

from fractions import Fraction

import numpy as np

from hedgerow.arrays import Counts
from hedgerow.criteria.neighbourhood import Reach
from hedgerow.errors import Infeasible

__all__ = ["largest_retention", "retention_risk"]


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
