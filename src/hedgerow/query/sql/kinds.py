"""Kinds: constants read as the kind of the column they meet, operands brought to the kinds an operation takes."""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from hedgerow.errors import QueryError
from hedgerow.query.sql.computing import typed
from hedgerow.query.sql.question import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    Kind,
    Predicate,
    Scalar,
    Truth,
    Value,
    kind_of,
)

__all__ = ["NUMBERS", "alike", "arithmetic", "call", "case", "compare_constant", "fold", "natural", "on_column"]

_COMPARE: dict[str, Any] = {
    "=": operators.eq,
    "<>": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_LARGEST = 2**63 - 1
_WIDE = Context(prec=80)


def compare_constant(operator: str, side: Expression, constant: Constant) -> Predicate:
    """Compare an expression with a constant in the expression's own kind."""
    if constant.value is None or side == Constant(None):
        return Truth(None)
    if isinstance(side, Constant):
        return _compare_two(operator, side, constant)
    if kind_of(side) is Kind.DATE and isinstance(constant.value, datetime):
        side = Cast(side, Kind.TIME)
    if kind_of(side) in (Kind.INT, Kind.DECIMAL):
        return _compare_on_grid(operator, side, constant)
    if kind_of(side) is Kind.BOOL and operator not in ("=", "<>"):
        raise QueryError("truth values compare with = and <> only")
    fitted = on_column(side, constant)
    assert fitted is not None, "only grids have values that do not fit"
    return Compare(operator, side, fitted)


def _compare_two(operator: str, left: Constant, right: Constant) -> Truth:
    kinds = [float if type(side.value) in (int, float, Decimal) else type(side.value) for side in (left, right)]
    if kinds[0] is not kinds[1]:
        raise QueryError("a comparison needs two sides of one kind")
    return Truth(bool(_COMPARE[operator](left.value, right.value)))


def _compare_on_grid(operator: str, side: Expression, constant: Constant) -> Predicate:
    """Round the constant to the grid of the column so that the comparison stays the same."""
    always, never = Compare("=", side, side), Compare("<>", side, side)
    scale, largest = _grid(side)
    steps = _number(constant) * 10**scale
    if abs(steps) > largest:
        return always if _COMPARE[operator](0, steps) else never
    below = math.floor(steps)
    if steps == below:
        return Compare(operator, side, _step(side, below))
    if operator in ("=", "<>"):
        return never if operator == "=" else always
    is_less = operator.startswith("<")
    return Compare("<=" if is_less else ">=", side, _step(side, below if is_less else below + 1))


def on_column(side: Expression, constant: Constant) -> Constant | None:
    """Read the constant as a value of the expression's kind; None where no such value exists on the grid."""
    kind = kind_of(side)
    if kind in (Kind.INT, Kind.DECIMAL):
        scale, largest = _grid(side)
        steps = _number(constant) * 10**scale
        return _step(side, int(steps)) if steps.denominator == 1 and abs(steps) <= largest else None
    readers: dict[Kind | None, Any] = {
        Kind.FLOAT: lambda value: float(_number(Constant(value))) if not isinstance(value, float) else value,
        Kind.TEXT: _read_text,
        Kind.BOOL: _read_bool,
        Kind.DATE: _read_date,
        Kind.TIME: _read_time,
    }
    try:
        return Constant(readers[kind](constant.value), kind)
    except OverflowError:
        return Constant(math.inf if _number(constant) > 0 else -math.inf, kind)


def _grid(side: Expression) -> tuple[int, int]:
    """Return the digits after the point and the largest number of steps of a column's grid."""
    if isinstance(side, Column) and side.kind is Kind.DECIMAL:
        return side.scale, 10**side.digits - 1
    return 0, _LARGEST


def _step(side: Expression, steps: int) -> Constant:
    if isinstance(side, Column) and side.kind is Kind.DECIMAL:
        return Constant(Decimal(steps).scaleb(-side.scale, _WIDE), Kind.DECIMAL)
    return Constant(steps, Kind.INT)


def _number(constant: Constant) -> Fraction:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise QueryError("a column of numbers compares with numbers; write them without quotes")
    if isinstance(value, Decimal) and abs(value.adjusted()) > 400:
        # Far outside every column and every float: the sign and "huge" or "tiny" is all that matters.
        value = Decimal((value.is_signed(), (int(value != 0),), 400 if value.adjusted() > 0 else -400))
    return Fraction(value)


def _read_text(value: Value) -> str:
    if not isinstance(value, str):
        raise QueryError("a column of text compares with text; put the constant in single quotes")
    return value


def _read_bool(value: Value) -> bool:
    if not isinstance(value, bool):
        raise QueryError("a column of truth values compares with TRUE and FALSE")
    return value


def _read_date(value: Value) -> date:
    try:
        moment = date.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, date) or isinstance(moment, datetime):
        raise QueryError("a column of dates compares with dates; write DATE '2020-12-31'")
    return moment


