"""Rows of an answer, some of which may be missing, with bounds of their numbers: conditions and expressions of them.

Source     own
Guarantee  the true answer lies inside the bounds: a row counts for sure or may count; a number lies between its bounds
           or may be NULL. Reached where a single number is open and every row is sure, otherwise marked as not reached
Cost       O(rows of the answer) per condition and expression
"""

from __future__ import annotations

import functools
import math
import operator as operators
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import (
    NO_NUMBERS,
    Estimate,
    Result,
    Rounding,
    as_compared,
    as_days,
    combine,
    constant,
    require_mean,
)
from hedgerow.query.calculated import FLOATING_RESULTS, FUNCTIONS, NEAR, Uncertain, calculate, choose
from hedgerow.query.cut import as_decimals
from hedgerow.query.evidence.view import column_of, evaluate, values
from hedgerow.query.sql.bind import Binder
from hedgerow.query.sql.defined import Definedness
from hedgerow.query.sql.question import (
    NUMBERS,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Name,
    Not,
    Or,
    Predicate,
    Truth,
    children_of,
    columns_of,
    names_of,
)

__all__ = ["FALSE", "NULL", "TRUE", "Answered", "best_of", "exact_numbers"]

TRUE, FALSE, NULL = 1, 2, 4
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.truediv,
}
_NUMBERS = (
    "between aggregates there may be + - * /, numbers, CASE, ABS, ROUND, FLOOR, CEIL, SIGN, SQRT, LN, EXP, POWER, "
    "COALESCE, NULLIF, GREATEST and LEAST; texts and dates can be selected and grouped by"
)


