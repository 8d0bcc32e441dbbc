"""Where the rows of an out-of-core publication come from, read in passes: Parquet, delimited files, databases, frames.

Every column is read as the engine's own values; what they mean is decided on the distinct ones (`coding`), and so are
options of reading: types, missing codes, decimal signs and encodings. DuckDB keeps to its share of memory and spills
into the given folder. PostgreSQL counts on its server; one transaction that sees one state of the table serves all
passes, and rows come in batches through a cursor of the server.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.cores import cores
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, ParameterError, is_interrupt
from hedgerow.scale.engine import Distinct
from hedgerow.table.checks import BLANKS, attempt, check_names, existing_file
from hedgerow.table.csv import Dialect, find_dialect, to_utf8
from hedgerow.table.options import ReadOptions, as_declared, read_options, require_columns, without_codes
from hedgerow.table.read import OPTIONS, require_known
from hedgerow.table.sources import POSTGRES, open_folder
from hedgerow.table.typed import MISSING, column_of, has_decimals, type_declared

__all__ = ["PassSource", "open_source"]

T = TypeVar("T")

_SAMPLE = 1 << 18
_FETCHED = 1 << 16


class PassSource(Protocol):
    """A table that can be counted and read again and again."""

    names: tuple[str, ...]

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        ...

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each."""
        ...

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        ...

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        ...

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        ...

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        ...

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many."""
        ...


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
        with _postgres(source) as opened:
            yield ReadSource(opened, asked)
        return
    settings: dict[str, Any] = {
        "memory_limit": f"{min(max(memory, 1 << 27), 1 << 50) // 2**20}MiB",
        "temp_directory": str(folder / "duckdb"),
        "threads": cores(),
        # A seed gives the same release each time only if rows come in the same order.
        "preserve_insertion_order": True,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        if (files := _delimited_files(source)) is not None:
            require_known("a delimited text", OPTIONS["csv"][1], asked)
            yield CsvSource(connection, files, asked)
            return
        require_known("a table of a database, a frame or Parquet files", set(), asked)
        opened = DuckSource(connection, _relation(connection, source))
        yield ReadSource(opened, asked) if asked.given_options() else opened


def _relation(connection: Any, source: object) -> str:
    """The source as DuckDB calls it in a FROM clause."""
    text = str(source)
    if isinstance(source, str) and text.startswith("duckdb:"):
        file, sign, name = text.removeprefix("duckdb:").rpartition("#")
        if not sign or not name:
            raise InputError("A database needs the name of a table behind '#': duckdb:file#table.")
        opened = "The DuckDB database cannot be opened; it may be damaged, newer, or in use elsewhere."
        attempt(lambda: connection.execute(f"ATTACH {_text(existing_file(file))} AS source (READ_ONLY)"), opened)
        return "source." + ".".join(map(quote_name, name.split(".")))
    if isinstance(source, str | Path):
        path = Path(text)
        # DuckDB would read the values of all files as the types of the first one.
        files = [Path(file) for file in open_folder(path).files] if os.path.isdir(path) else [existing_file(path)]
        hive = os.path.isdir(path) and any("=" in str(file.relative_to(path)) for file in files)
        return f"read_parquet([{', '.join(map(_text, files))}], hive_partitioning = {str(hive).lower()})"
    from hedgerow.table import read_table

    table = read_table(source)
    arrow = table.arrow
    for name, texts in table.untrimmed.items():  # texts as they came in, so that those that become one are counted
        arrow = arrow.set_column(arrow.column_names.index(name), name, texts)
    connection.register("source", arrow)
    return "source"


class DuckSource:
    """A table that DuckDB reads."""

    def __init__(self, connection: Any, relation: str) -> None:
        self._connection, self._relation, self._where = connection, relation, ""
        missing = "The table cannot be read: it is not there, or it is damaged."
        described = attempt(lambda: self._connection.sql(f"SELECT * FROM {self._relation} LIMIT 0"), missing)
        self.names: tuple[str, ...] = tuple(described.columns)
        check_names(self.names)

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        return self._column(f"SELECT {quote_name(column)} FROM {self._relation}{self._where} LIMIT 1")

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each: the values themselves."""
        return values

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return int(self._number(f"SELECT count(*) FROM {self._relation}{self._where}"))

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        name, rows = quote_name(column), f"FROM {self._relation}{self._where}"
        sample = self._number(f"SELECT count(DISTINCT v) FROM (SELECT {name} AS v {rows} LIMIT {_SAMPLE})")
        if sample > _SAMPLE // 4 and self._number(f"SELECT approx_count_distinct({name}) {rows}") > 1.1 * most:
            return None
        counted = self._table(f"SELECT {name} AS v, count(*) AS n {rows} GROUP BY ALL")
        if counted.num_rows > most:
            return None
        return _flat(counted.column("v")), counted.column("n").to_numpy().astype(np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        named = ", ".join(f"{quote_name(name)} AS v{place}" for place, name in enumerate(columns))
        grouped = f"SELECT {named}, count(*) AS n FROM {self._relation}{self._where} GROUP BY ALL"
        if self._number(f"SELECT count(*) FROM ({grouped} LIMIT {most + 1})") > most:
            return None
        counted = self._table(grouped)
        values = pa.table([_flat(column) for column in counted.columns[:-1]], names=list(columns))
        return values, counted.column("n").to_numpy().astype(np.int64)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        terms = []
        for place, (column, listed) in enumerate(values.items()):
            name = quote_name(column)
            terms += [f"{name} IS NOT NULL"] if listed.null_count else []
            if len(there := listed.drop_null()):
                self._connection.register(f"left_out_{place}", pa.table({"v": there}))
                terms.append(f"({name} IS NULL OR {name} NOT IN (SELECT v FROM left_out_{place}))")
        self._where = f" WHERE {' AND '.join(terms)}" if terms else ""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many."""
        named = ", ".join(map(quote_name, columns))
        statement = f"SELECT {named} FROM {self._relation}{self._where}"
        reader = _run_step(lambda: self._connection.sql(statement).to_arrow_reader(rows))
        while (batch := _run_step(lambda: next(reader, None))) is not None:
            table = pa.Table.from_batches([batch])
            yield pa.table([_flat(column) for column in table.columns], names=columns)

    def _column(self, statement: str) -> pa.Array:
        return _flat(self._table(statement).column(0))

    def _number(self, statement: str) -> int:
        return int(self._table(statement).column(0)[0].as_py())

    def _table(self, statement: str) -> pa.Table:
        return _run_step(lambda: self._connection.sql(statement).to_arrow_table())


def _run_step(step: Callable[[], T]) -> T:
    """Run a step of DuckDB; what it raises becomes a sentence: its messages may quote a cell, and are not passed on."""
    try:
        return step()
    except (HedgerowError, MemoryError):
        raise
    except Exception as error:
        was_stopped = is_interrupt(error)
        found = _sentence(type(error).__name__, str(error))
    if was_stopped:
        raise KeyboardInterrupt
    raise found


def _sentence(kind: str, text: str) -> HedgerowError:
    if "max_temp_directory_size" in text or "No space left" in text:
        return DiskFull("The disk is too full for the temporary files; free some, or publish to another disk.")
    if "not latin-1 encoded" in text:
        return InputError(
            "The file holds signs that its encoding has between 128 and 159, such as the euro sign of cp1252, which "
            "are read in memory alone; convert it to UTF-8 or Parquet."
        )
    if kind == "OutOfMemoryException":
        return OutOfMemory("The memory limit is too small to count this table; allow more (--memory).")
    return InputError("The table cannot be read; it may be damaged, or it changed while it was read.")


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


class CsvSource(DuckSource):
    """Delimited text files of one header: cells are texts, and what a column's texts mean is decided on all of them.

    A file in an encoding of single bytes is read as Latin-1, and its distinct texts are decoded.
    """

    def __init__(self, connection: Any, files: Sequence[Path], asked: ReadOptions) -> None:
        self._asked, self._encoding = asked, _single_bytes(asked.encoding)
        dialects = [_dialect(file, asked) for file in files]
        if any(one != dialects[0] for one in dialects):
            raise InputError("The files differ in their columns or delimiters; a table needs one kind.")
        first = dialects[0]
        require_columns(first.names, asked.types)
        columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in first.names)
        quote = _literal(first.quote)
        super().__init__(
            connection,
            f"read_csv([{', '.join(map(_text, files))}], auto_detect = false, "
            f"header = {str(first.has_header).lower()}, null_padding = false, "
            f"encoding = '{'latin-1' if self._encoding else 'utf-8'}', "
            f"delim = {_literal(first.delimiter)}, quote = {quote}, escape = {quote}, columns = {{{columns}}})",
        )
        self._signs = {"."} if first.delimiter == "," else set[str]()
        """Signs that stand before decimals in the columns that were counted."""

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct texts of a column: a type is decided on all of them, and more than `most` are refused."""
        found = super().distinct(column, most)
        if found is None:
            raise InputError(
                f"'{column}' has more than {most:,} different texts, too many to tell what they are; convert the "
                "file to Parquet."
            )
        self._signs |= {sign for sign in ",." if has_decimals(_trim(found[0]), sign)}
        return found

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """The type that a column of text has in memory."""
        if self._encoding:
            values = pa.array([text if text is None else _decode(text, self._encoding) for text in values.to_pylist()])
        texts = _trim(values)
        if self._asked.missing_codes:
            texts = pc.if_else(pc.is_in(texts, pa.array(list(self._asked.missing_codes))), None, texts)
        sign = "," if self._signs == {","} else "."
        typed = type_declared(texts, column, replace(self._asked, decimal=self._asked.decimal or sign))
        return values if typed.type == pa.string() and texts.null_count == values.null_count else typed


def _trim(values: pa.Array) -> pa.Array:
    trimmed = pc.ascii_trim(values.cast(pa.string()), characters=BLANKS)
    return pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)


