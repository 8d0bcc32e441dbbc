"""Where the rows of an out-of-core publication come from: Parquet files, DuckDB tables, frames, each read in passes.

Every column is read as the engine's own values; what they mean is decided on the distinct ones (`coding`). DuckDB keeps
to its share of memory and spills into the given folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.cores import cores
from hedgerow.errors import InputError
from hedgerow.scale.engine import Distinct
from hedgerow.table.checks import attempt, check_names, existing_file

__all__ = ["PassSource", "open_source"]

_SAMPLE = 1 << 18


class PassSource(Protocol):
    """A table that can be counted and read again and again."""

    names: tuple[str, ...]

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        ...

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        ...

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
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
        "preserve_insertion_order": False,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
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

    connection.register("source", read_table(source).arrow)
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

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return int(self._query(f"SELECT count(*) FROM {self._relation}{self._where}").fetchall()[0][0])

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        name, rows = quoted(column), f"FROM {self._relation}{self._where}"
        sample = self._query(f"SELECT count(DISTINCT v) FROM (SELECT {name} AS v {rows} LIMIT {_SAMPLE})")
        if sample.fetchall()[0][0] > _SAMPLE // 4:
            about = self._query(f"SELECT approx_count_distinct({name}) {rows}").fetchall()[0][0]
            if about > 1.1 * most:
                return None
        counted = self._query(f"SELECT {name} AS v, count(*) AS n {rows} GROUP BY ALL").to_arrow_table()
        if counted.num_rows > most:
            return None
        return _flat(counted.column("v")), counted.column("n").to_numpy().astype(np.int64)

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
        for batch in self._query(f"SELECT {named} FROM {self._relation}{self._where}").to_arrow_reader(rows):
            table = pa.Table.from_batches([batch])
            yield pa.table([_flat(column) for column in table.columns], names=columns)

    def _column(self, statement: str) -> pa.Array:
        return _flat(self._query(statement).to_arrow_table().column(0))

    def _query(self, statement: str) -> Any:
        return self._connection.sql(statement)


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
