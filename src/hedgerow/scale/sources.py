"""Where the rows of an out-of-core publication come from, read in passes: Parquet, delimited files, databases, frames.

Every column is read as the engine's own values; what they mean is decided on the distinct ones (`coding`), and so are
options of reading: types, missing codes, decimal signs and encodings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.cores import cores
from hedgerow.errors import InputError
from hedgerow.scale.delimited import CsvSource, delimited_files
from hedgerow.scale.duck_source import open_duckdb
from hedgerow.scale.engine import Distinct
from hedgerow.scale.passes import PassSource
from hedgerow.scale.server import open_server
from hedgerow.table.options import ReadOptions, read_options, require_columns, without_codes
from hedgerow.table.read import OPTIONS, require_known
from hedgerow.table.sources import POSTGRES
from hedgerow.table.typed import as_declared

__all__ = ["PassSource", "open_source"]


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
