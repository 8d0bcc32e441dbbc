"""Aggregates of expressions, and conditions, that read known columns and hidden ones, of any kind.

Source     own; `mixed` and `mixed_ranks` have the mathematics, `products` what is a product or a comparison of two
Guarantee  the true answer lies inside the bounds; they are reached unless the estimate says otherwise
Cost       different rows times different values of each group

Rows of which a question reads the same, and hidden values of which it does, are taken together: of `age > 40 OR s > 0`
it reads one truth of the row and one of the value. The cost follows what differs, and every engine, whatever columns
and in whatever order it hands them over, has the same pairs in the same order, hence the same bounds to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.aggregates.aggregator import in_units
from hedgerow.query.aggregates.either import Either
from hedgerow.query.aggregates.mixed import AddedPairs, Pairs, expect_pairs, join_pairs, least_total, ratio_of_pairs
from hedgerow.query.aggregates.mixed_distinct import estimate_distinct
from hedgerow.query.aggregates.mixed_ranks import RANKED, estimate_ranked
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.factors import alternatives_of, comparison_of, product_of
from hedgerow.query.evidence.groups import Floats, Ints, deviation, unroll
from hedgerow.query.evidence.products import Mask, ProductCrossing, Totals, estimate_count
from hedgerow.query.evidence.rows import Numbers, compact, hits_of, numbers_of, row_order, ticks_of
from hedgerow.query.evidence.view import Codes, View, evaluate, values
from hedgerow.query.sql.question import (
    NUMBERS,
    Aggregate,
    And,
    Column,
    Expression,
    Kind,
    Or,
    Predicate,
    Truth,
    children_of,
    columns_of,
    kind_of,
)

__all__ = ["CodedPairs", "Crossing", "Node", "Terms", "classes_of"]

Node = Predicate | Expression

MOST_PAIRS = 30_000_000
"""Pairs of different rows and different values that one question may look at."""


@dataclass(frozen=True, eq=False)
class Crossing(ProductCrossing):
    """The same for every expression: by products where they do, otherwise by pairs of different rows and values."""

    by_rank: bool = field(default=False, kw_only=True)
    """Floats on no decimal grid are told apart by their places in order, which are all that a rank needs."""

    is_coded: bool = field(default=False, kw_only=True)
    """What pairs give comes as places among its different values, for parts that do not know those of the others."""

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound one aggregate over every assignment."""
        self._check(item)
        expression = self._expression(item)
        if item.function in RANKED:
            return self._rank_estimate(item, expression)
        if item.function == "distinct":
            return self._distinct(expression)
        product = product_of(expression, self._sensitive) if isinstance(self.bound.mixed, Truth) else None
        if product is not None and (found := self._by_products(item.function, product)) is not None:
            return found
        if expression is None and isinstance(self.bound.hidden, Truth):
            comparison = comparison_of(self.bound.mixed, self._sensitive)
            if comparison is not None and (found := self._by_merge(comparison)) is not None:
                return found
        return self._by_either(item.function, expression) or self._by_pairs(item.function, expression)

    def _by_either(self, function: str, expression: Expression | None) -> Estimate | None:
        """Values under a known or a hidden condition; None where values are missing or perhaps no row counts."""
        either = alternatives_of(self.bound.mixed, self._sensitive)
        if either is None or not isinstance(self.bound.hidden, Truth):
            return None
        if expression is not None and not columns_of(expression) <= self._sensitive:
            return None
        known, hidden = either
        marked, terms, ticks = self.hidden.rows_where(hidden), Terms.nothing(), np.zeros(self.hidden.num_rows, np.int64)
        if expression is not None:
            name = self._derive(self.hidden, expression)
            kind = self.hidden.column(name).kind
            if kind not in NUMBERS or self.hidden.has_missing(name):
                return None
            numbers = numbers_of(self.hidden, name)
            if numbers.is_rounded:
                return None
            marked, ticks = marked[row_order(self.hidden, name)], self._sort_values(name, None, numbers)
            terms = replace(terms, unit=numbers.unit, is_whole=kind is Kind.INT, slack=4 * numbers.slack)
        rows = self.selection, self.selection.among(self.view.rows_where(known))
        every, met = (hits_of(self.view, chosen) for chosen in rows)
        width = max(len(self.view.offsets) - 1, 1)
        must = np.zeros(len(every.cell), dtype=np.int64)
        must[np.searchsorted(every.cell * width + every.group, met.cell * width + met.group)] = met.lower
        if function != "count" and np.bincount(every.cell, must, minlength=every.cells).min(initial=1) == 0:
            return None
        edges = self.hidden.offsets[every.group], self.hidden.offsets[every.group + 1]
        return _add(function, Either(every.cells, every.cell, *edges, must, every.lower - must, ticks, marked), terms)

    def code(self, item: Aggregate) -> CodedPairs | None:
        """The pairs of a part, for the same aggregate over several parts; None where pairs are ranges."""
        self._check(item)
        expression = self._expression(item)
        if type(self) is not Crossing or expression is None:
            return None
        pairs, terms, _ = replace(self, is_coded=True)._pairs(expression)
        assert terms.numbers is not None, "coded pairs have places in a domain"
        assert terms.numbers.domain is not None, "coded pairs have places in a domain"
        return CodedPairs(pairs, terms.numbers.domain, terms.numbers.kind)

    def _check(self, item: Aggregate) -> None:
        is_moment = isinstance(item.column, Column) and item.column.kind is Kind.TIME
        if is_moment and item.function in ("avg", "quantile_cont"):
            raise QueryError(
                "AVG, MEDIAN and quantile_cont of dates have no bound where a sensitive column enters an expression or "
                "a comparison with others; MIN, MAX and quantile_disc have"
            )
        if item.function not in ("count", "sum", "avg", "distinct", *RANKED):
            raise QueryError(
                f"{item.function.removesuffix('_distinct').upper()} has no bound where a sensitive column, or one that "
                "is published as ranges, enters an expression or a comparison with others; COUNT, SUM, AVG, MIN, MAX, "
                "quantiles and VARIANCE have"
            )

    def _expression(self, item: Aggregate) -> Expression | None:
        if not isinstance(item.column, Column):
            return None
        return self.bound.derived.get(item.column.name, item.column)

    def _distinct(self, expression: Expression | None, *, is_loose: bool = False) -> Estimate:
        """COUNT(DISTINCT x)."""
        pairs, _, _ = replace(self, by_rank=True)._pairs(expression)
        return estimate_distinct(pairs, is_loose=is_loose)

    def _rank_estimate(self, item: Aggregate, expression: Expression | None) -> Estimate:
        """MIN, MAX, quantiles and variances."""
        pairs, terms, _ = replace(self, by_rank=_is_value(item))._pairs(expression)
        return _rank_pairs(item, pairs, terms)

    def _by_pairs(self, function: str, expression: Expression | None) -> Estimate:
        pairs, terms, _ = self._pairs(None if function == "count" and expression is None else expression)
        return _add_pairs(function, pairs, terms)

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
            ends[0], ends[1], in_units(ratio, unit).tolist(), in_units(std, unit).tolist(),
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
        rows, row_sample = self._row_classes([part for node in read for part in _parts(node, names - self._sensitive)])
        groups, kinds, value_sample = self._value_classes(
            [part for node in read for part in _parts(node, self._sensitive)]
        )
        shape = _PairShape.of(self._cell, self.view.groups[self.selection.index], rows)
        known = _PairShape.of(groups, np.zeros(len(groups), dtype=np.int64), kinds)
        row_place, value_place, demand, edges = _cross(shape, known)
        left, right = shape.kind[row_place], known.kind[value_place]
        height, width, at = len(row_sample), len(value_sample), None
        if height * width <= len(row_place):
            # Equal pairs occur in many groups: each different one is evaluated once, and none that does not occur.
            occurs = np.bincount(left * width + right, minlength=height * width) > 0
            at = (np.cumsum(occurs) - 1)[left * width + right]
            left, right = np.divmod(np.flatnonzero(occurs), width)
        terms = self._terms(expression, condition, row_sample[left], value_sample[right]).take(at)
        second = None
        if other is not None:
            second = self._terms(other, condition, row_sample[left], value_sample[right]).take(at)
        pairs = Pairs(
            self.selection.cells, shape.cell, shape.first, edges[0], edges[1], shape.number, demand,
            terms.low, terms.high, terms.sure, terms.possible, terms.unit, terms.middle, terms.chance,
        )  # fmt: skip
        return pairs, terms, second

    def _row_classes(self, parts: list[Node]) -> tuple[Ints, Ints]:
        """Number selected rows alike if nothing that is read differs; and a row of each number."""
        return classes_of([_codes(self.view, part, self.selection.index) for part in parts], self.selection.index)

    def _value_classes(self, parts: list[Node]) -> tuple[Ints, Ints, Ints]:
        """The group and the number of each hidden value, and a place of each number."""
        every = np.arange(self.hidden.num_rows)
        return self.hidden.groups, *classes_of([_codes(self.hidden, part, every) for part in parts], every)

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
        has_places = self.is_coded or kind in (Kind.TEXT, Kind.BOOL)
        numbers = None if has_places else ticks_of(found.drop_null(), kind)
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


