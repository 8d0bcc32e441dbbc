"""Expressions over columns of which only ranges are known: interval arithmetic in floats that are rounded outwards.

Source     own
Guarantee  whatever numbers the ranges stand for, the expression's value lies inside the range that comes out, and a
           condition is called impossible or certain only if it is
Cost       a few passes over the arrays per operation

Mixed expressions: every pair of a row and a hidden value adds between the ends of its range, and the assignment of
`mixed` is taken over these ends. Bounds are called reached only where ranges are points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import is_numeric
from hedgerow.errors import QueryError
from hedgerow.exact import floats_of
from hedgerow.query.aggregates.mixed_ranks import RANKED
from hedgerow.query.answer import Estimate
from hedgerow.query.evidence.crossing import Crossing, Node, Terms, classes_of
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.rows import Chosen
from hedgerow.query.evidence.view import evaluate, values
from hedgerow.query.sql.question import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Expression,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    columns_of,
)

__all__ = ["Chance", "LooseCrossing", "Range", "RangeReader", "float_ends"]

Mask = NDArray[np.bool_]
_REFUSED = (
    "over columns that are published as ranges this expression has no bound; functions of one of them that give "
    "numbers have, and + - * /, ABS, CASE and COALESCE of several"
)
_FLIPPED = {"<": ">", "<=": ">="}


@dataclass(frozen=True, eq=False)
class Range:
    """Numbers between `low` and `high`; `sure` if a number is there for sure, `possible` if there may be one."""

    low: Floats
    high: Floats
    sure: Mask
    possible: Mask

    @staticmethod
    def of(array: pa.Array) -> Range:
        """Known numbers; decimals and large whole numbers lie between the floats around them."""
        present = array.is_valid().to_numpy(zero_copy_only=False)
        numbers = floats_of(array).fill_null(0.0).to_numpy(zero_copy_only=False)
        if pa.types.is_floating(array.type):
            return Range(numbers, numbers, present, present)
        held = np.abs(numbers) < 2.0**53
        if pa.types.is_decimal(array.type):  # 561.95 behind twelve more digits is a whole number as a float
            is_whole = pc.match_substring_regex(pc.cast(array, pa.string()), r"^-?\d+(\.0*)?$")
            held &= is_whole.fill_null(True).to_numpy(zero_copy_only=False)
        low, high = (np.where(held, numbers, np.nextafter(numbers, end)) for end in (-np.inf, np.inf))
        return Range(low, high, present, present)

    def take(self, rows: Ints) -> Range:
        """Some of the ranges."""
        return Range(self.low[rows], self.high[rows], self.sure[rows], self.possible[rows])

    def hull(self, other: Range) -> Range:
        """Both ranges and what lies between them."""
        low = np.where(self.possible & other.possible, np.minimum(self.low, other.low), self._one(other).low)
        high = np.where(self.possible & other.possible, np.maximum(self.high, other.high), self._one(other).high)
        return Range(low, high, self.sure & other.sure, self.possible | other.possible)

    def _one(self, other: Range) -> Range:
        return self.where(self.possible, other)

    def where(self, chosen: Mask, other: Range) -> Range:
        """This range where chosen, the other one elsewhere."""
        pairs = ((self.low, other.low), (self.high, other.high), (self.sure, other.sure))
        low, high, sure = (np.where(chosen, mine, its) for mine, its in pairs)
        return Range(low, high, sure, np.where(chosen, self.possible, other.possible))


@dataclass(frozen=True, eq=False)
class Chance:
    """What a condition may turn out to be, and the chance that it is true."""

    true: Mask
    false: Mask
    unknown: Mask
    chance: Floats

    @property
    def certain(self) -> Mask:
        """True, whatever the ranges stand for."""
        certain: Mask = self.true & ~self.false & ~self.unknown
        return certain


@dataclass(frozen=True)
class RangeReader:
    """Evaluates over known columns and ranges; of conditions on one of the `closed` columns `decide` tells."""

    known: Mapping[str, pa.Array]
    ranges: Mapping[str, Range]
    length: int
    closed: frozenset[str] = frozenset()
    decide: Callable[[Predicate], Chance | None] = lambda _: None

    def truth(self, node: Predicate) -> Chance:
        """Evaluate a condition."""
        if not columns_of(node) & self._open:
            return _exact(evaluate(node, self.known, self.length))
        if (decided := self.decide(node)) is not None:
            return decided
        if isinstance(node, Not):
            inner = self.truth(node.operand)
            return Chance(inner.false, inner.true, inner.unknown, 1.0 - inner.chance)
        if isinstance(node, And | Or):
            parts = [self.truth(operand) for operand in node.operands]
            return functools.reduce(_both if isinstance(node, And) else _either, parts)
        if isinstance(node, Compare):
            return _compare(node.operator, self.value(node.left), self.value(node.right))
        if isinstance(node, IsNull):
            found = self.value(node.operand)
            return Chance(~found.sure, found.possible, ~found.sure & found.sure, np.where(found.sure, 0.0, 0.5))
        if isinstance(node, In):
            return self._member(node)
        raise QueryError(_REFUSED)

    @property
    def _open(self) -> frozenset[str]:
        """Columns that are not known, as ranges or as sets."""
        return frozenset(self.ranges) | self.closed

    def _member(self, node: In) -> Chance:
        operand = self.value(node.operand)
        parts = [
            _compare("=", operand, self.value(constant))
            for constant in node.values
            if not isinstance(constant.value, str)
        ]
        if len(parts) != len(node.values):
            raise QueryError(_REFUSED)
        return functools.reduce(_either, parts)

    def value(self, node: Expression) -> Range:
        """Evaluate a number."""
        if not columns_of(node) & self._open:
            found = values(node, self.known, self.length)
            if not is_numeric(found.type):
                raise QueryError(_REFUSED)
            return Range.of(found)
        if isinstance(node, Column) and node.name in self.ranges:
            return self.ranges[node.name]
        if isinstance(node, Cast):
            return self.value(node.operand)
        if isinstance(node, Arithmetic):
            return _compute(node.operator, self.value(node.left), self.value(node.right))
        if isinstance(node, Case):
            return self._case(node)
        if isinstance(node, Call):
            return self._call(node)
        raise QueryError(_REFUSED)

    def _case(self, node: Case) -> Range:
        found = self.value(node.otherwise)
        for when, then in reversed(node.branches):
            met, inner = self.truth(when), self.value(then)
            found = inner.where(met.certain, found.where(~met.true, inner.hull(found)))
        return found

    def _call(self, node: Call) -> Range:
        operands = [self.value(operand) for operand in node.operands]
        if node.function == "coalesce":
            # What is there for sure stands; what may be missing is joined with what comes next.
            return functools.reduce(lambda last, one: one.where(one.sure, _fill(one, last)), reversed(operands))
        if len(operands) != 1:
            raise QueryError(_REFUSED)
        (one,) = operands
        if node.function == "abs":
            low = np.where((one.low <= 0) & (one.high >= 0), 0.0, np.minimum(np.abs(one.low), np.abs(one.high)))
            return Range(low, np.maximum(np.abs(one.low), np.abs(one.high)), one.sure, one.possible)
        steps: dict[str, Any] = {"floor": np.floor, "ceil": np.ceil, "round": _round}
        if node.function not in steps:
            raise QueryError(_REFUSED)
        return Range(steps[node.function](one.low), steps[node.function](one.high), one.sure, one.possible)


def _fill(one: Range, last: Range) -> Range:
    joined = one.hull(last)
    return Range(joined.low, joined.high, last.sure, joined.possible)


def _round(numbers: Floats) -> Floats:
    halves: Floats = np.sign(numbers) * np.floor(np.abs(numbers) + 0.5)
    return halves


def _exact(truth: pa.Array) -> Chance:
    true, false = (truth.fill_null(not side).to_numpy(zero_copy_only=False) == side for side in (True, False))
    return Chance(true, false, ~true & ~false, true.astype(np.float64))


def _both(left: Chance, right: Chance) -> Chance:
    unknown = (left.unknown | right.unknown) & (left.true | left.unknown) & (right.true | right.unknown)
    return Chance(left.true & right.true, left.false | right.false, unknown, left.chance * right.chance)


def _either(left: Chance, right: Chance) -> Chance:
    unknown = (left.unknown | right.unknown) & (left.false | left.unknown) & (right.false | right.unknown)
    chance = 1.0 - (1.0 - left.chance) * (1.0 - right.chance)
    return Chance(left.true | right.true, left.false & right.false, unknown, chance)


def _compare(operator: str, left: Range, right: Range) -> Chance:
    if operator in _FLIPPED:
        return _compare(_FLIPPED[operator], right, left)
    if operator == "<>":
        same = _compare("=", left, right)
        return Chance(same.false, same.true, same.unknown, 1.0 - same.chance)
    possible, unknown = left.possible & right.possible, ~(left.sure & right.sure)
    low, high = left.low - right.high, left.high - right.low
    if operator == "=":
        true, false = (left.low <= right.high) & (right.low <= left.high), ~((low == 0) & (high == 0))
        chance = np.where(true, np.where(false, 1.0 / (1.0 + np.maximum(high - low, 0.0)), 1.0), 0.0)
    else:
        true = left.high > right.low if operator == ">" else left.high >= right.low
        false = left.low <= right.high if operator == ">" else left.low < right.high
        share = np.clip(np.divide(high, high - low, out=np.full(len(low), 0.5), where=high > low), 0.0, 1.0)
        chance = np.where(true, np.where(false, share, 1.0), 0.0)
    return Chance(true & possible, false & possible, unknown, np.where(possible, chance, 0.0))


def _compute(operator: str, left: Range, right: Range) -> Range:
    sure, possible = left.sure & right.sure, left.possible & right.possible
    whole = operator != "/" and all(np.array_equal(end, np.rint(end)) for r in (left, right) for end in (r.low, r.high))
    if operator == "+":
        ends = [left.low + right.low, left.high + right.high]
    elif operator == "-":
        ends = [left.low - right.high, left.high - right.low]
    elif operator == "*":
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    else:
        around = (right.low <= 0) & (right.high >= 0)
        if np.any(around & (right.low != right.high) & possible):
            raise QueryError("dividing by a range that has zero in it has no bound; select rows for which it has not")
        # Dividing by a known zero gives NULL.
        sure, possible = sure & ~around, possible & ~around
        one, other = (np.where(around, 1.0, end) for end in (right.low, right.high))
        ends = [a / b for a in (left.low, left.high) for b in (one, other)]
    low, high = functools.reduce(np.minimum, ends), functools.reduce(np.maximum, ends)
    return Range(_outward(low, -np.inf, whole=whole), _outward(high, np.inf, whole=whole), sure, possible)


def _outward(numbers: Floats, end: float, *, whole: bool) -> Floats:
    """One float further, unless whole numbers were computed exactly."""
    if whole and np.abs(numbers).max(initial=0.0) < 2.0**53:
        return numbers
    further: Floats = np.nextafter(numbers, end)
    return further


_DIGITS = 15


@dataclass(frozen=True, eq=False)
class LooseCrossing(Crossing):
    """Rows that are selected for sure or perhaps, with `boxes` of some columns, one per row.

    `closed` columns are published as sets; of conditions on one of them `decide` tells. `values` are hidden values as
    ranges, with the group of each.
    """

    chosen: Chosen
    boxes: Mapping[str, Range] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    decide: Callable[[Predicate], Chance | None] = lambda _: None
    values: tuple[Ints, Range] | None = None

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound one aggregate: always by pairs."""
        self._check(item)
        if item.function in RANKED:
            return self._rank_estimate(item, self._expression(item))
        if item.function == "distinct":
            return self._distinct(self._expression(item), is_loose=True)
        return self._by_pairs(item.function, self._expression(item))

    def _expression(self, item: Aggregate) -> Expression | None:
        """A function of one box is a box of its own."""
        is_box = isinstance(item.column, Column) and item.column.name in self.boxes
        return item.column if is_box else super()._expression(item)

    def _row_classes(self, parts: list[Node]) -> tuple[Ints, Ints]:
        boxed, rows = self.closed | frozenset(self.boxes), self.selection.index
        mixed = frozenset().union(*(columns_of(part) for part in parts if columns_of(part) & boxed))
        known = [part for part in parts if not columns_of(part) & boxed]
        known += [self.view.column(name) for name in sorted(mixed - boxed)]
        keys = [super()._row_classes(known)[0]]
        if mixed:
            keys.append(self.view.groups[rows])
        if self.chosen.sure is not None and self.chosen.chance is not None:
            chance = np.unique(self.chosen.chance, return_inverse=True)[1]
            keys += [self.chosen.sure[rows].astype(np.int64), chance[rows]]
        return classes_of(keys, rows)

    def _value_classes(self, parts: list[Node]) -> tuple[Ints, Ints, Ints]:
        if self.values is None:
            return super()._value_classes(parts)
        groups, ranges = self.values
        ends = [np.unique(end, return_inverse=True)[1] for end in (ranges.low, ranges.high)] if parts else []
        return groups, *classes_of(ends, np.arange(len(groups)))

    def _terms(self, expression: Expression | None, condition: Predicate, rows: Ints, places: Ints) -> Terms:
        names = columns_of(condition) | (frozenset() if expression is None else columns_of(expression))
        ranges = {name: box.take(rows) for name, box in self.boxes.items() if name in names}
        if self.values is not None:
            ranges |= {name: self.values[1].take(places) for name in names & self._sensitive}
        plain = names - frozenset(ranges) - self.closed
        known = {
            name: self.hidden.array(name).take(pa.array(places))
            if name in self._sensitive
            else self.view.array(name).take(pa.array(rows))
            for name in plain
        }
        reader = RangeReader(known, ranges, len(rows), self.closed, lambda node: _at(self.decide(node), rows))
        met = reader.truth(condition)
        chosen, chance = self.chosen.sure, self.chosen.chance
        sure, possible, share = met.certain, met.true, met.chance
        if chosen is not None and chance is not None:
            sure, share = sure & chosen[rows], share * chance[rows]
        if expression is None:
            nothing = np.zeros(len(rows), dtype=np.int64)
            return Terms(
                nothing, nothing, sure, possible, chance=np.where(possible, share, 0.0), middle=np.zeros(len(rows))
            )
        found = reader.value(expression)
        low, high, unit = _enclose(found.low, found.high)
        sure, possible = sure & found.sure, possible & found.possible
        share = np.where(possible, np.where(found.sure, share, share / 2), 0.0)
        return Terms(low, high, sure, possible, unit, middle=low / 2.0 + high / 2.0, chance=share)