@dataclass(frozen=True, eq=False)
class Answered:
    """The rows of an answer: what is known of them, numbers with bounds, which rows are sure and which expected."""

    keys: dict[str, pa.Array]
    numbers: dict[str, Uncertain]
    sure: list[bool]
    expected: list[bool]
    order: tuple[str, ...] = ()
    reads_floats: bool = True
    """Whether a comparison may also be what the nearest floats say."""

    def __len__(self) -> int:
        return len(self.sure)

    def take(self, rows: list[int]) -> Answered:
        """Return some rows."""
        keys = {name: array.take(pa.array(rows, pa.int64())) for name, array in self.keys.items()}
        numbers = {name: column.take(rows) for name, column in self.numbers.items()}
        sure, expected = ([flags[row] for row in rows] for flags in (self.sure, self.expected))
        return Answered(keys, numbers, sure, expected, self.order)

    def result(self) -> Result:
        """The rows that are expected, as an engine hands them over."""
        kept = self.take([row for row in range(len(self)) if self.expected[row]])
        estimates = {name: column.estimate for name, column in kept.numbers.items()}
        is_picked = len(kept) < len(self)
        return Result(kept.keys, estimates, len(kept), None if all(kept.sure) else kept.sure, is_picked)

    @property
    def names(self) -> list[str]:
        """Names of all columns, in the order in which they were selected."""
        return list(self.order) or [*self.keys, *self.numbers]

    @functools.cached_property
    def binder(self) -> Binder:
        """Binds expressions of what is known."""
        return Binder({name: column_of(name, array.type) for name, array in self.keys.items()})

    def is_known(self, node: Predicate | Expression) -> bool:
        """Tell whether an expression reads only what is known of rows."""
        known = {name.lower() for name in self.keys}
        return all(name.lower() in known for name in names_of(node) | columns_of(node))

    def values(self, node: Expression) -> pa.Array:
        """The values of an expression of what is known."""
        bound = self.binder.exactly(node)
        found = values(bound, self.keys, len(self))
        return found if not isinstance(bound, Cast) or bound.scale is None else as_decimals(found, bound.scale)

    def number(self, node: Expression) -> Uncertain:
        """The bounds of an expression, row by row."""
        if isinstance(node, Constant):
            return Uncertain(constant(node.value, len(self)), [node.value is None] * len(self))
        if isinstance(node, Cast):
            return self.number(node.operand)
        if isinstance(node, Name | Column) and (found := self._number_named(node)) is not None:
            return found
        if self.is_known(node):
            return exact_numbers(self.values(node))
        if isinstance(node, Arithmetic):
            left, right = self.number(node.left), self.number(node.right)
            found = _combine(node.operator, left, right)
            return _without_zero(found, left) if _is_nullified(node.right) else found
        if isinstance(node, Call) and node.function == "nullif" and any(map(self._roundings, node.operands)):
            one, other = node.operands
            same = Compare("=", one, other)
            missing = self.number(Constant(None))
            return choose([(self.truths(same), self.expected_truth(same), missing)], self.number(one))
        if isinstance(node, Call) and node.function in FUNCTIONS:
            return calculate(node.function, [self._loose(operand) for operand in node.operands])
        if isinstance(node, Case):
            branches = [
                (self.truths(when), self.expected_truth(when), self.number(then)) for when, then in node.branches
            ]
            return choose(branches, self.number(node.otherwise))
        if isinstance(node, Name):
            Binder({name: _column(name) for name in self.names}).column(node)
        raise QueryError(_NUMBERS)

    def _loose(self, node: Expression) -> Uncertain:
        """The bounds of an expression, with room for floats where large numbers give a small one."""
        found = self.number(node)
        if self._roundings(node) < 2:
            return found
        shake = [
            room if ends is not None and room > 2 * NEAR * min(map(abs, ends)) else Fraction(0)
            for ends, room in zip(found.estimate.widened(), self._room(node), strict=True)
        ]
        more = found.estimate.shake or [Fraction(0)] * len(shake)
        both = [max(pair) for pair in zip(shake, more, strict=True)]
        return replace(found, estimate=replace(found.estimate, shake=both)) if any(shake) else found

    def named_number(self, node: Expression) -> Uncertain:
        """The bounds of an expression that gets a name, by which others do not see how SQL rounds on the way to it."""
        found, times = self.number(node), self._roundings(node)
        estimate = found.estimate
        if times < 2:
            is_decimal = times == 0 and estimate.rounding is not Rounding.VALUE
            return replace(found, estimate=replace(estimate, is_decimal=is_decimal))
        lower, upper = list(estimate.lower), list(estimate.upper)
        shake = [max(pair) for pair in zip(estimate.shake or [Fraction(0)] * len(self), self._room(node), strict=True)]
        for row, value in enumerate(self._sure_values(node)):
            if value is not None and estimate.exact[row] and math.isfinite(value):
                lower[row] = upper[row] = Fraction(value)
                shake[row] = Fraction(0)
        return replace(found, estimate=replace(estimate, lower=lower, upper=upper, shake=shake))

    def _sure_values(self, node: Expression) -> Sequence[Fraction | float | None]:
        """What SQL gives for + - * / of numbers that are sure, floats where it computes in floats; None otherwise."""
        if isinstance(node, Constant):
            value = node.value if type(node.value) in (int, float, Decimal) else None
            return [value if isinstance(value, float) else _fraction(value)] * len(self)
        if isinstance(node, Arithmetic):
            sides = zip(self._sure_values(node.left), self._sure_values(node.right), strict=True)
            return [_computed_value(node.operator, left, right) for left, right in sides]
        if isinstance(node, Call) and node.function == "cast to double":
            return [None if value is None else float(value) for value in self._sure_values(node.operands[0])]
        estimate = self.number(node).estimate if isinstance(node, Name | Column) else None
        if estimate is None or estimate.rounding is Rounding.VALUE:
            return [None] * len(self)
        is_float = self._roundings(node) > 0
        sure = [None if ends is None or ends[0] != ends[1] else ends[0] for ends in estimate.widened()]
        return [float(value) if is_float and value is not None else value for value in sure]

    def bounded(self, node: Expression, *, is_named: bool = False) -> Uncertain:
        """The same, where bounds speak of every table: those of a quotient whose divisor may be zero do not."""
        found = self.named_number(node) if is_named else self.number(node)
        if any(found.estimate.endless or ()):
            raise QueryError(
                "a condition on a quotient whose divisor may be zero, or an aggregate of it, has no bounds; write "
                "x / NULLIF(y, 0), or ask about numerator and divisor"
            )
        return found

    @functools.cached_property
    def defined(self) -> Definedness:
        """Refuses what certainly has no value in some row."""
        return Definedness(self._fails)

    def _fails(self, given: Sequence[Predicate], failure: Predicate) -> bool:
        """Tell whether there is a row without a number in every table, and with a failure in one."""
        sure = replace(self, reads_floats=False)._flags(failure, FALSE)
        perhaps = [self._flags(part, TRUE) for part in given]
        return any(
            flags & (TRUE | FALSE) == TRUE and all(part[row] & TRUE for part in perhaps)
            for row, flags in enumerate(sure)
        )

    def _flags(self, node: Predicate, otherwise: int) -> list[int]:
        """What a condition may be in each row, and something else where it is about numbers without bounds."""
        try:
            return self.truths(node)
        except QueryError:
            return [otherwise] * len(self)

    def _number_named(self, node: Name | Column) -> Uncertain | None:
        text = node.text if isinstance(node, Name) else node.name
        found = [name for name in self.numbers if name.lower() == text.lower()]
        return self.numbers[found[0]] if found else None

    def truths(self, node: Predicate) -> list[int]:
        """What a condition may be in each row: true, false, unknown, as a sum of flags."""
        if self.is_known(node):
            found = evaluate(self.binder.predicate(node), self.keys, len(self)).to_pylist()
            return [NULL if truth is None else TRUE if truth else FALSE for truth in found]
        if isinstance(node, Not):
            return [_invert(flags) for flags in self.truths(node.operand)]
        if isinstance(node, And | Or):
            parts = [self.truths(operand) for operand in node.operands]
            return [functools.reduce(_AND if isinstance(node, And) else _OR, row) for row in zip(*parts, strict=True)]
        if isinstance(node, Compare):
            return self._compare_bounds(node)
        if isinstance(node, IsNull):
            return self._missing(self.bounded(node.operand))
        if isinstance(node, In):
            return self.truths(Or(tuple(Compare("=", node.operand, value) for value in node.values)))
        raise QueryError("conditions on answers of a sub-query are comparisons with numbers, AND, OR, NOT and IS NULL")

    def _compare_bounds(self, node: Compare) -> list[int]:
        left, right = self.bounded(node.left), self.bounded(node.right)
        sides = left.estimate, right.estimate
        if len({side.rounding is Rounding.VALUE for side in sides}) > 1:
            raise QueryError(NO_NUMBERS)  # a date and a number
        ends = zip(*(as_days(side).widened() for side in sides), strict=True)
        written = node.left, node.right
        is_rounded = self.reads_floats and any(map(self._roundings, written))
        rooms: list[Sequence[Fraction | None]] = [
            self._room(side) if self._roundings(side) > 1 else [None] * len(self) for side in written
        ]
        found: list[int] = []
        for row, (low, high) in enumerate(ends):
            if left.is_missing(row) or right.is_missing(row):
                found.append(NULL)
                continue
            assert low is not None, "missing numbers are NULL"
            assert high is not None, "missing numbers are NULL"
            flags = _compare(node.operator, low, high)
            if is_rounded:
                near = [_floating(side, room[row]) for side, room in zip((low, high), rooms, strict=True)]
                flags |= _compare(node.operator, near[0], near[1])
            found.append(flags | (NULL if left.gaps[row] or right.gaps[row] else 0))
        return found

    def _roundings(self, node: Expression) -> int:
        """How often SQL may round a number that it computes in floating point: a mean once, sums of means twice."""
        if isinstance(node, Constant):
            return int(isinstance(node.value, float))
        if isinstance(node, Name | Column):
            found = self._number_named(node)
            if found is None:
                return int(pa.types.is_floating(self.values(node).type))
            is_exact = found.estimate.rounding in (Rounding.WHOLE, Rounding.VALUE)
            return int(not is_exact and not found.estimate.is_decimal)
        inner = sum(self._roundings(child) for child in children_of(node) if isinstance(child, Expression))
        if isinstance(node, Call) and node.function in FLOATING_RESULTS:
            return max(inner, 1)
        divides = isinstance(node, Arithmetic) and node.operator == "/"
        return inner + 1 if divides or (inner and isinstance(node, Arithmetic)) else inner

    def _room(self, node: Expression) -> list[Fraction]:
        """How far what SQL computes in floats may lie from a number, as large as the numbers on the way are."""
        sizes = [
            Fraction(0) if ends is None else max(map(abs, ends)) * NEAR
            for ends in as_days(self.number(node).estimate).widened()
        ]
        parts = [self._room(child) for child in children_of(node) if isinstance(child, Expression)]
        return [max(row) for row in zip(sizes, *parts, strict=True)]

    def _missing(self, column: Uncertain) -> list[int]:
        return [
            TRUE if column.is_missing(row) else (FALSE | TRUE if column.gaps[row] else FALSE)
            for row in range(len(self))
        ]

    def expected_truth(self, node: Predicate) -> list[bool]:
        """Whether a condition holds for the expected numbers."""
        arrays, read = dict(self.keys), {name.lower() for name in names_of(node)}
        for name, column in self.numbers.items():
            if name.lower() in read:
                require_mean(column.estimate)
                arrays[name] = as_compared(column.estimate.middle())
        bound = Binder({name: column_of(name, array.type) for name, array in arrays.items()}).predicate(node)
        truth: list[bool] = evaluate(bound, arrays, len(self)).fill_null(False).to_pylist()
        return truth

    def where(self, condition: Predicate) -> Answered:
        """Keep the rows for which a condition may be true."""
        if condition == Truth(True):
            return self
        self.defined.predicate(condition)
        truths = self.truths(condition)
        hoped = self.expected_truth(condition)
        sure = [was and flags == TRUE for was, flags in zip(self.sure, truths, strict=True)]
        hoped = [hope or flags == TRUE for hope, flags in zip(hoped, truths, strict=True)]
        expected = [was and hope for was, hope in zip(self.expected, hoped, strict=True)]
        possible = [row for row, flags in enumerate(truths) if flags & TRUE]
        return Answered(self.keys, self.numbers, sure, expected, self.order).take(possible)