def _read_time(value: Value) -> datetime:
    try:
        moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if not isinstance(moment, datetime) or moment.tzinfo is not None:
        raise QueryError("a column of timestamps compares with TIMESTAMP '2020-12-31 23:59:59', without a zone")
    return moment


def natural(node: Expression) -> Expression:
    """Give a constant the kind that it has on its own; leave everything else as it is."""
    if not isinstance(node, Constant):
        return node
    if isinstance(node.value, int) and not isinstance(node.value, bool) and abs(node.value) <= _LARGEST:
        return Constant(node.value, Kind.INT)
    if isinstance(node.value, date) and not isinstance(node.value, datetime):
        return Constant(node.value, Kind.DATE)
    fitted = on_column(Cast(node, Kind.FLOAT), node)
    assert fitted is not None, "every number is a float"
    return fitted


def fold(operator: str, left: Constant, right: Constant) -> Constant:
    """Compute on two constants: exactly with + - *, in floating point with /."""
    if left.value is None or right.value is None or (operator == "/" and right.value == 0):
        return Constant(None)
    try:
        return Constant(_fold_dates(operator, left.value, right.value) or _fold_numbers(operator, left, right))
    except OverflowError:
        raise QueryError("this computation with constants leaves the range of numbers and dates") from None


def _fold_dates(operator: str, left: Value, right: Value) -> Value | None:
    if not isinstance(left, date) or isinstance(right, bool) or operator not in "+-" or not isinstance(right, int):
        return None
    return left + timedelta(days=right if operator == "+" else -right)


def _fold_numbers(operator: str, left: Constant, right: Constant) -> Value:
    a, b = _number(left), _number(right)
    if operator == "/":
        return float(a) / float(b)
    result = {"+": a + b, "-": a - b, "*": a * b}[operator]
    return int(result) if result.denominator == 1 else _WIDE.divide(result.numerator, result.denominator)


NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.FLOAT)
_MOST_DIGITS = 15
_ROUNDING = ("abs", "floor", "ceil", "round")


def arithmetic(operator: str, left: Expression, right: Expression) -> Expression:
    """Bind + - * /: whole where it can be, days where there are dates, floating point otherwise."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return fold(operator, left, right)
    if Constant(None) in (left, right):
        return Constant(None)
    left, right = natural(left), natural(right)
    kinds = (kind_of(left), kind_of(right))
    if Kind.DATE in kinds:
        return _days(operator, left, right)
    if any(kind not in NUMBERS for kind in kinds):
        raise QueryError("arithmetic needs numbers, or dates and whole numbers of days")
    if kinds == (Kind.INT, Kind.INT) and operator != "/":
        return Arithmetic(operator, left, right, Kind.INT)
    return Arithmetic(operator, as_float(left), as_float(right), Kind.FLOAT)


def _days(operator: str, left: Expression, right: Expression) -> Expression:
    kinds = (kind_of(left), kind_of(right))
    if kinds == (Kind.DATE, Kind.DATE) and operator == "-":
        return Arithmetic(operator, left, right, Kind.INT)
    if kinds == (Kind.DATE, Kind.INT) and operator in "+-":
        return Arithmetic(operator, left, right, Kind.DATE)
    raise QueryError("dates go with + and - and whole numbers of days, or with another date and -")


def as_float(node: Expression) -> Expression:
    if isinstance(node, Constant) and isinstance(node.value, int):
        return Constant(float(node.value), Kind.FLOAT)
    if isinstance(node, Column) and node.kind is Kind.DECIMAL and node.digits > _MOST_DIGITS:
        raise QueryError(f"'{node.name}' has more digits than arithmetic here can hold; compare it with constants")
    return node if kind_of(node) is Kind.FLOAT else Cast(node, Kind.FLOAT)


def alike(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Bring two sides to one kind."""
    kinds = {kind_of(left), kind_of(right)}
    if len(kinds) == 1 or kinds == {Kind.INT, Kind.DECIMAL}:
        return left, right
    if kinds <= set(NUMBERS):
        return as_float(left), as_float(right)
    if kinds == {Kind.DATE, Kind.TIME}:
        sides = [side if kind_of(side) is Kind.TIME else Cast(side, Kind.TIME) for side in (left, right)]
        return sides[0], sides[1]
    raise QueryError("a comparison needs two sides of one kind; numbers do not compare with text or dates")


