"""How benchmarks measure: best of several runs, peak memory in a fresh process, ratios side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

_SHARE = float(os.environ.get("HEDGEROW_BENCHMARK_SHARE", "1"))


def sized(rows: int) -> int:
    """The number of rows, or about the share of it that the tests ask for, who see that every benchmark runs."""
    return rows if _SHARE == 1 else 1_500 + int(_SHARE * rows)


def seconds(work: Callable[[], object], *, runs: int = 3) -> float:
    """The shortest of several runs; the first call compiles and warms up, and does not count."""
    work()
    return min(_once(work) for _ in range(runs))


def median_seconds(work: Callable[[], object], *, runs: int = 15) -> float:
    """The median of many runs, for short work."""
    work()
    return sorted(_once(work) for _ in range(runs))[runs // 2]


def peak_beyond(setup: str, work: str) -> int:
    """Bytes that `work` needs at its peak beyond what `setup` holds, in a fresh process (Linux)."""
    code = f"""
{setup}
def status(key):
    line = next(line for line in open("/proc/self/status") if line.startswith(key))
    return int(line.split()[1]) * 1024
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
before = status("VmRSS")
{work}
print(status("VmHWM") - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(run.stdout.split()[-1])


def show(title: str, rows: list[tuple[str, float, str]]) -> None:
    """Print a small table: what, figure, unit."""
    print(f"\n{title}")
    for what, figure, unit in rows:
        print(f"  {what:<58} {figure:>10.2f} {unit}")


def _once(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
