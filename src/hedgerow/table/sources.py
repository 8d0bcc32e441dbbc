"""Sources that are not one plain file: compressed files, folders of Parquet, tables of DuckDB and PostgreSQL.

A compressed file is unpacked into a temporary folder, up to a size limit. Databases are opened read-only. Addresses may
contain passwords, so messages never repeat them.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import unquote

import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.table.checks import (
    MAX_CELLS,
    attempt,
    check_names,
    check_size,
    existing_file,
    files_below,
    most_unpacked,
    shown_name,
    stoppable,
)
from hedgerow.table.flat import flatten
from hedgerow.table.frames import arrow_of
from hedgerow.table.table import Table
from hedgerow.table.typed import column_of, type_texts

PACKED = (".gz", ".zip", ".zst")
_MOST_UNPACKED = 16 * 2**30
_CHUNK = 1 << 22
_DUCKDB = "duckdb:"
POSTGRES = ("postgresql://", "postgres://")


@contextmanager
def unpack(path: Path) -> Iterator[Path]:
    """The file inside a compressed one, for as long as the block lasts."""
    file = existing_file(path)
    damaged = f"'{file.name}' cannot be unpacked; it may be cut short, damaged or locked by a password."
    most = most_unpacked(file, _MOST_UNPACKED)
    with TemporaryDirectory(prefix="hedgerow-") as folder:
        if file.suffix.lower() == ".zip":
            inside = attempt(lambda: _from_zip(file, Path(folder), most), damaged)
        else:
            inside = Path(folder) / (Path(file.stem).name or "table")
            codec = "gzip" if file.suffix.lower() == ".gz" else "zstd"
            attempt(lambda: _copy(pa.CompressedInputStream(pa.OSFile(str(file)), codec), inside, most), damaged)
        yield inside


def _from_zip(file: Path, folder: Path, most: int) -> Path:
    with zipfile.ZipFile(file) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        if len(names) != 1:
            raise InputError(
                f"'{file.name}' holds {len(names)} files; a table is one file, so unpack it and name that."
            )
        inside = folder / Path(names[0]).name
        with archive.open(names[0]) as stream:
            _copy(stream, inside, most)
    return inside


def _copy(stream: Any | IO[bytes], target: Path, most: int) -> None:
    size = 0
    with stream, target.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise InputError(f"The file unpacks to more than {most:,} bytes; unpack it yourself.")
            out.write(chunk)


def read_folder(folder: Path, *, max_cells: int = MAX_CELLS) -> Table:
    """Read all Parquet files of a folder, which have to have the same columns; `name=value` folders are columns."""
    found = open_parquet(folder)
    damaged = f"A Parquet file in '{shown_name(folder)}' is cut short or damaged."
    check_size(attempt(found.count_rows, damaged), len(found.schema), max_cells=max_cells)
    return flatten(attempt(found.to_table, damaged), "file")


def open_parquet(path: Path) -> Any:
    """A Parquet file, or those of a folder, as one table that is not read yet; refused where the files differ."""
    from pyarrow import dataset, parquet

    is_folder, shown = os.path.isdir(path), shown_name(path)
    folder = path if is_folder else path.parent
    files = [str(file) for file in (files_below(path, (".parquet",)) if is_folder else [existing_file(path)])]
    if not files:
        raise InputError(f"'{shown}' cannot be read: it is a folder without Parquet files; name a file.")
    damaged = (
        f"A Parquet file in '{shown}' is cut short or damaged."
        if is_folder
        else f"'{shown}' is not a whole Parquet file; it may be cut short or damaged."
    )
    own = attempt(lambda: parquet.read_schema(files[0]), damaged).names
    check_names(own)
    keys = _folder_keys([Path(file).relative_to(folder) for file in files], shown)
    if both := [key.name for key in keys if key.name in own]:
        raise InputError(
            f"Folders in '{shown}' are named after a column, '{both[0]}', that the files hold as well; take it out "
            "of the files, or name the folders otherwise."
        )
    named = dataset.partitioning(keys, flavor="hive")
    found = attempt(
        lambda: dataset.dataset(files, format="parquet", partitioning=named, partition_base_dir=str(folder)), damaged
    )
    fragments = attempt(lambda: list(found.get_fragments()), damaged)
    schemas = attempt(lambda: [one.physical_schema.remove_metadata() for one in fragments], damaged)
    if any(schema != schemas[0] for schema in schemas):
        raise InputError(f"The Parquet files in '{shown}' differ in columns or types; a table needs one kind.")
    return found


_UNNAMED = "__HIVE_DEFAULT_PARTITION__"
"""The value, in the name of a folder, of rows without one."""


def _folder_keys(files: Sequence[Path], shown: str) -> pa.Schema:
    """The columns that the names of folders give values (`zip=01234`), typed as the cells of delimited files are."""
    found = [dict(key.split("=", 1) for key in file.parts[:-1] if "=" in key) for file in files]
    if any(keys.keys() != found[0].keys() for keys in found):
        raise InputError(
            f"The files in '{shown}' lie at different depths below it, or in folders that name different columns; a "
            "table needs one kind."
        )
    kinds = []
    for name in found[0]:
        texts = sorted({unquote(keys[name]) for keys in found} - {_UNNAMED})
        kind = type_texts(pa.array(texts, pa.string())).type
        kinds.append((name, kind if kind == pa.int64() else pa.string()))
    return pa.schema(kinds)


SEALED = {"enable_external_access": "false", "python_enable_replacements": "false"}
"""Settings under which a database reads nothing but itself: what is called a table may be a view of the owner's files,
of an address in the network, or of a variable of Python's."""


