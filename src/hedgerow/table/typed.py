"""The type of a column of text, decided from the whole column.

A column is true/false, whole numbers, numbers, dates or timestamps only if every cell is; else it stays text.
Whole numbers with leading zeros (zip codes), with a plus sign (telephone numbers), with separators, or beyond 64 bits
stay text, so that no digit is lost. Decimal numbers become the nearest 64-bit float. Dates are YYYY-MM-DD; timestamps
are a date, `T` or a space, and a time of day down to microseconds. Timestamps with a zone, which all or none must
have, are given in UTC. An impossible date makes its column text.

Columns of Python values, as workbooks and statistics packages hand them over, as Arrow arrays.

These files store every number as a float: a column whose numbers are all whole becomes whole numbers. A text stays a
text, whatever it looks like; texts that mark a missing value, as in CSV, are missing.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import InputError
from hedgerow.table.checks import attempt

__all__ = ["MISSING", "column_of", "typed"]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "?")
"""Cells that stand for a missing value."""

_DATE = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
_WHOLE = r"-?(?:0|[1-9]\d*)"
_NUMBER = rf"(?:{_WHOLE}(?:\.\d*)?|-?\.\d+)(?:[eE][+-]?\d+)?"
# Spelled infinities count as numbers here, so that a column of numbers with one is refused and not taken for text.
_INFINITE = r"[+-]?(?i:inf|infinity)"


def typed(values: pa.Array) -> pa.Array:
    """Give the distinct texts of one whole column their common type; missing markers count where all else agrees."""
    strict = _typed(values)
    if strict is not None:
        return strict
    # Only cells that were quoted can still spell a marker: missing among numbers, a text among texts.
    present = pc.if_else(pc.is_in(values, pa.array(MISSING)), None, values)
    lenient = _typed(present) if values.null_count < present.null_count < len(values) else None
    return lenient if lenient is not None else pc.if_else(pc.equal(values, ""), None, values)


def _typed(values: pa.Array) -> pa.Array | None:
    if values.null_count == len(values):
        return values
    for read in (_booleans, _integers, _floats, _dates, _local_times, _instants):
        result = read(values)
        if result is not None:
            return result
    return None


def _reader(pattern: str, kind: pa.DataType) -> Callable[[pa.Array], pa.Array | None]:
    """A function that reads texts as `kind` if all of them match, and gives None otherwise."""

    def read(values: pa.Array) -> pa.Array | None:
        if not _all_match(values, pattern):
            return None
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            return None

    return read


def _all_match(values: pa.Array, pattern: str) -> bool:
    # The first cell settles most questions, and asking Python costs less than setting up a call to Arrow.
    first = next(value.as_py() for value in values if value.is_valid)
    if not re.fullmatch(pattern, first, re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(values, rf"\A(?:{pattern})\z")).as_py())


_booleans = _reader("true|false|True|False|TRUE|FALSE", pa.bool_())
_small_integers = _reader(_WHOLE, pa.int64())
_floats = _reader(rf"{_NUMBER}|{_INFINITE}", pa.float64())
_dates = _reader(_DATE, pa.date32())
_local_times = _reader(rf"{_DATE}[T ]{_CLOCK}", pa.timestamp("us"))
_instants = _reader(rf"{_DATE}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)", pa.timestamp("us", "UTC"))


def _integers(values: pa.Array) -> pa.Array | None:
    small = _small_integers(values)
    return values if small is None and _all_match(values, _WHOLE) else small


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