def call(function: str, operands: Sequence[Expression]) -> Expression:
    """Bind a function."""
    if function == "coalesce":
        bound, kind = _unified(operands)
        return Call(function, bound, kind)
    if any(operand == Constant(None) for operand in operands):
        return Constant(None)
    if function == "mod":
        return _mod(*operands)
    return _rounded(function, operands[0]) if function in _ROUNDING else _text_call(function, operands)


def _mod(left: Expression, right: Expression) -> Expression:
    left, right = natural(left), natural(right)
    if (kind_of(left), kind_of(right)) != (Kind.INT, Kind.INT):
        return typed(Scalar("a0 % nullif(a1, 0)", (left, right)))
    return Call("mod", (left, right), Kind.INT)


def _rounded(function: str, operand: Expression) -> Expression:
    operand = natural(operand)
    if kind_of(operand) not in NUMBERS:
        raise QueryError(f"{function.upper()} needs numbers")
    if kind_of(operand) is Kind.INT:
        return Call("abs", (operand,), Kind.INT) if function == "abs" else operand
    return Call(function, (as_float(operand),), Kind.FLOAT)


def _text_call(function: str, operands: Sequence[Expression]) -> Expression:
    subject, *places = operands
    if kind_of(subject) is not Kind.TEXT:
        raise QueryError(f"{function.upper()} needs a column of text")
    for least, place in zip((0 if function == "left" else 1, 0), places, strict=False):
        if not isinstance(place, Constant) or type(place.value) is not int or not least <= place.value < 2**31:
            raise QueryError(f"{function.upper()} takes whole numbers from {least} on as its places")
    if function == "substring" and len(places) == 1:
        places = [*places, Constant(2**31 - 1)]
    bound = (subject, *(natural(place) for place in places))
    return Call(function, bound, Kind.INT if function == "length" else Kind.TEXT)


def case(branches: Sequence[tuple[Predicate, Expression]], otherwise: Expression) -> Case:
    """Bind CASE: all values of one kind."""
    (*values, last), kind = _unified([*(value for _, value in branches), otherwise])
    return Case(tuple((when, value) for (when, _), value in zip(branches, values, strict=True)), last, kind)


def _unified(operands: Sequence[Expression]) -> tuple[tuple[Expression, ...], Kind]:
    """Bring values to one kind; NULL takes the kind of the others."""
    own = [_own_kind(operand) for operand in operands]
    kinds = {kind_of(operand) for operand in own if operand != Constant(None)}
    if (len(kinds) > 1 and kinds <= set(NUMBERS)) or kinds == {Kind.DECIMAL}:
        own, kinds = [operand if operand == Constant(None) else as_float(operand) for operand in own], {Kind.FLOAT}
    if len(kinds) != 1 or (kind := kinds.pop()) is None:
        raise QueryError("the values of CASE and COALESCE must be of one kind: all numbers, all text or all dates")
    return tuple(Constant(None, kind) if operand == Constant(None) else operand for operand in own), kind


def _own_kind(operand: Expression) -> Expression:
    """Give a constant the kind that it has by itself."""
    if not isinstance(operand, Constant) or operand.value is None:
        return operand
    kinds = {bool: Kind.BOOL, str: Kind.TEXT, datetime: Kind.TIME, date: Kind.DATE}
    kind = kinds.get(type(operand.value))
    return natural(operand) if kind is None else Constant(operand.value, kind)