def _computed_value(
    operator: str, left: Fraction | float | None, right: Fraction | float | None
) -> Fraction | float | None:
    if left is None or right is None or (operator == "/" and right == 0):
        return None
    if operator == "/" or isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    found: Fraction | float = _OPERATORS[operator](left, right)
    return found


def best_of(column: Uncertain, estimate: Estimate) -> Uncertain:
    """What the engine found is as good as arithmetic between its parts, or better; what is sure is as SQL rounds it."""
    own = column.estimate
    flags = zip(estimate.lower, estimate.exact, own.exact, strict=True)
    exact = [other if low is None else flag for low, flag, other in flags]
    is_sure = [one and other for one, other in zip(estimate.exact, own.exact, strict=True)]
    lower, upper = (
        [mine if sure else theirs for mine, theirs, sure in zip(*sides, is_sure, strict=True)]
        for sides in ((own.lower, estimate.lower), (own.upper, estimate.upper))
    )
    said = {name: getattr(own, name) for name in ("endless", "shake", "is_decimal")}
    return Uncertain(replace(estimate, lower=lower, upper=upper, exact=exact, **said), column.gaps)


def _combine(operator: str, left: Uncertain, right: Uncertain) -> Uncertain:
    made = combine(operator, left.estimate, right.estimate)
    gaps = [a or b for a, b in zip(left.gaps, right.gaps, strict=True)]
    exact = list(made.exact)
    for row, ends in enumerate(as_days(right.estimate).widened()):
        if left.is_missing(row) or right.is_missing(row):
            exact[row] = True  # NULL for sure
        elif operator == "/" and ends is not None and ends[0] == ends[1] == 0:
            exact[row] = True
        elif operator == "/" and ends is not None and ends[0] <= 0 <= ends[1]:
            gaps[row] = True
    return Uncertain(replace(made, exact=exact), gaps)


