"""The parameters that each criterion has, and their ranges: a closed list.

Guarantee  what is not on the list, missing from it, out of range or not written as we write it is refused, so that a
           check never meets a number that it was not made for
Cost       O(length of the texts)

Numbers are whole, or texts that hold a decimal or a ratio of limited length: a threshold of a million digits would
stall whoever compares with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hedgerow.errors import BrokenPromise

__all__ = ["CRITERIA", "check_parameters", "is_columns", "is_number", "is_whole"]

_MOST_DIGITS = 800
_MORE = f"[0-9]{{0,{_MOST_DIGITS - 1}}}"
_NUMBER = re.compile(rf"(?!-0$)-?(0|[1-9]{_MORE})(\.{_MORE}[1-9]|/[1-9][0-9]?{_MORE})?", re.A)
_MOST_WHOLE = 2**53
_MOST_LEVELS = 200
_SHARE = re.compile(r"[0-9]{1,3}\.[0-9]%", re.A)
_RATE = re.compile(rf"{_SHARE.pattern} \({_SHARE.pattern} to {_SHARE.pattern}; >?[0-9.e-]{{1,8}}% by guessing\)", re.A)

Rule = Callable[[object], bool]


def is_number(value: object) -> bool:
    """Tell whether a value is a text that holds a decimal or a ratio of limited length, as a fraction is written."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return False
    top, _, bottom = value.partition("/")
    return not bottom or (bottom != "1" and math.gcd(int(top), int(bottom)) == 1)


def is_whole(least: int, most: int = _MOST_WHOLE) -> Rule:
    """The rule that a value is a whole number in a range."""

    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits


def _number(*, above: int | None = None, least: int | None = None, most: int | None = None) -> Rule:
    def fits(value: object) -> bool:
        if not is_number(value):
            return False
        exact = Fraction(str(value))
        low = (above is None or exact > above) and (least is None or exact >= least)
        return low and (most is None or exact <= most)

    return fits


def _one_of(*texts: str) -> Rule:
    return lambda value: isinstance(value, str) and value in texts


def _is_like(pattern: re.Pattern[str]) -> Rule:
    return lambda value: isinstance(value, str) and bool(pattern.fullmatch(value))


def _is_json(value: object, fits: Callable[[Any], bool]) -> bool:
    try:
        return isinstance(value, str) and fits(json.loads(value))
    except (ValueError, RecursionError):
        return False


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _is_protected(value: object) -> bool:
    return _is_json(
        value, lambda sets: sets is None or (isinstance(sets, list) and all(map(_is_texts, sets)) and bool(sets))
    )


def is_columns(value: object) -> bool:
    """Tell whether a value is a text that lists names."""
    return _is_json(value, _is_texts)


def _is_hierarchy(value: object) -> bool:
    return _is_json(
        value,
        lambda lines: (
            isinstance(lines, list)
            and bool(lines)
            and all(_is_texts(line) and len(line) <= _MOST_LEVELS for line in lines)
        ),
    )


_COUNT = is_whole(0)
_GROUPWISE: dict[str, Rule] = {
    "l": lambda value: is_whole(2)(value) or _number(above=1)(value),
    "diversity": _one_of("distinct", "frequency", "entropy", "recursive"),
    "c": _number(above=0),
    "t": _number(least=0, most=1),
    "distance": _one_of("equal", "ordered", "hierarchical"),
    "alpha": _number(above=0, most=1),
    "delta": _number(above=0),
    "beta": _number(above=0),
    "enhanced": is_whole(0, 1),
    "presence_low": _number(least=0, most=1),
    "presence_high": _number(least=0, most=1),
    "hierarchy of {}": _is_hierarchy,
}
_RATES = ("identity", "rank", "known sample of '{}'")
_KINDS = ("properties", "locality", "order", "bound", "given", "pinned")

