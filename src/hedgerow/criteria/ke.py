"""(k,e)-anonymity: a group holds at least k distinct sensitive values, and their range is at least e.

Source     [Zhang 2008], section 2.3
Guarantee  an attacker who knows a person's group is left with k candidate values that span a range of at least e
Cost       O(1) per group; `latest_start` O(u log u) on u distinct values
Deviates   comparisons are exact: integers against the rounded-up e, floats with the error of their difference

The threshold e is in the same units as `positions`, the sorted distinct values on an exact line (`hedgerow.exact`).
A float position is the binary number that it is.

`GroupwiseKE` is the same criterion on histograms of codes, for searches over groups of rows.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Groups, Limits
from hedgerow.errors import Infeasible
from hedgerow.exact import as_fraction, float_above, float_below
from hedgerow.parameters import Number, read_number, read_whole

__all__ = ["KE", "GroupwiseKE", "Number", "Positions", "largest_e", "largest_k", "latest_start"]

Positions = NDArray[np.int64] | NDArray[np.float64]

_LONGEST = 10**300  # longer whole numbers are written like floats: so many digits are unreadable


@dataclass(frozen=True, init=False)
class KE:
    """At least `k` distinct values with a range of at least `e`, read exactly (floats as the decimal they print)."""

    k: int
    e: Fraction

    monotone: ClassVar[bool] = True
    """More values never shrink a range or a number of distinct values, so unions of good groups are good."""

    def __init__(self, k: int, e: Number) -> None:
        object.__setattr__(self, "k", _read_k(k))
        object.__setattr__(self, "e", read_number("e", e, least=0))

    def holds(self, distinct: NDArray[Any], lowest: Positions, highest: Positions) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies the criterion, from its distinct values, least and greatest."""
        enough: NDArray[np.bool_] = distinct >= self.k
        return enough & _spans(lowest, highest, self.e)

    def feasible(self, positions: Positions) -> bool:
        """Return whether any partition can satisfy the criterion: exactly when the whole column as one group does."""
        return len(positions) >= self.k and bool(_spans(positions[:1], positions[-1:], self.e).all())

    def require(self, positions: Positions, *, unit: Fraction = Fraction(1), column: str | None = None) -> None:
        """Raise Infeasible, naming what could be promised, where the column cannot satisfy the criterion.

        `unit` turns positions into the column's own terms for the message.
        """
        if self.feasible(positions):
            return
        place = "" if column is None else f" in {column!r}"
        needs = f"({self.k}, {_words(self.e * unit)})-anonymity needs {self.k} distinct values"
        needs += f" spread over {_words(self.e * unit)}{place}; "
        raise Infeasible(needs + _what_works(positions, unit))


def largest_k(positions: Positions, *, e: Number = 0) -> int:
    """The largest k for which (k,e)-anonymity is feasible, or 0 where no k is."""
    distinct = len(positions)
    return distinct if distinct >= 2 and KE(2, e).feasible(positions) else 0


def largest_e(positions: Positions, *, k: int = 2) -> Fraction | None:
    """The largest e for which (k,e)-anonymity is feasible, or None where no e is."""
    return None if len(positions) < _read_k(k) else _range(positions)


def latest_start(positions: Positions, *, k: int, e: Number) -> NDArray[np.int64]:
    """For each i the largest d such that the values d..i satisfy (k,e), or -1 where none does; never decreasing."""
    criterion = KE(k, e)
    fits_k = np.maximum(np.arange(len(positions), dtype=np.int64) - (criterion.k - 1), -1)
    if positions.dtype.kind == "f":
        return _latest_float(positions.astype(np.float64, copy=False), fits_k, criterion.e)
    return np.minimum(fits_k, _latest_integer(positions.astype(np.int64, copy=False), math.ceil(criterion.e)))


