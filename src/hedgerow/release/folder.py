"""A folder of Parquet files and texts with a manifest, written whole or not at all; `holding` reads it.

It is written under a hidden name beside its target, every file synced, the manifest last, then renamed. The next
writer removes what a killed writer left behind.

A finished folder is put in the place of another one so that a reader sees the whole old or the whole new one. Linux and
macOS exchange two folders in one step. Elsewhere the old folder is first renamed to a name that `folder_to_read` looks
for, so that a crash between the two renames loses nothing.
"""

from __future__ import annotations

import ctypes
import errno
import glob
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

from hedgerow.errors import BundleError, ParameterError, as_path, unwritten
from hedgerow.randomness import token
from hedgerow.verify.holding import can_open_folders, folder_to_read, place_aside, read_manifest
from hedgerow.verify.manifest import format_of
from hedgerow.verify.values import MANIFEST, MOST_MANIFEST, MOST_PAGE, FileEntry

_AT_FDCWD = {"linux": -100, "darwin": -2}
_EXCHANGE = 2


def put_in_place(finished: Path, target: Path, *, replace: bool) -> None:
    """Rename `finished` to `target`; a folder that is there is replaced if asked, else the rename fails."""
    if not replace or not target.exists():
        os.rename(finished, target)
    elif _exchange(finished, target):
        shutil.rmtree(finished)
    else:
        _step_aside(finished, target)
    shutil.rmtree(place_aside(target), ignore_errors=True)  # the old one, or one that a crash left there
    sync_folder(target.parent)


def _step_aside(finished: Path, target: Path) -> None:
    """Rename the old folder, then the new one; the old one comes back where the new one cannot take its place."""
    shutil.rmtree(place_aside(target), ignore_errors=True)
    os.rename(target, place_aside(target))
    try:
        os.rename(finished, target)
    except OSError:
        os.rename(place_aside(target), target)
        raise


def replace_file(file: Path, content: bytes) -> None:
    """Write a single file, whole or not at all, in the place of another one."""
    beside = file.with_name(f".{file.name}.{token(4)}")
    try:
        with beside.open("xb") as handle:
            handle.write(content)
            os.fsync(handle.fileno())
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system and the file system can."""
    if not can_open_folders():
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # what network shares say that know no such thing
            raise
    finally:
        os.close(handle)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names atomically; False where the system or file system cannot."""
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    if name is None:
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return False
    here = _AT_FDCWD[sys.platform]
    return bool(function(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) == 0)


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
    require_replaceable(target, overwrite)
    with folder_beside(target) as folder:
        files = {f"{name}.parquet": _write_table(table, folder / f"{name}.parquet") for name, table in tables.items()}
        files |= {name: _write_bytes(text.encode(), folder / name) for name, text in texts.items()}
        _write_bytes(manifest(files), folder / MANIFEST)
        sync_folder(folder)
        put_in_place(folder, target, replace=overwrite)


def require_replaceable(target: Path, overwrite: bool) -> None:
    """Raise BundleError where something is at the target that is not to be replaced."""
    if os.path.exists(folder_to_read(target)) and not overwrite:
        raise BundleError(
            f"'{target.name}' exists already; choose another folder, or replace it (--overwrite, overwrite=True)."
        )
    if os.path.exists(target) and not _replaceable(target):
        raise BundleError(f"'{target.name}' is not a hedgerow bundle, so it is not overwritten; choose another folder.")


def named_folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a path names, from the root; raise BundleError where it names none."""
    target = as_path(path).absolute()
    if not str(path) or not target.name or target.name == ".." or not _is_name(str(target)):
        raise BundleError("The output must name a folder: not the root of the disk, not '..', and no NUL in its name.")
    require_outside_bundles(target)
    return target


def _is_name(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def require_outside_bundles(place: Path) -> None:
    """Raise ParameterError where a file or folder would lie inside a published bundle, which would no longer verify."""
    for folder in place.absolute().parents:
        if os.path.isfile(folder / MANIFEST):
            with suppress(BundleError):
                if format_of(read_manifest(folder)).startswith("hedgerow"):
                    raise ParameterError(
                        f"'{place.name}' would lie inside the release '{folder.name}', which must stay as it was "
                        "published."
                    )


def _write_table(table: pa.Table, file: Path) -> FileEntry:
    # The Arrow schema would repeat the types in a private format and could carry metadata: readers need neither.
    pq.write_table(table.replace_schema_metadata(None), file, compression="zstd", store_schema=False)
    return _entry(file, rows=table.num_rows)


def _write_bytes(text: bytes, file: Path) -> FileEntry:
    require_short(file.name, text)
    file.write_bytes(text)
    return _entry(file)


def require_short(name: str, text: bytes) -> None:
    """Raise BundleError for a manifest or a page that is too long to be read again."""
    most = MOST_MANIFEST if name == MANIFEST else MOST_PAGE
    if len(text) > most:
        raise BundleError(
            f"{name} would have more than {most >> 20} MB, which nobody reads: it lists columns, hierarchies "
            "and protected values, which are too many or too long in this release."
        )


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
    for stale in target.parent.glob(f".{glob.escape(target.name)}{_MARK}*"):
        writer = stale.name.rpartition(_MARK)[2].partition("-")[0]
        if writer.isdigit() and _is_abandoned(stale, int(writer)):
            shutil.rmtree(stale, ignore_errors=True)


def _is_abandoned(folder: Path, writer: int) -> bool:
    """Return whether the process that made the folder no longer runs."""
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
