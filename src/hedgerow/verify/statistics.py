"""What a Parquet file says of its values beside them: least and greatest, gaps, lengths, entries of dictionaries.

Guarantee  after `check_statistics` all of these follow from the decoded values. Other programs skip rows by them, and
           show entries that no row uses
Cost       O(cells)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
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
    """Rows of a column from `first` on; what is said of them; how they are coded; the entries of their dictionary.

    `sizes` says how long all texts are, and how many cells are gaps and how many are not.
    """

    first: int
    rows: int
    said: dict[int, Any]
    coding: int | None = None
    entries: int | None = None
    sizes: dict[int, Any] | None = None


def check_statistics(column: pa.ChunkedArray, physical: int, described: Iterable[Described]) -> None:
    """Raise ValueError unless everything that is said of rows of a column follows from its values."""
    coded: list[pa.Array] = []
    entries: int | None = None
    known: dict[tuple[int, int], _Ends] = {}  # one page is all of its part
    for part in described:
        if part.entries is not None:
            _check_entries(coded, entries)
            coded, entries = [], part.entries
        values = column.slice(part.first, part.rows)
        if part.coding in _DICTIONARY_CODED:
            coded += values.chunks
        if part.said:
            rows = part.first, part.rows
            ends = known[rows] = known.get(rows) or _Ends.of(values, physical)
            _check(part.said, ends, physical)
        if part.sizes:
            _check_sizes(part.sizes, values)
    _check_entries(coded, entries)


def _check_sizes(said: dict[int, Any], values: pa.ChunkedArray) -> None:
    gaps = values.null_count
    fits = not said.get(2) and said.get(3, []) in ([], [gaps, len(values) - gaps])
    if not fits or (1 in said and said[1] != (pc.sum(pc.binary_length(values)).as_py() or 0)):
        raise ValueError("sizes are not those of the values")


def _check_entries(coded: list[pa.Array], entries: int | None) -> None:
    if entries is not None:
        used = pc.count_distinct(pa.chunked_array(coded)).as_py() if coded else 0
        if used != entries:
            raise ValueError("a dictionary has entries that no row has, or one twice")


class _Ends(NamedTuple):
    """What is true of rows: the least and the greatest value as Python has it, None where all are missing; gaps."""

    least: Any
    greatest: Any
    gaps: int

    @staticmethod
    def of(values: pa.ChunkedArray, physical: int) -> _Ends:
        """Look at all values."""
        ends = pc.min_max(values)
        least, greatest = (_plain(ends[name], physical) for name in ("min", "max"))
        return _Ends(least, greatest, values.null_count)


def _plain(value: pa.Scalar, physical: int) -> Any:
    """A value as the format has it: bytes, a whole number or a float."""
    if not value.is_valid or pa.types.is_floating(value.type):
        return value.as_py()
    if physical == _TEXT:
        return value.as_py().encode()
    if physical == _DECIMAL:
        return int(value.as_py().scaleb(value.type.scale, _CONTEXT))
    return value.cast(pa.int32() if pa.types.is_date32(value.type) else pa.int64()).as_py()


def _check(said: dict[int, Any], ends: _Ends, physical: int) -> None:
    fits = set(said) <= _KNOWN and said.get(_GAPS, ends.gaps) == ends.gaps
    for places, value in ((_MAXIMA, ends.greatest), (_MINIMA, ends.least)):
        for place in said.keys() & set(places):
            fits = fits and value is not None and _is(said[place], value, physical)
    if not fits:
        raise ValueError("statistics are not those of the values")


def _is(content: bytes, value: Any, physical: int) -> bool:
    """Whether bytes are a value, as the format writes it."""
    if isinstance(value, bytes):
        return content == value
    if isinstance(value, float):
        return len(content) == 8 and bool(struct.unpack("<d", content)[0] == value)
    return int.from_bytes(content, "big" if physical == _DECIMAL else "little", signed=True) == int(value)
