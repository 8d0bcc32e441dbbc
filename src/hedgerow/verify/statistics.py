"""What a Parquet file says of its values beside them: least and greatest, gaps, and the entries of dictionaries.

Guarantee  after `check_statistics` all of these follow from the decoded values. Other programs skip rows by them, and
           show entries that no row uses
Cost       O(cells)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import Context
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Described", "check_statistics"]

_MAXIMA, _MINIMA, _GAPS = (1, 5), (2, 6), 3
_KNOWN = {*_MAXIMA, *_MINIMA, _GAPS, 7, 8}  # the last two say that both ends are exact
_DICTIONARY_CODED = (2, 8)
_TEXT, _DECIMAL = 6, 7
_CONTEXT = Context(prec=40)


class Described(NamedTuple):
    """Rows of a column from `first` on; what is said of them; how they are coded; the entries of their dictionary."""

    first: int
    rows: int
    said: dict[int, Any]
    coding: int | None = None
    entries: int | None = None


def check_statistics(column: pa.ChunkedArray, physical: int, described: Iterator[Described]) -> None:
    """Raise ValueError unless everything that is said of rows of a column follows from its values."""
    coded: list[pa.Array] = []
    entries: int | None = None
    for part in described:
        if part.entries is not None:
            _check_entries(coded, entries)
            coded, entries = [], part.entries
        values = column.slice(part.first, part.rows)
        if part.coding in _DICTIONARY_CODED:
            coded += values.chunks
        if part.said:
            _check(values, physical, part.said)
    _check_entries(coded, entries)


def _check_entries(coded: list[pa.Array], entries: int | None) -> None:
    if entries is not None:
        used = pc.count_distinct(pa.chunked_array(coded)).as_py() if coded else 0
        if used != entries:
            raise ValueError("a dictionary has entries that no row has, or one twice")


def _check(values: pa.ChunkedArray, physical: int, said: dict[int, Any]) -> None:
    ends = pc.min_max(values)
    wanted = dict.fromkeys(_MAXIMA, ends["max"]) | dict.fromkeys(_MINIMA, ends["min"])
    fits = set(said) <= _KNOWN and said.get(_GAPS, values.null_count) == values.null_count
    for place in said.keys() & wanted.keys():
        fits = fits and wanted[place].is_valid and _is(said[place], wanted[place], physical)
    if not fits:
        raise ValueError("statistics are not those of the values")


def _is(content: bytes, value: pa.Scalar, physical: int) -> bool:
    """Whether bytes are a value, as the format writes it."""
    if physical == _TEXT:
        return bool(content == value.as_py().encode())
    if physical == _DECIMAL:
        digits = int(value.as_py().scaleb(value.type.scale, _CONTEXT))
        return int.from_bytes(content, "big", signed=True) == digits
    if pa.types.is_floating(value.type):
        return len(content) == 8 and bool(struct.unpack("<d", content)[0] == value.as_py())
    kind = pa.int32() if pa.types.is_date32(value.type) else pa.int64()
    return bool(int.from_bytes(content, "little", signed=True) == value.cast(kind).as_py())