def _is_nullified(node: Expression) -> bool:
    return isinstance(node, Call) and node.function == "nullif" and node.operands[1:] == (Constant(0),)


def _without_zero(found: Uncertain, top: Uncertain) -> Uncertain:
    """A quotient whose divisor is never zero, but may be NULL."""
    own, were = (one.estimate.endless or [False] * len(one.gaps) for one in (found, top))
    cells = zip(found.estimate.lower, own, were, strict=True)
    endless = [was or (low is None and flag) for low, flag, was in cells]
    return replace(found, estimate=replace(found.estimate, endless=endless))


def exact_numbers(array: pa.Array) -> Uncertain:
    """Known numbers as bounds that meet."""
    if column_of("", array.type).kind not in NUMBERS:
        raise QueryError(_NUMBERS)
    listed = [_fraction(value) for value in array.to_pylist()]
    if any(value is not None and not np.isfinite(float(value)) for value in listed):
        raise QueryError("infinite numbers have no bounds")
    is_decimal = pa.types.is_decimal(array.type)  # the nearest float may lie on the wrong side of it
    rounding = Rounding.OUTWARD if is_decimal else Rounding.NEAREST
    rounding = Rounding.WHOLE if pa.types.is_integer(array.type) else rounding
    means = [math.nan if value is None else float(value) for value in listed]
    estimate = Estimate(listed, list(listed), means, [0.0] * len(listed), [True] * len(listed), rounding)
    return Uncertain(replace(estimate, is_decimal=is_decimal), [value is None for value in listed])


