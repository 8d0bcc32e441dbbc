"""Tables that DuckDB reads in passes: Parquet files and folders, tables of its own, frames.

DuckDB keeps to its share of memory, and spills into the folder that it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import InputError
from hedgerow.scale.engine import Distinct
from hedgerow.scale.passes import quote_name, quote_text, run_step
from hedgerow.table.checks import attempt, check_names, existing_file
from hedgerow.table.sources import open_folder

__all__ = ["DuckSource", "relation_of"]

_SAMPLE = 1 << 18


def relation_of(connection: Any, source: object) -> str:
    """The source as DuckDB calls it in a FROM clause."""
    text = str(source)
    if isinstance(source, str) and text.startswith("duckdb:"):
        file, sign, name = text.removeprefix("duckdb:").rpartition("#")
        if not sign or not name:
            raise InputError("A database needs the name of a table behind '#': duckdb:file#table.")
        opened = "The DuckDB database cannot be opened; it may be damaged, newer, or in use elsewhere."
        attempt(lambda: connection.execute(f"ATTACH {quote_text(existing_file(file))} AS source (READ_ONLY)"), opened)
        return "source." + ".".join(map(quote_name, name.split(".")))
    if isinstance(source, str | Path):
        path = Path(text)
        # DuckDB would read the values of all files as the types of the first one.
        files = [Path(file) for file in open_folder(path).files] if path.is_dir() else [existing_file(path)]
        hive = path.is_dir() and any("=" in str(file.relative_to(path)) for file in files)
        return f"read_parquet([{', '.join(map(quote_text, files))}], hive_partitioning = {str(hive).lower()})"
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
        reader = run_step(lambda: self._connection.sql(statement).to_arrow_reader(rows))
        while (batch := run_step(lambda: next(reader, None))) is not None:
            table = pa.Table.from_batches([batch])
            yield pa.table([_flat(column) for column in table.columns], names=columns)

    def _column(self, statement: str) -> pa.Array:
        return _flat(self._table(statement).column(0))

    def _number(self, statement: str) -> int:
        return int(self._table(statement).column(0)[0].as_py())

    def _table(self, statement: str) -> pa.Table:
        return run_step(lambda: self._connection.sql(statement).to_arrow_table())


def _flat(column: pa.ChunkedArray) -> pa.Array:
    """One array of plain values: dictionaries of enumerations are written out."""
    decoded = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string_view(decoded.type):
        decoded = pc.cast(decoded, pa.string())
    return decoded.combine_chunks()
