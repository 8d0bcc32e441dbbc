"""Tables that an analyst brings along: more columns of a row, found by a key that is unique.

A column of such a table is a function of the key's columns, so that it is known of a row where these are, and hidden
where one of them is. No text and no value of it reaches a release or a database: it is looked up in arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.query.sql.question import Kind

__all__ = ["Joined", "join", "own_tables"]

_numbers = itertools.count()
_TYPES = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.DECIMAL: pa.float64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}


def own_tables(tables: Mapping[str, Any] | None) -> dict[str, pa.Table]:
    """Take frames of pandas, polars or Arrow by name, each column as a kind that questions know, or not at all."""
    found: dict[str, pa.Table] = {}
    for name, frame in (tables or {}).items():
        if name.lower() in ("release", *found):
            raise QueryError(f"a table of your own cannot be called '{name}'; that name has a meaning already")
        try:
            table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        except (TypeError, ValueError, pa.ArrowInvalid):
            raise QueryError(f"'{name}' is no table: give a frame of pandas, polars or Arrow, or a file") from None
        columns = {column: _plain(table.column(column)) for column in table.column_names}
        found[name.lower()] = pa.table({column: array for column, array in columns.items() if array is not None})
    return found


def kind_in(array: pa.Array) -> Kind:
    """The kind of a column of one's own, when it is plain."""
    return next(kind for kind, arrow in _TYPES.items() if kind is not Kind.DECIMAL and arrow == array.type)


def _plain(column: pa.ChunkedArray) -> pa.Array | None:
    """One array of a type that questions know; None for other types."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    tests = {
        Kind.BOOL: pa.types.is_boolean,
        Kind.INT: pa.types.is_integer,
        Kind.FLOAT: lambda t: pa.types.is_floating(t) or pa.types.is_decimal(t),
        Kind.TEXT: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
        Kind.DATE: pa.types.is_date,
        Kind.TIME: lambda t: pa.types.is_timestamp(t) and t.tz is None,
    }
    kind = next((kind for kind, test in tests.items() if test(array.type)), None)
    try:
        plain = None if kind is None else array.cast(_TYPES[kind])
    except pa.ArrowInvalid:
        return None
    if kind is Kind.FLOAT and plain is not None:
        return pc.if_else(pc.is_finite(plain), plain, pa.scalar(None, pa.float64()))  # frames write NaN for missing
    return plain


@dataclass(frozen=True, eq=False)
class Joined:
    """A table of one's own with its key: columns of the same kinds as those that are looked up."""

    name: str
    table: pa.Table
    keys: tuple[pa.Array, ...]
    number: int = field(default_factory=lambda: next(_numbers))

    def values(self, column: str, operands: Sequence[pa.Array]) -> pa.Array:
        """The value of a column for each key, missing without a match; the column '' tells whether there is one."""
        rows = self._rows(operands)
        return pc.is_valid(rows) if not column else self.table.column(column).combine_chunks().take(rows)

    def _rows(self, operands: Sequence[pa.Array]) -> pa.Array:
        sides = [operand.cast(key.type) for operand, key in zip(operands, self.keys, strict=True)]
        return pc.index_in(*_as_one(sides, self.keys)).cast(pa.int64())


def _as_one(sides: Sequence[pa.Array], keys: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Several columns as one: places among the values of each key, in one number."""
    if len(keys) == 1:
        return sides[0], keys[0]
    looked, known = pa.scalar(0, pa.int64()), pa.scalar(0, pa.int64())
    for side, key in zip(sides, keys, strict=True):
        listed = key.unique()
        places = [pc.index_in(part, value_set=listed).cast(pa.int64()) for part in (side, key)]
        looked, known = (
            pc.add(pc.multiply(total, pa.scalar(len(listed) + 1, pa.int64())), place)
            for total, place in zip((looked, known), places, strict=True)
        )
    return looked, known


def join(name: str, table: pa.Table, on: Sequence[tuple[str, Kind]]) -> Joined:
    """Fit a table to the kinds of what its key is compared with; refuse a key that is not unique."""
    keys = [_key(name, table, column, kind) for column, kind in on]
    present = pc.and_(*(pc.is_valid(key) for key in keys)) if len(keys) == 2 else _all_valid(keys)
    rows = pc.indices_nonzero(present)
    kept = [key.take(rows) for key in keys]
    _, one = _as_one(kept, kept)
    if len(one.unique()) < len(one):
        columns = " and ".join(f"'{column}'" for column, _ in on)
        raise QueryError(
            f"table '{name}' has several rows for one value of {columns}, so that rows would be counted twice; a table "
            "that is joined has one row for each key"
        )
    return Joined(name, table.take(rows), tuple(kept))


def _all_valid(keys: Sequence[pa.Array]) -> pa.Array:
    valid = pc.is_valid(keys[0])
    for key in keys[1:]:
        valid = pc.and_(valid, pc.is_valid(key))
    return valid


def _key(name: str, table: pa.Table, column: str, kind: Kind) -> pa.Array:
    array = table.column(column).combine_chunks()
    own, wanted = kind_in(array), _TYPES[kind]
    numbers = (Kind.INT, Kind.FLOAT, Kind.DECIMAL)
    if own is not kind and not (own in numbers and kind in numbers):
        raise QueryError(f"'{column}' of table '{name}' holds a {own}, and what it is compared with a {kind}")
    if own is Kind.FLOAT and kind is Kind.INT:
        # What is no whole number meets none.
        whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**53))
        return pc.if_else(whole, array, pa.scalar(None, pa.float64())).cast(wanted)
    return array.cast(wanted, safe=False) if own in numbers else array
