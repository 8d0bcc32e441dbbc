"""How many threads work is spread over: the cores that this process may use.

Linux tells which cores a process was given, as in a container or under `taskset`; macOS and Windows tell only how many
the machine has.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

FEW = 1 << 14
"""Rows up to which starting a thread takes longer than its work."""


def cores() -> int:
    """Count the cores that this process may use, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_cores(work: Callable[[T], R], items: Iterable[T], *, rows: int) -> list[R]:
    """The results of `work` on each item, in order: on all cores where there are rows enough to be worth it.

    Arrow, NumPy and compiled loops let other threads run while they work. The caller works, too, and waits for nothing
    that has not begun: where no other core is free it does all, and work may itself be spread.
    """
    given = list(items)
    helpers = min(cores(), len(given)) - 1
    if rows <= FEW or helpers < 1:
        return [work(item) for item in given]
    found: dict[int, R] = {}
    places = iter(range(len(given)))

    def take() -> None:
        for place in places:
            found[place] = work(given[place])

    others = [_pool(os.getpid(), cores() - 1).submit(take) for _ in range(helpers)]
    try:
        take()
    finally:
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return [found[place] for place in range(len(given))]


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work beside the caller's; a process that was forked has none of its parent's.

    With the caller there are as many as cores: where work is spread again, more would take turns.
    """
    return ThreadPoolExecutor(threads, thread_name_prefix="hedgerow")
