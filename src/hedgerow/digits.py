"""Numbers as people read them: few digits, and bounds rounded outwards, so that what is printed holds as well.

A lower bound is rounded down and an upper bound up. An answer that is called exact is written with up to the 15 digits
that a float has for sure, and whole numbers keep all of theirs. A key is a name and no quantity: all of it is written.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

__all__ = ["bound_texts", "key_text", "lower_text", "number_text", "upper_text"]

_FEW = 6
_ALL = 15
_SMALLEST = -5
_ENOUGH = Context(prec=40)


def number_text(value: object, digits: int = _FEW, *, mark: str = ",") -> str:
    """Write a number with some significant digits, and at least all that stand before the point."""
    return _text(value, digits, ROUND_HALF_EVEN, mark)


def lower_text(value: object, digits: int = _ALL, *, mark: str = "") -> str:
    """Write a lower bound: never more than it is."""
    return _text(value, digits, ROUND_FLOOR, mark)


def upper_text(value: object, digits: int = _ALL, *, mark: str = "") -> str:
    """Write an upper bound: never less than it is."""
    return _text(value, digits, ROUND_CEILING, mark)


def bound_texts(lower: Any, expected: Any, upper: Any, *, exact: bool) -> tuple[str, str, str]:
    """Write an answer for a table: six digits, or where it is exact all on which its bounds agree, three times."""
    if exact:
        for digits in range(_ALL, _FEW - 1, -1):
            if (text := number_text(lower, digits)) == number_text(upper, digits):
                return text, text, text
    return lower_text(lower, _FEW, mark=","), number_text(expected), upper_text(upper, _FEW, mark=",")


def key_text(value: object) -> str:
    """Write what tells rows apart, such as a year or a code: all digits, and no marks between thousands."""
    if isinstance(value, float):
        return repr(float(value)).removesuffix(".0")
    return number_text(value, _ALL, mark="")


def _text(value: object, digits: int, rounding: str, mark: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:{mark}}"
    return _float_text(value, digits, rounding, mark) if isinstance(value, float) else str(value)


def _float_text(value: float, digits: int, rounding: str, mark: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{abs(value) if value == 0 else value:g}"
    written = Decimal(repr(float(value)))  # a float stands for the decimal that it prints
    last = written.adjusted() - digits + 1
    if written.adjusted() < _ALL:
        last = min(last, 0)
    rounded = written.quantize(Decimal((0, (1,), last)), rounding, _ENOUGH).normalize(_ENOUGH)
    return f"{rounded:{mark}f}" if _SMALLEST <= rounded.adjusted() <= _ALL else f"{rounded:e}"
