"""Expressions that mix known and hidden columns: DuckDB on every table that a small release allows."""

import itertools
import random
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.assignments import release_of

EXPRESSIONS = (
    "w * s", "w * s * 2", "s - 3 * w", "w + s", "s / w", "abs(s - w)", "CASE WHEN t = 'x' THEN s ELSE 0 END",
    "CASE WHEN t = 'x' THEN s END", "CASE WHEN s > w THEN s ELSE w END", "CASE WHEN t = 'x' THEN w * s ELSE 0 END",
    "coalesce(s, w)", "s * (w - 2)", "CASE WHEN s > 2 THEN w END", "(w - 2) * (s - 2)", "s % w",
)  # fmt: skip
CONDITIONS = (
    "TRUE", "w > 1", "s > 2", "s > w", "s <= w OR t = 'x'", "s = w", "NOT (s < w)", "s > w AND t = 'y'", "2 * w < s + 1",
    "w > 1 AND s > 1", "s IS NULL OR s > w",
)  # fmt: skip


def small_release(rng, *, gaps, kind="whole"):
    """At most seven rows in up to three groups."""
    sizes = rng.choice([[4], [3, 2], [2, 2, 2], [5], [4, 3], [1, 4]])
    rows = sum(sizes)
    draw = {
        "whole": lambda: rng.randrange(-2, 5),
        "cents": lambda: rng.randrange(-200, 500) / 100,
        "ragged": lambda: rng.gauss(1, 2),
    }[kind]
    missing = lambda value: None if gaps and rng.random() < 0.2 else value  # noqa: E731
    number = pa.int64() if kind == "whole" else pa.float64()
    columns = {
        "w": pa.array([missing(rng.randrange(-1, 4)) for _ in range(rows)], pa.int64()),
        "t": [rng.choice("xy") for _ in range(rows)],
        "s": pa.array([missing(draw()) for _ in range(rows)], number),
    }
    return release_of(columns, [g for g, size in enumerate(sizes) for _ in range(size)], sensitive="s")


def worlds_of(release):
    """Every table that the release allows, one after the other, numbered."""
    table = release.tables["release"]
    groups, values = table.column("group").to_pylist(), table.column("s").to_pylist()
    parts = [list(rows) for _, rows in itertools.groupby(range(len(groups)), groups.__getitem__)]
    number, columns = 0, {name: [] for name in ("world", *table.column_names)}
    for world in itertools.product(*(itertools.permutations(part) for part in parts)):
        order = [row for part in world for row in part]
        for name in table.column_names:
            columns[name] += [values[row] for row in order] if name == "s" else table.column(name).to_pylist()
        columns["world"] += [number] * len(order)
        number += 1
    types = {name: table.schema.field(name).type for name in table.column_names}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()}), number


def every_answer(release, aggregate, condition):
    """What DuckDB says in each world; worlds without rows have the answer of no rows."""
    table, number = worlds_of(release)
    with duckdb.connect() as database:
        database.execute("SET error_on_division_by_zero = false; SET ieee_floating_point_ops = false")
        database.register("worlds", table)
        found = dict(
            database.execute(f"SELECT world, {aggregate} FROM worlds WHERE {condition} GROUP BY world").fetchall()
        )
    nothing = 0 if aggregate.startswith("count") else None
    return [found.get(world, nothing) for world in range(number)]


def is_near(left, right):
    return abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right))


@pytest.mark.parametrize("kind", ["whole", "cents", "ragged"])
@pytest.mark.parametrize("seed", range(60))
def test_all_assignments(seed, kind):
    """Bounds enclose every world's answer and are reached where they say so; means and deviations are those of all."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=kind)
    function, expression, condition = (
        rng.choice(["count", "sum", "sum", "avg"]),
        rng.choice(EXPRESSIONS),
        rng.choice(CONDITIONS),
    )
    if kind != "whole" and "%" in expression:
        expression = "w * s"
    aggregate = f"{function}({expression})"
    text = f"SELECT {aggregate} AS x FROM release WHERE {condition}"
    answer, every = release.ask(text), every_answer(release, aggregate, condition)
    numbers = [float(n) for n in every if n is not None]
    if not numbers:
        assert answer.lower is answer.upper is None, text
        return
    low, high = min(numbers), max(numbers)
    assert answer.lower is not None, text
    assert answer.lower <= low or is_near(answer.lower, low), (text, answer, low)
    assert answer.upper >= high or is_near(answer.upper, high), (text, answer, high)
    if answer.exact:
        assert is_near(low, high), (text, answer, every)
        assert None not in every, (text, answer, every)
    if answer.reached:
        assert is_near(answer.lower, low), (text, answer, low)
        assert is_near(answer.upper, high), (text, answer, high)
    if function != "avg" and None not in every:
        mean = sum(numbers) / len(numbers)
        assert answer.expected == pytest.approx(mean, abs=1e-7), (text, answer, mean)
        deviation = (sum((n - mean) ** 2 for n in numbers) / len(numbers)) ** 0.5
        assert answer.std == pytest.approx(deviation, abs=1e-6), (text, answer, deviation)
