"""Aggregates of expressions, and conditions, that read known columns and hidden ones: `sum(weight * income)`.

Source     own; `mixed` and `linear` have the mathematics
Guarantee  the true answer lies inside the bounds; they are reached unless the estimate says otherwise
Cost       products: one sort of the weights inside groups when first asked, then one pass; everything else: different
           rows times different values of each group

Rows with equal known columns, and equal hidden values, are taken together, so that the cost follows what differs.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.evidence.cells import deviation, unrolled
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.numbers import Numbers, numbers_of, sorted_codes, ticks_of
from hedgerow.query.evidence.predicate import evaluate, values
from hedgerow.query.evidence.rows import Selection, compact
from hedgerow.query.evidence.view import View
from hedgerow.query.factors import Product, product_of
from hedgerow.query.linear import Linear, Products
from hedgerow.query.mixed import Pairs, average_of_pairs, count_of_pairs, expect_pairs, sum_of_pairs
from hedgerow.query.precise import Digits
from hedgerow.query.result import Estimate, Rounding
from hedgerow.query.sql.kinds import NUMBERS
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import And, Column, Expression, Kind, Predicate, Truth, columns_of, kind_of
from hedgerow.query.sql.statement import Aggregate, Bound

__all__ = ["Crossing", "Terms", "classes_of", "digits_of", "linear_over"]

MOST_PAIRS = 30_000_000
"""Pairs of different rows and different values that one question may look at."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Crossing:
    """The rows that a question selects, and the values that their groups hold."""

    bound: Bound
    view: View
    hidden: View
    selection: Selection

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound one aggregate over every assignment."""
        self._check(item)
        expression = self._expression(item)
        product = product_of(expression, self._sensitive) if isinstance(self.bound.mixed, Truth) else None
        if product is not None and (found := self._by_products(item.function, product)) is not None:
            return found
        return self._by_pairs(item.function, expression)

    def _check(self, item: Aggregate) -> None:
        if item.function not in ("count", "sum", "avg"):
            raise QueryError(
                f"under a condition that compares a sensitive column with another one {item.function.upper()} has no "
                "bound; COUNT, SUM and AVG have"
            )

    @property
    def _sensitive(self) -> frozenset[str]:
        return frozenset(self.bound.bases.values())

    def _expression(self, item: Aggregate) -> Expression | None:
        if not isinstance(item.column, Column):
            return None
        return self.bound.derived.get(item.column.name, item.column)

    @functools.cached_property
    def _cell(self) -> Ints:
        cell = self.selection.cell
        return np.zeros(len(self.selection.index), dtype=np.int64) if cell is None else cell

    # Products of a known and a hidden factor.

    def _by_products(self, function: str, product: Product) -> Estimate | None:
        """Answer by rearrangement; None where the number of rows is open and AVG needs it, or numbers do not fit."""
        if not columns_of(product.known):
            return None
        weight, value = self._derived(self.view, product.known), self._derived(self.hidden, product.hidden)
        counts = self._counting(value)
        if (function == "avg" and not counts.all()) or (product.is_whole and self.hidden.has_missing(value)):
            return None
        rows, cell = self._by_weight(weight)
        groups = self.view.groups[rows]
        edge = np.flatnonzero(np.diff(cell, prepend=-1).astype(bool) | np.diff(groups, prepend=-1).astype(bool))
        first, group = np.append(edge, len(rows)), groups[edge]
        shape = (self.selection.cells, cell[edge], first, self.hidden.offsets[group], self.hidden.offsets[group + 1])
        number = Products(*shape, np.ones(len(rows), dtype=np.int64), self._sorted(value, counts, None)).solve()
        if function == "count":
            return _counted(number[0], number[1], number[2], number[3])
        left, right = numbers_of(self.view, weight), numbers_of(self.hidden, value)
        if left.is_rounded or right.is_rounded:
            return self._by_digits(function, shape, (weight, value), counts, number)
        codes = self.view.codes(weight).codes[rows]
        solved = Products(*shape, left.lows[codes], self._sorted(value, counts, right))
        if not solved.fits:
            return self._by_digits(function, shape, (weight, value), counts, number)
        least, greatest, mean, variance = solved.solve()
        unit = left.unit * right.unit
        is_whole = left.kind is Kind.INT and right.kind is Kind.INT
        size = int(np.abs(left.lows).max(initial=0)) * int(np.abs(right.lows).max(initial=0)) * unit
        slack = Fraction(0) if _is_whole(left) and _is_whole(right) else size / 2**50
        found = _Found(
            [Fraction(n) for n in least], [Fraction(n) for n in greatest], mean, variance, number[0], number[1], unit
        )
        return found.estimate(function, is_whole=is_whole, slack=slack)

    def _by_digits(
        self,
        function: str,
        shape: tuple[int, Ints, Ints, Ints, Ints],
        names: tuple[str, str],
        counts: Mask,
        number: tuple[list[int], list[int], Floats, Floats],
    ) -> Estimate | None:
        """The same in exact sums of any length, cell by cell."""
        cells, cell, first, start, end = shape
        rows, _ = self._by_weight(names[0])
        weights = digits_of(self.view, names[0]).take(self.view.codes(names[0]).codes[rows])
        codes = sorted_codes(self.hidden, names[1])
        if not counts.all():
            return None
        hidden = digits_of(self.hidden, names[1]).take(codes)
        edges = np.searchsorted(cell, np.arange(cells + 1))
        ends = []
        for a, b in itertools.pairwise(edges):
            inside = slice(int(first[a]), int(first[b]))
            part = Linear(
                weights.take(np.arange(inside.start, inside.stop)),
                first[a : b + 1] - first[a],
                hidden,
                start[a:b],
                end[a:b],
            )
            ends.append(part.bounds([Fraction(1)]))
        unit = weights.units[0]
        found = _Found(
            [bounds.lower for bounds in ends],
            [bounds.upper for bounds in ends],
            np.array([bounds.expected for bounds in ends]),
            np.array([bounds.std**2 for bounds in ends]),
            number[0],
            number[1],
            unit,
        )
        size = Fraction(float(np.abs(weights.floats).max(initial=0.0))) * Fraction(
            float(np.abs(hidden.floats).max(initial=0.0))
        )
        return found.estimate(function, is_whole=False, slack=size * unit * hidden.units[0] / 2**50)

    def _derived(self, view: View, node: Expression) -> str:
        """Let an expression be read as a column."""
        if isinstance(node, Column):
            return node.name
        name = f"= {value_sql(node)}"
        view.derive({name: node})
        return name

    def _counting(self, name: str) -> Mask:
        """Distinct values of a hidden column (missing last) that count, per value of the view."""
        base = self.hidden
        present = base.codes(name).codes < len(base.codes(name).domain)
        marked: Mask = present if isinstance(self.bound.hidden, Truth) else present & base.rows_where(self.bound.hidden)
        return marked

    def _by_weight(self, name: str) -> tuple[Ints, Ints]:
        """Selected rows whose weight is present, by cell, group and weight; and their cells."""
        codes = self.view.codes(name)
        width = len(codes.domain) + 1
        order: Ints = self.view.remember(
            f"order of {name}", lambda: np.argsort(self.view.groups * width + codes.codes, kind="stable")
        )
        taken = self.selection.rows & (codes.codes < width - 1) if self.view.has_missing(name) else self.selection.rows
        rows = order if taken.all() else order[taken[order]]
        if self.selection.cell is None:
            return rows, np.zeros(len(rows), dtype=np.int64)
        every = np.zeros(self.view.num_rows, dtype=np.int64)
        every[self.selection.index] = self.selection.cell
        by_cell = np.argsort(every[rows], kind="stable")
        return rows[by_cell], every[rows[by_cell]]

    def _sorted(self, name: str, counts: Mask, numbers: Numbers | None) -> Ints:
        """The values of each group, ascending, zero for those that do not count; ones without numbers."""
        if counts.all() and numbers is not None:
            codes = sorted_codes(self.hidden, name)
            found: Ints = self.hidden.remember(f"ticks of {name}", lambda: numbers.lows[codes])
            return found
        lows = np.ones(len(counts), dtype=np.int64)
        if numbers is not None:
            lows = np.append(numbers.lows, 0)[self.hidden.codes(name).codes]
        if counts.all():
            return lows
        lows = np.where(counts, lows, 0)
        return lows[np.lexsort((lows, self.hidden.groups))]

    # Anything else: pairs of different rows and different values.

    def _by_pairs(self, function: str, expression: Expression | None) -> Estimate:
        pairs, terms = self._pairs(function, expression)
        count = count_of_pairs(pairs)
        fewest, most = ([int(n or 0) for n in ends] for ends in (count.lower, count.upper))
        ones = replace(
            pairs, low=pairs.sure.astype(np.int64), middle=None if pairs.chance is None else np.ones(len(pairs.low))
        )
        number, number_variance = expect_pairs(ones)
        if function == "count":
            return _counted(fewest, most, number, number_variance, count.reached)
        is_known = count.lower == count.upper
        is_ratio = function == "avg" and not is_known
        bounds = average_of_pairs(pairs) if is_ratio else sum_of_pairs(pairs)
        mean, variance = expect_pairs(pairs)
        if is_ratio:
            ratio = np.divide(mean, number, out=np.zeros(len(mean)), where=number > 0)
            _, around = expect_pairs(pairs, minus=ratio)
            mean, variance = ratio, np.divide(around, number**2, out=np.zeros(len(mean)), where=number > 0)
        found = _Found(bounds.lower, bounds.upper, mean, variance, fewest, most, pairs.unit, bounds.reached)
        is_whole = terms.is_whole and function == "sum"
        return found.estimate(
            "sum" if is_ratio else function, is_whole=is_whole, slack=terms.slack, per_row=not is_ratio
        )

    def _pairs(self, function: str, expression: Expression | None) -> tuple[Pairs, Terms]:
        """Evaluate the expression and the condition on every pair that may meet."""
        condition = And((self.bound.hidden, self.bound.mixed))
        names = columns_of(condition) | (frozenset() if expression is None else columns_of(expression))
        rows, row_sample = self._row_classes(sorted(names - self._sensitive))
        groups, kinds, value_sample = self._value_classes(sorted(names & self._sensitive))
        shape = _Shape.of(self._cell, self.view.groups[self.selection.index], rows)
        known = _Shape.of(groups, np.zeros(len(groups), dtype=np.int64), kinds)
        row_place, value_place, demand, edges = _crossed(shape, known)
        left, right = shape.kind[row_place], known.kind[value_place]
        is_small = len(row_sample) * len(value_sample) <= len(row_place)
        at = left * len(value_sample) + right if is_small else slice(None)
        if is_small:
            # Equal pairs occur in many groups: each different one is evaluated once.
            height, width = len(row_sample), len(value_sample)
            left, right = np.repeat(np.arange(height), width), np.tile(np.arange(width), height)
        wanted = None if function == "count" and expression is None else expression
        terms = self._terms(wanted, condition, row_sample[left], value_sample[right])
        low, sure = terms.low[at], terms.sure[at]
        pairs = Pairs(
            self.selection.cells, shape.cell, shape.first, edges[0], edges[1], shape.number, demand,
            low, low if terms.low is terms.high else terms.high[at],
            sure, sure if terms.sure is terms.possible else terms.possible[at], terms.unit,
            None if terms.middle is None else terms.middle[at], None if terms.chance is None else terms.chance[at],
        )  # fmt: skip
        return pairs, terms

    def _row_classes(self, names: list[str]) -> tuple[Ints, Ints]:
        """Number selected rows alike if nothing that is read differs; and a row of each number."""
        return classes_of([self.view.codes(name).codes for name in names], self.selection.index)

    def _value_classes(self, names: list[str]) -> tuple[Ints, Ints, Ints]:
        """The group and the number of each hidden value, and a place of each number."""
        every = np.arange(self.hidden.num_rows)
        kinds, sample = classes_of([self.hidden.codes(name).codes for name in names], every)
        return self.hidden.groups, kinds, sample

    def _terms(self, expression: Expression | None, condition: Predicate, rows: Ints, places: Ints) -> Terms:
        """What each pair of a row and a hidden value adds, and whether it counts."""
        names = columns_of(condition) | (frozenset() if expression is None else columns_of(expression))
        arrays = {
            name: self.hidden.array(name).take(pa.array(places))
            if name in self._sensitive
            else self.view.array(name).take(pa.array(rows))
            for name in names
        }
        met: Mask = evaluate(condition, arrays, len(rows)).fill_null(False).to_numpy(zero_copy_only=False).copy()
        if expression is None:
            return Terms(np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64), met, met)
        found = values(expression, arrays, len(rows))
        present = found.is_valid().to_numpy(zero_copy_only=False)
        met &= present
        kind = kind_of(expression)
        if kind not in NUMBERS:
            return Terms(np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64), met, met)
        numbers = ticks_of(found.drop_null(), kind)
        low = np.zeros(len(rows), dtype=np.int64)
        low[present] = numbers.lows
        high = low
        if numbers.is_rounded:
            high = np.zeros(len(rows), dtype=np.int64)
            high[present] = numbers.highs
        return Terms(low, high, met, met, numbers.unit, kind is Kind.INT, 4 * numbers.slack)


@dataclass(frozen=True, eq=False)
class Terms:
    """What pairs add, in units: between `low` and `high`, if they count, which they do for sure or perhaps."""

    low: Ints
    high: Ints
    sure: Mask
    possible: Mask
    unit: Fraction = Fraction(1)
    is_whole: bool = False
    slack: Fraction = Fraction(0)
    middle: Floats | None = None
    chance: Floats | None = None


@dataclass(frozen=True, eq=False)
class _Shape:
    """Classes of rows in entries of (cell, group): entry e has the classes `first[e]:first[e+1]`."""

    cell: Ints
    group: Ints
    first: Ints
    kind: Ints
    number: Ints

    @staticmethod
    def of(cell: Ints, group: Ints, kind: Ints) -> _Shape:
        """Count equal rows."""
        width, kinds = int(group.max(initial=0)) + 1, int(kind.max(initial=0)) + 1
        entries, entry = np.unique(cell * width + group, return_inverse=True)
        keys, number = np.unique(entry * kinds + kind, return_counts=True)
        first = np.searchsorted(keys, np.arange(len(entries) + 1) * kinds)
        return _Shape(entries // width, entries % width, first, keys % kinds, number)


def _crossed(rows: _Shape, known: _Shape) -> tuple[Ints, Ints, Ints, tuple[Ints, Ints]]:
    """For every pair its row class and value class; the values' numbers by entry; where values and pairs begin."""
    start, end = known.first[rows.group], known.first[rows.group + 1]
    height, width = np.diff(rows.first), end - start
    if int((height * width).sum()) > MOST_PAIRS:
        raise QueryError(
            "the groups of this release have too many different rows and values for this expression; ask about fewer "
            "rows, or about a product of a known and a sensitive column"
        )
    owner, order = unrolled(height * width)
    row = rows.first[owner] + order // width[owner]
    value = start[owner] + order % width[owner]
    entry, place = unrolled(width)
    values = np.concatenate(([0], np.cumsum(width)))
    pairs = np.concatenate(([0], np.cumsum(height * width)))
    return row, value, known.number[start[entry] + place], (values, pairs)


