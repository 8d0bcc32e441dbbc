"""Read a table from any source: frames by their class, files by the ending of their name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow.errors import InputError, ParameterError, within_limits
from hedgerow.table.checks import MAX_CELLS, existing_file
from hedgerow.table.options import ReadOptions, read_options, without_codes
from hedgerow.table.table import Table


@within_limits
def read_table(source: object, **options: Any) -> Table:
    """Read a path, a pandas, polars or pyarrow table, a DuckDB relation, or a mapping of names to columns.

    A path is a file, compressed or not (.gz, .zip, .zst), a folder of Parquet files, `duckdb:file#table` or
    `postgresql://...#table`. `options` are those of `ReadOptions`: header, delimiter, decimal, thousands, encoding,
    quote, sheet, missing_codes, types, labels.

    Types afterwards: bool, int64, float64, decimal128, string, date32, timestamp[us]. NaN is missing, -0.0 is 0.0,
    infinite numbers and nested columns are refused, instants with a time zone are given in UTC, indexes are dropped.

    >>> read_table({"age": [30, 31], "pay": [10, 20]})
    Table(2 rows; age: int64, pay: int64)
    """
    if isinstance(source, str | PathLike):
        return read_file(source, **options)
    if options:
        raise ParameterError(f"'{next(iter(options))}' is an option of reading files; this table was read already.")
    if isinstance(source, Table):
        return source
    from hedgerow.table.frames import read_frame

    return read_frame(source)


def borrow_table(source: object) -> Table:
    """Read a table without copying columns that are already in the right form; it must not be kept after the call."""
    if isinstance(source, Table):
        return source
    from hedgerow.table.frames import read_frame

    is_path = isinstance(source, str | PathLike)
    return replace(read_table(source) if is_path else read_frame(source, borrow=True), is_borrowed=True)


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


OPTIONS = {
    "csv": ("a delimited text", {"header", "delimiter", "decimal", "thousands", "encoding", "quote"}),
    "excel": ("a workbook", {"sheet", "missing_codes", "types"}),
    "statistics": ("a file of a statistics package", {"labels", "missing_codes", "types"}),
    "parquet": ("a Parquet file", set[str]()),
}
"""Which options the reader of each kind of file takes."""
_EVERYWHERE = {"missing_codes", "types"}
"""Options of every kind of file: where its reader does not take them, they are applied afterwards."""


def read_file(path: str | PathLike[str], **options: Any) -> Table:
    """Read a file by its ending, a folder of Parquet files or a table of a database."""
    from hedgerow.table.sources import PACKED, is_database, read_database, read_folder, unpack

    limit: dict[str, Any] = {name: options.pop(name) for name in ("max_cells", "header_row") if name in options}
    asked = read_options(options)
    if is_database(str(path)):
        require_known("a table of a database", set(), asked)
        return _finish(read_database(str(path), max_cells=limit.get("max_cells", MAX_CELLS)), asked)
    if os.path.isdir(path):
        require_known("a folder of Parquet files", set(), asked)
        return _finish(read_folder(Path(path), **limit), asked)
    if Path(path).suffix.lower() in PACKED:
        with unpack(Path(path)) as inside:
            return _read_one(inside, asked, limit)
    return _read_one(existing_file(path), asked, limit)


def _read_one(file: Path, asked: ReadOptions, limit: dict[str, Any]) -> Table:
    entry = READERS.get(file.suffix.lower())
    if entry is None:
        raise InputError(f"'{file.name}' has an unknown ending; readable are {', '.join(READERS)}, also compressed.")
    module, function = entry.split(".")
    what, own = OPTIONS[module]
    require_known(what, own, asked)
    reader: Callable[..., Table] = getattr(import_module(f"hedgerow.table.{module}"), function)
    given = asked.given_options()
    if module == "csv":
        return reader(file, **given, **limit)
    return _finish(reader(file, **{name: given[name] for name in own & given.keys()}, **limit), asked)


def require_known(what: str, own: set[str], asked: ReadOptions) -> None:
    """Refuse an option that this kind of source does not have: it would be ignored."""
    if strange := [name for name in asked.given_options() if name not in own | _EVERYWHERE]:
        owner = next((kind for kind, names in OPTIONS.values() if strange[0] in names), "another kind of file")
        raise ParameterError(f"'{strange[0]}' is an option of {owner}; this is {what}, so leave it out.")


def _finish(table: Table, asked: ReadOptions) -> Table:
    """The table with missing codes and declared types."""
    arrow = without_codes(table.arrow, asked.missing_codes) if asked.missing_codes else table.arrow
    if asked.types:
        from hedgerow.table.typed import as_declared

        arrow = as_declared(arrow, asked.types)
    if arrow is table.arrow:
        return table
    from hedgerow.table.flat import flatten

    return replace(flatten(arrow, table.kind), reading=table.reading, untrimmed=table.untrimmed)