CRITERIA: dict[str, tuple[dict[str, Rule], dict[str, Rule]]] = {
    "frequency": ({"l": is_whole(2)}, {}),
    "groupwise": ({"k": is_whole(2)}, _GROUPWISE),
    "ke": ({"k": is_whole(2), "e": _number(least=0)}, {"l": is_whole(2)}),
    "m_invariance": ({"m": is_whole(2), "counterfeits": _COUNT}, {}),
    "microaggregation": ({"k": is_whole(2)}, {"nodes": is_columns, "unchanged": is_columns}),
    "noise": (
        {"scale": _number(above=0), "kind": _one_of("normal", "laplace", "uniform")},
        {"unchanged": is_columns, "rounded away": is_columns},
    ),
    "personal": ({"exact": _COUNT}, {}),
    "properties": (
        dict.fromkeys(_KINDS, _COUNT) | {"unchanged": _is_like(_SHARE)},
        dict.fromkeys((*_RATES, *(f"{name}, by the replaced numbers alone" for name in _RATES[:2])), _is_like(_RATE)),
    ),
    "proximity": (
        {
            "m": is_whole(2),
            "below": _number(least=0),
            "above": _number(least=0),
            "relative": _number(least=0, most=1),
        },
        {},
    ),
    "rank-swap": ({"window of '{}'": is_whole(1)}, {"unchanged": is_columns}),
    "retention": (
        {"p": _number(least=0, most=1)},
        {"m": is_whole(2), "eps": _number(least=0), "relative": is_whole(0, 1)},
    ),
    "robust": (
        {
            "r": _number(above=1),
            "model": _one_of("binary", "full"),
            "protect": _is_protected,
            "sets": is_whole(1),
            "suppressed": _COUNT,
            "protected": is_whole(1),
            "unprotected": is_whole(0, 1),
        },
        {},
    ),
    "target": ({"shift": _number(least=0, most=1), "fakes": _COUNT}, {}),
}
"""By criterion: the parameters that it must have and those that it may have; `{}` stands for each column."""


def check_parameters(criterion: str, parameters: Mapping[str, object], columns: Sequence[str]) -> None:
    """Raise BrokenPromise unless a criterion of these columns has its own parameters, no others, all in range."""
    if criterion not in CRITERIA:
        raise BrokenPromise("The release promises a criterion that this version cannot verify.")
    needed, possible = (_by_column(rules, columns) for rules in CRITERIA[criterion])
    if missing := sorted(needed.keys() - parameters.keys()):
        raise BrokenPromise(f"The guarantee names no '{_text_of(missing[0])}', which its criterion needs.")
    for name, value in parameters.items():
        rule = needed.get(name) or possible.get(name)
        if rule is None:
            raise BrokenPromise("The guarantee has a parameter that its criterion does not know.")
        if not rule(value) or (rule is is_columns and not set(json.loads(str(value))) <= set(columns)):
            raise BrokenPromise(f"The guarantee's '{_text_of(name)}' is out of range, or not what it must be.")
    for one, other in _TOGETHER.get(criterion, ()):
        if (one in parameters) != (other in parameters):
            raise BrokenPromise(f"The guarantee's '{one}' and '{other}' must come together.")
    if criterion == "groupwise":
        _check_l(parameters)


def _by_column(rules: Mapping[str, Rule], columns: Sequence[str]) -> dict[str, Rule]:
    return {
        name.format(column): rule for name, rule in rules.items() for column in (columns if "{}" in name else ("",))
    }


def _text_of(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}..."


_TOGETHER = {
    "groupwise": (("l", "diversity"), ("t", "distance"), ("beta", "enhanced"), ("presence_low", "presence_high")),
    "retention": (("m", "eps"), ("m", "relative")),
}
"""Parameters that mean something only with others."""


def _check_l(parameters: Mapping[str, object]) -> None:
    if ("c" in parameters) != (parameters.get("diversity") == "recursive"):
        raise BrokenPromise("The guarantee's 'c' must come with recursive diversity, and only with it.")
    if "l" in parameters and isinstance(parameters["l"], str) != (parameters["diversity"] == "entropy"):
        raise BrokenPromise("The guarantee's 'l' must be a whole number, or a decimal for entropy.")
