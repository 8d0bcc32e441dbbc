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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.aggregates.linear import Linear, Products, value_moments
from hedgerow.query.aggregates.mixed import (
    Pairs,
    average_of_pairs,
    compared_counts,
    count_of_pairs,
    expect_pairs,
    least_total,
    ones_of,
    ratio_of_pairs,
    sum_of_pairs,
)
from hedgerow.query.aggregates.mixed_ranks import RANKED, estimate_ranked
from hedgerow.query.aggregates.precise import Digits
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.factors import Comparison, Product, comparison_of, product_of
from hedgerow.query.evidence.groups import Floats, Ints, deviation, means, totals, unroll
from hedgerow.query.evidence.rows import Numbers, Selection, compact, numbers_of, sorted_codes, ticks_of
from hedgerow.query.evidence.view import View, evaluate, missing_rows, values
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Bound,
    Column,
    Expression,
    Kind,
    Predicate,
    Truth,
    columns_of,
    kind_of,
)

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
    by_rank: bool = field(default=False, kw_only=True)
    """Floats on no decimal grid are told apart by their places in order, which are all that a rank needs."""

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound one aggregate over every assignment."""
        self._check(item)
        expression = self._expression(item)
        if item.function in RANKED:
            return self._ranked(item, expression)
        product = product_of(expression, self._sensitive) if isinstance(self.bound.mixed, Truth) else None
        if product is not None and (found := self._by_products(item.function, product)) is not None:
            return found
        if expression is None and isinstance(self.bound.hidden, Truth):
            comparison = comparison_of(self.bound.mixed, self._sensitive)
            if comparison is not None and (found := self._by_merge(comparison)) is not None:
                return found
        return self._by_pairs(item.function, expression)

    def _check(self, item: Aggregate) -> None:
        if item.function not in ("count", "sum", "avg", *RANKED):
            raise QueryError(
                f"{item.function.removesuffix('_distinct').upper()} has no bound where a sensitive column, or one that "
                "is published as ranges, enters an expression or a comparison with others; COUNT, SUM, AVG, MIN, MAX, "
                "quantiles and VARIANCE have"
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
        if (function == "avg" and counts is not None) or (product.is_whole and self.hidden.has_missing(value)):
            return None
        rows, cell = self._by_weight(weight)
        if rows is self._order(weight) and self.selection.cell is None:
            group = np.flatnonzero(np.diff(self.view.offsets))
            edge = self.view.offsets[group]
        else:
            edge, group = _entries(cell, self.view.groups[rows])
        solver = Products(self.selection.cells, cell[edge], group, np.append(edge, len(rows)), self.hidden.offsets)
        number = self._number(solver, counts)
        if function == "count":
            return _counted(*number)
        left, right = numbers_of(self.view, weight), numbers_of(self.hidden, value)
        sizes = [int(np.abs(side.lows).max(initial=0)) for side in (left, right)]
        if left.is_rounded or right.is_rounded or not solver.fits(sizes[0], sizes[1]):
            return None if counts is not None else self._by_digits(function, solver, rows, (weight, value), number)
        drawn = self._sorted(value, counts, right)
        measure = functools.partial(value_moments, drawn, self.hidden.offsets)
        moments = measure() if counts is not None else self.hidden.remember(f"moments of {value}", measure)
        least, greatest, mean, variance = solver.solve(self._weights(weight, rows, left), drawn, moments)
        unit = left.unit * right.unit
        is_whole = left.kind is Kind.INT and right.kind is Kind.INT
        slack = Fraction(0) if _is_whole(left) and _is_whole(right) else sizes[0] * sizes[1] * unit / 2**50
        found = _Found(
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
        found = _Found(
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
        limit, value = self._derived(self.view, comparison.known), self._derived(self.hidden, comparison.hidden)
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
            taken, drawn = -_reversed(taken, first), -_reversed(drawn, self.hidden.offsets)
            present = _reversed(present, self.hidden.offsets)
        if not present.all():
            # Missing values are above nothing.
            drawn = np.where(present, drawn, np.iinfo(np.int64).min)
            drawn = drawn[np.lexsort((drawn, self.hidden.groups))]
        taken = taken - 1 if comparison.is_equal else taken
        shape = (first, self.hidden.offsets[group], self.hidden.offsets[group + 1])
        least, most, mean, variance = compared_counts(*shape, taken, drawn)
        where = _Where(self.selection.cells, cell[edge])
        return _counted(totals(where, least), totals(where, most), means(where, mean), means(where, variance))

    def _derived(self, view: View, node: Expression) -> str:
        """Let an expression be read as a column."""
        if isinstance(node, Column):
            return node.name
        name = f"= {value_sql(node)}"
        view.derive({name: node})
        return name

    def _counting(self, name: str) -> Mask | None:
        """Hidden values that are present and satisfy the condition on them; None where all do."""
        if isinstance(self.bound.hidden, Truth) and not self.hidden.has_missing(name):
            return None
        marked: Mask = ~missing_rows(self.hidden, name) & self.hidden.rows_where(self.bound.hidden)
        return marked

    def _order(self, name: str) -> Ints:
        """All rows by group and weight; sorted when first asked."""

        def sort() -> Ints:
            codes = self.view.codes(name)
            return np.argsort(self.view.groups * (len(codes.domain) + 1) + codes.codes, kind="stable")

        order: Ints = self.view.remember(f"order of {name}", sort)
        return order

    def _by_weight(self, name: str) -> tuple[Ints, Ints]:
        """Selected rows whose weight is present, by cell, group and weight; and their cells."""
        order, taken = self._order(name), self.selection.rows
        if self.view.has_missing(name):
            taken = taken & ~missing_rows(self.view, name)
        rows = order if taken.all() else order[taken[order]]
        if self.selection.cell is None:
            return rows, np.zeros(len(rows), dtype=np.int64)
        every = np.zeros(self.view.num_rows, dtype=np.int64)
        every[self.selection.index] = self.selection.cell
        small = np.uint16 if self.selection.cells < 2**16 else np.int64  # short numbers are sorted by counting
        by_cell = np.argsort(every[rows].astype(small), kind="stable")
        return rows[by_cell], every[rows[by_cell]]

    def _weights(self, name: str, rows: Ints, numbers: Numbers) -> Ints:
        """The weights of rows, remembered where these are all rows."""
        codes = self.view.codes(name).codes
        is_whole = rows is self._order(name)
        found: Ints = (
            self.view.remember(f"weights of {name}", lambda: numbers.lows[codes[rows]])
            if is_whole
            else numbers.lows[codes[rows]]
        )
        return found

    def _sorted(self, name: str, counts: Mask | None, numbers: Numbers) -> Ints:
        """The values of each group, ascending, zero for those that do not count."""
        if counts is None:
            codes = sorted_codes(self.hidden, name)
            found: Ints = self.hidden.remember(f"ticks of {name}", lambda: numbers.lows[codes])
            return found
        lows = np.where(counts, np.append(numbers.lows, 0)[self.hidden.codes(name).codes], 0)
        return lows[np.lexsort((lows, self.hidden.groups))]

    # Anything else: pairs of different rows and different values.

    def _ranked(self, item: Aggregate, expression: Expression | None) -> Estimate:
        """MIN, MAX, quantiles and variances."""
        is_value = AGGREGATES[item.function].gives is Gives.VALUE
        pairs, terms, _ = replace(self, by_rank=is_value)._pairs(expression)
        numbers = terms.numbers
        rounding = Rounding.OUTWARD if numbers is None else numbers.rounding(item.function)
        domain = numbers.domain if numbers is not None and is_value else None
        return estimate_ranked(item.function, item.fraction, pairs, rounding, terms.slack, domain)

    def _by_pairs(self, function: str, expression: Expression | None) -> Estimate:
        pairs, terms, _ = self._pairs(None if function == "count" and expression is None else expression)
        count = count_of_pairs(pairs)
        fewest, most = ([int(n or 0) for n in ends] for ends in (count.lower, count.upper))
        number, number_variance = expect_pairs(ones_of(pairs))
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

    def ratio(self, upper: Expression, lower: Expression) -> Estimate | None:
        """The quotient of two sums over the same rows; None where the lower one has negative or rounded numbers."""
        pairs, terms, divisor = self._pairs(upper, lower)
        assert divisor is not None, "a second expression has terms"
        low, high = (np.where(pairs.sure, end, 0) for end in (pairs.low, pairs.high))
        by = np.where(divisor.sure, divisor.low, 0)
        if divisor.low is not divisor.high or by.min(initial=0) < 0:
            return None
        met = pairs.sure | divisor.sure
        pairs = replace(pairs, low=low, high=low if terms.low is terms.high else high, sure=met, possible=met)
        bounds = ratio_of_pairs(pairs, by)
        mean, _ = expect_pairs(pairs)
        number, _ = expect_pairs(replace(pairs, low=by))
        ratio = np.divide(mean, number, out=np.full(len(mean), np.nan), where=number > 0)
        _, around = expect_pairs(replace(pairs, middle=low - np.nan_to_num(ratio)[pairs.cell][pairs.owner] * by))
        std = np.divide(deviation(around), number, out=np.full(len(mean), np.nan), where=number > 0)
        unit = terms.unit / divisor.unit
        ends = [[None if n is None else n * unit for n in side] for side in (bounds.lower, bounds.upper)]
        widths = [
            max((abs(n) for n in pair if n is not None), default=Fraction(0)) / 2**45
            for pair in zip(*ends, strict=True)
        ]
        # A sum without any number is NULL and not zero, which no bound speaks of; neither does it of dividing by zero.
        is_full = bool(np.all(np.where(divisor.sure, terms.sure, True)))
        fewest, _ = least_total(pairs, by)
        is_sure = [is_full and number > 0 for number in fewest]
        return Estimate(
            ends[0], ends[1], (ratio * float(unit)).tolist(), (std * float(unit)).tolist(),
            [a is None or (a == b and sure) for a, b, sure in zip(*ends, is_sure, strict=True)], Rounding.OUTWARD,
            widths if terms.slack or divisor.slack else None, reached=[one and is_full for one in bounds.reached],
        )  # fmt: skip

    def _pairs(
        self, expression: Expression | None, other: Expression | None = None
    ) -> tuple[Pairs, Terms, Terms | None]:
        """Evaluate one expression, or two, and the condition on every pair that may meet."""
        condition = And((self.bound.hidden, self.bound.mixed))
        read = [condition, *(node for node in (expression, other) if node is not None)]
        names = frozenset().union(*map(columns_of, read))
        rows, row_sample = self._row_classes(sorted(names - self._sensitive))
        groups, kinds, value_sample = self._value_classes(sorted(names & self._sensitive))
        shape = _Shape.of(self._cell, self.view.groups[self.selection.index], rows)
        known = _Shape.of(groups, np.zeros(len(groups), dtype=np.int64), kinds)
        row_place, value_place, demand, edges = _crossed(shape, known)
        left, right = shape.kind[row_place], known.kind[value_place]
        is_small = len(row_sample) * len(value_sample) <= len(row_place)
        at = left * len(value_sample) + right if is_small else None
        if is_small:
            # Equal pairs occur in many groups: each different one is evaluated once.
            height, width = len(row_sample), len(value_sample)
            left, right = np.repeat(np.arange(height), width), np.tile(np.arange(width), height)
        terms = self._terms(expression, condition, row_sample[left], value_sample[right]).take(at)
        second = None
        if other is not None:
            second = self._terms(other, condition, row_sample[left], value_sample[right]).take(at)
        pairs = Pairs(
            self.selection.cells, shape.cell, shape.first, edges[0], edges[1], shape.number, demand,
            terms.low, terms.high, terms.sure, terms.possible, terms.unit, terms.middle, terms.chance,
        )  # fmt: skip
        return pairs, terms, second

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
        assert kind is not None, "an expression that names columns has a kind"
        numbers = None if kind in (Kind.TEXT, Kind.BOOL) else ticks_of(found.drop_null(), kind)
        if numbers is None or (self.by_rank and numbers.is_rounded):
            domain = found.drop_null().unique().sort()
            places = np.arange(len(domain))
            numbers = Numbers(places, places, Fraction(1), kind, domain)
            low = pc.index_in(found, value_set=domain).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            return Terms(low, low, met, met, numbers=numbers)
        low = np.zeros(len(rows), dtype=np.int64)
        low[present] = numbers.lows
        high = low
        if numbers.is_rounded:
            high = np.zeros(len(rows), dtype=np.int64)
            high[present] = numbers.highs
        return Terms(low, high, met, met, numbers.unit, kind is Kind.INT, 4 * numbers.slack, numbers=numbers)


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
    numbers: Numbers | None = None

    def take(self, places: Ints | None) -> Terms:
        """The terms at some places; None takes them as they are."""
        if places is None:
            return self
        low, sure = self.low[places], self.sure[places]
        return replace(
            self,
            low=low,
            high=low if self.low is self.high else self.high[places],
            sure=sure,
            possible=sure if self.sure is self.possible else self.possible[places],
            middle=None if self.middle is None else self.middle[places],
            chance=None if self.chance is None else self.chance[places],
        )


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


@dataclass(frozen=True, eq=False)
class _Where:
    """The cell of each entry: what reductions look up."""

    cells: int
    cell: Ints

    @property
    def group(self) -> Ints:
        """Entries by number."""
        return np.arange(len(self.cell))


def _reversed(numbers: NDArray[Any], edges: Ints) -> NDArray[Any]:
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


def _crossed(rows: _Shape, known: _Shape) -> tuple[Ints, Ints, Ints, tuple[Ints, Ints]]:
    """For every pair its row class and value class; the values' numbers by entry; where values and pairs begin."""
    place = np.searchsorted(known.cell, rows.group)
    start, end = known.first[place], known.first[place + 1]
    height, width = np.diff(rows.first), end - start
    if int((height * width).sum()) > MOST_PAIRS:
        raise QueryError(
            "the groups of this release have too many different rows and values for this expression; ask about fewer "
            "rows, or about a product of a known and a sensitive column"
        )
    owner, order = unroll(height * width)
    row = rows.first[owner] + order // width[owner]
    value = start[owner] + order % width[owner]
    entry, order = unroll(width)
    values = np.concatenate(([0], np.cumsum(width)))
    pairs = np.concatenate(([0], np.cumsum(height * width)))
    return row, value, known.number[start[entry] + order], (values, pairs)


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
