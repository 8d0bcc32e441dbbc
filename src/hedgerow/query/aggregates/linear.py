"""Bounds of sums that are linear in the hidden values: weighted totals, covariances, regression coefficients.

Source     own; the rearrangement inequality [Hardy 1934], [Hoeffding 1951] for the variance
Guarantee  the true sum lies inside the bounds; both are reached by an assignment, up to what rounding the weights may
           change in the order of rows, which is bounded and added outwards
Cost       one sort of the weights inside groups, and exact sums of products

Row i of a group adds c(i) times the value that it gets. Equal orders of weights and values give the greatest sum,
opposite orders the least; rows of the group that are not touched have weight zero. Weights are c = sum of s(a) * x(a),
where columns x(a) are known exactly and the factors s(a) are fractions: floats decide the order, exact sums give the
bound. If e(i) bounds the error of a float weight, another order gains at most e(i) times the range of the group's
values.

Ordinary least squares with a hidden outcome: every coefficient of b = (X' W X)^-1 X' W y is linear in it, so it has
bounds. The matrix is inverted in fractions, so nothing is lost where regressors nearly depend on each other, and those
that do depend are found and named.
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

from hedgerow.cores import cores, on_cores
from hedgerow.kernel import kernel
from hedgerow.query.aggregates.precise import Digits, gram, sum_of_floats
from hedgerow.query.evidence.groups import Floats, Ints, means, totals

__all__ = [
    "DependentColumns",
    "Linear",
    "LinearBounds",
    "LinearShare",
    "Normal",
    "Products",
    "add_shares",
    "coefficients",
    "extreme_orders",
    "inverse",
    "value_moments",
]

_ROUNDING = Fraction(1, 2**52)
_SHARED = 2**18
"""Rows from which on two cores are faster than one."""
_FEW_ROWS = 10_000


@dataclass(frozen=True)
class LinearBounds:
    """Bounds of one sum, its mean and deviation over fair assignments; `exact` if all assignments agree."""

    lower: Fraction
    upper: Fraction
    expected: float
    std: float
    exact: bool


@dataclass(frozen=True, eq=False)
class Linear:
    """Rows in entries (rows `first[e]:first[e+1]` of one group) that draw from the values `start[e]:end[e]`.

    `columns` are the known columns of the rows; `values` one column of hidden values, ascending inside each group.
    """

    columns: Digits
    first: Ints
    values: Digits
    start: Ints
    end: Ints

    @functools.cached_property
    def owner(self) -> Ints:
        """The entry of each row."""
        return np.repeat(np.arange(len(self.start)), np.diff(self.first))

    @functools.cached_property
    def _floats(self) -> Floats:
        return self.columns.floats

    @functools.cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        """Mean of each entry's values above `_level`, and squared deviations over one less than their number."""
        numbers = self.values.floats[:, 0]
        # Counted from the least value, so that a large offset does not swallow small differences.
        base = numbers[self.start] if len(self.start) else np.zeros(0)
        size = (self.end - self.start).astype(np.float64)
        mean, spread = _value_moments(numbers, self.start, self.end, base)
        return (base - self._level) + mean / size, spread / np.maximum(size - 1.0, 1.0)

    @functools.cached_property
    def _level(self) -> float:
        """One of the values: what all of them share is weighted exactly, and most weights add up to zero."""
        return float(self.values.floats[self.start[0], 0]) if len(self.start) else 0.0

    @functools.cached_property
    def _totals(self) -> list[int]:
        """The exact sum of each column."""
        return gram(Digits((np.ones((len(self.owner), 1)),), 1), self.columns)[0]

    @functools.cached_property
    def _ranges(self) -> Floats:
        """The greatest less the least value of each entry, rounded upwards."""
        if not len(self.start):
            return np.zeros(0)
        numbers = self.values.floats[:, 0]
        low, high = numbers[self.start], numbers[self.end - 1]
        spread: Floats = np.where(low == high, 0.0, (high - low) * (1.0 + 1e-15))
        if not self.values.is_sharp:
            spread += np.where(self._are_alike_values, 0.0, (np.abs(low) + np.abs(high)) * 1e-15)
        return spread

    @functools.cached_property
    def _are_alike_values(self) -> NDArray[np.bool_]:
        ends = [(part[self.start, 0], part[self.end - 1, 0]) for part in self.values.parts]
        alike: NDArray[np.bool_] = np.logical_and.reduce([low == high for low, high in ends])
        return alike

    @functools.cached_property
    def _are_open(self) -> NDArray[np.bool_]:
        """Entries in which it matters who gets what: values differ, and so do weights, or not all rows are touched."""
        rows = np.diff(self.first)
        whole = rows == self.end - self.start
        alike = np.ones(len(rows), dtype=np.bool_)
        within = self.owner[1:] == self.owner[:-1]
        for column in (column for part in self.columns.parts for column in part.T):
            alike[self.owner[1:][within & (column[1:] != column[:-1])]] = False
        # An entry without rows is closed: nothing of it is touched.
        is_open: NDArray[np.bool_] = ~self._are_alike_values & ~(whole & alike) & (rows > 0)
        return is_open

    def bounds(self, factors: Sequence[Fraction]) -> LinearBounds:
        """Bound the sum over rows of (sum of factor * column) * value; factors are for the columns' whole numbers."""
        return add_shares([self.share(factors, self.sizes)])

    def share(self, factors: Sequence[Fraction], sizes: Floats) -> LinearShare:
        """What these rows add to such a sum; `sizes` are the largest numbers of each column in all rows."""
        key, error = self._keys(factors, sizes)
        greatest, least = extreme_orders(key, self.first, self.start, self.end)
        upper, lower = self._total(factors, greatest), self._total(factors, least)
        open_rows = int(self._are_open[self.owner].sum())
        is_equal = lower == upper and self._are_equal(factors)
        unit = self.values.units[0]
        above, variance = self._moments(key)
        weight = sum((factor * total for factor, total in zip(factors, self._totals, strict=True)), Fraction(0))
        mean = above + float(weight * Fraction(self._level))
        return LinearShare(lower, upper, mean, variance, open_rows, is_equal, self._gain, error, unit)

    def _are_equal(self, factors: Sequence[Fraction]) -> bool:
        """Tell, in fractions, whether weights that differ as floats are equal in whole groups and zero in parts of one.

        Asked only where the bounds agree, and of few rows: there a coefficient may be the same under every assignment.
        """
        rows = np.flatnonzero(self._are_open[self.owner])
        if len(rows) > _FEW_ROWS:
            return False
        parts = [part[rows].astype(np.int64).tolist() for part in self.columns.parts]
        first: dict[int, Fraction] = {}
        whole = np.diff(self.first) == self.end - self.start
        for place, entry in enumerate(self.owner[rows].tolist()):
            digits = [
                [part[place][column] << (16 * k) for k, part in enumerate(parts)] for column in range(len(factors))
            ]
            weight = sum((factor * sum(ones) for factor, ones in zip(factors, digits, strict=True)), Fraction(0))
            if weight != first.setdefault(entry, weight if whole[entry] else Fraction(0)):
                return False
        return True

    def _keys(self, factors: Sequence[Fraction], sizes: Floats) -> tuple[Floats, float]:
        """Weights as floats, and how far any of them may be off."""
        if len(factors) == 1 and self.columns.is_sharp and abs(factors[0]) == 1:
            key: Floats = float(factors[0]) * self._floats[:, 0]
            return key, 0.0
        near = np.array([float(factor) for factor in factors])
        return self._floats @ near, (len(near) + 4) * float(_ROUNDING) * float(sizes @ np.abs(near))

    @functools.cached_property
    def sizes(self) -> Floats:
        """The largest number of each column, without its sign."""
        return np.array([max(column.max(initial=0.0), -column.min(initial=0.0)) for column in self._floats.T])

    @functools.cached_property
    def _gain(self) -> Fraction:
        """What all rows together may gain from another order, per unit of error."""
        return sum_of_floats(np.where(self._are_open, self._ranges, 0.0) * np.diff(self.first))

    def _total(self, factors: Sequence[Fraction], chosen: Ints) -> Fraction:
        sums = gram(self.columns, self.values.take(chosen))
        return sum((factor * line[0] for factor, line in zip(factors, sums, strict=True)), Fraction(0))

    def _moments(self, key: Floats) -> tuple[float, float]:
        mean, spread = self._levels
        rows, size = np.diff(self.first), self.end - self.start
        total = np.bincount(self.owner, weights=key, minlength=len(rows))
        level = total / size
        around = np.bincount(self.owner, weights=(key - level[self.owner]) ** 2, minlength=len(rows))
        variance = (around + (size - rows) * level**2) * spread
        return float(total @ mean), float(variance.sum())


