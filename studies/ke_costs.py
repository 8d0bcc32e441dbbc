"""What bounded answers and partitions cost, in seconds.

Source     [Zhang 2008], sections 2.7.2 and 2.7.3
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa

from hedgerow.methods.ke_anonymity import KEAnonymity
from hedgerow.partition.ke.runs import ke_sum
from hedgerow.query import connect
from hedgerow.schema import Schema
from studies.ke_tables import random_table

__all__ = ["growth", "overhead"]


def overhead(rows: int, *, runs: int) -> dict[str, float]:
    """The time of AVG over a range of ages with bounds, over the time of the plain question, by engine."""
    table = random_table(rows, distinct=760)
    columns = {"age": table.ages, "loss": table.losses}
    release = KEAnonymity(k=20).publish(pa.table(columns), Schema(quasi=["age"], sensitive="loss"))
    question = "SELECT avg(loss) FROM release WHERE age BETWEEN 30 AND 60"
    database, arrays = connect(release, "duckdb"), connect(release, "arrays")
    plain = database.engine.connection  # type: ignore[attr-defined]
    seconds = _alternating(
        runs,
        lambda: plain.execute(question).fetchall(),
        lambda: database.ask(question),
        lambda: arrays.ask(question),
    )
    return {"DuckDB": seconds[1] / seconds[0], "arrays": seconds[2] / seconds[0], "groups": float(release.groups)}


def growth(*, quick: bool) -> dict[int, float]:
    """Processor seconds of the least-sum partition by the number of distinct losses."""
    sizes = (20_000, 200_000) if quick else (2_000, 20_000, 200_000, 2_000_000)
    found = {}
    for size in sizes:
        positions, counts = np.arange(size) * 3, np.ones(size, np.int64)
        cut = functools.partial(ke_sum, positions, counts, k=4, e=Fraction(100))
        found[size] = _alternating(3, cut, clock=time.process_time)[0]
    return found


def _alternating(
    runs: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Median seconds of each work, turn by turn, so that a slow moment hits all alike."""
    took: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):
        for work, times in zip(works, took, strict=True):
            began = clock()
            work()
            if run:
                times.append(clock() - began)
    return [statistics.median(times) for times in took]
