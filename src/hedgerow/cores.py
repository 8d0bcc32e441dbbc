"""How many threads work is spread over: the cores that this process may use.

Linux tells which cores a process was given, as in a container or under `taskset`; macOS and Windows tell only how many
the machine has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_FEW = 1 << 14
"""Rows up to which starting a thread takes longer than its work."""


def cores() -> int:
    """Count the cores that this process may use, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_cores(work: Callable[[T], R], items: Iterable[T], *, rows: int) -> list[R]:
    """The results of `work` on each item, in order: on all cores where there are rows enough to be worth it.

    Arrow, NumPy and compiled loops let other threads run while they work.
    """
    if rows <= _FEW:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, items))
