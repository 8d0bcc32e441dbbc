"""A path that a caller gave, as a file that can be read, or a refusal that says why not."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from hedgerow.errors import InputError

__all__ = ["existing_file", "read_bytes"]


def existing_file(path: str | PathLike[str]) -> Path:
    """The path, if it is a file that can be opened."""
    file = Path(path)
    reason = _trouble(file)
    if reason:
        raise InputError(f"'{file.name or path}' cannot be read: {reason}.")
    return file


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The whole content of a file."""
    return existing_file(path).read_bytes()


def _trouble(file: Path) -> str | None:
    try:
        if file.is_dir():
            return "it is a folder, not a file"
        with file.open("rb"):
            return None
    except ValueError:
        return "its name holds a character that no file name can hold"
    except OSError as error:
        return (error.strerror or "the system refuses").lower()
