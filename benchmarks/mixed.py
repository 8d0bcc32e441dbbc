"""Mixed expressions and regression on 1M rows in 100,000 groups, against the plain question on the original table.

The reference of a product is DuckDB's plain `sum(w * s)`, that of a regression is `numpy.linalg.lstsq` with the design
matrix at hand. Times are the shortest on the clock; in brackets the median processor time of all cores.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import sized
from benchmarks.query import alternating, ratio
from hedgerow.query import connect
from hedgerow.release import Release
from tests.support.assignments import release_of

ROWS, GROUPS = sized(1_000_000), sized(1_000_000) // 10
QUESTIONS = {
    "sum(w * s)": "SELECT sum(hours * salary) FROM release",
    "sum(w * s), a third of the rows": "SELECT sum(hours * salary) FROM release WHERE age BETWEEN 30 AND 53",
    "weighted mean, four cells": "SELECT region, sum(hours * salary) / sum(hours) AS a FROM release GROUP BY region",
    "sum(CASE WHEN sex ...)": "SELECT sum(CASE WHEN sex = 'Female' THEN salary ELSE 0 END) FROM release",
    "count(*) WHERE s > 1000 * age": "SELECT count(*) FROM release WHERE salary > 1000 * age",
}
FORMULA = "salary ~ age + hours + sex + region"


def release() -> Release:
    """A permuted release with sensitive values spread over all groups."""
    rng = np.random.Generator(np.random.PCG64(1))
    columns = {
        "age": rng.integers(18, 90, ROWS),
        "sex": np.array(["Female", "Male"])[rng.integers(0, 2, ROWS)],
        "region": np.array(["East", "North", "South", "West"])[rng.integers(0, 4, ROWS)],
        "hours": rng.integers(0, 80, ROWS),
        "salary": rng.integers(1_000, 200_000, ROWS),
    }
    return release_of(columns, np.sort(rng.integers(0, GROUPS, ROWS)).tolist(), sensitive="salary")


def products(published: Release, runs: int) -> list[str]:
    """Arrays over DuckDB's plain answer, turn by turn."""
    arrays, plain = connect(published), connect(published, "duckdb").engine.connection
    figures = []
    for name, text in QUESTIONS.items():
        times = alternating(
            lambda text=text: plain.execute(text).fetchall(), lambda text=text: arrays.sql(text), runs=runs
        )
        figures.append(ratio(f"{name}: bounds / plain", times[1], times[0]))
    return figures


def regression(published: Release, runs: int) -> str:
    """Bounds of all coefficients over NumPy's least squares, which only fits."""
    table = published.tables["release"]
    age, hours, salary = (table.column(name).to_numpy() for name in ("age", "hours", "salary"))
    sex, region = (np.array(table.column(name).to_pylist()) for name in ("sex", "region"))
    dummies = [sex == "Male", *(region == name for name in ("North", "South", "West"))]
    design = np.column_stack([np.ones(ROWS), age, hours, *dummies]).astype(np.float64)
    times = alternating(
        lambda: np.linalg.lstsq(design, salary, rcond=None), lambda: published.regress(FORMULA), runs=runs
    )
    return ratio(f"{FORMULA}: bounds / lstsq", times[1], times[0])


def main(runs: int = 7) -> None:
    published = release()
    print(f"mixed expressions, {ROWS:,} rows, {GROUPS:,} groups")
    print(*products(published, runs), regression(published, 3), sep="\n")


if __name__ == "__main__":
    main()
