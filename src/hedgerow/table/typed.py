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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import is_numeric, one_array
from hedgerow.errors import InputError
from hedgerow.table.checks import attempt
from hedgerow.table.options import TYPES, ReadOptions, require_columns

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "?")
"""Cells that stand for a missing value."""

_DATE = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?"
_WHOLE = r"-?(?:0|[1-9]\d*)"
_NUMBER = rf"(?:{_WHOLE}(?:\.\d*)?|-?\.\d+)(?:[eE][+-]?\d+)?"
# Spelled infinities count as numbers here, so that a column of numbers with one is refused and not taken for text.
_INFINITE = r"[+-]?(?i:inf|infinity)"
PATTERNS: tuple[tuple[str, pa.DataType], ...] = (
    ("true|false|True|False|TRUE|FALSE", pa.bool_()),
    (_WHOLE, pa.int64()),
    (rf"{_NUMBER}|{_INFINITE}", pa.float64()),
    (_DATE, pa.date32()),
    (rf"{_DATE}[T ]{_CLOCK}", pa.timestamp("us")),
    (rf"{_DATE}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)", pa.timestamp("us", "UTC")),
)
"""How all cells of a column are written that has a type; the first one counts, if they fit into it."""


def type_texts(values: pa.Array) -> pa.Array:
    """Give the distinct texts of one whole column their common type; missing markers count where all else agrees."""
    strict = _infer_type(values)
    if strict is not None:
        return strict
    # Only cells that were quoted can still spell a marker: missing among numbers, a text among texts.
    present = pc.if_else(pc.is_in(values, pa.array(MISSING)), None, values)
    lenient = _infer_type(present) if values.null_count < present.null_count < len(values) else None
    return lenient if lenient is not None else pc.if_else(pc.equal(values, ""), None, values)


def type_declared(texts: pa.Array, name: str, signs: ReadOptions) -> pa.Array:
    """Give distinct texts their declared type, else their common one, with these decimal and thousands signs."""
    kind = signs.types.get(name)
    if kind == "text":
        return pc.if_else(pc.equal(texts, ""), None, texts)
    plain = _with_points(texts, signs.decimal or ".", signs.thousands or "")
    values = texts if plain is None else type_texts(plain)
    if plain is not texts and values.type == texts.type:
        values = pc.if_else(pc.equal(texts, ""), None, texts)  # codes such as 01.234, no numbers, keep their signs
    if kind is None or values.null_count == len(values):
        return values
    wanted = TYPES[kind]
    fits = values.type == wanted or (kind, values.type) in _WIDER
    if not fits:
        raise InputError(
            f"Column '{name}' cannot be read as {kind}: its cells are read as {_SPOKEN.get(values.type, 'text')}. "
            f"{_WRITTEN.get(kind, '')}List cells that mean missing as missing codes, or declare another type."
        )
    return values.cast(wanted)


_WIDER = {("number", pa.int64()), ("time", pa.date32())}
_SPOKEN = {kind: word for word, kind in TYPES.items()}
_SIGNS = "Declare the decimal sign, and that between thousands, if they are others. "
_WRITTEN = {
    "date": "Dates are written as 2026-01-31. ",
    "time": "Times are written as 2026-01-31 13:45:00. ",
    "truth": "Truth values are written as true and false. ",
    "whole": _SIGNS,
    "number": _SIGNS,
}
"""How cells of a type are written, for those whose are not."""


