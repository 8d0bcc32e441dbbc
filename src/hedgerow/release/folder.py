"""A folder of Parquet files and texts with a manifest, written whole or not at all; `holding` reads it.

It is written under a hidden name beside its target, every file synced, the manifest last, then renamed. Whatever a
killed writer leaves behind is swept by the next one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow.errors import BundleError, unwritten
from hedgerow.randomness import token
from hedgerow.release.swap import put_in_place, sync_folder
from hedgerow.verify.holding import settled
from hedgerow.verify.values import MANIFEST, FileEntry

__all__ = ["MANIFEST", "FileEntry", "folder_beside", "named_folder", "write_folder"]

_MARK = ".hedgerow-writing-"

_A_DAY = 86_400.0
"""No bundle takes longer to write."""


def write_folder(
    path: str | os.PathLike[str],
    *,
    tables: Mapping[str, pa.Table],
    texts: Mapping[str, str],
    manifest: Callable[[dict[str, FileEntry]], bytes],
    overwrite: bool = False,
) -> None:
    """Write `tables` as <name>.parquet, `texts` as they are named, and last the manifest that lists them."""
    target = named_folder(path)
    if settled(target).exists() and not overwrite:
        raise BundleError(
            f"'{target.name}' exists already; choose another folder, or replace it (--overwrite, overwrite=True)."
        )
    if target.exists() and not _replaceable(target):
        raise BundleError(f"'{target.name}' is not a hedgerow bundle, so it is not overwritten; choose another folder.")
    with folder_beside(target) as folder:
        files = {f"{name}.parquet": _write_table(table, folder / f"{name}.parquet") for name, table in tables.items()}
        files |= {name: _write_bytes(text.encode(), folder / name) for name, text in texts.items()}
        _write_bytes(manifest(files), folder / MANIFEST)
        sync_folder(folder)
        put_in_place(folder, target, replace=overwrite)


def named_folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a path names, from the root; raise BundleError where it names none."""
    target = Path(path).absolute()
    if not target.name or target.name == ".." or "\0" in str(target):
        raise BundleError("The output must name a folder: not the root of the disk, not '..', and no NUL in its name.")
    return target


def _write_table(table: pa.Table, file: Path) -> FileEntry:
    # The Arrow schema would repeat the types in a private format and could carry metadata: readers need neither.
    pq.write_table(table.replace_schema_metadata(None), file, compression="zstd", store_schema=False)
    return _entry(file, rows=table.num_rows)


def _write_bytes(text: bytes, file: Path) -> FileEntry:
    file.write_bytes(text)
    return _entry(file)


def _entry(file: Path, rows: int | None = None) -> FileEntry:
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())
    return FileEntry(sha256=_sha256(file), bytes=file.stat().st_size, rows=rows)


def _sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _replaceable(target: Path) -> bool:
    """Only a bundle, or an empty folder, may be replaced."""
    return target.is_dir() and ((target / MANIFEST).is_file() or not any(target.iterdir()))


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside `target` that is gone afterwards, whatever happens, unless it was renamed."""
    folder = target.with_name(f".{target.name}{_MARK}{os.getpid()}-{token(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        folder.mkdir()
        yield folder
    except OSError as error:
        raise unwritten(f"'{target.name}'", error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Remove what writers that were killed left behind."""
    for stale in target.parent.glob(f".{target.name}{_MARK}*"):
        writer = stale.name.rpartition(_MARK)[2].partition("-")[0]
        if writer.isdigit() and _is_abandoned(stale, int(writer)):
            shutil.rmtree(stale, ignore_errors=True)


def _is_abandoned(folder: Path, writer: int) -> bool:
    """Tell whether the process that made the folder no longer runs."""
    if sys.platform == "win32":  # there os.kill ends the process instead of asking after it
        with suppress(FileNotFoundError):
            return time.time() - folder.stat().st_mtime > _A_DAY
        return False
    try:
        os.kill(writer, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