@dataclass(frozen=True)
class LinearShare:
    """What some rows add to a sum, in units of the values: its ends, its moments, and what decides if it is exact.

    `open_rows` are those of entries in which it matters who gets what; `is_equal` tells that it does not in spite of
    it. Another order of rows gains at most `error` times `gain`.
    """

    lower: Fraction
    upper: Fraction
    mean: float
    variance: float
    open_rows: int
    is_equal: bool
    gain: Fraction
    error: float
    unit: Fraction


def add_shares(shares: Sequence[LinearShare]) -> LinearBounds:
    """Bound a sum over the rows of several shares, which have no group in common."""
    unit, error = shares[0].unit, shares[0].error
    lower, upper = (sum((getattr(one, end) for one in shares), Fraction(0)) for end in ("lower", "upper"))
    open_rows = sum(one.open_rows for one in shares)
    is_exact = not open_rows or (open_rows <= _FEW_ROWS and all(one.is_equal for one in shares))
    slack = Fraction(0)
    if error and not is_exact:
        # The product of an entry's range and its number of rows errs by one part in 2^52.
        slack = Fraction(error) * sum(one.gain for one in shares) * (1 + 8 * _ROUNDING)
    scale = float(unit)
    expected = float(lower * unit) if is_exact else sum(one.mean for one in shares) * scale
    std = 0.0 if is_exact else math.sqrt(sum(one.variance for one in shares)) * scale
    return LinearBounds((lower - slack) * unit, (upper + slack) * unit, expected, std, is_exact)


