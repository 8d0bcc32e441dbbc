"""Checks that all readers share: paths, sizes, names, and error messages without cells of the table."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from hedgerow.errors import HedgerowError, InputError, ParameterError, as_path, is_interrupt, limit_reached

BLANKS = " \t"
"""What is dropped around a text: in files, frames, hierarchies, domains and knowledge alike."""

T = TypeVar("T")

MAX_CELLS = 1_000_000_000
"""Rows times columns that a file may announce: 8 GB of numbers. A small file that announces more is likely a bomb."""

_ALWAYS_UNPACKED, _MOST_RATIO = 1 << 28, 100
"""Bytes that a compressed file may unpack to; so many of them, or so many times its own size."""

_MOST_ENTRIES = 100_000
"""Files and folders that are looked through for the files of one table: a second's work, and no whole disk."""

_MOST_ROWS = 2**31 - 2
"""Codes are 32-bit, and one code stands for missing."""


def attempt(step: Callable[[], T], sentence: str) -> T:
    """Run `step`; whatever it raises becomes an `InputError` that says `sentence`.

    Foreign libraries quote cells in their messages, so nothing of theirs travels on: raising after the handler has
    ended leaves no `__context__` behind.
    """
    try:
        return step()
    except (HedgerowError, MemoryError):
        raise
    except BaseException as error:
        # A panic of a library in Rust is no Exception; neither are those that end a job or the program.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        was_stopped = is_interrupt(error)
    if was_stopped:
        raise KeyboardInterrupt
    raise InputError(sentence)