def _fraction(value: Any) -> Fraction | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return Fraction(value)


def _column(name: str) -> Column:
    return column_of(name, pa.float64())


def _compare(operator: str, left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> int:
    if operator in (">", ">="):
        return _compare("<" if operator == ">" else "<=", right, left)
    if operator == "<":
        true, false = left[0] < right[1], left[1] >= right[0]
    elif operator == "<=":
        true, false = left[0] <= right[1], left[1] > right[0]
    else:
        meets = left[0] <= right[1] and right[0] <= left[1]
        differs = not left[0] == left[1] == right[0] == right[1]
        true, false = (meets, differs) if operator == "=" else (differs, meets)
    return (TRUE if true else 0) | (FALSE if false else 0)


def _floating(ends: tuple[Fraction, Fraction], room: Fraction | None) -> tuple[Fraction, Fraction]:
    """The nearest floats of both ends, or ends with room for several roundings."""
    if room is not None:
        return ends[0] - room, ends[1] + room
    try:
        return Fraction(float(ends[0])), Fraction(float(ends[1]))
    except OverflowError:
        raise QueryError("a number of the question is beyond the range of floats; divide the column") from None


def _invert(flags: int) -> int:
    return (flags & NULL) | (FALSE if flags & TRUE else 0) | (TRUE if flags & FALSE else 0)


def _joiner(order: tuple[int, int, int]) -> Callable[[int, int], int]:
    """AND and OR on what may be: the stronger of two truths wins, FALSE in the one and TRUE in the other."""

    def join(left: int, right: int) -> int:
        pairs = [(a, b) for a in order if left & a for b in order if right & b]
        return functools.reduce(lambda found, pair: found | min(pair, key=order.index), pairs, 0)

    return join


_AND = _joiner((FALSE, NULL, TRUE))
_OR = _joiner((TRUE, NULL, FALSE))
