"""One door for every source of rows: frames by their kind, files by the ending of their name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

from hedgerow.errors import InputError
from hedgerow.table.checks import existing_file
from hedgerow.table.table import Table

__all__ = ["READERS", "read_file", "read_table"]


def read_table(source: object) -> Table:
    """Read a path, a pandas, polars or pyarrow table, a DuckDB relation, or a mapping of names to columns.

    Types afterwards: bool, int64, float64, decimal128, string, date32, timestamp[us]. NaN is missing, -0.0 is 0.0,
    infinite numbers and nested columns are refused, instants with a time zone are given in UTC, indexes are dropped.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | PathLike):
        return read_file(source)
    from hedgerow.table.frames import read_frame

    return read_frame(source)


READERS = {
    ".csv": "csv.read_csv",
    ".tsv": "csv.read_csv",
    ".txt": "csv.read_csv",
    ".data": "csv.read_csv",
    ".parquet": "parquet.read_parquet",
    ".pq": "parquet.read_parquet",
    ".xlsx": "excel.read_excel",
    ".xlsm": "excel.read_excel",
    ".xlsb": "excel.read_excel",
    ".xls": "excel.read_excel",
    ".ods": "excel.read_excel",
    ".sav": "statistics.read_statistics",
    ".zsav": "statistics.read_statistics",
    ".por": "statistics.read_statistics",
    ".dta": "statistics.read_statistics",
    ".sas7bdat": "statistics.read_statistics",
    ".xpt": "statistics.read_statistics",
}
"""Which function of this package reads which ending; modules are loaded when first needed."""


def read_file(path: str | PathLike[str], **options: Any) -> Table:
    """Read a file by its ending; options go to the reader of that kind of file."""
    file = existing_file(path)
    entry = READERS.get(file.suffix.lower())
    if entry is None:
        raise InputError(f"'{file.name}' has an unknown ending; readable are {', '.join(READERS)}.")
    module, function = entry.split(".")
    reader: Callable[..., Table] = getattr(import_module(f"hedgerow.table.{module}"), function)
    return reader(file, **options)
