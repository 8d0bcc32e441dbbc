"""The file of a ledger: a secret key and entries, replaced whole, by one writer at a time.

Guarantee  a reader sees the whole old or the whole new ledger; what was kept before a crash is kept after it
           two writers wait for each other; only the owner of the files may read them (on Windows: everybody who may
           read their folder)

Beside `ledger.json` stands the folder `ledger.json.rows` with the hashes, and an empty lock file, which the operating
system frees when its holder dies.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BundleError, unwritten
from hedgerow.ledger.fingerprint import pieces
from hedgerow.randomness import token
from hedgerow.release.folder import sync_folder


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keyed hashes of the rows of some columns: `file` holds them, sorted, and `sha256` shows whether it is intact.

    `folds` tells that they are the same for texts that differ in case, which marks of older versions are not.
    """

    columns: tuple[str, ...]
    file: str
    sha256: str
    folds: bool = False


class TableEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="table"):
    """One release of a table.

    `table` is the keyed hash of the whole table, `marks` those of its rows: by identifiers first, where there are any.
    `series` names the chain of releases that this one continues, if it does. `bundle` is the checksum of the saved
    manifest; without one the release was made and, as far as the ledger knows, not saved.
    """

    id: str
    date: str
    table: str
    method: str
    parameters: dict[str, int | str]
    form: str
    rows: int
    marks: tuple[Mark, ...]
    series: str | None = None
    bundle: str | None = None


class GraphEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="graph"):
    """One release of a graph: its keyed hash, its group sizes, and the checksum of the saved manifest."""

    id: str
    date: str
    graph: str
    k: int
    l: int  # noqa: E741 - the paper's letter
    bundle: str | None = None


Entry = TableEntry | GraphEntry

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MEMORY = "series-"
"""How the names of files begin that later releases need, whatever becomes of single entries."""

_FORMAT = "hedgerow-ledger/1"
_KEY_BYTES = 32


class Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of the file. The key allows testing guesses; keep the file where the tables are kept."""

    key: str
    entries: tuple[Entry, ...] = ()
    format: str = _FORMAT


def read_contents(path: Path) -> Contents:
    """Read a ledger, or begin one where there is no file yet."""
    try:
        contents = msgspec.json.decode(path.read_bytes(), type=Contents)
    except FileNotFoundError:
        _require_new(path)
        return Contents(token(_KEY_BYTES))
    except (msgspec.DecodeError, OSError, ValueError, RecursionError):  # ValueError: no file has such a name
        raise BundleError(f"'{path.name}' is not a ledger that can be read; nothing is published without it.") from None
    if contents.format != _FORMAT:
        raise BundleError(f"'{path.name}' has a format that this version does not read; it reads {_FORMAT!r}.")
    if not re.fullmatch(f"[0-9a-f]{{{2 * _KEY_BYTES}}}", contents.key):  # another key recognizes nobody
        raise BundleError(f"The key of the ledger '{path.name}' is damaged; restore the file from a copy.")
    return contents


def _require_new(path: Path) -> None:
    """Raise where there are hashes and no ledger: a new key would recognize nobody, and the hashes would be swept."""
    if any(folder_of(path).glob("*")):
        raise BundleError(
            f"The ledger '{path.name}' is missing, and the hashes of what was published under it are there; restore "
            f"it from a copy, or remove the folder '{folder_of(path).name}' if no release ever left."
        )


def write_contents(path: Path, contents: Contents) -> None:
    """Replace the file; only its owner may read it."""
    replace_file(path, [msgspec.json.format(msgspec.json.encode(contents), indent=2), b"\n"])


def replace_file(path: Path, content: Iterable[bytes]) -> None:
    """Write a file, piece after piece, under another name, sync it, and put it in place."""
    beside = path.with_name(f".{path.name}.{token(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.writelines(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise unwritten(f"The ledger '{path.name}'", error) from None


def folder_of(path: Path) -> Path:
    """Where the hashes of a ledger are."""
    return path.with_name(f"{path.name}.rows")


def write_hashes(path: Path, columns: tuple[str, ...], hashes: NDArray[np.uint64], *, folds: bool = False) -> Mark:
    """Keep sorted hashes in a file of their own."""
    name = f"{token(8)}.u64"
    _make_folder(folder_of(path))
    digest = hashlib.sha256()

    def contents() -> Iterator[bytes]:
        for piece in pieces(hashes):
            content = piece.astype("<u8").tobytes()
            digest.update(content)
            yield content

    replace_file(folder_of(path) / name, contents())
    return Mark(columns, name, digest.hexdigest(), folds)


def read_hashes(path: Path, mark: Mark) -> NDArray[np.uint64]:
    """Map the hashes of one mark; raise unless they are those that were written."""
    try:
        found = map_hashes(folder_of(path) / Path(mark.file).name)
    except (OSError, ValueError):
        found = np.empty(0, np.uint64)
    digest = hashlib.sha256()
    for piece in pieces(found):
        digest.update(piece.tobytes())
    if digest.hexdigest() != mark.sha256:
        raise BundleError(
            f"The hashes beside the ledger '{path.name}' are missing or damaged, so what was published is unknown; "
            "restore the folder from a copy, or forget the release if it never left."
        )
    return found


def map_hashes(file: Path) -> NDArray[np.uint64]:
    """The hashes in a file, read as they are needed."""
    return np.memmap(file, "<u8", "r") if file.stat().st_size else np.empty(0, np.uint64)


def sweep(path: Path, contents: Contents) -> None:
    """Remove files of killed writers and hashes that no entry names; the caller holds the lock.

    A file that somebody reads, which Windows does not remove, stays until the next time.
    """
    tables = (entry for entry in contents.entries if isinstance(entry, TableEntry))
    named = {mark.file for entry in tables for mark in entry.marks}
    for file in folder_of(path).glob("*"):
        if file.name not in named and not file.name.startswith(MEMORY):
            _remove(file)
    for file in path.parent.glob(f".{path.name}.*"):
        if file.name != _lock_name(path):
            _remove(file)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BundleError(f"The ledger's folder '{folder.name}' could not be made: {error.strerror}.") from None


def _lock_name(path: Path) -> str:
    return f".{path.name}.lock"


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the ledger against other writers."""
    handle = -1
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path.with_name(_lock_name(path)), os.O_RDWR | os.O_CREAT, 0o600)
        _wait_for(handle)
    except OSError as error:
        if handle >= 0:
            os.close(handle)
        raise BundleError(f"The ledger '{path.name}' could not be locked: {error.strerror}.") from None
    try:
        yield
    finally:
        _free(handle)
        os.close(handle)


if sys.platform == "win32":

    def _wait_for(handle: int) -> None:
        while True:
            try:
                return msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError as error:  # it waits for ten seconds and gives up
                if error.errno != errno.EDEADLOCK:
                    raise

    def _free(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:

    def _wait_for(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _free(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
