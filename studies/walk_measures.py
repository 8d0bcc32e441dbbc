"""What the study of the random walk measures of one segment: times and mixing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.walk.chain import Polytope, PreparedWalk, deepest_points, effective_sizes, walk
from hedgerow.partition.walk.plan import Block, blocks
from hedgerow.partition.walk.segments import localities, runs, sample
from hedgerow.randomness import Keys, seeded_keys
from studies.printed_walk import printed_walk

__all__ = [
    "extraction_times",
    "mixing_of",
    "one_block",
    "walk_times",
]


def one_block(values: NDArray[np.int64], share: float, *, merged: bool = True, seed: int = 1) -> Block:
    """All values as one segment between its ends; as printed, equal values are not merged."""
    ascending = np.unique(values) if merged else np.sort(values)
    ends = {"low": int(ascending[0]), "high": int(ascending[-1])}
    cut = runs(ascending, np.arange(len(ascending), dtype=np.int32), segment=len(ascending), **ends)
    return next(blocks(cut, sample(localities(cut.values, cut.offsets), share, keys=seeded_keys(seed))))


def extraction_times(column: NDArray[np.int64], sizes: Sequence[int]) -> pa.Table:
    """Seconds to find all localities of the first so many distinct values."""
    distinct = np.unique(column)
    took = [_seconds(lambda n=n: localities(distinct[:n], np.array([0, n]))) for n in sizes]  # type: ignore[misc]
    return pa.table({"size": list(sizes), "seconds": took})


def walk_times(column: NDArray[np.int64], shares: Sequence[float], *, size: int, steps: int) -> pa.Table:
    """Seconds for so many steps over one segment, by the number of properties."""
    rows, took = [], []
    for share in shares:
        course = PreparedWalk.of(one_block(column[:size], share).polytope)
        keys = seeded_keys(1)(steps // course.sweep * course.sweep)
        took.append(_seconds(lambda c=course, k=keys: walk(c, c.polytope.point, k)))  # type: ignore[misc]
        rows.append(len(course.polytope.system.bounds))
    return pa.table({"share": list(shares), "properties": rows, "seconds": took})


def mixing_of(values: NDArray[np.int64], share: float, *, steps: int, keys: Keys) -> dict[str, tuple[float, float]]:
    """For the printed walk, hit-and-run and ours: least effective sample size and root mean square displacement.

    The printed walk starts at the original values, equal ones apart; the others at the deepest point. All are judged
    by 256 states.
    """
    as_printed, block = one_block(values, share, merged=False).polytope, one_block(values, share).polytope
    start, course = deepest_points([block])[0], PreparedWalk.of(block)
    walks = {
        "printed": (as_printed, _in_floats(as_printed, as_printed.point, steps, True, keys)),
        "hit-and-run": (block, _in_floats(block, start, steps, False, keys)),
        "ours": (block, walk(course, start, keys(steps // course.sweep * course.sweep)).trace.astype(float)),
    }
    return {name: _judged(polytope, trace) for name, (polytope, trace) in walks.items()}


def _in_floats(polytope: Polytope, start: NDArray[np.int64], steps: int, half: bool, keys: Keys) -> NDArray[np.float64]:
    system = polytope.system
    matrix, bounds = system.coefficients.astype(float), system.bounds.astype(float)
    return printed_walk(matrix, bounds, start.astype(float), steps=steps, half=half, keys=keys)


def _judged(polytope: Polytope, trace: NDArray[np.float64]) -> tuple[float, float]:
    width = max(float(np.ptp(polytope.point)), 1.0)
    effective = effective_sizes(np.rint(trace / width * 2**40).astype(np.int64))
    return float(effective.min()), float(np.sqrt(((trace - polytope.point) ** 2).mean()))


def _seconds(work: Callable[[], object], *, runs: int = 9) -> float:
    """The median processor time of several runs after one that warms up: growth is judged, not the machine's day."""
    work()
    took = []
    for _ in range(runs):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return float(np.median(took))
