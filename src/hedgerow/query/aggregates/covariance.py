"""Aggregates of two columns: COVAR_POP, COVAR_SAMP, CORR, REGR_SLOPE, REGR_INTERCEPT and REGR_R2.

Source     own
Guarantee  the true answer lies inside the bounds. Where one column is hidden and the other known, covariances and the
           line through a hidden outcome are linear in the hidden values, so that bounds are reached. What divides by
           the variance of hidden values is reached where groups are taken whole, which fixes that variance, and is a
           quotient of bounds otherwise
Cost       per result row one sort inside groups and exact sums of products

With sums over the n rows that have both columns: covar_pop = (Sxy - Sx Sy / n) / n, regr_slope = covar / var(x),
regr_intercept = mean(y) - slope * mean(x), corr = covar / sqrt(var(x) var(y)), regr_r2 = corr^2, and 1 if var(y) = 0.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import float_above, float_below
from hedgerow.query.aggregates.linear import Linear, LinearBounds, LinearShare, add_shares
from hedgerow.query.aggregates.precise import Digits, gram, side_by_side
from hedgerow.query.aggregates.variance import variance
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Ints, Values
from hedgerow.query.evidence.products import digits_of, linear_over
from hedgerow.query.evidence.rows import Selection, hits_of, ordered_rows, values_of
from hedgerow.query.evidence.view import View, missing_rows

__all__ = ["FUNCTIONS", "CellSums", "Covariance", "factors_of", "finish", "spreads_of"]

FUNCTIONS = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2")
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class _Line:
    """Bounds, mean, deviation; whether all assignments agree, and whether the bounds are reached. None is NULL."""

    bounds: LinearBounds | None
    reached: bool = True


@dataclass(frozen=True, eq=False)
class Covariance:
    """Two columns over selected rows: `first` and `second` as the function takes them, one of them perhaps hidden."""

    view: View
    hidden: View
    selection: Selection
    first: str
    second: str
    concealed: str | None

    def estimate(self, function: str) -> Estimate:
        """Bound one aggregate in every cell."""
        sums, spreads = self.sums(function), self._spreads()
        factors = [factors_of(function, self.is_swapped, one) for one in sums]
        sizes = [one.sizes for one in sums]
        shares = [[] if share is None else [share] for share in self.shares(factors, sizes)]
        return finish(function, self.is_swapped, sums, shares, spreads)

    @property
    def is_swapped(self) -> bool:
        """Whether the second column is the hidden one."""
        return self.concealed == self.second

    @functools.cached_property
    def _chosen(self) -> Selection:
        return self.selection.among(self._present())

    @functools.cached_property
    def _tables(self) -> list[_Table]:
        """The rows of each cell, in an order that follows from what they hold, so that every engine has the same."""
        known, other = (self.first, self.second) if self.is_swapped else (self.second, self.first)
        rows, cell = ordered_rows(self.view, self._chosen, known)
        edges = np.searchsorted(cell, np.arange(self._chosen.cells + 1))
        is_hidden = self.concealed is not None
        return [
            _Table.of(self.view, self.hidden, rows[a:b], known, other, is_hidden=is_hidden)
            for a, b in itertools.pairwise(edges)
        ]

    def sums(self, function: str) -> list[CellSums]:
        """What the rows of each cell add to the sums that an aggregate needs."""
        return [table.sums(has_squares=_needs_spread(function, self.is_swapped)) for table in self._tables]

    def shares(self, factors: Sequence[Sequence[Fraction] | None], sizes: Sequence[Floats]) -> list[LinearShare | None]:
        """What the rows of each cell add to the sum of hidden values with such factors; None where it is NULL."""
        return [
            None if own is None else table.linear.share(own, size)
            for table, own, size in zip(self._tables, factors, sizes, strict=True)
        ]

    def _present(self) -> NDArray[np.bool_]:
        """Rows that have both columns; of a hidden one it must be known."""
        present = np.ones(self.view.num_rows, dtype=np.bool_)
        for name in {self.first, self.second} - {self.concealed}:
            present &= ~missing_rows(self.view, name)
        if self.concealed is None:
            return present
        missing = np.bincount(
            self.hidden.groups[missing_rows(self.hidden, self.concealed)], minlength=len(self.hidden.offsets) - 1
        )
        none = missing == np.diff(self.hidden.offsets)
        touched = np.bincount(self.view.groups[self.selection.rows & present], minlength=len(none)) > 0
        if np.any(touched & (missing > 0) & ~none):
            raise QueryError(
                "some rows have no value in the sensitive column, and which of them is hidden, so that covariances "
                "have no bound; give the missing a number: corr(coalesce(x, 0), y)"
            )
        kept: NDArray[np.bool_] = present & ~none[self.view.groups]
        return kept

    def evidence(self) -> tuple[Hits, Values] | None:
        """Rows hit and values of the hidden column; None without one."""
        if self.concealed is None:
            return None
        return hits_of(self.view, self._chosen), values_of(self.hidden, self.concealed)

    def _spreads(self) -> list[Ends | None]:
        found = self.evidence()
        return [None] * self._chosen.cells if found is None else spreads_of(Evidence.of(*found), found[1].unit)


def spreads_of(evidence: Evidence, unit: Fraction) -> list[Ends | None]:
    """Bounds of the hidden column's variance per cell, in squared units of its values."""
    interval, _ = variance(evidence, is_sample=False)
    return [
        None if low is None or high is None else (Fraction(low) * unit**2, Fraction(high) * unit**2)
        for low, high in zip(interval.lower, interval.upper, strict=True)
    ]


