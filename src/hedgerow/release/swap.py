"""Put a finished folder in the place of another one, so that a reader sees the whole old or the whole new one.

Linux and macOS exchange two folders in one step. Elsewhere the old folder steps aside first under a name that `settled`
looks for, so that a crash between the two renames loses nothing.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

__all__ = ["put_in_place", "settled"]

_AT_FDCWD = {"linux": -100, "darwin": -2}
_EXCHANGE = 2


def put_in_place(finished: Path, target: Path, *, replace: bool) -> None:
    """Rename `finished` to `target`; a folder that is there is replaced if asked, else the rename fails."""
    if not replace or not target.exists():
        os.rename(finished, target)
    elif _exchange(finished, target):
        shutil.rmtree(finished)
    else:
        aside = _aside(target)
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(target, aside)
        os.rename(finished, target)
        shutil.rmtree(aside)
    sync_folder(target.parent)


def settled(target: Path) -> Path:
    """Return the folder to read for `target`: itself, or the old one that a crash left aside."""
    aside = _aside(target)
    return aside if not target.exists() and aside.exists() else target


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.hedgerow-aside")


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
