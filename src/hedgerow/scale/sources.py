"""Where the rows of an out-of-core publication come from, read in passes: Parquet, delimited files, databases, frames.

Every column is read as the engine's own values; what they mean is decided on the distinct ones (`coding`), and so are
options of reading: types, missing codes, decimal signs and encodings.

A server of PostgreSQL counts itself, and rows come in batches through a cursor of it. One transaction that sees one
state of the table serves all passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.cores import cores
from hedgerow.errors import InputError
from hedgerow.scale.duck_source import CsvSource, delimited_files, open_duckdb
from hedgerow.scale.engine import Distinct, PassSource, quote_name, run_step
from hedgerow.table.checks import attempt, check_names
from hedgerow.table.options import ReadOptions, read_options, require_columns, without_codes
from hedgerow.table.read import OPTIONS, require_known
from hedgerow.table.sources import POSTGRES
from hedgerow.table.typed import MISSING, as_declared, column_of


@contextmanager
def open_source(
    source: object, folder: Path, *, memory: int, reading: Mapping[str, Any] | None = None
) -> Iterator[PassSource]:
    """Open what `publish` takes, within so many bytes of memory; spilled values go to `folder`.

    `reading` are options of reading, as `read_table` takes them.
    """
    import duckdb

    asked = read_options(reading or {})
    if isinstance(source, str) and source.startswith(POSTGRES):
        require_known("a table of a database", set(), asked)
        with open_server(source) as server:
            yield ReadSource(server, asked)
        return
    settings: dict[str, Any] = {
        "memory_limit": f"{min(max(memory, 1 << 27), 1 << 50) // 2**20}MiB",
        "temp_directory": str(folder / "duckdb"),
        "threads": cores(),
        # A seed gives the same release each time only if rows come in the same order.
        "preserve_insertion_order": True,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        if (files := delimited_files(source)) is not None:
            require_known("a delimited text", OPTIONS["csv"][1], asked)
            yield CsvSource(connection, files, asked)
            return
        require_known("a table of a database, a frame or Parquet files", set(), asked)
        opened = open_duckdb(connection, source)
        yield ReadSource(opened, asked) if asked.given_options() else opened


class ReadSource:
    """A source whose columns get the types that were declared for them, and whose missing codes are missing."""

    def __init__(self, source: PassSource, asked: ReadOptions) -> None:
        self._source, self._asked, self.names = source, asked, source.names
        require_columns(self.names, asked.types)
        self.head, self.count_rows, self.leave_out = source.head, source.count_rows, source.leave_out
        self.combinations, self.batches = source.combinations, source.batches

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column; what is declared is decided on all of them."""
        found = self._source.distinct(column, most)
        if found is None and (column in self._asked.types or self._asked.missing_codes):
            raise InputError(
                f"'{column}' has more than {most:,} different values, too many to look for missing codes or to give it "
                "another type outside of memory; do so in the table."
            )
        return found

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """The values with their declared type."""
        table = pa.table({column: self._source.type_values(column, values)})
        if self._asked.missing_codes:
            table = without_codes(table, self._asked.missing_codes)
        own = {name: kind for name, kind in self._asked.types.items() if name == column}
        return as_declared(table, own).column(0).combine_chunks()


_SAMPLE = 1 << 18
_FETCHED = 1 << 16


@contextmanager
def open_server(source: str) -> Iterator[ServerSource]:
    """Open `postgresql://...#table`."""
    address, sign, name = source.rpartition("#")
    if not sign or not name:
        raise InputError("A database needs the name of a table behind '#': postgresql://...#table.")
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg: pip install 'hedgerow[pg]'.") from None
    refused = "The PostgreSQL server cannot be reached under that address, or refuses the log-in."
    with attempt(lambda: psycopg.connect(address), refused) as connection:
        # All passes see one state of the table, whatever is written meanwhile.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield ServerSource(connection, ".".join(map(quote_name, name.split("."))))


class ServerSource:
    """A table of PostgreSQL, which counts on its server."""

    def __init__(self, connection: Any, relation: str) -> None:
        self._connection, self._relation, self._where = connection, relation, b""
        self._types: dict[str, pa.DataType] = {}
        missing = "The PostgreSQL database has no such table, or the account may not read it."
        described = attempt(lambda: connection.execute(f"SELECT * FROM {relation} LIMIT 0".encode()), missing)
        self.names: tuple[str, ...] = tuple(column.name for column in described.description)
        check_names(self.names)

    def head(self, column: str) -> pa.Array:
        """One value of a column, of the type that all of its values fit."""
        own = quote_name(column)
        widest = self._rows(f"SELECT {own} FROM ", f" ORDER BY length({own}::text) DESC NULLS LAST LIMIT {_SAMPLE}")
        values = column_of([row[0] for row in widest], column)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.decimal128(38, values.type.scale))
        self._types[column] = values.type
        return values.slice(0, 1)

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each: the values themselves."""
        return values

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return int(self._rows("SELECT count(*) FROM ")[0][0])

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than `most`."""
        found = self._rows(f"SELECT {quote_name(column)}, count(*) FROM ", f" GROUP BY 1 LIMIT {most + 1}")
        if len(found) > most:
            return None
        values = column_of([row[0] for row in found], column)
        self._types[column] = values.type
        return values, np.array([row[1] for row in found], np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        places = ", ".join(str(place + 1) for place in range(len(columns)))
        named = ", ".join(map(quote_name, columns))
        found = self._rows(f"SELECT {named}, count(*) FROM ", f" GROUP BY {places} LIMIT {most + 1}")
        if len(found) > most:
            return None
        return self._batch(columns, [row[:-1] for row in found]), np.array([row[-1] for row in found], np.int64)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column is missing, written as a marker, or one of these values."""
        kept = " AND ".join(term for name, listed in values.items() for term in self._terms(quote_name(name), listed))
        self._where = f" WHERE {kept}".encode() if kept else b""

    def _terms(self, own: str, listed: pa.Array) -> Iterator[str]:
        from psycopg import sql

        def literal(value: Any) -> str:
            return sql.Literal(value).as_string(self._connection)

        yield f"{own} IS NOT NULL"
        yield f"btrim({own}::text, E' \\t\\n\\r\\f\\x0b') NOT IN ({', '.join(map(literal, ('NaN', *MISSING)))})"
        for value in listed.drop_null().to_pylist():
            yield f"{own} <> {literal(value)}"

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many, by a cursor of the server."""
        statement = f"SELECT {', '.join(map(quote_name, columns))} FROM {self._relation}".encode() + self._where
        with self._connection.cursor(name="hedgerow") as cursor:
            run_step(lambda: cursor.execute(statement))
            while found := run_step(lambda: cursor.fetchmany(min(rows, _FETCHED))):
                yield run_step(partial(self._batch, columns, found))

    def _batch(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
        values = zip(*rows, strict=True) if rows else [()] * len(columns)
        return pa.table(
            [column_of(own, name).cast(self._types[name]) for name, own in zip(columns, values, strict=True)],
            names=list(columns),
        )

    def _rows(self, what: str, how: str = "") -> list[tuple[Any, ...]]:
        statement = (what + self._relation).encode() + self._where + how.encode()
        found: list[tuple[Any, ...]] = run_step(lambda: self._connection.execute(statement).fetchall())
        return found