def _needs_spread(function: str, is_swapped: bool) -> bool:
    return function in ("corr", "regr_r2") or (is_swapped and not function.startswith("covar"))


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over the rows of a cell: of the known column, and of the hidden one where its groups are taken whole."""

    rows: int
    total: int
    squares: int
    unit: Fraction
    sizes: Floats
    is_whole: bool
    hidden_total: int
    hidden_squares: int
    hidden_unit: Fraction

    def add(self, other: CellSums) -> CellSums:
        """The sums over the rows of both."""
        return replace(
            self,
            rows=self.rows + other.rows,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            sizes=np.maximum(self.sizes, other.sizes),
            is_whole=self.is_whole and other.is_whole,
            hidden_total=self.hidden_total + other.hidden_total,
            hidden_squares=self.hidden_squares + other.hidden_squares,
        )

    @property
    def spread(self) -> int:
        """n Sxx - Sx^2, which is n^2 times the variance of x in units."""
        return self.rows * self.squares - self.total**2

    @property
    def hidden_spread(self) -> Fraction | None:
        """The variance of y, where every table that the release allows agrees on it: groups are taken whole."""
        if not self.is_whole:
            return None
        spread = Fraction(self.rows * self.hidden_squares - self.hidden_total**2, self.rows**2)
        return spread * self.hidden_unit**2


def factors_of(function: str, is_swapped: bool, sums: CellSums) -> list[Fraction] | None:
    """What ones and x are multiplied with in the sum that is linear in y; None where the answer is NULL."""
    if sums.rows < (2 if function == "covar_samp" else 1):
        return None
    if function in ("regr_slope", "regr_intercept") and not is_swapped:
        if not sums.spread:
            return None
        if function == "regr_intercept":
            return [Fraction(sums.squares, sums.spread), Fraction(-sums.total, sums.spread)]
        return [Fraction(-sums.total, sums.spread) / sums.unit, Fraction(sums.rows, sums.spread) / sums.unit]
    by = sums.rows - 1 if function == "covar_samp" else sums.rows
    return [Fraction(-sums.total, sums.rows * by) * sums.unit, Fraction(1, by) * sums.unit]


def finish(
    function: str,
    is_swapped: bool,
    sums: Sequence[CellSums],
    shares: Sequence[Sequence[LinearShare]],
    spreads: Sequence[Ends | None],
) -> Estimate:
    """The answer in every cell, from the shares of all its rows in the linear sum."""
    lines = [
        _Line(None) if not own else _line(function, is_swapped, one, add_shares(own), spread)
        for one, own, spread in zip(sums, shares, spreads, strict=True)
    ]
    found = [line.bounds for line in lines]
    nan = math.nan
    return Estimate(
        [None if one is None else one.lower for one in found],
        [None if one is None else one.upper for one in found],
        [nan if one is None else one.expected for one in found],
        [nan if one is None else one.std for one in found],
        [one is None or one.exact for one in found],
        Rounding.OUTWARD,
        reached=[line.reached for line in lines],
    )


def _line(function: str, is_swapped: bool, sums: CellSums, found: LinearBounds, spread: Ends | None) -> _Line:
    if not _needs_spread(function, is_swapped):
        return _Line(found)
    exact = sums.hidden_spread
    if function in ("regr_slope", "regr_intercept"):
        if exact is None:
            raise QueryError(
                f"{function.upper()} with a sensitive second column has a bound only where groups are taken whole, "
                "for it divides by the variance of that column; put the sensitive column first, or ask CORR"
            )
        return _Line(None if not exact else _swap(function, sums, found, exact))
    ends = (exact, exact) if exact is not None else spread
    if ends is None or sums.rows < 2:
        return _Line(None)
    known = (Fraction(sums.spread), Fraction(sums.spread))
    outcome, regressor = (known, ends) if is_swapped else (ends, known)
    if not regressor[1] or (function == "corr" and not outcome[1]):
        return _Line(None)
    if not outcome[1]:
        return _Line(_fits(regressor[0] > 0), regressor[0] > 0)
    corr = _correlation(sums, found, ends)
    if function == "corr":
        return _Line(corr, exact is not None)
    square = _square(corr, exact is not None)
    return square if outcome[0] else replace(square, bounds=_fits(False, square.bounds))


def _fits(is_sure: bool, other: LinearBounds | None = None) -> LinearBounds:
    """REGR_R2 where all outcomes are equal, or may be, and regressors differ: 1, for the line meets every point."""
    return replace(other or LinearBounds(Fraction(1), Fraction(1), 1.0, 0.0, is_sure), upper=Fraction(1), exact=is_sure)


def _swap(function: str, sums: CellSums, covariance: LinearBounds, exact: Fraction) -> LinearBounds:
    """The line of a known outcome on hidden values whose sums are fixed."""
    slope = _scale(covariance, 1 / exact)
    if function == "regr_slope":
        return slope
    mean = Fraction(sums.hidden_total, sums.rows) * sums.hidden_unit
    return _shift(_scale(slope, -mean), Fraction(sums.total, sums.rows) * sums.unit)


def _correlation(sums: CellSums, found: LinearBounds, ends: Ends) -> LinearBounds:
    """The covariance over both deviations; that of the hidden values lies between the roots of `ends`."""
    x = Fraction(sums.spread, sums.rows**2) * sums.unit**2
    low = max(_over_root(found.lower, x * ends[0 if found.lower < 0 else 1], float_below), Fraction(-1))
    high = min(_over_root(found.upper, x * ends[0 if found.upper > 0 else 1], float_above), Fraction(1))
    scale = math.sqrt(float(x) * float(ends[0] + ends[1]) / 2.0)
    return LinearBounds(low, high, found.expected / scale, found.std / scale, found.exact and ends[0] == ends[1])


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows of one cell: a known column x, and values y that are linear in everything asked."""

    linear: Linear
    unit: Fraction

    @staticmethod
    def of(view: View, hidden: View, rows: Ints, known: str, other: str, *, is_hidden: bool) -> _Table:
        """Lay out ones and x beside the values of y."""
        x = digits_of(view, known).take(view.codes(known).codes[rows])
        columns = side_by_side([Digits((np.ones((len(rows), 1)),), 1), x])
        return _Table(linear_over(view, hidden if is_hidden else None, other, rows, columns), x.units[0])

    def sums(self, *, has_squares: bool) -> CellSums:
        """What the rows add; sums of hidden values, with their squares, where they are asked for and known."""
        linear = self.linear
        known = gram(linear.columns, linear.columns)
        rows = int(linear.first[-1])
        is_whole = np.array_equal(np.diff(linear.first), linear.end - linear.start)
        total, squares = 0, 0
        if has_squares and is_whole and rows:
            taken = linear.values.take(_ranges(linear.start, linear.end))
            ones = Digits((np.ones((rows, 1)),), 1)
            total, squares = gram(ones, taken)[0][0], gram(taken, taken)[0][0]
        unit = linear.values.units[0]
        return CellSums(
            rows, known[0][1], known[1][1], self.unit, linear.sizes, is_whole, total, squares, unit
        )  # fmt: skip


