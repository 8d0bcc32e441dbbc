"""Products and comparisons of a known and a hidden column: `sum(weight * income)`, `count(*) WHERE income > rent`.

Source     own; `linear` has the mathematics
Guarantee  the true answer lies inside the bounds; they are reached unless the estimate says otherwise
Cost       one sort of the weights inside groups when first asked, then one pass
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.query.aggregates.aggregator import in_units
from hedgerow.query.aggregates.linear import Linear, Products, value_moments
from hedgerow.query.aggregates.mixed import (
    compared_counts,
)
from hedgerow.query.aggregates.precise import Digits
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.factors import Comparison, Product
from hedgerow.query.evidence.groups import Floats, Ints, deviation, means, totals
from hedgerow.query.evidence.rows import (
    Numbers,
    Selection,
    numbers_of,
    ordered_rows,
    row_order,
    sorted_codes,
    ticks_of,
)
from hedgerow.query.evidence.view import View, missing_rows
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    DERIVED,
    Bound,
    Column,
    Expression,
    Kind,
    Truth,
    columns_of,
)

__all__ = ["Mask", "ProductCrossing", "Totals", "digits_of", "estimate_count", "linear_over"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ProductCrossing:
    """The rows that a question selects, and the values that their groups hold: products and comparisons of the two."""

    bound: Bound
    view: View
    hidden: View
    selection: Selection

    @property
    def _sensitive(self) -> frozenset[str]:
        return frozenset(self.bound.bases.values())

    @functools.cached_property
    def _cell(self) -> Ints:
        cell = self.selection.cell
        return np.zeros(len(self.selection.index), dtype=np.int64) if cell is None else cell

    def _by_products(self, function: str, product: Product) -> Estimate | None:
        """Answer by rearrangement; None where the number of rows is open and AVG needs it, or numbers do not fit."""
        if not columns_of(product.known):
            return None
        weight, value = self._derive(self.view, product.known), self._derive(self.hidden, product.hidden)
        counts = self._counting(value)
        if (function == "avg" and counts is not None) or (product.is_whole and self.hidden.has_missing(value)):
            return None
        rows, cell = self._by_weight(weight)
        if rows is row_order(self.view, weight) and self.selection.cell is None:
            group = np.flatnonzero(np.diff(self.view.offsets))
            edge = self.view.offsets[group]
        else:
            edge, group = _entries(cell, self.view.groups[rows])
        solver = Products(self.selection.cells, cell[edge], group, np.append(edge, len(rows)), self.hidden.offsets)
        number = self._number(solver, counts)
        if function == "count":
            return estimate_count(*number)
        left, right = numbers_of(self.view, weight), numbers_of(self.hidden, value)
        sizes = [int(np.abs(side.lows).max(initial=0)) for side in (left, right)]
        if left.is_rounded or right.is_rounded or not solver.fits(sizes[0], sizes[1]):
            return None if counts is not None else self._by_digits(function, solver, rows, (weight, value), number)
        drawn = self._sort_values(value, counts, right)
        measure = functools.partial(value_moments, drawn, self.hidden.offsets)
        moments = measure() if counts is not None else self.hidden.remember(f"moments of {value}", measure)
        least, greatest, mean, variance = solver.solve(self._weights(weight, rows, left), drawn, moments)
        unit = left.unit * right.unit
        is_whole = left.kind is Kind.INT and right.kind is Kind.INT
        slack = Fraction(0) if _is_whole(left) and _is_whole(right) else sizes[0] * sizes[1] * unit / 2**50
        found = Totals(
            [Fraction(n) for n in least], [Fraction(n) for n in greatest], mean, variance, number[0], number[1], unit
        )
        return found.estimate(function, is_whole=is_whole, slack=slack)

    def _number(self, solver: Products, counts: Mask | None) -> tuple[list[int], list[int], Floats, Floats]:
        """How many rows count: all of them where every value does."""
        if counts is None:
            every = totals(solver, np.diff(solver.first))
            return every, every, np.array(every, dtype=np.float64), np.zeros(solver.cells)
        ones = np.sort(self.hidden.groups * 2 + counts) % 2
        return solver.solve(np.ones(int(solver.first[-1]), dtype=np.int64), ones, value_moments(ones, solver.offsets))

    def _by_digits(
        self,
        function: str,
        solver: Products,
        rows: Ints,
        names: tuple[str, str],
        number: tuple[list[int], list[int], Floats, Floats],
    ) -> Estimate:
        """The same in exact sums of any length, cell by cell."""
        weights = digits_of(self.view, names[0]).take(self.view.codes(names[0]).codes[rows])
        hidden = digits_of(self.hidden, names[1]).take(sorted_codes(self.hidden, names[1]))
        start, end, first = self.hidden.offsets[solver.group], self.hidden.offsets[solver.group + 1], solver.first
        ends = []
        for a, b in itertools.pairwise(np.searchsorted(solver.cell, np.arange(solver.cells + 1))):
            own = weights.take(np.arange(first[a], first[b]))
            part = Linear(own, first[a : b + 1] - first[a], hidden, start[a:b], end[a:b])
            ends.append(part.bounds([Fraction(1)]))
        found = Totals(
            [bounds.lower for bounds in ends],
            [bounds.upper for bounds in ends],
            np.array([bounds.expected for bounds in ends]),
            np.array([bounds.std**2 for bounds in ends]),
            number[0],
            number[1],
            weights.units[0],
        )
        sizes = [Fraction(float(np.abs(side.floats).max(initial=0.0))) * side.units[0] for side in (weights, hidden)]
        return found.estimate(function, is_whole=False, slack=sizes[0] * sizes[1] / 2**50)

    def _by_merge(self, comparison: Comparison) -> Estimate | None:
        """Count rows whose hidden side is above the known one; None where the two have no common order."""
        limit, value = self._derive(self.view, comparison.known), self._derive(self.hidden, comparison.hidden)
        domains = [self.view.codes(limit).domain, self.hidden.codes(value).domain]
        if domains[0].type != domains[1].type:
            return None
        ranks = pc.rank(pa.concat_arrays(domains), tiebreaker="dense").to_numpy().astype(np.int64) * 2
        limits, marks = ranks[: len(domains[0])], ranks[len(domains[0]) :]
        rows, cell = self._by_weight(limit)
        edge, group = _entries(cell, self.view.groups[rows])
        first = np.append(edge, len(rows))
        taken, drawn = limits[self.view.codes(limit).codes[rows]], sorted_codes(self.hidden, value)
        present = drawn < len(marks)
        drawn = np.append(marks, 0)[drawn]
        if comparison.is_below:
            taken, drawn = -_reverse(taken, first), -_reverse(drawn, self.hidden.offsets)
            present = _reverse(present, self.hidden.offsets)
        if not present.all():
            # Missing values are above nothing.
            drawn = np.where(present, drawn, np.iinfo(np.int64).min)
            drawn = drawn[np.lexsort((drawn, self.hidden.groups))]
        taken = taken - 1 if comparison.is_equal else taken
        shape = (first, self.hidden.offsets[group], self.hidden.offsets[group + 1])
        least, most, mean, variance = compared_counts(*shape, taken, drawn)
        where = _Where(self.selection.cells, cell[edge])
        return estimate_count(totals(where, least), totals(where, most), means(where, mean), means(where, variance))

    def _derive(self, view: View, node: Expression) -> str:
        """Let an expression be read as a column."""
        if isinstance(node, Column):
            return node.name
        name = f"{DERIVED}{value_sql(node)}"
        view.derive({name: node})
        return name

    def _counting(self, name: str) -> Mask | None:
        """Hidden values that are present and satisfy the condition on them; None where all do."""
        if isinstance(self.bound.hidden, Truth) and not self.hidden.has_missing(name):
            return None
        marked: Mask = ~missing_rows(self.hidden, name) & self.hidden.rows_where(self.bound.hidden)
        return marked

    def _by_weight(self, name: str) -> tuple[Ints, Ints]:
        """Selected rows whose weight is present, by cell, group and weight; and their cells."""
        chosen = self.selection
        if self.view.has_missing(name):
            chosen = chosen.among(~missing_rows(self.view, name))
        return ordered_rows(self.view, chosen, name)

    def _weights(self, name: str, rows: Ints, numbers: Numbers) -> Ints:
        """The weights of rows, remembered where these are all rows."""
        codes = self.view.codes(name).codes
        is_whole = rows is row_order(self.view, name)
        found: Ints = (
            self.view.remember(f"weights of {name}", lambda: numbers.lows[codes[rows]])
            if is_whole
            else numbers.lows[codes[rows]]
        )
        return found

    def _sort_values(self, name: str, counts: Mask | None, numbers: Numbers) -> Ints:
        """The values of each group, ascending, zero for those that do not count."""
        if counts is None:
            codes = sorted_codes(self.hidden, name)
            found: Ints = self.hidden.remember(f"ticks of {name}", lambda: numbers.lows[codes])
            return found
        lows = np.where(counts, np.append(numbers.lows, 0)[self.hidden.codes(name).codes], 0)
        return lows[np.lexsort((lows, self.hidden.groups))]


@dataclass(frozen=True, eq=False)
class _Where:
    """The cell of each entry: what reductions look up."""

    cells: int
    cell: Ints

    @property
    def group(self) -> Ints:
        """Entries by number."""
        return np.arange(len(self.cell))


def _reverse(numbers: NDArray[Any], edges: Ints) -> NDArray[Any]:
    """The numbers between edges, each stretch from its end to its start."""
    both = (edges[:-1] + edges[1:] - 1).repeat(np.diff(edges))
    turned: NDArray[Any] = numbers[both - np.arange(len(numbers))]
    return turned


def _entries(cell: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """Where the entries of (cell, group) begin in rows that are sorted by both; and their groups."""
    is_first = np.ones(len(cell), dtype=np.bool_)
    is_first[1:] = (cell[1:] != cell[:-1]) | (groups[1:] != groups[:-1])
    edge = np.flatnonzero(is_first)
    return edge, groups[edge]


def digits_of(view: View, name: str) -> Digits:
    """The distinct values of a column of numbers, and a place for missing ones, exactly; in a part as in the whole."""
    domain, kind, whole = view.codes(name).domain, view.column(name).kind, view.domains.get(name)
    if whole is None:
        return _digits(domain, kind)
    places = pc.index_in(domain, value_set=whole).to_numpy(zero_copy_only=False).astype(np.int64)
    return _digits(whole, kind).take(np.append(places, len(whole)))


def _digits(domain: pa.Array, kind: Kind) -> Digits:
    if kind is Kind.FLOAT:
        return Digits.of_column(np.append(domain.to_numpy(zero_copy_only=False), 0.0))
    numbers = ticks_of(domain, kind)
    return Digits.of_column(np.append(numbers.lows, 0), numbers.unit)


def linear_over(view: View, hidden: View | None, name: str, rows: Ints, columns: Digits) -> Linear:
    """Rows by group with known columns, and the values of a column that they may have: `hidden` ones, or their own."""
    if hidden is None:
        places = np.arange(len(rows))
        own = digits_of(view, name).take(view.codes(name).codes[rows])
        return Linear(columns, np.append(places, len(rows)), own, places, places + 1)
    drawn = digits_of(hidden, name).take(sorted_codes(hidden, name))
    groups, first = np.unique(view.groups[rows], return_index=True)
    return Linear(columns, np.append(first, len(rows)), drawn, hidden.offsets[groups], hidden.offsets[groups + 1])


def _is_whole(numbers: Numbers) -> bool:
    return numbers.kind is not Kind.FLOAT or numbers.unit.denominator == 1


def estimate_count(
    lower: list[int], upper: list[int], mean: Floats, variance: Floats, reached: list[bool] | None = None
) -> Estimate:
    """COUNT per cell, from its bounds and moments."""
    exact = [low == high for low, high in zip(lower, upper, strict=True)]
    ends = [[Fraction(n) for n in end] for end in (lower, upper)]
    spread = deviation(variance).tolist()
    return Estimate(list(ends[0]), list(ends[1]), mean.tolist(), spread, exact, Rounding.WHOLE, reached=reached)


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals per cell in units, and the least and the most pairs that count."""

    lower: list[Fraction | None]
    upper: list[Fraction | None]
    mean: Floats
    variance: Floats
    fewest: list[int]
    most: list[int]
    unit: Fraction
    reached: list[bool] | None = None

    def estimate(self, function: str, *, is_whole: bool, slack: Fraction, per_row: bool = True) -> Estimate:
        """Turn totals into SUM, or AVG where the number of rows is known; NULL where nothing counts."""
        by = [max(n, 1) if function == "avg" else 1 for n in self.most]
        lower, upper = (
            [
                None if end is None or not m else end * self.unit / n
                for end, n, m in zip(ends, by, self.most, strict=True)
            ]
            for ends in (self.lower, self.upper)
        )
        exact = [a == b and n > 0 for a, b, n in zip(lower, upper, self.fewest, strict=True)]
        exact = [e or m == 0 for e, m in zip(exact, self.most, strict=True)]
        number = np.array(by, dtype=np.float64)
        widths = [slack * (m if function == "sum" and per_row else 1) for m in self.most] if slack else None
        rounding = Rounding.WHOLE if is_whole and function == "sum" else Rounding.OUTWARD
        mean, std = (in_units(side / number, self.unit).tolist() for side in (self.mean, deviation(self.variance)))
        # Where no row has to count an end that is not past zero may be that of no row at all, which is NULL.
        reached = self.reached or [
            n > 0 or low is None or high is None or low < 0 < high
            for n, low, high in zip(self.fewest, lower, upper, strict=True)
        ]
        return Estimate(lower, upper, mean, std, exact, rounding, widths, reached=reached)