def _single_bytes(encoding: str | None) -> str:
    """The name of a declared encoding in which every byte is a sign and ASCII is itself; empty for UTF-8."""
    if encoding is None:
        return ""
    try:
        name = codecs.lookup(encoding).name
        ascii_signs = bytes(range(128))
        is_single = (
            ascii_signs.decode(name) == ascii_signs.decode("ascii")
            and len(bytes(range(192, 256)).decode(name, "replace")) == 64
        )
    except (LookupError, TypeError, ValueError):
        raise ParameterError(f"'encoding' must name a text encoding such as 'utf-8'; got {encoding!r}.") from None
    if name in ("utf-8", "ascii", "utf-8-sig"):
        return ""
    if not is_single:
        raise ParameterError(f"Files in {name} are read in memory alone; convert them to UTF-8 or Parquet.")
    return name


def _decode(text: str, encoding: str) -> str:
    """A text that was read as Latin-1."""
    return attempt(
        lambda: text.encode("latin-1").decode(encoding),
        f"The file is not valid {encoding}; leave 'encoding' out or name the right one.",
    )


def _delimited_files(source: object) -> list[Path] | None:
    """The delimited files that a path names: one, or those of a folder that holds no Parquet files."""
    if not isinstance(source, str | Path) or "#" in str(source):
        return None
    path = Path(source)
    if os.path.isdir(path):
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _DELIMITED)
        return files if files and not any(path.rglob("*.parquet")) else None
    return [existing_file(path)] if path.suffix.lower() in _DELIMITED else None


