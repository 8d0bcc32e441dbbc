"""Bounded questions on 1M rows in 100,000 groups, against the plain question to a database on the original table.

The reference of arrays and DuckDB is DuckDB, that of PostgreSQL is PostgreSQL, where `pgserver` can start one.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import seconds, show
from hedgerow.query import connect, help_table
from hedgerow.release import Release
from tests.support.assignments import release_of

ROWS, GROUPS = 1_000_000, 100_000
SUMS = {
    f"SUM, {name}": f"SELECT sum(salary) FROM release WHERE {condition}"
    for name, condition in (
        ("number and text", "age BETWEEN 30 AND 50 AND sex = 'Female'"),
        ("number and list of texts", "age > 60 AND education IN ('Bachelors', 'Masters', 'Doctorate')"),
        ("two numbers", "age BETWEEN 30 AND 50 AND hours >= 40"),
    )
}
GROUPED = {
    f"AVG, {cells} cells": f"SELECT {keys}, avg(salary) AS a FROM release WHERE age BETWEEN 30 AND 50 GROUP BY {keys}"
    for cells, keys in ((8, "education"), (16, "education, sex"))
}
EDUCATION = np.array(["Bachelors", "HS-grad", "11th", "Masters", "9th", "Some-college", "Assoc-acdm", "Doctorate"])


def release() -> Release:
    """A permuted release with sensitive values spread over all groups."""
    rng = np.random.Generator(np.random.PCG64(1))
    columns = {
        "age": rng.integers(18, 90, ROWS),
        "sex": np.array(["Female", "Male"])[rng.integers(0, 2, ROWS)],
        "education": EDUCATION[rng.integers(0, len(EDUCATION), ROWS)],
        "hours": rng.integers(0, 80, ROWS),
        "salary": rng.integers(1_000, 200_000, ROWS),
    }
    return release_of(columns, np.sort(rng.integers(0, GROUPS, ROWS)).tolist(), sensitive="salary")


def ratios(published: Release) -> list[tuple[str, float, str]]:
    """Both engines over the plain query, for each question; the same process, turn by turn."""
    arrays, database = connect(published, "arrays"), connect(published, "duckdb")
    plain = database.engine.connection
    figures = []
    for name, text in {**SUMS, **GROUPED}.items():
        times = alternating(
            lambda text=text: plain.execute(text).fetchall(),
            lambda text=text: arrays.sql(text),
            lambda text=text: database.sql(text),
        )
        figures.append((f"{name}: arrays / plain DuckDB", times[1] / times[0], "x"))
        figures.append((f"{name}: DuckDB with help table / plain DuckDB", times[2] / times[0], "x"))
    return figures


def postgres_ratios(published: Release) -> list[tuple[str, float, str]]:
    """PostgreSQL with the help table over its own plain query; nothing where no server can be started."""
    if importlib.util.find_spec("pgserver") is None:
        return []
    import pgserver

    from hedgerow.query.engines.postgres import export

    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "data")
        export(published, server.get_uri())
        database = connect(published, server.get_uri())
        plain = database.engine.connection
        figures = []
        for name, text in {"SUM, two numbers": SUMS["SUM, two numbers"], **GROUPED}.items():
            times = alternating(
                lambda text=text: plain.execute(text).fetchall(), lambda text=text: database.sql(text), runs=7
            )
            figures.append((f"{name}: PostgreSQL with help table / plain PostgreSQL", times[1] / times[0], "x"))
        database.engine.close()
        server.cleanup()
    return figures


def alternating(*works: Callable[[], object], runs: int = 31) -> list[float]:
    """Median seconds of each work, turn by turn, so that a slow moment of the machine hits all alike."""
    took: list[list[float]] = [[] for _ in works]
    for run in range(runs + 2):
        for work, times in zip(works, took, strict=True):
            began = time.perf_counter()
            work()
            if run >= 2:
                times.append(time.perf_counter() - began)
    return [statistics.median(times) for times in took]


def main() -> None:
    published = release()
    help_seconds = seconds(lambda: help_table(pristine(published)))
    grouped = (
        "SELECT education, sex, sum(salary) AS s, min(salary) AS m FROM release WHERE age > 30 GROUP BY education, sex"
    )
    arrays = connect(published, "arrays")
    show(
        f"questions, {ROWS:,} rows, {GROUPS:,} groups",
        [
            *ratios(published),
            *postgres_ratios(published),
            ("help table from scratch", help_seconds, "s"),
            ("GROUP BY with 16 cells, SUM and MIN, arrays", seconds(lambda: arrays.sql(grouped)), "s"),
        ],
    )


def pristine(published: Release) -> Release:
    """The same release as a new object, so that nothing derived from it is remembered."""
    return dataclasses.replace(published)


if __name__ == "__main__":
    main()
