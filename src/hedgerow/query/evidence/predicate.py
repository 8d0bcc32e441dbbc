"""Evaluate a bound predicate on Arrow arrays in SQL's three-valued logic: true, false, and null for unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.query.sql.computing import compute
from hedgerow.query.sql.question import (
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
    Kind,
    Like,
    Lookup,
    Not,
    Or,
    Part,
    Predicate,
    Scalar,
    Truth,
    kind_of,
)

__all__ = ["TYPES", "evaluate", "values"]

_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_ARITHMETIC = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
TYPES = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}


def evaluate(predicate: Predicate, columns: Mapping[str, pa.Array], length: int) -> pa.Array:
    """Return true, false or null for each of `length` rows."""
    return _computed(lambda: _truth(predicate, columns), length)


def values(expression: Expression, columns: Mapping[str, pa.Array], length: int) -> pa.Array:
    """Return the value of an expression in each of `length` rows."""
    return _computed(lambda: _value(expression, columns), length)


def _computed(compute: Callable[[], Any], length: int) -> pa.Array:
    try:
        result = compute()
    except pa.ArrowInvalid:
        raise QueryError("arithmetic in the question leaves 64-bit whole numbers; write decimals (1.0 * x)") from None
    return result if isinstance(result, pa.Array) else pa.repeat(result, length)


def _truth(node: Predicate, columns: Mapping[str, pa.Array]) -> Any:
    if isinstance(node, Truth):
        return pa.scalar(node.value, pa.bool_())
    if isinstance(node, Not):
        return pc.invert(_truth(node.operand, columns))
    if isinstance(node, And | Or):
        join = pc.and_kleene if isinstance(node, And) else pc.or_kleene
        result = _truth(node.operands[0], columns)
        for operand in node.operands[1:]:
            result = join(result, _truth(operand, columns))
        return result
    if isinstance(node, Compare):
        return _COMPARE[node.operator](_value(node.left, columns), _value(node.right, columns))
    return _test(node, _value(node.operand, columns))


def _test(node: In | Like | IsNull, operand: Any) -> Any:
    if isinstance(node, IsNull):
        return pc.is_null(operand)
    if isinstance(node, Like):
        return pc.match_substring_regex(operand, _pattern(node))
    members = pa.array([constant.value for constant in node.values], operand.type)
    # is_in calls a missing value "not a member"; SQL does not know.
    return pc.if_else(pc.is_valid(operand), pc.is_in(operand, members), pa.scalar(None, pa.bool_()))


def _pattern(node: Like) -> str:
    pieces, characters = [], iter(node.pattern)
    for character in characters:
        if character == node.escape:
            pieces.append(re.escape(next(characters, "")))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return f"(?s)^{''.join(pieces)}$"


def _value(node: Expression, columns: Mapping[str, pa.Array]) -> Any:
    if isinstance(node, Column):
        return columns[node.name]
    if isinstance(node, Constant):
        return pa.scalar(node.value, None if node.kind is Kind.DECIMAL or node.kind is None else TYPES[node.kind])
    if isinstance(node, Cast):
        # Whole numbers beyond 2^53 become the nearest float, as every database has it.
        return pc.cast(_value(node.operand, columns), TYPES[node.kind], safe=False)
    if isinstance(node, Part):
        return {"year": pc.year, "month": pc.month, "day": pc.day}[node.unit](_value(node.operand, columns))
    if isinstance(node, Case):
        return _case(node, columns)
    if isinstance(node, Lookup):
        return node.source.values(node.column, [_value(operand, columns) for operand in node.operands])
    if isinstance(node, Scalar):
        return _scalar(node, columns)
    if isinstance(node, Call):
        return _CALLS[node.function](*(_value(operand, columns) for operand in node.operands))
    assert isinstance(node, Arithmetic)
    return _compute(node, _value(node.left, columns), _value(node.right, columns))


def _scalar(node: Scalar, columns: Mapping[str, pa.Array]) -> pa.Array:
    operands = [_value(operand, columns) for operand in node.operands]
    length = next((len(operand) for operand in operands if isinstance(operand, pa.Array)), 1)
    found = compute(node, [one if isinstance(one, pa.Array) else pa.repeat(one, length) for one in operands], length)
    return found if any(isinstance(operand, pa.Array) for operand in operands) else found[0]


def _compute(node: Arithmetic, left: Any, right: Any) -> Any:
    if node.operator == "/":
        return pc.divide(left, pc.if_else(pc.equal(right, 0.0), pa.scalar(None, pa.float64()), right))
    if Kind.DATE in (kind_of(node.left), kind_of(node.right)):
        result = _ARITHMETIC[node.operator](_as_days(left), _as_days(right))
        return pc.cast(pc.cast(result, pa.int32()), pa.date32()) if node.kind is Kind.DATE else result
    return _ARITHMETIC[node.operator](left, right)


def _case(node: Case, columns: Mapping[str, pa.Array]) -> Any:
    result = _value(node.otherwise, columns)
    for when, then in reversed(node.branches):
        met = pc.fill_null(_truth(when, columns), False)
        result = pc.if_else(met, _value(then, columns), result)
    return result


def _mod(left: Any, right: Any) -> Any:
    divisor = pc.if_else(pc.equal(right, 0), pa.scalar(None, pa.int64()), right)
    return pc.subtract_checked(left, pc.multiply_checked(pc.divide_checked(left, divisor), divisor))


def _substring(text: Any, start: Any, length: Any) -> Any:
    first = start.as_py() - 1
    return pc.utf8_slice_codeunits(text, first, first + length.as_py())


_CALLS: dict[str, Callable[..., Any]] = {
    "abs": pc.abs_checked,
    "floor": pc.floor,
    "ceil": pc.ceil,
    "round": lambda number: pc.round(number, round_mode="half_towards_infinity"),
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "length": lambda text: pc.cast(pc.utf8_length(text), pa.int64()),
    "left": lambda text, length: pc.utf8_slice_codeunits(text, 0, length.as_py()),
    "substring": _substring,
    "mod": _mod,
    "coalesce": pc.coalesce,
}


def _as_days(operand: Any) -> Any:
    is_date = pa.types.is_date32(operand.type)
    return pc.cast(pc.cast(operand, pa.int32()), pa.int64()) if is_date else operand