def as_declared(arrow: pa.Table, types: Mapping[str, str]) -> pa.Table:
    """The table with columns of declared types, or a refusal that names the column.

    Texts are read as the cells of a delimited file are. Other values keep what they say: any of them as text, whole
    numbers as numbers and back, days as times and back. Arrow alone would make a truth value of 7, a time of 1970 of a
    whole number, and drop the time of a day.
    """
    require_columns(arrow.column_names, types)
    for name, kind in types.items():
        column = arrow.column(name)
        if (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and kind != "text":
            texts = one_array(column).cast(pa.string()).dictionary_encode()
            column = type_declared(texts.dictionary, name, ReadOptions(types={name: kind})).take(texts.indices)
        else:
            column = _change_type(column, name, kind)
        arrow = arrow.set_column(arrow.column_names.index(name), name, column)
    return arrow


def _change_type(column: pa.ChunkedArray, name: str, kind: str) -> pa.ChunkedArray:
    wanted = TYPES[kind]
    fitting = any(test(column.type) and wanted in others for test, others in _KEEPING)
    if wanted == pa.string() or column.type in (wanted, pa.null()) or fitting:
        with suppress(pa.ArrowInvalid):
            cast = column.cast(wanted)
            if wanted != pa.date32() or cast.cast(column.type).equals(column):
                return cast
    spoken = _SPOKEN.get(column.type, "number" if is_numeric(column.type) else "another type")
    raise InputError(
        f"Column '{name}' cannot be read as {kind}: it holds {spoken}, some of which would become something else. "
        "Correct its cells, list them as missing codes, or declare another type."
    )


_KEEPING: tuple[tuple[Callable[[pa.DataType], bool], set[pa.DataType]], ...] = (
    (is_numeric, {pa.int64(), pa.float64()}),
    (pa.types.is_date, {pa.timestamp("us")}),
    (pa.types.is_timestamp, {pa.date32()}),
)
"""Which types say the same as others, where a cast loses nothing."""


def is_number_text(text: str) -> bool:
    """Return whether a text is a number with a decimal point or comma."""
    return re.fullmatch(rf"{_NUMBER}|{_WHOLE},\d+", text, re.ASCII) is not None


def has_decimals(texts: pa.Array, sign: str) -> bool:
    """Return whether all distinct texts are numbers and some have this decimal sign."""
    if texts.null_count == len(texts):
        return False
    pattern = rf"{_WHOLE}(?:{re.escape(sign)}\d+)?"
    return _all_match(texts, pattern) and bool(pc.any(pc.match_substring(texts, sign)).as_py())


def _may_have_thousands(texts: pa.Array, sign: str) -> bool:
    """Tell whether the distinct texts, numbers with this sign, have three digits behind it every time."""
    return _all_match(texts, rf"-?(?:0|[1-9]\d{{0,2}}(?:{re.escape(sign)}\d{{3}})?)")


class DecimalSign:
    """The decimal sign of a delimited file, decided on the distinct texts of all its columns, or as declared.

    A comma, if it is not the delimiter, some column has decimals behind commas, and none behind points. 1.234 and
    1,234 do not say whether their sign stands before decimals or between thousands, so they decide nothing; where no
    other column does, they are refused.
    """

    def __init__(self, delimiter: str, asked: ReadOptions) -> None:
        self._asked, self._signs = asked, () if delimiter == "," else (".", ",")
        self._sure = set[str]()
        self._open = dict[str, str]()

    def look_at(self, name: str, texts: pa.Array) -> None:
        """Take a column's texts, without those that mean missing, into account."""
        if self._asked.types.get(name) == "text":
            return
        for sign in self._signs:
            if has_decimals(texts, sign):
                if not self._asked.thousands and _may_have_thousands(texts, sign):
                    self._open.setdefault(sign, name)
                else:
                    self._sure.add(sign)

    def sign(self) -> str:
        """The sign; a column whose numbers would be a thousandth or a thousandfold of what is meant is refused."""
        if self._asked.decimal:
            return self._asked.decimal
        if not self._signs or self._asked.thousands == ",":
            return "."
        sign = "," if self._sure == {","} else "."
        if self._sure != {sign} and (undecided := {"."} & self._open.keys() if self._sure else self._open.keys()):
            seen = min(undecided)
            other = "," if seen == "." else "."
            raise InputError(
                f"Column '{self._open[seen]}' has exactly three digits behind each '{seen}', which may stand before "
                f"decimals or between thousands: declare decimal='{seen}' (--decimal {seen}), or decimal='{other}' and "
                f"thousands='{seen}' (--decimal {other} --thousands {seen})."
            )
        return sign


def _with_points(texts: pa.Array, decimal: str, thousands: str) -> pa.Array | None:
    """Numbers written with other signs in the usual ones, other texts as they are; None: texts that stay texts."""
    if (decimal, thousands) == (".", "") or texts.null_count == len(texts):
        return texts
    cut, point = re.escape(thousands), re.escape(decimal)
    whole = rf"-?(?:\d{{1,3}}(?:{cut}\d{{3}})+|\d+)" if thousands else _WHOLE
    if _all_match(texts, rf"{whole}(?:{point}\d*)?(?:[eE][+-]?\d+)?"):
        bare = pc.replace_substring(texts, thousands, "") if thousands else texts
        return pc.replace_substring(bare, decimal, ".")
    # A point is no decimal sign here, so that 1.500 must not become one and a half.
    return None if decimal == "," and _all_match(texts, _NUMBER) and not _all_match(texts, _WHOLE) else texts


def _infer_type(values: pa.Array) -> pa.Array | None:
    if values.null_count == len(values):
        return values
    for pattern, kind in PATTERNS:
        if _all_match(values, pattern):
            try:
                return values.cast(kind)
            except pa.ArrowInvalid:
                if kind == pa.int64():
                    return values
    return None


def _all_match(values: pa.Array, pattern: str) -> bool:
    # The first cell settles most questions, and asking Python costs less than setting up a call to Arrow.
    first = next(value.as_py() for value in values if value.is_valid)
    if not re.fullmatch(pattern, first, re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(values, rf"\A(?:{pattern})\z")).as_py())


_LARGEST_EXACT = 2.0**53


def column_of(cells: Sequence[Any], name: str, codes: Sequence[str] = ()) -> pa.Array:
    """An Arrow array of one type, or a refusal that names the types that are mixed; `codes` are missing, too."""
    values = [None if _is_missing(cell) or (codes and cell_text(cell) in codes) else cell for cell in cells]
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"date", "date with time"}:
        values = [_at_midnight(value) for value in values]
    elif len(kinds) > 1:
        raise InputError(f"Column '{name}' mixes {' and '.join(sorted(kinds))}; give all its cells one type.")
    if kinds == {"number"} and all(value is None or _is_whole(value) for value in values):
        values = [None if value is None else int(value) for value in values]
    sentence = f"Column '{name}' cannot be read as {next(iter(kinds), 'empty')}."
    return attempt(lambda: pa.array(values), sentence)


def with_zeros(cells: Sequence[Any], digits: Sequence[int]) -> Sequence[Any]:
    """The whole numbers among cells as texts, where some are shown with zeros in front, in at least so many digits."""

    def text(cell: Any, least: int) -> Any:
        is_whole = isinstance(cell, int | float) and not isinstance(cell, bool) and cell >= 0 and cell % 1 == 0
        return f"{int(cell):0{least}d}" if is_whole else cell

    shown = [text(cell, least) for cell, least in zip(cells, digits, strict=True)]
    changed = (one for cell, one in zip(cells, shown, strict=True) if cell and one is not cell)
    return shown if any(one.startswith("0") for one in changed) else cells


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip() in MISSING)


def cell_text(cell: Any) -> str:
    """A cell as somebody would write it: whole floats without a point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


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
