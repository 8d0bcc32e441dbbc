"""Columns of Python values, as workbooks and statistics packages hand them over, as Arrow arrays.

These files store every number as a float: a column whose numbers are all whole becomes whole numbers. A text stays a
text, whatever it looks like; texts that mark a missing value, as in CSV, are missing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.table.checks import attempt
from hedgerow.table.typed import MISSING

__all__ = ["column_of"]

_LARGEST_EXACT = 2.0**53


def column_of(cells: Sequence[Any], name: str) -> pa.Array:
    """An Arrow array of one type, or a refusal that names the types that are mixed."""
    values = [None if _is_missing(cell) else cell for cell in cells]
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"date", "date with time"}:
        values = [_at_midnight(value) for value in values]
    elif len(kinds) > 1:
        raise InputError(f"Column '{name}' mixes {' and '.join(sorted(kinds))}; give all its cells one type.")
    if kinds == {"number"} and all(value is None or _is_whole(value) for value in values):
        values = [None if value is None else int(value) for value in values]
    sentence = f"Column '{name}' cannot be read as {next(iter(kinds), 'empty')}."
    return attempt(lambda: pa.array(values), sentence)


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip() in MISSING)


def _kind(value: Any) -> str:
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    return type(value).__name__


def _is_whole(value: float) -> bool:
    return abs(value) <= _LARGEST_EXACT and value == int(value)


def _at_midnight(value: Any) -> Any:
    plain_date = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if plain_date else value


# In this order: a truth value is an int to Python, and a datetime a date.
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "truth values"),
    ((int, float), "number"),
    ((str,), "text"),
    ((dt.datetime,), "date with time"),
    ((dt.date,), "date"),
    ((dt.time, dt.timedelta), "time of day"),
)