def _dialect(file: Path, asked: ReadOptions) -> Dialect:
    """Delimiter, names and quote of a file, from its beginning; where its rows begin depends on the file."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if len(head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1]
    if not asked.encoding:
        try:
            head.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"'{file.name}' is not UTF-8; declare its encoding, or convert it to Parquet.") from None
    quote = "" if asked.quote == "none" else asked.quote or '"'
    found = find_dialect(to_utf8(head, asked.encoding), asked.delimiter, header=asked.header is not False, quote=quote)
    return replace(found, start=0)


@contextmanager
def _postgres(source: str) -> Iterator[PassSource]:
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

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
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
            _run_step(lambda: cursor.execute(statement))
            while found := _run_step(lambda: cursor.fetchmany(min(rows, _FETCHED))):
                yield _run_step(partial(self._batch, columns, found))

    def _batch(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
        values = zip(*rows, strict=True) if rows else [()] * len(columns)
        return pa.table(
            [column_of(own, name).cast(self._types[name]) for name, own in zip(columns, values, strict=True)],
            names=list(columns),
        )

    def _rows(self, what: str, how: str = "") -> list[tuple[Any, ...]]:
        statement = (what + self._relation).encode() + self._where + how.encode()
        found: list[tuple[Any, ...]] = _run_step(lambda: self._connection.execute(statement).fetchall())
        return found


_DELIMITED = (".csv", ".tsv")
_HEAD = 1 << 20


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _flat(column: pa.ChunkedArray) -> pa.Array:
    """One array of plain values: dictionaries of enumerations are written out."""
    decoded = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string_view(decoded.type):
        decoded = pc.cast(decoded, pa.string())
    return decoded.combine_chunks()


def quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
