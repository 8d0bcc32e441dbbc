"""The random walk: localities, a step against a matrix-vector product, mixing, 75,000 rows x 3 columns."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import seconds, show, sized
from hedgerow.kernel import kernel
from hedgerow.partition.walk.chain import PreparedWalk, effective_sizes, walk
from hedgerow.partition.walk.segments import localities
from hedgerow.randomness import seeded_keys, system_keys
from studies.printed_walk import printed_walk
from studies.walk_measures import one_block

ROWS = sized(75_000)


def columns() -> dict[str, np.ndarray]:
    """Three columns of whole numbers, nearly all different: as many segments as 75,000 rows can have."""
    rng = np.random.Generator(np.random.PCG64(3))
    return {name: rng.integers(0, 10**9, ROWS) for name in ("x", "y", "z")}


def main() -> None:
    extraction()
    for size in (20, 100):
        steps(size)
    whole()


def extraction() -> None:
    values = np.unique(columns()["x"])[:900]
    offsets = np.array([0, 900])
    took = seconds(lambda: localities(values, offsets))
    reference = seconds(lambda: np.abs(values[:, None] - values[None, :]))
    found = np.empty((900 * 900, 3), np.int32)
    printed = seconds(lambda: _printed_extraction.compiled(values, found))
    show(
        "localities of 900 values",
        [
            ("milliseconds", 1000 * took, "ms"),
            ("/ table of all distances", took / reference, "x"),
            ("the printed search, compiled / ours", printed / took, "x"),
        ],
    )


@kernel
def _printed_extraction(values: np.ndarray, found: np.ndarray) -> int:
    """Algorithm 1 of the paper, line by line: the first value beyond the breakpoint is sought anew for each pair."""
    size, place = len(values), 0
    for j in range(1, size):
        for i in range(j):
            breakpoint_ = 2 * values[j] - values[i]
            if breakpoint_ < values[size - 1]:
                beyond = 0
                while values[beyond] <= breakpoint_:
                    beyond += 1
                for k in (beyond - 1, beyond):
                    found[place, 0], found[place, 1], found[place, 2] = i, j, k
                    place += 1
            else:
                found[place, 0], found[place, 1], found[place, 2] = i, j, size - 1
                place += 1
    return place


def steps(size: int) -> None:
    """One step of each walk against a product of the same matrix with a vector, and steps per independent draw."""
    polytope = one_block(np.unique(columns()["x"])[:size], 0.1).polytope
    matrix, bounds = polytope.system.coefficients.astype(float), polytope.system.bounds.astype(float)
    vector, start = np.ones(size), polytope.point.astype(float)
    products = seconds(lambda: [matrix @ vector for _ in range(1000)]) / 1000
    course = PreparedWalk.of(polytope)
    sweeps = 40_000 // course.sweep
    keys = seeded_keys(1)(sweeps * course.sweep)
    ours = seconds(lambda: walk(course, polytope.point, keys)) / len(keys)
    began = time.perf_counter()
    longer = 400 // size  # random directions need a number per value and step, which fills the memory
    run = walk(course, polytope.point, seeded_keys(2)(longer * len(keys)), states=1024)
    per_draw = (time.perf_counter() - began) / run.effective.min()
    dense = seconds(lambda: printed_walk(matrix, bounds, start, steps=40_000, half=False, keys=seeded_keys(3))) / 40_000
    began = time.perf_counter()
    trace = printed_walk(matrix, bounds, start, steps=longer * 40_000, half=False, keys=seeded_keys(4), states=1024)
    spent = time.perf_counter() - began
    worth = effective_sizes(np.rint(trace * 1000).astype(np.int64)).min()
    show(
        f"{size} values, {len(bounds)} properties",
        [
            ("step / matrix-vector product (NumPy)", ours / products, "x"),
            ("step of hit-and-run in random directions / product", dense / products, "x"),
            ("steps per independent draw", longer * len(keys) / run.effective.min(), ""),
            ("the same for random directions", longer * 40_000 / worth, ""),
            ("time per independent draw, random directions / ours", spent / worth / per_draw, "x"),
        ],
    )


def whole() -> None:
    """Publish, audit and attacks included, against the walk as printed on a hundredth of the segments."""
    source = pa.table({**columns(), "s": np.zeros(ROWS, np.int64)})
    schema = hr.Schema(quasi=["x", "y", "z"], plain="s")
    began = time.perf_counter()
    release = hr.PropertyWalk(share=0.1, segment=20).publish(source, schema)
    took = time.perf_counter() - began
    began = time.perf_counter()
    system_keys(450_000_000 // 16)
    entropy = 16 * (time.perf_counter() - began)
    show(
        f"{ROWS:,} rows x 3 columns, segments of 20, {release.guarantee.parameters['properties']:,} properties",
        [
            ("seconds from table to audited release", took, "s"),
            ("milliseconds per segment", 1000 * took / (3 * ROWS / 20), "ms"),
            ("/ drawing its random keys from the operating system", took / entropy, "x"),
            ("/ the printed walk, compiled, on a hundredth of the segments", took / printed_on_a_hundredth(), "x"),
        ],
    )


def printed_on_a_hundredth() -> float:
    """Seconds for the paper's 40,000 steps of its walk on every hundredth segment; it is given the properties."""
    ascending = [np.sort(column) for column in columns().values()]
    cuts = [values[first : first + 20] for values in ascending for first in range(0, ROWS, 2000)]
    systems = [one_block(cut, 0.1).polytope for cut in cuts]
    began = time.perf_counter()
    for polytope in systems:
        matrix, bounds = polytope.system.coefficients.astype(float), polytope.system.bounds.astype(float)
        printed_walk(matrix, bounds, polytope.point.astype(float), steps=40_000, half=True, keys=seeded_keys(5))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
