"""Bounded questions on 1M rows in 100,000 groups, against the plain question to a database on the original table.

The reference of arrays and DuckDB is DuckDB, that of PostgreSQL is PostgreSQL, where `pgserver` can start one. Times
are the shortest on the clock; in brackets the median processor time of all cores, which a busy machine changes less.
Other questions to arrays: `python -m benchmarks.query more`. Memory: 200 different questions to one session,
`python -m benchmarks.query memory`.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds, show, sized
from hedgerow.query import connect, help_table
from hedgerow.query.evidence.view import view_of
from hedgerow.release import Release
from tests.support.assignments import release_of

ROWS, GROUPS = sized(1_000_000), sized(1_000_000) // 10
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
WHERE = "FROM release WHERE age BETWEEN 30 AND 50"
MORE = {
    "MIN": f"SELECT min(salary) {WHERE}",
    "COUNT(DISTINCT)": f"SELECT count(DISTINCT salary) {WHERE}",
    "MEDIAN": f"SELECT median(salary) {WHERE}",
    "quantile_cont, 8 cells": f"SELECT education, quantile_cont(salary, 0.9) AS q {WHERE} GROUP BY education",
    "STDDEV": f"SELECT stddev(salary) {WHERE}",
    "COUNT, sensitive condition": f"SELECT count(*) {WHERE} AND salary > 100000",
    "AVG, sensitive condition": f"SELECT avg(salary) {WHERE} AND salary > 100000",
    "AVG of a known column, sensitive condition": "SELECT avg(hours) FROM release WHERE salary > 100000",
    "GROUP BY a sensitive column, 10 cells": f"SELECT salary // 20000 AS k, count(*) AS n {WHERE} GROUP BY k",
    "SUM, known OR sensitive condition": "SELECT sum(salary) FROM release WHERE age > 60 OR salary > 150000",
    "AVG, 1,152 cells": "SELECT age, education, sex, avg(salary) AS a FROM release GROUP BY age, education, sex",
    "SUM, 92,160 cells": (
        "SELECT age, hours, education, sex, sum(salary) AS s FROM release GROUP BY age, hours, education, sex"
    ),
    "regr_slope": f"SELECT regr_slope(salary, hours) {WHERE}",
    "regr_slope, 8 cells": f"SELECT education, regr_slope(salary, hours) AS b {WHERE} GROUP BY education",
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


def ratios(published: Release) -> list[str]:
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
        figures.append(ratio(f"{name}: arrays / plain DuckDB", times[1], times[0]))
        figures.append(ratio(f"{name}: DuckDB with help / plain DuckDB", times[2], times[0]))
    return figures


def more_ratios(published: Release) -> Iterator[str]:
    """Arrays over the plain query, for questions that take more than sums."""
    arrays, plain = connect(published, "arrays"), connect(published, "duckdb").engine.connection
    for name, text in MORE.items():
        theirs, ours = alternating(
            lambda text=text: plain.execute(text).fetchall(), lambda text=text: arrays.sql(text), runs=5
        )
        yield ratio(name, ours, theirs)


def ratio(name: str, ours: tuple[float, float], plain: tuple[float, float]) -> str:
    """Both numbers of a ratio, on the clock and in the second measure."""
    (a, c), (b, d) = ours, plain
    return (
        f"{name:<55} {a * 1e3:7.1f} / {b * 1e3:6.1f} ms = {a / b:5.2f}  ({c * 1e3:.1f} / {d * 1e3:.1f} = {c / d:.2f})"
    )


def postgres_ratios(published: Release) -> list[str]:
    """PostgreSQL with the help table over its own plain query; nothing where no server can be started."""
    if importlib.util.find_spec("pgserver") is None:
        return []
    import pgserver

    from hedgerow.query.engines.postgres import export

    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "data")
        export(published, server.get_uri())
        database = connect(published, server.get_uri())
        plain = psycopg_connection(server.get_uri())
        figures = []
        for name, text in {"SUM, two numbers": SUMS["SUM, two numbers"], **GROUPED}.items():
            ours = server_times(database.engine.connection, lambda text=text: database.sql(text))
            theirs = server_times(plain, lambda text=text: plain.execute(text).fetchall())
            figures.append(ratio(f"{name}: PostgreSQL with help / plain PostgreSQL", ours, theirs))
        database.engine.close()
        plain.close()
        server.cleanup()
    return figures


def psycopg_connection(url: str) -> Any:
    """A session of an analyst with the server's own settings."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET search_path TO hedgerow")
    return connection


