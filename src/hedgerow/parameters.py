"""How criteria read their parameters: once, exactly, and with one sentence where they cannot."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.exact import as_fraction

Number = int | float | str | Decimal | Fraction

_LONGEST = 40
"""Characters of a text that is shown when it is refused."""


def read_whole(name: str, value: object, *, least: int, why: str = "") -> int:
    """Read a whole number of at least `least`; `why` is the reason in the error message."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(f"'{name}' must be an integer of at least {least}; got {came(value)}.")
    if value < least:
        raise ParameterError(f"'{name}' must be an integer of at least {least}; got {int(value)}. {why}".rstrip())
    return int(value)


def read_number(
    name: str, value: object, *, above: int | None = None, least: int | None = None, most: int | None = None
) -> Fraction:
    """Read a number exactly, floats by the decimal that they print; `above` excludes its bound, the others do not."""
    wanted = _wish_text(above, least, most)
    try:
        exact = as_fraction(Fraction(value) if isinstance(value, str) and "/" in value else value)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"'{name}' must be {wanted}; got {came(value)}.{_days_text(value)}") from None
    too_low = (above is not None and exact <= above) or (least is not None and exact < least)
    if too_low or (most is not None and exact > most):
        raise ParameterError(f"'{name}' must be {wanted}; got {came(value)}.")
    return exact


def what_works(name: str, largest: int) -> str:
    """Name the largest whole number that works; of 1, which promises nothing and is refused, say that none does."""
    return f"the largest {name} that works is {largest:,}" if largest > 1 else f"no {name} works"


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither true nor false: a text in its place would count as true."""
    if not isinstance(value, bool):
        raise ParameterError(f"'{name}' must be true or false; got {came(value)}.")


def read_names(name: str, value: object) -> tuple[str, ...]:
    """Read names of columns: a list of texts, or one text with commas; each once."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(entry, str) for entry in names):
        raise ParameterError(f"'{name}' must be a list of column names, or one text with commas; got {came(value)}.")
    if len(set(names)) < len(names):
        raise ParameterError(f"'{name}' must name each column once; {len(names) - len(set(names))} are named again.")
    return tuple(names)


def came(value: object) -> str:
    """Show a refused parameter; a table that came by mistake shows its type, not its cells."""
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= _LONGEST else f"a text of {len(value):,} characters"
    plain = isinstance(value, bool | int | float | np.number | Decimal | Fraction) or value is None
    return str(value) if plain else f"a value of type {type(value).__name__}"


def _days_text(value: object) -> str:
    """What to write instead of a duration: distances between dates are whole numbers of days."""
    if isinstance(value, timedelta):
        days = Fraction(value // timedelta(microseconds=1), 86_400_000_000)
    elif isinstance(value, str) and (found := re.fullmatch(r"\s*(\d{1,9})\s*(day|week)s?\s*", value, re.IGNORECASE)):
        days = Fraction(int(found[1]) * (7 if found[2].lower() == "week" else 1))
    else:
        return ""
    return f" Distances between dates are in days: write {days}."


def _wish_text(above: int | None, least: int | None, most: int | None) -> str:
    bounds = [f"above {above}"] if above is not None else []
    bounds += [f"of at least {least}"] if least is not None else []
    bounds += [f"of at most {most}"] if most is not None else []
    return f"a finite number {' and '.join(bounds)}".rstrip()