def _latest_integer(positions: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """For each i the largest d with a range of at least `least`, or -1."""
    latest = np.full(len(positions), -1, np.int64)
    # Only where the first value is far enough does `position - least` stay above it, and so within 64 bits.
    wide = positions - positions[:1] >= least
    if wide.any():
        latest[wide] = np.searchsorted(positions, positions[wide] - least, side="right") - 1
    return latest


def _latest_float(positions: NDArray[np.float64], fits_k: NDArray[np.int64], e: Fraction) -> NDArray[np.int64]:
    """For each i the largest d <= fits_k[i] with an exact range of at least e, or -1."""
    with np.errstate(over="ignore"):
        # A float up to p - e is up to p - e rounded; a float below p - e rounded is up to p - e.
        below = np.nextafter(positions - float_above(e), -np.inf)
        above = positions - float_below(e)
    sure = np.minimum(np.searchsorted(positions, below, side="right") - 1, fits_k)
    possible = np.minimum(np.searchsorted(positions, above, side="right") - 1, fits_k)
    while (open_ := np.flatnonzero(sure < possible)).size:
        middle = (sure[open_] + possible[open_] + 1) // 2
        spans = _spans(positions[middle], positions[open_], e)
        sure[open_] = np.where(spans, middle, sure[open_])
        possible[open_] = np.where(spans, possible[open_], middle - 1)
    return sure


def _spans(lowest: Positions, highest: Positions, e: Fraction) -> NDArray[np.bool_]:
    """Tell exactly where `highest - lowest >= e`."""
    if lowest.dtype.kind != "f":
        wide: NDArray[np.bool_] = highest - lowest >= math.ceil(e)
        return wide
    rounded, error = _difference(lowest, highest)
    # Rounding is monotone: a rounded difference beyond the floats around e is beyond e before rounding, too. On one of
    # these floats the error decides.
    decided: NDArray[np.bool_] = rounded > float_above(e)
    for edge in {float_below(e), float_above(e)} - {math.inf}:
        decided |= (rounded == edge) & (error >= float_above(e - Fraction(edge)))
    return decided


def _difference(lowest: NDArray[Any], highest: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Subtract floats without loss: the rounded difference, and what rounding took away (Knuth's two-sum)."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = highest - lowest
        taken = highest - rounded
        return rounded, (highest - (rounded + taken)) + (taken - lowest)


def _read_k(k: object) -> int:
    return read_whole("k", k, least=2, why="A group of one hides nobody.")


def _what_works(positions: Positions, unit: Fraction) -> str:
    distinct = len(positions)
    if distinct < 2:
        return f"this table has {distinct}, so no k works."
    widest = _words(_range(positions) * unit)
    has = f"this table has {distinct} spread over {widest}. "
    return has + f"The largest k that works is {distinct}, the largest e is {widest}."


def _range(positions: Positions) -> Fraction:
    return Fraction(positions[-1].item()) - Fraction(positions[0].item())


def _words(number: Fraction) -> str:
    """Write a number as text that reads back as the same number or a slightly smaller one."""
    if number.denominator == 1 and number < _LONGEST:
        return str(number.numerator)
    nearest = min(float_above(number), sys.float_info.max)
    while as_fraction(nearest) > number:
        nearest = math.nextafter(nearest, -math.inf)
    return repr(nearest)


@dataclass(frozen=True, eq=False)
class GroupwiseKE:
    """A criterion on histograms: code c stands for the value at `positions[c]`, in the units of the criterion's e."""

    ke: KE
    positions: Positions

    monotone: ClassVar[bool] = True
    absorbing: ClassVar[bool] = True
    relative: ClassVar[bool] = False

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """At least k distinct values, and so k rows; the range is checked by `holds`."""
        return Limits.of(overall, rows=self.ke.k, distinct=self.ke.k, whole=self.ke.e == 0)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it has enough values, far enough apart."""
        ends = np.append(groups.starts[1:], len(groups.values)) - 1
        lowest, highest = (self.positions[groups.values[places]] for places in (groups.starts, ends))
        return self.ke.holds(groups.distinct, lowest, highest)

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Describe what the column could satisfy instead."""
        return f"it has {np.count_nonzero(overall):,} distinct values, or they lie closer together than e."