def _over_root(number: Fraction, square: Fraction, away: object) -> Fraction:
    """`number` over the root of `square`, rounded away; past every bound where the square is zero."""
    if not number:
        return Fraction(0)
    if not square:
        return Fraction(2 if number > 0 else -2)
    sign, ratio = (1 if number > 0 else -1), number**2 / square
    is_up = (away is float_above) == (sign > 0)
    root = math.sqrt(float_above(ratio) if is_up else float_below(ratio))
    return sign * Fraction(math.nextafter(root, math.inf if is_up else 0.0))


def _scale(one: LinearBounds, factor: Fraction) -> LinearBounds:
    ends = sorted((one.lower * factor, one.upper * factor))
    return LinearBounds(ends[0], ends[1], one.expected * float(factor), one.std * abs(float(factor)), one.exact)


def _shift(one: LinearBounds, by: Fraction) -> LinearBounds:
    return LinearBounds(one.lower + by, one.upper + by, one.expected + float(by), one.std, one.exact)


def _square(one: LinearBounds, is_whole: bool) -> _Line:
    """The square of a correlation; where it may be zero that end need not be reached."""
    has_zero = one.lower < 0 < one.upper
    ends = sorted((one.lower**2, one.upper**2))
    mean = one.expected**2 + one.std**2
    low = Fraction(0) if has_zero else ends[0]
    return _Line(
        LinearBounds(low, ends[1], mean, 2.0 * abs(one.expected) * one.std, one.exact), is_whole and not has_zero
    )


def _ranges(start: Ints, end: Ints) -> Ints:
    return np.concatenate([np.arange(a, b) for a, b in zip(start, end, strict=True)])