def _at(one: Chance | None, rows: Ints) -> Chance | None:
    return None if one is None else Chance(one.true[rows], one.false[rows], one.unknown[rows], one.chance[rows])


def float_ends(ticks: Ints, unit: Fraction) -> tuple[Floats, Floats]:
    """Floats below and above whole multiples of a unit, equal where these are whole numbers that floats hold."""
    if unit == 1 and int(np.abs(ticks).max(initial=0)) < 2**53:
        return ticks.astype(np.float64), ticks.astype(np.float64)
    near = ticks * float(unit) if unit >= 1 else ticks / float(1 / unit)
    # Three roundings at most: two floats further on either side.
    return tuple(np.nextafter(np.nextafter(near, end), end) for end in (-np.inf, np.inf))  # type: ignore[return-value]


def _enclose(low: Floats, high: Floats) -> tuple[Ints, Ints, Fraction]:
    """Whole units around ranges of floats: exactly, where they are whole numbers, else 15 digits of the largest."""
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    if largest < 2.0**53 and np.array_equal(low, np.rint(low)) and np.array_equal(high, np.rint(high)):
        ends = low.astype(np.int64), high.astype(np.int64)
        return ends[0], ends[0] if np.array_equal(*ends) else ends[1], Fraction(1)
    # Beyond 300 places the scale would be no float; the smallest numbers are then known to fewer digits.
    places = min(_DIGITS - 1 - math.floor(math.log10(largest)), 300)
    scale = 10.0**places
    # The product errs by less than half a unit, so one unit on either side encloses it.
    below, above = np.floor(low * scale - 0.5).astype(np.int64), np.ceil(high * scale + 0.5).astype(np.int64)
    return below, above, Fraction(10) ** -places
