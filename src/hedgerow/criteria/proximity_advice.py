"""What (eps,m)-anonymity a column allows: the largest m for an eps, the bound on eps for an m, or whether both work.

Source     proximity paper, theorems 1 and 2 and section 4.4
Guarantee  exact: with eps below the bound m works, at the bound it does not
Cost       O(n) after one sort
Deviates   relative neighbourhoods for any sign, without logarithms; m above the rows is refused, m = 1 allows any eps
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.neighbourhood import Neighbourhood, absolute, relative
from hedgerow.criteria.proximity import largest_m
from hedgerow.errors import Infeasible
from hedgerow.exact import Line
from hedgerow.parameters import Number, read_whole

__all__ = ["EpsBound", "achievable", "eps_below", "m_for"]

Counts = NDArray[np.int64]


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
