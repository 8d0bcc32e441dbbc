"""Publishing and asking a graph of 10 million edges, against sorting its edges and DuckDB's joins."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

from benchmarks.graph import questions
from benchmarks.measure import show, sized
from hedgerow.graph import SafeGrouping, author_paper_graph

__all__ = ["main"]


def _times(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of processors."""
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def main() -> None:
    """Show ratios by the clock, for which the machine must be idle, and of processor time; and peak memory."""
    SafeGrouping(20, 20).publish(author_paper_graph(5_000, 6_000, 15_000))
    graph = author_paper_graph(sized(2_900_000), sized(3_900_000), sized(10_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pairs = _times(lambda: np.lexsort((graph.right_ends, graph.left_ends)))
    took = _times(lambda: SafeGrouping(20, 20).publish(graph))
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    rows = [
        ("publish, audited / sorting pairs (np.lexsort), by the clock", took[0] / pairs[0], "x"),
        ("publish, audited / sorting pairs (np.lexsort), processor time", took[1] / pairs[1], "x"),
        ("peak memory beyond", memory, "GB"),
    ]
    show("a graph of 10 million edges", rows + questions(graph))