def _is_value(item: Aggregate) -> bool:
    return AGGREGATES[item.function].gives is Gives.VALUE


def _rank_pairs(item: Aggregate, pairs: Pairs, terms: Terms) -> Estimate:
    """MIN, MAX, quantiles and variances of pairs."""
    numbers = terms.numbers
    rounding = Rounding.OUTWARD if numbers is None else numbers.rounding(item.function)
    domain = numbers.domain if numbers is not None and _is_value(item) else None
    return estimate_ranked(item.function, item.fraction, pairs, rounding, terms.slack, domain)


def _add_pairs(function: str, pairs: Pairs, terms: Terms) -> Estimate:
    """COUNT, SUM and AVG of pairs."""
    found = _add(function, AddedPairs(pairs), terms)
    assert found is not None, "sums of pairs that leave 64 bits are bounded all the same"
    return found


def _add(function: str, added: Either | AddedPairs, terms: Terms) -> Estimate | None:
    """COUNT, SUM and AVG; None where bounds have to be found in another way."""
    count = added.numbers()
    fewest, most = ([int(n or 0) for n in ends] for ends in (count.lower, count.upper))
    number, number_variance = added.expect_number()
    if function == "count":
        return estimate_count(fewest, most, number, number_variance, count.reached)
    is_known = count.lower == count.upper
    is_ratio = function == "avg" and not is_known
    bounds = added.averages() if is_ratio else added.sums()
    if bounds is None:
        return None
    mean, variance = added.expect()
    if is_ratio:
        ratio = np.divide(mean, number, out=np.zeros(len(mean)), where=number > 0)
        _, around = added.expect(ratio)
        mean, variance = ratio, np.divide(around, number**2, out=np.zeros(len(mean)), where=number > 0)
    found = Totals(bounds.lower, bounds.upper, mean, variance, fewest, most, terms.unit, bounds.reached)
    is_whole = terms.is_whole and function == "sum"
    return found.estimate("sum" if is_ratio else function, is_whole=is_whole, slack=terms.slack, per_row=not is_ratio)


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """Pairs of a part that give places in a `domain` of different values, ascending."""

    pairs: Pairs
    domain: pa.Array
    kind: Kind

    @staticmethod
    def join(parts: Sequence[CodedPairs], places: Sequence[Ints], cells: int) -> CodedPairs:
        """The pairs of all parts; `places` are the cells of the whole answer for those of each part."""
        _require_few(sum(len(part.pairs.low) for part in parts))
        every = pa.concat_arrays([part.domain for part in parts]).unique()
        domain = every.take(pc.array_sort_indices(every))
        pieces = []
        for part, cell in zip(parts, places, strict=True):
            at = pc.index_in(part.domain, value_set=domain).to_numpy(zero_copy_only=False).astype(np.int64)
            low = np.append(at, 0)[part.pairs.low]
            pieces.append(replace(part.pairs, cells=cells, cell=cell[part.pairs.cell], low=low, high=low))
        return CodedPairs(join_pairs(pieces), domain, parts[0].kind)

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound an aggregate over all pairs, as those of one release."""
        by_rank = item.function == "distinct" or (item.function in RANKED and _is_value(item))
        terms = _number_terms(self.pairs.low, self.pairs.sure, self.domain, self.kind, by_rank=by_rank)
        pairs = replace(self.pairs, low=terms.low, high=terms.high, unit=terms.unit)
        if item.function == "distinct":
            return estimate_distinct(pairs, is_loose=False)
        return _rank_pairs(item, pairs, terms) if item.function in RANKED else _add_pairs(item.function, pairs, terms)


def _number_terms(codes: Ints, met: Mask, domain: pa.Array, kind: Kind, *, by_rank: bool) -> Terms:
    """What pairs give, from the places of their values; those that do not count may have any place."""
    numbers = None if kind in (Kind.TEXT, Kind.BOOL) else ticks_of(domain, kind)
    if numbers is None or (by_rank and numbers.is_rounded):
        places = np.arange(len(domain))
        return Terms(codes, codes, met, met, numbers=Numbers(places, places, Fraction(1), kind, domain))
    low = np.append(numbers.lows, 0)[codes]
    high = np.append(numbers.highs, 0)[codes] if numbers.is_rounded else low
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

    @staticmethod
    def nothing() -> Terms:
        """Of no pair."""
        return Terms(*(np.zeros(0, dtype=np.int64),) * 2, *(np.zeros(0, dtype=np.bool_),) * 2)

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
class _PairShape:
    """Classes of rows in entries of (cell, group): entry e has the classes `first[e]:first[e+1]`."""

    cell: Ints
    group: Ints
    first: Ints
    kind: Ints
    number: Ints

    @staticmethod
    def of(cell: Ints, group: Ints, kind: Ints) -> _PairShape:
        """Count equal rows."""
        width, kinds = int(group.max(initial=0)) + 1, int(kind.max(initial=0)) + 1
        entries, entry = np.unique(cell * width + group, return_inverse=True)
        keys, number = np.unique(entry * kinds + kind, return_counts=True)
        first = np.searchsorted(keys, np.arange(len(entries) + 1) * kinds)
        return _PairShape(entries // width, entries % width, first, keys % kinds, number)


def _cross(rows: _PairShape, known: _PairShape) -> tuple[Ints, Ints, Ints, tuple[Ints, Ints]]:
    """For every pair its row class and value class; the values' numbers by entry; where values and pairs begin."""
    place = np.searchsorted(known.cell, rows.group)
    start, end = known.first[place], known.first[place + 1]
    height, width = np.diff(rows.first), end - start
    _require_few(int((height * width).sum()))
    owner, order = unroll(height * width)
    row = rows.first[owner] + order // width[owner]
    value = start[owner] + order % width[owner]
    entry, order = unroll(width)
    values = np.concatenate(([0], np.cumsum(width)))
    pairs = np.concatenate(([0], np.cumsum(height * width)))
    return row, value, known.number[start[entry] + order], (values, pairs)


