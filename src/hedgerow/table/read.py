"""One door for every source of rows."""

from __future__ import annotations

from os import PathLike

from hedgerow.table.table import Table

__all__ = ["read_table"]


def read_table(source: object) -> Table:
    """Read a path, a pandas, polars or pyarrow table, a DuckDB relation, or a mapping of names to columns.

    Types afterwards: bool, int64, float64, decimal128, string, date32, timestamp[us]. NaN is missing, -0.0 is 0.0,
    infinite numbers and nested columns are refused, instants with a time zone are given in UTC, indexes are dropped.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | PathLike):
        from hedgerow.table.files import read_file

        return read_file(source)
    from hedgerow.table.frames import read_frame

    return read_frame(source)
