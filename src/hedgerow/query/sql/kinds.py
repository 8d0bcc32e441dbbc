"""Kinds: constants read as the kind of the column they meet, operands brought to the kinds an operation takes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from hedgerow.errors import QueryError
from hedgerow.query.sql.computing import DIVISOR, typed
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    FLOATING,
    LARGEST,
    NUMBERS,
    WIDE,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Constant,
    Expression,
    Kind,
    Predicate,
    Scalar,
    Value,
    float_of,
    kind_of,
    number_of,
)

__all__ = ["MOST_DIGITS", "alike", "arithmetic", "call", "case", "fold", "natural"]


def natural(node: Expression) -> Expression:
    """Give a constant the kind that it has on its own; leave everything else as it is."""
    if not isinstance(node, Constant):
        return node
    if isinstance(node.value, int) and not isinstance(node.value, bool) and -LARGEST - 1 <= node.value <= LARGEST:
        return Constant(node.value, Kind.INT)
    if isinstance(node.value, date) and not isinstance(node.value, datetime):
        return Constant(node.value, Kind.DATE)
    return Constant(float_of(node), Kind.FLOAT)


def fold(operator: str, left: Constant, right: Constant) -> Constant:
    """Compute on two constants: exactly with + - *, in floating point with /."""
    if left.value is None or right.value is None:
        return Constant(None)
    if operator == "/" and right.value == 0:
        raise QueryError("the question divides a constant by zero, which has no value; write NULL if that is meant")
    try:
        return Constant(_fold_dates(operator, left.value, right.value) or _fold_numbers(operator, left, right))
    except OverflowError:
        raise QueryError("this computation with constants leaves the range of numbers and dates") from None


def _fold_dates(operator: str, left: Value, right: Value) -> Value | None:
    if not isinstance(left, date) or isinstance(right, bool) or operator not in "+-" or not isinstance(right, int):
        return None
    return left + timedelta(days=right if operator == "+" else -right)


def _fold_numbers(operator: str, left: Constant, right: Constant) -> Value:
    a, b = number_of(left), number_of(right)
    if operator == "/":
        return float(a) / float(b)
    result = {"+": a + b, "-": a - b, "*": a * b}[operator]
    if isinstance(left.value, float) or isinstance(right.value, float):
        return float(result)
    return int(result) if result.denominator == 1 else WIDE.divide(result.numerator, result.denominator)


MOST_DIGITS = 15
_KNOWN = ("abs", "floor", "ceil", "round", "lower", "upper", "length", "left", "substring")
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
    if isinstance(node, Column) and node.kind is Kind.DECIMAL and node.digits > MOST_DIGITS:
        raise QueryError(
            f"'{node.name}' has more digits than arithmetic here can hold; compare it with constants like 12.5"
        )
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
        bound, kind = _unify(operands)
        return Call(function, bound, kind)
    if any(operand == Constant(None) for operand in operands):
        return Constant(None)
    if function == "mod":
        return _mod(*operands)
    if function not in _KNOWN or (function in _ROUNDING and len(operands) > 1):
        return _compute(function, operands)
    return _round(function, operands[0]) if function in _ROUNDING else _text_call(function, operands)


def _compute(function: str, operands: Sequence[Expression]) -> Expression:
    """Functions that DuckDB computes; constants are printed with them."""
    places = [operand for operand in operands if not isinstance(operand, Constant)]
    printed = [
        value_sql(operand) if isinstance(operand, Constant) else f"a{places.index(operand)}" for operand in operands
    ]
    types = {"cast to whole": "HUGEINT", "cast to double": "DOUBLE"}
    name = "CAST" if function in types else function
    inside = f"{printed[0]} AS {types[function]}" if name == "CAST" else ", ".join(printed)
    return typed(Scalar(f"{name}({inside})", tuple(places)))


def _mod(left: Expression, right: Expression) -> Expression:
    sides = natural(left), natural(right)
    if (kind_of(sides[0]), kind_of(sides[1])) == (Kind.INT, Kind.INT):
        return Call("mod", sides, Kind.INT)
    # Constants are printed as they were written: of decimals the rest is one, too.
    places = [side for side in (left, right) if not isinstance(side, Constant)]
    printed = [value_sql(side) if isinstance(side, Constant) else f"a{places.index(side)}" for side in (left, right)]
    return typed(Scalar(f"{printed[0]} % {DIVISOR}({printed[1]})", tuple(places)))


def _round(function: str, operand: Expression) -> Expression:
    operand = natural(operand)
    if kind_of(operand) not in NUMBERS:
        raise QueryError(f"{function.upper()} needs numbers")
    if isinstance(operand, Constant) and isinstance(operand.value, int) and function not in FLOATING:
        return Constant(abs(operand.value) if function == "abs" else operand.value, Kind.INT)
    if kind_of(operand) is Kind.INT and not isinstance(operand, Constant):
        called = operand if function == "round" else Call(function, (operand,), Kind.INT)
        return Cast(called, Kind.FLOAT) if function in FLOATING else called
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
    (*values, last), kind = _unify([*(value for _, value in branches), otherwise])
    return Case(tuple((when, value) for (when, _), value in zip(branches, values, strict=True)), last, kind)


def _unify(operands: Sequence[Expression]) -> tuple[tuple[Expression, ...], Kind]:
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