def is_database(source: str) -> bool:
    """Return whether a source names a table of a database."""
    return source.startswith((_DUCKDB, *POSTGRES))


def read_database(source: str, *, max_cells: int = MAX_CELLS) -> Table:
    """Read `duckdb:file#table` or `postgresql://...#table`; a table may be `schema.table`."""
    address, sign, name = source.rpartition("#")
    if not sign or not name:
        raise InputError("A database needs the name of a table behind '#': duckdb:file#table, postgresql://...#table.")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
    if address.startswith(_DUCKDB):
        return _read_duckdb(existing_file(address.removeprefix(_DUCKDB)), quoted, max_cells)
    return _read_postgres(address, quoted)


def _read_duckdb(file: Path, name: str, max_cells: int) -> Table:
    import duckdb

    opened = f"'{file.name}' cannot be opened as a DuckDB database; it may be damaged, newer, or in use elsewhere."
    missing = "The DuckDB database has no such table, or a view that reads more than the database, or it is damaged."
    with attempt(lambda: duckdb.connect(str(file), read_only=True, config=dict(SEALED)), opened) as connection:
        found = attempt(lambda: connection.sql(f"SELECT * FROM {name}"), missing)
        # A view of some letters can have any number of rows.
        counting = attempt(lambda: connection.sql(f"SELECT count(*) FROM {name}"), missing)
        ((rows,),) = attempt(lambda: stoppable(counting.fetchall, connection.interrupt), missing)
        check_size(rows, len(found.columns), max_cells=max_cells)
        return flatten(stoppable(lambda: arrow_of(found, missing), connection.interrupt), "file")


def _read_postgres(address: str, name: str) -> Table:
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg: pip install 'hedgerow[pg]'.") from None
    refused = "The PostgreSQL server cannot be reached under that address, or refuses the log-in."
    missing = "The PostgreSQL database has no such table, or the account may not read it."
    with attempt(lambda: psycopg.connect(address), refused) as connection:
        attempt(lambda: connection.execute("SET TRANSACTION READ ONLY"), missing)
        cursor = attempt(lambda: connection.execute(f"SELECT * FROM {name}".encode()), missing)
        rows, names = attempt(cursor.fetchall, missing), [column.name for column in cursor.description or ()]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return flatten(pa.table([column_of(c, n) for n, c in zip(names, columns, strict=True)], names=names), "file")
