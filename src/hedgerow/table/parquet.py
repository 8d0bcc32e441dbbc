"""Read Parquet files; sizes and types are checked from the footer before any page is read."""

from __future__ import annotations

from os import PathLike

import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.table.checks import MAX_CELLS, attempt, check_names, check_shape, check_size, existing_file
from hedgerow.table.flat import check_type, flatten
from hedgerow.table.table import Table


def read_parquet(path: str | PathLike[str], *, max_cells: int = MAX_CELLS) -> Table:
    """Read a Parquet file of flat columns. A file that announces more than `max_cells` cells is refused unread."""
    from pyarrow import parquet

    source = existing_file(path)
    damaged = f"'{source.name}' is not a whole Parquet file; it may be cut short or damaged."
    file = attempt(lambda: parquet.ParquetFile(source), damaged)
    with file:
        _check(file.schema_arrow, file.metadata.num_rows, max_cells)
        # Texts stay dictionaries while pages are decoded: a long text that repeats is held once, and the size that
        # it takes when written out is known before it is.
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        arrow = attempt(lambda: parquet.ParquetFile(source, read_dictionary=texts).read(), damaged)
    if arrow.num_rows != file.metadata.num_rows:
        raise InputError(damaged)
    return flatten(arrow, "file")


def _check(schema: pa.Schema, rows: int, max_cells: int) -> None:
    check_names(schema.names)
    check_shape(rows, len(schema))
    check_size(rows, len(schema), max_cells=max_cells)
    for field in schema:
        check_type(field.type, field.name)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())
