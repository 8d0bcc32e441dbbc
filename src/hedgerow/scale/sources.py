"""Where the rows of an out-of-core publication come from, read in passes: Parquet, delimited files, DuckDB, frames.

Every column is read as the engine's own values; what they mean is decided on the distinct ones (`coding`). DuckDB keeps
to its share of memory and spills into the given folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.cores import cores
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory
from hedgerow.scale.engine import Distinct
from hedgerow.table.checks import BLANKS, attempt, check_names, existing_file
from hedgerow.table.csv import Dialect, find_dialect, to_utf8
from hedgerow.table.typed import MISSING, type_texts

__all__ = ["PassSource", "open_source"]

T = TypeVar("T")

_SAMPLE = 1 << 18


class PassSource(Protocol):
    """A table that can be counted and read again and again."""

    names: tuple[str, ...]

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        ...

    def typed(self, column: str, values: pa.Array) -> pa.Array:
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
def open_source(source: object, folder: Path, *, memory: int) -> Iterator[PassSource]:
    """Open what `publish` takes, within so many bytes of memory; spilled values go to `folder`."""
    import duckdb

    settings: dict[str, Any] = {
        "memory_limit": f"{max(memory, 1 << 27) // 2**20}MiB",
        "temp_directory": str(folder / "duckdb"),
        "threads": cores(),
        # A seed gives the same release each time only if rows come in the same order.
        "preserve_insertion_order": True,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        if (files := _delimited(source)) is not None:
            yield CsvSource(connection, files)
        else:
            yield DuckSource(connection, _relation(connection, source))


def _relation(connection: Any, source: object) -> str:
    """The source as DuckDB calls it in a FROM clause."""
    text = str(source)
    if isinstance(source, str) and text.startswith("duckdb:"):
        file, sign, name = text.removeprefix("duckdb:").rpartition("#")
        if not sign or not name:
            raise InputError("A database needs the name of a table behind '#': duckdb:file#table.")
        opened = "The DuckDB database cannot be opened; it may be damaged, newer, or in use elsewhere."
        attempt(lambda: connection.execute(f"ATTACH {_text(existing_file(file))} AS source (READ_ONLY)"), opened)
        return "source." + ".".join(map(quoted, name.split(".")))
    if isinstance(source, str | Path):
        path = Path(text)
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [existing_file(path)]
        if not files:
            raise InputError(f"'{path.name}' cannot be read: it is a folder without Parquet files; name a file.")
        hive = path.is_dir() and any("=" in str(file.relative_to(path)) for file in files)
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
        return self._column(f"SELECT {quoted(column)} FROM {self._relation}{self._where} LIMIT 1")

    def typed(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each: the values themselves."""
        return values

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return int(self._number(f"SELECT count(*) FROM {self._relation}{self._where}"))

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        name, rows = quoted(column), f"FROM {self._relation}{self._where}"
        sample = self._number(f"SELECT count(DISTINCT v) FROM (SELECT {name} AS v {rows} LIMIT {_SAMPLE})")
        if sample > _SAMPLE // 4 and self._number(f"SELECT approx_count_distinct({name}) {rows}") > 1.1 * most:
            return None
        counted = self._table(f"SELECT {name} AS v, count(*) AS n {rows} GROUP BY ALL")
        if counted.num_rows > most:
            return None
        return _flat(counted.column("v")), counted.column("n").to_numpy().astype(np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        named = ", ".join(f"{quoted(name)} AS v{place}" for place, name in enumerate(columns))
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
            name = quoted(column)
            terms += [f"{name} IS NOT NULL"] if listed.null_count else []
            if len(there := listed.drop_null()):
                self._connection.register(f"left_out_{place}", pa.table({"v": there}))
                terms.append(f"({name} IS NULL OR {name} NOT IN (SELECT v FROM left_out_{place}))")
        self._where = f" WHERE {' AND '.join(terms)}" if terms else ""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many."""
        named = ", ".join(map(quoted, columns))
        statement = f"SELECT {named} FROM {self._relation}{self._where}"
        reader = _guarded(lambda: self._connection.sql(statement).to_arrow_reader(rows))
        while (batch := _guarded(lambda: next(reader, None))) is not None:
            table = pa.Table.from_batches([batch])
            yield pa.table([_flat(column) for column in table.columns], names=columns)

    def _column(self, statement: str) -> pa.Array:
        return _flat(self._table(statement).column(0))

    def _number(self, statement: str) -> int:
        return int(self._table(statement).column(0)[0].as_py())

    def _table(self, statement: str) -> pa.Table:
        return _guarded(lambda: self._connection.sql(statement).to_arrow_table())


def _guarded(step: Callable[[], T]) -> T:
    """Run a step of DuckDB; what it raises becomes a sentence: its messages may quote a cell, and are not passed on."""
    try:
        return step()
    except (HedgerowError, MemoryError):
        raise
    except Exception as error:
        found = _sentence(type(error).__name__, str(error))
    raise found


def _sentence(kind: str, text: str) -> HedgerowError:
    if "max_temp_directory_size" in text or "No space left" in text:
        return DiskFull("The disk is too full for the temporary files; free some, or publish to another disk.")
    if kind == "OutOfMemoryException":
        return OutOfMemory("The memory limit is too small to count this table; allow more (--memory).")
    return InputError("The table cannot be read; it may be damaged, or it changed while it was read.")


class CsvSource(DuckSource):
    """Delimited text files of one header: cells are texts, and what a column's texts mean is decided on all of them."""

    def __init__(self, connection: Any, files: Sequence[Path]) -> None:
        dialects = [_dialect(file) for file in files]
        if any(one != dialects[0] for one in dialects):
            raise InputError("The files differ in their columns or delimiters; a table needs one kind.")
        first = dialects[0]
        columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in first.names)
        super().__init__(
            connection,
            f"read_csv([{', '.join(map(_text, files))}], auto_detect = false, header = true, null_padding = false, "
            f"delim = {_literal(first.delimiter)}, quote = {_literal(first.quote)}, escape = {_literal(first.quote)}, "
            f"columns = {{{columns}}})",
        )

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct texts of a column: a type is decided on all of them, and more than `most` are refused."""
        found = super().distinct(column, most)
        if found is None:
            raise InputError(
                f"'{column}' has more than {most:,} different texts, too many to tell what they are; convert the "
                "file to Parquet."
            )
        return found

    def typed(self, column: str, values: pa.Array) -> pa.Array:
        """The type that a column of text has in memory."""
        trimmed = pc.ascii_trim(values, characters=BLANKS)
        texts = pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)
        typed = type_texts(texts)
        return values if typed.type == pa.string() and texts.null_count == values.null_count else typed


def _delimited(source: object) -> list[Path] | None:
    """The delimited files that a path names: one, or those of a folder that holds no Parquet files."""
    if not isinstance(source, str | Path) or "#" in str(source):
        return None
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _DELIMITED)
        return files if files and not any(path.rglob("*.parquet")) else None
    return [existing_file(path)] if path.suffix.lower() in _DELIMITED else None


def _dialect(file: Path) -> Dialect:
    """Delimiter, names and quote of a file, from its beginning; where its rows begin depends on the file."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if len(head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1]
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"'{file.name}' is not UTF-8; convert it, or convert it to Parquet.") from None
    return replace(find_dialect(to_utf8(head)), start=0)


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


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