def server_times(connection: Any, work: Callable[[], object], runs: int = 9) -> tuple[float, float]:
    """The shortest seconds on the clock, and processor time of the session and of its workers that ended."""
    session = connection.info.backend_pid
    server = Path(f"/proc/{session}/stat").read_text().rsplit(")", 1)[1].split()[1]

    def processor() -> float:
        ended = Path(f"/proc/{server}/stat").read_text().rsplit(")", 1)[1].split()[13:15]
        own = int(Path(f"/proc/{session}/schedstat").read_text().split()[0])
        return own / 1e9 + sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")

    work()
    began, took = processor(), []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    time.sleep(0.3)  # the last workers end
    return min(took), (processor() - began) / runs


def alternating(*works: Callable[[], object], runs: int = 31) -> list[tuple[float, float]]:
    """The shortest seconds on the clock and the median of processors, turn by turn: a slow moment hits all alike."""
    took: list[list[tuple[float, float]]] = [[] for _ in works]
    for run in range(runs + 2):
        for work, times in zip(works, took, strict=True):
            began, worked = time.perf_counter(), time.process_time()
            work()
            if run >= 2:
                times.append((time.perf_counter() - began, time.process_time() - worked))
    return [(min(a for a, _ in times), statistics.median(b for _, b in times)) for times in took]


def memory(published: Release) -> list[str]:
    """Megabytes that a session holds after 50, 100, 150 and 200 different questions."""
    session, sizes = connect(published), []
    for number in range(1, 201):
        step = number + 1
        key = (f"age % {step}", f"hours * {step} % 7", f"age * {step} % 11", f"(age + hours * {number}) % 5")[
            number % 4
        ]
        item = (f"sum(salary * {step})", f"avg(salary + {step})", "max(salary)", f"sum((age + {step}) * salary)")
        condition = f"age > {18 + number % 40}"
        session.sql(f"SELECT {key} AS k, {item[number // 4 % 4]} AS x FROM release WHERE {condition} GROUP BY k")
        if number % 50 == 0:
            held = view_of(published).memory.size / 2**20
            sizes.append(f"after {number} questions: {held:,.0f} MB remembered, {resident():,.0f} MB resident")
    return sizes


def resident() -> float:
    """Megabytes of this process (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    published = release()
    if sys.argv[-1] == "memory":
        print(f"{ROWS:,} rows, {resident():,.0f} MB resident before", *memory(published), sep="\n  ")
        return
    if sys.argv[-1] == "more":
        print(f"arrays / plain DuckDB, {ROWS:,} rows, {GROUPS:,} groups", *more_ratios(published), sep="\n")
        return
    help_seconds = seconds(lambda: help_table(pristine(published)))
    arrays = connect(published, "arrays")
    cells = (
        "SELECT education, sex, sum(salary) AS s, min(salary) AS m FROM release WHERE age > 30 GROUP BY education, sex"
    )
    print(f"questions, {ROWS:,} rows, {GROUPS:,} groups")
    print(*ratios(published), *postgres_ratios(published), sep="\n")
    rows = [("help table from scratch", help_seconds, "s")]
    show("", [*rows, ("GROUP BY with 16 cells, SUM and MIN, arrays", seconds(lambda: arrays.sql(cells)), "s")])


def pristine(published: Release) -> Release:
    """The same release as a new object, so that nothing derived from it is remembered."""
    return dataclasses.replace(published)


if __name__ == "__main__":
    main()
