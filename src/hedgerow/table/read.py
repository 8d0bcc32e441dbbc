"""One door for every source of rows: frames by their kind, files by the ending of their name.

A compressed file is unpacked into a folder of its own that is removed again, up to a limit. Databases (DuckDB,
PostgreSQL) are opened for reading alone. Addresses hold passwords, so none is repeated in a message.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.checks import MAX_CELLS, attempt, check_size, existing_file
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import ReadOptions, as_declared, read_options, without_codes

__all__ = ["PACKED", "READERS", "is_database", "read_database", "read_file", "read_folder", "read_table", "unpacked"]


def read_table(source: object, **options: Any) -> Table:
    """Read a path, a pandas, polars or pyarrow table, a DuckDB relation, or a mapping of names to columns.

    A path is a file, compressed or not (.gz, .zip, .zst), a folder of Parquet files, `duckdb:file#table` or
    `postgresql://...#table`. `options` are those of `ReadOptions`: header, delimiter, decimal, thousands, encoding,
    quote, sheet, missing_codes, types, labels.

    Types afterwards: bool, int64, float64, decimal128, string, date32, timestamp[us]. NaN is missing, -0.0 is 0.0,
    infinite numbers and nested columns are refused, instants with a time zone are given in UTC, indexes are dropped.
    """
    if isinstance(source, str | PathLike):
        return read_file(source, **options)
    if options:
        raise ParameterError(f"'{next(iter(options))}' is an option of reading files; this table was read already.")
    if isinstance(source, Table):
        return source
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


_KINDS = {
    "csv": ("a delimited text", {"header", "delimiter", "decimal", "thousands", "encoding", "quote"}),
    "excel": ("a workbook", {"sheet"}),
    "statistics": ("a file of a statistics package", {"labels"}),
    "parquet": ("a Parquet file", set[str]()),
}
"""Which options belong to which kind of file; missing codes and types belong to all."""
_EVERYWHERE = {"missing_codes", "types"}


def read_file(path: str | PathLike[str], **options: Any) -> Table:
    """Read a file by its ending, a folder of Parquet files or a table of a database."""
    from hedgerow.table.read import PACKED, is_database, read_database, read_folder, unpacked

    limit: dict[str, Any] = {name: options.pop(name) for name in ("max_cells", "header_row") if name in options}
    asked = read_options(options)
    if is_database(str(path)):
        _require_known("a table of a database", set(), asked)
        return _finished(read_database(str(path)), asked)
    if Path(path).is_dir():
        _require_known("a folder of Parquet files", set(), asked)
        return _finished(read_folder(Path(path), **limit), asked)
    if Path(path).suffix.lower() in PACKED:
        with unpacked(Path(path)) as inside:
            return _read_one(inside, asked, limit)
    return _read_one(existing_file(path), asked, limit)


def _read_one(file: Path, asked: ReadOptions, limit: dict[str, Any]) -> Table:
    entry = READERS.get(file.suffix.lower())
    if entry is None:
        raise InputError(f"'{file.name}' has an unknown ending; readable are {', '.join(READERS)}.")
    module, function = entry.split(".")
    what, own = _KINDS[module]
    _require_known(what, own, asked)
    reader: Callable[..., Table] = getattr(import_module(f"hedgerow.table.{module}"), function)
    given = asked.given()
    if module == "csv":
        return reader(file, **given, **limit)
    own_given = {
        name: value for name, value in given.items() if name in own | {"missing_codes"} and module != "parquet"
    }
    return _finished(reader(file, **own_given, **limit), asked)


def _require_known(what: str, own: set[str], asked: ReadOptions) -> None:
    """Refuse an option that this kind of source does not have: it would be ignored."""
    if strange := [name for name in asked.given() if name not in own | _EVERYWHERE]:
        owner = next((kind for kind, names in _KINDS.values() if strange[0] in names), "another kind of file")
        raise ParameterError(f"'{strange[0]}' is an option of {owner}; this is {what}, so leave it out.")


def _finished(table: Table, asked: ReadOptions) -> Table:
    """The table with missing codes and declared types."""
    arrow = without_codes(table.arrow, asked.missing_codes) if asked.missing_codes else table.arrow
    if asked.types:
        arrow = as_declared(arrow, asked.types)
    if arrow is table.arrow:
        return table
    from hedgerow.table.flat import flatten

    return replace(flatten(arrow, table.kind), reading=table.reading, untrimmed=table.untrimmed)


PACKED = (".gz", ".zip", ".zst")
_MOST_UNPACKED = 16 * 2**30
_CHUNK = 1 << 22
_DUCKDB = "duckdb:"
_POSTGRES = ("postgresql://", "postgres://")


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The file inside a compressed one, for as long as the block lasts."""
    file = existing_file(path)
    damaged = f"'{file.name}' cannot be unpacked; it may be cut short, damaged or locked by a password."
    with TemporaryDirectory(prefix="hedgerow-") as folder:
        if file.suffix.lower() == ".zip":
            inside = attempt(lambda: _from_zip(file, Path(folder)), damaged)
        else:
            inside = Path(folder) / (Path(file.stem).name or "table")
            codec = "gzip" if file.suffix.lower() == ".gz" else "zstd"
            attempt(lambda: _copy(pa.CompressedInputStream(pa.OSFile(str(file)), codec), inside), damaged)
        yield inside


