"""Bounded questions on 1M rows in 100,000 groups, against the plain question to DuckDB on the original table."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.measure import seconds, show
from hedgerow.query import connect, help_table
from hedgerow.release import Release
from hedgerow.testing.assignments import release_of

ROWS, GROUPS = 1_000_000, 100_000
CONDITIONS = {
    "number and text": "age BETWEEN 30 AND 50 AND sex = 'Female'",
    "number and list of texts": "age > 60 AND education IN ('Bachelors', 'Masters', 'Doctorate')",
    "two numbers": "age BETWEEN 30 AND 50 AND hours >= 40",
}
GROUPED = "SELECT education, avg(salary) AS a FROM release WHERE age BETWEEN 30 AND 50 GROUP BY education"
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
    """Both engines over the plain query, for each condition; the same process, turn by turn."""
    arrays, database = connect(published, "arrays"), connect(published, "duckdb")
    plain = database.engine.connection
    figures = []
    for name, condition in CONDITIONS.items():
        text = f"SELECT sum(salary) FROM release WHERE {condition}"
        times = alternating(
            lambda text=text: plain.execute(text).fetchall(),
            lambda text=text: arrays.ask(text),
            lambda text=text: database.ask(text),
        )
        figures.append((f"SUM, {name}: arrays / plain DuckDB", times[1] / times[0], "x"))
        figures.append((f"SUM, {name}: DuckDB with help table / plain DuckDB", times[2] / times[0], "x"))
    times = alternating(
        lambda: plain.execute(GROUPED).fetchall(),
        lambda: arrays.sql(GROUPED),
        lambda: database.sql(GROUPED),
    )
    figures.append(("AVG with GROUP BY: arrays / plain DuckDB", times[1] / times[0], "x"))
    figures.append(("AVG with GROUP BY: DuckDB with help table / plain DuckDB", times[2] / times[0], "x"))
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
            ("help table from scratch", help_seconds, "s"),
            ("GROUP BY with 16 cells, SUM and MIN, arrays", seconds(lambda: arrays.sql(grouped)), "s"),
        ],
    )


def pristine(published: Release) -> Release:
    """The same release as a new object, so that nothing derived from it is remembered."""
    return dataclasses.replace(published)


if __name__ == "__main__":
    main()