def classes_of(keys: list[NDArray[Any]], rows: Ints) -> tuple[Ints, Ints]:
    """Number rows with equal keys alike; and a row of each number."""
    kind, kinds = np.zeros(len(rows), dtype=np.int64), 1
    for codes in keys:
        width = int(codes.max(initial=0)) + 1
        kind, kinds = compact(kind * width + codes[rows], kinds * width)
    sample = np.zeros(kinds if len(rows) else 0, dtype=np.int64)
    sample[kind] = rows
    return kind, sample


def digits_of(view: View, name: str) -> Digits:
    """The distinct values of a column of numbers, and a place for missing ones, exactly."""
    numbers = numbers_of(view, name)
    if numbers.kind is Kind.FLOAT:
        return Digits.of_column(np.append(view.codes(name).domain.to_numpy(zero_copy_only=False), 0.0))
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


def _counted(
    lower: list[int], upper: list[int], mean: Floats, variance: Floats, reached: list[bool] | None = None
) -> Estimate:
    exact = [low == high for low, high in zip(lower, upper, strict=True)]
    ends = [[Fraction(n) for n in end] for end in (lower, upper)]
    spread = deviation(variance).tolist()
    return Estimate(list(ends[0]), list(ends[1]), mean.tolist(), spread, exact, Rounding.WHOLE, reached=reached)


@dataclass(frozen=True, eq=False)
class _Found:
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
        scale = float(self.unit) / np.array(by, dtype=np.float64)
        widths = [slack * (m if function == "sum" and per_row else 1) for m in self.most] if slack else None
        rounding = Rounding.WHOLE if is_whole and function == "sum" else Rounding.OUTWARD
        mean, std = (self.mean * scale).tolist(), (deviation(self.variance) * scale).tolist()
        # Where no row has to count an end that is not past zero may be that of no row at all, which is NULL.
        reached = self.reached or [
            n > 0 or low is None or high is None or low < 0 < high
            for n, low, high in zip(self.fewest, lower, upper, strict=True)
        ]
        return Estimate(lower, upper, mean, std, exact, rounding, widths, reached=reached)
