"""A publication on a master and two workers on loopback: processor seconds, bytes shuffled a row, DuckDB beside it.

`python -m benchmarks.spark 1000000 10000000`. Processor seconds are those of the driver, the executors and their Python
workers from the first read to the sealed bundle; wall seconds say what starting the cluster takes on top.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import hedgerow as hr
from benchmarks.measure import show, sized
from benchmarks.scale import METHODS, measure, write_table
from tests.support.spark_cluster import HAS_SPARK, Cluster, cluster

SIZES = (sized(100_000), sized(1_000_000))
MOST_CUT = sized(1_000_000)
"""Rows up to which Mondrian is measured, beside the figures of another program in docs/benchmarks.md."""
SCHEMA = hr.Schema(quasi=["age", "sex", "state", "occupation", "education", "race", "hours"], sensitive="income")


def processor_seconds(running: Cluster) -> float:
    """What this process, its driver and all processes below the workers have taken."""
    seconds, parents = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        number = int(place.name)
        parents[number] = int(words[1])
        # With what ended children took, whom nobody else counts.
        seconds[number] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    roots = {os.getpid(), *(worker.pid for worker in running.workers)}

    def is_ours(number: int) -> bool:
        while number and number not in roots:
            number = parents.get(number, 0)
        return number in roots

    return sum(taken for number, taken in seconds.items() if is_ours(number))


def shuffled(running: Cluster) -> int:
    """Bytes that all stages so far wrote for others."""
    place = f"{running.page}/api/v1/applications/{running.spark.sparkContext.applicationId}/stages"
    with urllib.request.urlopen(place, timeout=30) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Publish tables of growing size: by (k,e)-anonymity on both engines, and by Mondrian on Spark."""
    if not HAS_SPARK:
        print("spark: not run, because this machine has no Java 17 with pyspark")
        return
    began = time.perf_counter()
    publications = {
        # First, so that its first line has the whole start of the cluster: beside it stands another program's.
        "Mondrian, k = 10, l = 4": hr.Mondrian(k=10, l=4),
        "(k,e), k = 4, e = 10": hr.KEAnonymity(k=4, e=10),
    }
    with cluster() as running, tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter() - began
        for size in sizes:
            table, rows = Path(folder) / f"{size}.parquet", list[tuple[str, float, str]]()
            write_table(size, table)
            for name, method in publications.items():
                if size > MOST_CUT and name not in METHODS:
                    continue
                before, bytes_before, wall = processor_seconds(running), shuffled(running), time.perf_counter()
                out = Path(folder) / f"out-{len(rows)}-{size}"
                method.publish(running.spark.read.parquet(str(table)), SCHEMA, out=out)
                wall = time.perf_counter() - wall
                taken, moved = processor_seconds(running) - before, shuffled(running) - bytes_before
                rows += [
                    (name, taken, "CPU s"),
                    (f"{name}, shuffled", moved / size, "bytes a row"),
                    (f"{name}, with start-up", wall + started, "s"),
                ]
                if name in METHODS:
                    alone, _ = measure(METHODS[name], table, Path(folder) / f"duckdb-{size}")
                    rows += [(f"{name}, DuckDB", alone, "CPU s"), (f"{name}, Spark / DuckDB", taken / alone, "x")]
            show(f"spark: {size:,} rows of 8 columns, two workers of one core", rows)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
