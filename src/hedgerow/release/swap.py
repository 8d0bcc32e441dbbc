"""Put a finished folder in the place of another one, so that a reader sees the whole old or the whole new one.

Linux and macOS exchange two folders in one step. Elsewhere the old folder steps aside first under a name that `settled`
looks for, so that a crash between the two renames loses nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

from hedgerow.verify.holding import can_open_folders, place_aside

__all__ = ["put_in_place", "sync_folder"]

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