def _from_zip(file: Path, folder: Path) -> Path:
    with zipfile.ZipFile(file) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        if len(names) != 1:
            raise InputError(
                f"'{file.name}' holds {len(names)} files; a table is one file, so unpack it and name that."
            )
        inside = folder / Path(names[0]).name
        with archive.open(names[0]) as stream:
            _copy(stream, inside)
    return inside


def _copy(stream: Any | IO[bytes], target: Path) -> None:
    size = 0
    with stream, target.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > _MOST_UNPACKED:
                raise InputError(f"The file unpacks to more than {_MOST_UNPACKED:,} bytes; unpack it yourself.")
            out.write(chunk)


def read_folder(folder: Path, *, max_cells: int = MAX_CELLS) -> Table:
    """Read all Parquet files of a folder, which have to have the same columns; `name=value` folders are columns."""
    from pyarrow import dataset

    files = sorted(str(file) for file in folder.rglob("*.parquet"))
    if not files:
        raise InputError(
            f"'{folder.name or folder}' cannot be read: it is a folder without Parquet files; name a file."
        )
    damaged = f"A Parquet file in '{folder.name}' is cut short or damaged."
    found = attempt(
        lambda: dataset.dataset(files, format="parquet", partitioning="hive", partition_base_dir=str(folder)), damaged
    )
    schemas = [fragment.physical_schema.remove_metadata() for fragment in found.get_fragments()]
    if any(schema != schemas[0] for schema in schemas):
        raise InputError(f"The Parquet files in '{folder.name}' differ in columns or types; a table needs one kind.")
    check_size(attempt(found.count_rows, damaged), len(found.schema), max_cells=max_cells)
    return flatten(attempt(found.to_table, damaged), "file")


def is_database(source: str) -> bool:
    """Tell whether a source names a table of a database."""
    return source.startswith((_DUCKDB, *_POSTGRES))


def read_database(source: str) -> Table:
    """Read `duckdb:file#table` or `postgresql://...#table`; a table may be `schema.table`."""
    address, sign, name = source.rpartition("#")
    if not sign or not name:
        raise InputError("A database needs the name of a table behind '#': duckdb:file#table, postgresql://...#table.")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
    if address.startswith(_DUCKDB):
        return _read_duckdb(existing_file(address.removeprefix(_DUCKDB)), quoted)
    return _read_postgres(address, quoted)


def _read_duckdb(file: Path, name: str) -> Table:
    import duckdb

    opened = f"'{file.name}' cannot be opened as a DuckDB database; it may be damaged, newer, or in use elsewhere."
    missing = "The DuckDB database has no such table, or it cannot be read."
    with attempt(lambda: duckdb.connect(str(file), read_only=True), opened) as connection:
        return flatten(attempt(lambda: connection.sql(f"SELECT * FROM {name}").to_arrow_table(), missing), "file")


def _read_postgres(address: str, name: str) -> Table:
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg: pip install 'hedgerow[pg]'.") from None
    from hedgerow.table.typed import column_of

    refused = "The PostgreSQL server cannot be reached under that address, or refuses the log-in."
    missing = "The PostgreSQL database has no such table, or the account may not read it."
    with attempt(lambda: psycopg.connect(address), refused) as connection:
        attempt(lambda: connection.execute("SET TRANSACTION READ ONLY"), missing)
        cursor = attempt(lambda: connection.execute(f"SELECT * FROM {name}".encode()), missing)
        rows, names = attempt(cursor.fetchall, missing), [column.name for column in cursor.description or ()]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return flatten(pa.table([column_of(c, n) for n, c in zip(names, columns, strict=True)], names=names), "file")
