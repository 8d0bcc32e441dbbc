"""How many threads work is spread over: the cores that this process may use.

Linux tells which cores a process was given, as in a container or under `taskset`; macOS and Windows tell only how many
the machine has.
"""

from __future__ import annotations

import os

__all__ = ["cores"]


def cores() -> int:
    """Count the cores that this process may use, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