def stoppable(step: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run a long step of a library in a thread of its own, and `stop` it at Ctrl-C, for which C code would not look."""
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(step)
        try:
            return running.result()
        except KeyboardInterrupt:
            stop()
            raise


def check_shape(rows: int, columns: int) -> None:
    """Refuse a table without rows or columns, or with more rows than codes can number."""
    if rows < 1 or columns < 1:
        raise InputError(f"A table must have at least one row and one column; this one has {rows} and {columns}.")
    if rows > _MOST_ROWS:
        raise InputError(f"A table may have at most {_MOST_ROWS:,} rows; this one has {rows:,}. Split it.")


def check_size(rows: int, columns: int, *, max_cells: int) -> None:
    """Refuse a file by the size that it announces, before anything of that size is allocated."""
    if isinstance(max_cells, bool) or not isinstance(max_cells, int) or max_cells < 1:
        raise ParameterError(f"'max_cells' must be an integer of at least 1; got {max_cells!r}.")
    if rows * columns > max_cells:
        raise InputError(
            f"The file announces {rows:,} rows of {columns:,} columns, more than the limit of {max_cells:,} cells; "
            "pass a larger 'max_cells' if that is what you expect."
        )


def most_unpacked(file: Path, most: int) -> int:
    """How many bytes a file may unpack to, `most` at most: one of fifty kilobytes may hold many gigabytes of a line."""
    return min(most, max(_ALWAYS_UNPACKED, _MOST_RATIO * file.stat().st_size))


def check_names(names: Sequence[object]) -> None:
    """Refuse column names that are not distinct, non-empty texts."""
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InputError(f"Column {number} must be named by a text; its name is of type {type(name).__name__}.")
        if not name.strip():
            title = number == 2 and not any(isinstance(other, str) and other.strip() for other in names[1:])
            hint = " Only the first has one: if that is a title, remove the lines above the names." if title else ""
            raise InputError(f"Column {number} has no name; name it or remove it.{hint}")
        if "\0" in name or not _is_unicode(name):
            raise InputError(f"The name of column {number} holds a character that no file can carry; rename it.")
    uses = Counter(names)
    doubles = [number for number, name in enumerate(names, start=1) if uses[name] > 1]
    if doubles:
        # Numbers, not names: in a file without a header line the names are somebody's cells.
        listed = ", ".join(map(str, doubles[:10])) + (" and more" if len(doubles) > 10 else "")
        raise InputError(f"Column names must be distinct; columns {listed} share a name with another.")


def optional(module: str, package: str) -> Any:
    """Import a module of the extra 'files', or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"Reading this file needs the package '{package}'; install it with: pip install hedgerow[files]"
        raise InputError(message) from error


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def existing_file(path: str | PathLike[str]) -> Path:
    """The path, if it is a file that can be opened."""
    file = as_path(path)
    reason = _trouble(file)
    if reason:
        raise InputError(f"'{file.name or path}' cannot be read: {reason}.")
    return file


def shown_name(path: Path) -> str:
    """The last part of a path as messages quote it; `.` and `/` have none and are quoted whole."""
    return path.name or str(path)


def _is_bundle(folder: Path) -> bool:
    try:
        with (folder / "manifest.json").open("rb") as manifest:
            return b'"format": "hedgerow' in manifest.read(100)
    except OSError:
        return False


def files_below(folder: Path, endings: Collection[str]) -> list[Path]:
    """The files in a folder, at any depth, that end so.

    All of them are the table, so whatever would leave rows out, or count them twice, in silence is refused: a folder
    that cannot be looked into or is a link, a hidden file, which other readers skip, and a pipe or device called so.
    """
    shown, seen, found = shown_name(folder), 0, list[Path]()
    if _is_bundle(folder):
        raise InputError(f"'{shown}' is a release of hedgerow and no table; name one of its files to read that.")

    def refuse(error: OSError) -> None:
        name = Path(error.filename or folder).name
        raise InputError(f"'{name}' in '{shown}' cannot be read: {(error.strerror or 'the system refuses').lower()}.")

    for above, folders, files in os.walk(folder, onerror=refuse):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            raise InputError(
                f"'{shown}' holds more than {_MOST_ENTRIES:,} files and folders, too many to be one table; name the "
                "file, or the folder that holds nothing else."
            )
        if linked := [name for name in folders if os.path.islink(os.path.join(above, name))]:
            raise InputError(f"'{linked[0]}' in '{shown}' is a link to a folder, which is not followed; name that one.")
        found += [Path(above, name) for name in files if Path(name).suffix.lower() in endings]
    for file in sorted(found):
        if not file.is_file():
            raise InputError(f"'{file.name}' in '{shown}' is no file that can be read.")
        if hidden := [part for part in file.relative_to(folder).parts if part.startswith((".", "_"))]:
            raise InputError(
                f"'{shown}' holds '{hidden[0]}', whose name says that it is hidden: other readers skip it. Remove it, "
                "or rename it if its rows belong to the table."
            )
    return sorted(found)


def require_writable(path: str | PathLike[str], *, is_folder: bool = False, makes_folders: bool = False) -> None:
    """Raise InputError unless a file, or a folder, can be written there, before work is done for it; leave no trace.

    With `makes_folders` the path may lie in folders that do not exist yet.
    """
    place = Path(path)
    try:
        if not is_folder and place.is_dir():
            raise InputError(f"'{place}' cannot be written: it is a folder, not a file.")
        if is_folder and place.exists() and not place.is_dir():
            raise InputError(f"'{place}' cannot be written: it is a file, not a folder.")
        if place.is_file():
            with place.open("ab"):
                return
        if not is_folder and place.exists():
            return  # a terminal, a pipe, /dev/null
        above = place if is_folder else place.parent
        while makes_folders and not above.exists() and above != above.parent:
            above = above.parent
        if not above.is_dir():
            raise InputError(f"'{place}' cannot be written: there is no folder '{above}'.")
        with tempfile.TemporaryFile(dir=above):
            pass
    except ValueError:
        raise InputError("An output's name holds a character that no file name can hold.") from None
    except OSError as error:
        reason = (error.strerror or "the system refuses").lower()
        raise limit_reached(error) or InputError(f"'{place}' cannot be written: {reason}.") from None


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The whole content of a file."""
    return existing_file(path).read_bytes()


def _trouble(file: Path) -> str | None:
    try:
        if str(file) == "-":
            return "a table comes from a file, not from a pipe"
        if file.is_dir():
            return "it is a folder, not a file"
        with file.open("rb"):
            return None
    except ValueError:
        return "its name holds a character that no file name can hold"
    except OSError as error:
        return (error.strerror or "the system refuses").lower()
