"""A folder with a secret that nobody may read or write, watched by the kernel (inotify), which also sees what a
database's own code opens."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

__all__ = ["Watched", "watched_folder"]

Watched = tuple[Path, Callable[[], AbstractContextManager[None]]]


@contextmanager
def watched_folder() -> Iterator[Watched]:
    """The folder, and a block during which nothing may happen in it.

    It is not pytest's folder, which only its owner may enter: a server that runs as another user must be able to do
    harm, or nothing is shown. Its path is short, so that PostgreSQL takes names that hold it.
    """
    if sys.platform != "linux":
        pytest.skip("files are watched by inotify")
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o777)
        (place / "secret").write_text("1,2\n")
        (place / "secret").chmod(0o666)
        libc = ctypes.CDLL(None, use_errno=True)
        handle = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(handle, str(place).encode(), 0xFFF) >= 0

        @contextmanager
        def nothing_happens() -> Iterator[None]:
            yield
            try:
                seen = os.read(handle, 65_536)
            except BlockingIOError:
                seen = b""
            assert seen == b""

        yield place, nothing_happens
        os.close(handle)
        assert sorted(os.listdir(place)) in (["secret"], ["secret", "written"])
