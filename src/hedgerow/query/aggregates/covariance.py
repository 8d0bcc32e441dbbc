"""Aggregates of two columns: COVAR_POP, COVAR_SAMP, CORR, REGR_SLOPE, REGR_INTERCEPT and REGR_R2.

Source     own
Guarantee  the true answer lies inside the bounds. Where one column is hidden and the other known, covariances and the
           line through a hidden outcome are linear in the hidden values, so that bounds are reached. What divides by
           the variance of hidden values is reached where groups are taken whole, which fixes that variance, and is a
           quotient of bounds otherwise
Cost       per result row one sort inside groups and exact sums of products

With sums over the n rows that have both columns: covar_pop = (Sxy - Sx Sy / n) / n, regr_slope = covar / var(x),
regr_intercept = mean(y) - slope * mean(x), corr = covar / sqrt(var(x) var(y)), regr_r2 = corr^2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import float_above, float_below
from hedgerow.query.aggregates.linear import Linear, LinearBounds
from hedgerow.query.aggregates.precise import Digits, gram, side_by_side
from hedgerow.query.aggregates.variance import variance
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import Evidence, Ints
from hedgerow.query.evidence.products import digits_of, linear_over
from hedgerow.query.evidence.rows import Selection, hits_of, values_of
from hedgerow.query.evidence.view import View, missing_rows

__all__ = ["FUNCTIONS", "Covariance"]

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
        selection = self.selection.among(self._present())
        cell = np.zeros(len(selection.index), dtype=np.int64) if selection.cell is None else selection.cell
        order = np.argsort(cell, kind="stable")
        rows, edges = selection.index[order], np.searchsorted(cell[order], np.arange(selection.cells + 1))
        spreads = self._spreads(selection)
        lines = [
            self._line(function, rows[a:b], spreads[place]) for place, (a, b) in enumerate(itertools.pairwise(edges))
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

    def _spreads(self, selection: Selection) -> list[Ends | None]:
        """Bounds of the hidden column's variance per cell, in squared units of its values."""
        if self.concealed is None:
            return [None] * selection.cells
        hits, drawn = hits_of(self.view, selection), values_of(self.hidden, self.concealed)
        interval, _ = variance(Evidence.of(hits, drawn), is_sample=False)
        unit = drawn.unit**2
        return [
            None if low is None or high is None else (Fraction(low) * unit, Fraction(high) * unit)
            for low, high in zip(interval.lower, interval.upper, strict=True)
        ]

    def _line(self, function: str, rows: Ints, spread: Ends | None) -> _Line:
        if len(rows) < (2 if function == "covar_samp" else 1):
            return _Line(None)
        is_swapped = self.concealed == self.second
        known, other = (self.first, self.second) if is_swapped else (self.second, self.first)
        table = _Table.of(self.view, self.hidden, rows, known, other, is_hidden=self.concealed is not None)
        if function in ("covar_pop", "covar_samp"):
            return _Line(table.covariance(sample=function == "covar_samp"))
        if function in ("regr_slope", "regr_intercept") and not is_swapped:
            return _Line(None if not table.spread else table.slope() if function == "regr_slope" else table.intercept())
        exact = table.hidden_spread()
        if function in ("regr_slope", "regr_intercept"):
            if exact is None:
                raise QueryError(
                    f"{function.upper()} with a sensitive second column has a bound only where groups are taken whole, "
                    "for it divides by the variance of that column; put the sensitive column first, or ask CORR"
                )
            return _Line(None if not exact else table.swapped_line(function, exact))
        ends = (exact, exact) if exact is not None else spread
        if ends is None or not table.spread or not ends[1]:
            return _Line(None)
        corr = table.correlation(ends)
        return _Line(corr, exact is not None) if function == "corr" else _square(corr, exact is not None)


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows of one cell: a known column x, and values y that are linear in everything asked."""

    linear: Linear
    x: Digits
    rows: int
    total: int
    squares: int

    @staticmethod
    def of(view: View, hidden: View, rows: Ints, known: str, other: str, *, is_hidden: bool) -> _Table:
        """Lay out ones and x beside the values of y."""
        x = digits_of(view, known).take(view.codes(known).codes[rows])
        columns = side_by_side([Digits((np.ones((len(rows), 1)),), 1), x])
        linear = linear_over(view, hidden if is_hidden else None, other, rows, columns)
        sums = gram(columns, columns)
        return _Table(linear, x, len(rows), sums[0][1], sums[1][1])

    @property
    def spread(self) -> int:
        """n Sxx - Sx^2, which is n^2 times the variance of x in units."""
        return self.rows * self.squares - self.total**2

    @property
    def _unit(self) -> Fraction:
        return self.x.units[0]

    def covariance(self, *, sample: bool) -> LinearBounds:
        """Linear in y: (x - mean) / n."""
        by = self.rows - 1 if sample else self.rows
        factors = [Fraction(-self.total, self.rows * by) * self._unit, Fraction(1, by) * self._unit]
        return self.linear.bounds(factors)

    def slope(self) -> LinearBounds:
        """Linear in y where x is known."""
        return self.linear.bounds(
            [Fraction(-self.total, self.spread) / self._unit, Fraction(self.rows, self.spread) / self._unit]
        )

    def intercept(self) -> LinearBounds:
        """Linear in y where x is known."""
        return self.linear.bounds([Fraction(self.squares, self.spread), Fraction(-self.total, self.spread)])

    def hidden_spread(self) -> Fraction | None:
        """The variance of y, where every table that the release allows agrees on it: groups are taken whole."""
        sizes = np.diff(self.linear.first)
        if not np.array_equal(sizes, self.linear.end - self.linear.start):
            return None
        taken = self.linear.values.take(_ranges(self.linear.start, self.linear.end))
        ones = Digits((np.ones((self.rows, 1)),), 1)
        total, squares = gram(ones, taken)[0][0], gram(taken, taken)[0][0]
        return Fraction(self.rows * squares - total**2, self.rows**2) * taken.units[0] ** 2

    def swapped_line(self, function: str, exact: Fraction) -> LinearBounds:
        """The line of a known outcome on hidden values whose sums are fixed."""
        covariance = self.covariance(sample=False)
        slope = _scale(covariance, 1 / exact)
        if function == "regr_slope":
            return slope
        taken = self.linear.values.take(_ranges(self.linear.start, self.linear.end))
        mean = Fraction(gram(Digits((np.ones((self.rows, 1)),), 1), taken)[0][0], self.rows) * taken.units[0]
        return _shift(_scale(slope, -mean), Fraction(self.total, self.rows) * self._unit)

    def correlation(self, ends: Ends) -> LinearBounds:
        """The covariance over both deviations; that of the hidden values lies between the roots of `ends`."""
        found = self.covariance(sample=False)
        x = Fraction(self.spread, self.rows**2) * self._unit**2
        low = max(_over_root(found.lower, x * ends[0 if found.lower < 0 else 1], float_below), Fraction(-1))
        high = min(_over_root(found.upper, x * ends[0 if found.upper > 0 else 1], float_above), Fraction(1))
        scale = math.sqrt(float(x) * float(ends[0] + ends[1]) / 2.0)
        return LinearBounds(low, high, found.expected / scale, found.std / scale, found.exact and ends[0] == ends[1])


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