def extreme_orders(key: Floats, first: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For each row the number of the value that it gets in the greatest, and in the least sum of key * value."""
    return _arrange(np.ascontiguousarray(key), first, start, end)


@kernel
def _arrange(key: Floats, first: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Positive keys take values from one end, the others from the other end."""
    greatest, least = np.empty(len(key), dtype=np.int64), np.empty(len(key), dtype=np.int64)
    for e in range(len(start)):
        rows = first[e + 1] - first[e]
        order = np.arange(rows) if rows <= 24 else np.argsort(key[first[e] : first[e + 1]])
        if rows <= 24:
            # Insertion beats a general sort in small groups.
            for t in range(1, rows):
                here, at = key[first[e] + t], t
                while at > 0 and key[first[e] + order[at - 1]] > here:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = t
        for t in range(rows):
            at = first[e] + order[t]
            greatest[at] = end[e] - rows + t if key[at] > 0.0 else start[e] + t
            least[at] = end[e] - 1 - t if key[at] < 0.0 else start[e] + rows - 1 - t
    return greatest, least


@kernel
def _value_moments(numbers: Floats | Ints, start: Ints, end: Ints, base: Floats) -> tuple[Floats, Floats]:
    """Sum of (number - base) per entry, and the sum of squared distances from its mean."""
    total, squares = np.zeros(len(start)), np.zeros(len(start))
    for e in range(len(start)):
        for at in range(start[e], end[e]):
            total[e] += numbers[at] - base[e]
        mean = total[e] / max(end[e] - start[e], 1)
        for at in range(start[e], end[e]):
            squares[e] += (numbers[at] - base[e] - mean) ** 2
    return total, squares


@dataclass(frozen=True, eq=False)
class Products:
    """Rows in entries that add weight times value: `weights` ascending inside an entry, `values` inside a group.

    Both are whole numbers whose products add up inside 64 bits (`fits`); entries have a cell, ascending, and a group,
    whose values are `offsets[group]:offsets[group+1]`, with `moments` as `value_moments` gives them.
    """

    cells: int
    cell: Ints
    group: Ints
    first: Ints
    offsets: Ints

    def fits(self, weight: int, value: int) -> bool:
        """Tell whether sums of products of numbers up to these stay inside 64 bits."""
        return weight * value * max(int(np.diff(self.first).max(initial=0)), 1) < 2**62

    def solve(
        self, weights: Ints, values: Ints, moments: tuple[Floats, Floats]
    ) -> tuple[list[int], list[int], Floats, Floats]:
        """Least and greatest total per cell, its mean and its variance."""
        pieces, entries = cores() if len(weights) > _SHARED else 1, len(self.group)
        # Entries have nothing in common, so that any core may take any of them.
        found = on_cores(
            lambda part: _products(
                self.first[part[0] : part[1] + 1],
                self.group[part[0] : part[1]],
                self.offsets,
                weights,
                values,
                *moments,
            ),
            itertools.pairwise([entries * piece // pieces for piece in range(pieces + 1)]),
            rows=len(weights),
        )
        least, greatest, mean, variance = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return totals(self, least), totals(self, greatest), means(self, mean), means(self, variance)


def value_moments(values: Ints, offsets: Ints) -> tuple[Floats, Floats]:
    """Mean of each group's values, and their squared deviations over one less than their number."""
    start, end = offsets[:-1], offsets[1:]
    base = np.append(values, 0)[start].astype(np.float64)
    total, squares = _value_moments(values, start, end, base)
    size = (end - start).astype(np.float64)
    return base + total / np.maximum(size, 1.0), squares / np.maximum(size - 1.0, 1.0)


@kernel
def _products(
    first: Ints, group: Ints, offsets: Ints, weights: Ints, values: Ints, level: Floats, spread: Floats
) -> tuple[Ints, Ints, Floats, Floats]:
    """Per entry: opposite orders give the least, equal orders the greatest sum; mean and variance of fair ones."""
    entries = len(group)
    least, greatest = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    mean, variance = np.zeros(entries), np.zeros(entries)
    for e in range(entries):
        start, end = offsets[group[e]], offsets[group[e] + 1]
        rows, size, weight, low, high = first[e + 1] - first[e], end - start, 0, 0, 0
        for t in range(rows):
            w = weights[first[e] + t]
            weight += w
            high += w * values[end - rows + t if w > 0 else start + t]
            low += w * values[end - 1 - t if w < 0 else start + rows - 1 - t]
        least[e], greatest[e] = low, high
        mean[e] = weight * level[group[e]]
        centre = weight / size
        around = (size - rows) * centre**2
        for t in range(first[e], first[e + 1]):
            around += (weights[t] - centre) ** 2
        variance[e] = around * spread[group[e]]
    return least, greatest, mean, variance


@dataclass
class DependentColumns(Exception):
    """Regressors of which one is a sum of multiples of the others: their places."""

    places: list[int]


@dataclass(frozen=True, eq=False)
class Normal:
    """Rows of a regression: `linear` has its regressors, times weights where there are any, and `regressors` alone."""

    linear: Linear
    regressors: Digits

    @staticmethod
    def of(linear: Linear, weights: Digits | None) -> Normal:
        """Weigh the regressors of rows; `weights` is one column for the same rows."""
        weighted = linear.columns if weights is None else linear.columns.times(weights)
        return Normal(replace(linear, columns=weighted), linear.columns)

    @functools.cached_property
    def sums(self) -> list[list[int]]:
        """X' W X in whole numbers of units."""
        return gram(self.linear.columns, self.regressors)


def coefficients(shares: Sequence[Sequence[LinearShare]], units: Sequence[Fraction]) -> list[LinearBounds]:
    """Bound every coefficient from the shares of all rows in it; `units` are those of the regressors."""
    # Whole numbers of units cancel except for those of the coefficient's own column.
    return [_in_units(add_shares(own), unit) for own, unit in zip(shares, units, strict=True)]


def _in_units(found: LinearBounds, unit: Fraction) -> LinearBounds:
    scale = float(unit)
    return LinearBounds(found.lower / unit, found.upper / unit, found.expected / scale, found.std / scale, found.exact)


def inverse(matrix: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Invert a symmetric matrix of whole numbers exactly. Raises DependentColumns where it cannot be."""
    size = len(matrix)
    rows = [[*line, *(int(place == other) for other in range(size))] for place, line in enumerate(matrix)]
    before = 1
    for step in range(size):
        # A Gram matrix has a zero on its eliminated diagonal exactly where a column depends on those before it.
        if rows[step][step] == 0:
            raise DependentColumns(_dependent(matrix, step))
        pivot = rows[step][step]
        for place in range(size):
            if place != step:
                lead = rows[place][step]
                rows[place] = [
                    (pivot * mine - lead * other) // before for mine, other in zip(rows[place], rows[step], strict=True)
                ]
        before = pivot
    return [[Fraction(number, before) for number in line[size:]] for line in rows]


def _dependent(matrix: Sequence[Sequence[int]], step: int) -> list[int]:
    """The column that depends on those before it, and those that it depends on."""
    if step == 0:
        return [0]
    before = inverse([line[:step] for line in matrix[:step]])
    mix = [sum(factor * matrix[k][step] for k, factor in enumerate(line)) for line in before]
    return [*(place for place, share in enumerate(mix) if share), step]
