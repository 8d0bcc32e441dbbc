"""Decimal arithmetic in floats: how many digits it may have so that the nearest float of every result is found.

Source     own
Guarantee  where `fits` says so, floats computed step by step and rounded to the digits of SQL's type are the nearest
           floats of the decimal numbers that SQL computes, and equal exactly where these are

Every constant, cast and operation errs by at most one part in 2^53 of the sizes that it adds up or multiplies, so that
n of them err by n / 2^53 of the size of the whole. Less than half a step of the last digit rounds to the right one.
"""

from __future__ import annotations

from collections.abc import Callable

from hedgerow.query.sql.question import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Constant,
    Expression,
    Kind,
    children_of,
    float_of,
    kind_of,
)

__all__ = ["MOST_STEPS", "fits"]

MOST_STEPS = 2**51
"""A quarter of the whole numbers that floats have."""
_MOST_SCALE = 22  # greater powers of ten are no floats
_CHOICES = ("abs", "coalesce")


def fits(node: Cast, largest: Callable[[Expression], float]) -> bool:
    """Tell whether a decimal number is found in floats; `largest` tells the greatest size of a part that is exact."""
    assert node.scale is not None, "a decimal number has a scale"
    size, errors = _size(node.operand, largest)
    return node.scale <= _MOST_SCALE and (errors + 1) * size * 10.0**node.scale <= MOST_STEPS


def _size(node: Expression, largest: Callable[[Expression], float]) -> tuple[float, int]:
    """How large numbers get on the way, signs aside, and how many roundings there are."""
    if isinstance(node, Constant):
        return (0.0, 0) if node.value is None else (abs(float_of(node)), 1)
    if isinstance(node, Cast):
        return (largest(node.operand), 1) if node.scale is None else (largest(node), 1)
    is_choice = isinstance(node, Case) or (isinstance(node, Call) and node.function in _CHOICES)
    if kind_of(node) is Kind.INT or not (is_choice or isinstance(node, Arithmetic)):
        return largest(node), 1
    parts = [_size(part, largest) for part in children_of(node) if isinstance(part, Expression)]
    sizes, errors = [size for size, _ in parts], sum(number for _, number in parts) + 1
    if is_choice:
        return max(sizes), errors
    return (sizes[0] * sizes[1] if isinstance(node, Arithmetic) and node.operator == "*" else sum(sizes)), errors