def _require_few(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise QueryError(
            "the groups of this release have too many different rows and values for this expression; ask about fewer "
            "rows, or about a product of a known and a sensitive column"
        )


def _parts(node: Node, side: frozenset[str]) -> Iterator[Node]:
    """The largest parts of a condition or an expression that read columns of one side and no others."""
    names = columns_of(node)
    if names and names <= side:
        yield node
        return
    children = list(children_of(node)) if names & side else []
    if isinstance(node, And | Or):
        # Of several that one AND, or OR, joins only what they are together is read.
        own = [child for child in node.operands if columns_of(child) and columns_of(child) <= side]
        children = [*([type(node)(tuple(own))] if own else []), *(child for child in children if child not in own)]
    for child in children:
        yield from _parts(child, side)


def _codes(view: View, part: Node, rows: Ints) -> NDArray[Any]:
    """What a part of a question reads of some rows, by numbers that ascend with it; missing has the last."""
    codes: NDArray[Any]
    if isinstance(part, Column):
        codes = view.codes(part.name).codes[rows]
    else:
        names = sorted(columns_of(part))
        kinds, sample = classes_of([view.codes(name).codes[rows] for name in names], rows)
        arrays = {name: view.array(name).take(pa.array(sample)) for name in names}
        read: Callable[..., pa.Array] = values if isinstance(part, Expression) else evaluate
        codes = Codes(read(part, arrays, len(sample))).codes[kinds]
    return codes


def classes_of(keys: list[NDArray[Any]], rows: Ints) -> tuple[Ints, Ints]:
    """Number rows alike that have equal keys, which come row by row; and a row of each number."""
    kind, kinds = np.zeros(len(rows), dtype=np.int64), 1
    for codes in keys:
        width = int(codes.max(initial=0)) + 1
        kind, kinds = compact(kind * width + codes, kinds * width)
    sample = np.zeros(kinds if len(rows) else 0, dtype=np.int64)
    sample[kind] = rows
    return kind, sample
