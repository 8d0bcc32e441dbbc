"""Least boxes: some row has each end of an interval, each value of a set, and a gap where one is marked."""

import itertools
import math
import random
import statistics
from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.methods import Mondrian
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from hedgerow.release import Made
from hedgerow.schema import Schema
from hedgerow.verify.made import LEAST
from tests.support.agreement import disagreement
from tests.support.boxes import generalized_release
from tests.support.truth import contradiction, true_answers

QUESTIONS = [
    "count(*) AS x FROM release WHERE a <= 1",
    "count(*) AS x FROM release WHERE NOT a > 2",
    "count(*) AS x FROM release WHERE a = 1 OR a = 3",
    "count(*) AS x FROM release WHERE a IS NULL",
    "count(*) AS x FROM release WHERE a IS NOT NULL AND p = 1",
    "count(*) AS x FROM release WHERE a > 1 AND t = 'u'",
    "count(*) AS x FROM release WHERE a > 1 OR t = 'u'",
    "count(*) AS x FROM release WHERE t IN ('u', 'v')",
    "count(a) AS x FROM release",
    "count(t) AS x FROM release WHERE p = 1",
    "count(a) AS x FROM release WHERE a > 1",
    "sum(a) AS x FROM release",
    "sum(a) AS x FROM release WHERE p = 1",
    "avg(a) AS x FROM release",
    "min(a) AS x FROM release WHERE p = 0",
    "max(a) AS x FROM release",
    "max(a) AS x FROM release WHERE a < 3",
    "sum(p) AS x FROM release WHERE a <= 1",
]
LOOSE = ("sum(a)", "avg(a)", "max(a) AS x FROM release WHERE a", "sum(p)", "count(a) AS x FROM release WHERE a", "OR t")
"""Bounds that hold and are not always reached: with gaps, or by OR."""


def table_of(rng, rows, gaps):
    """A number and a text that are boxes, a plain column and a sensitive one."""
    return pa.table(
        {
            "a": pa.array([rng.choice([None, *range(4)] if gaps else range(4)) for _ in range(rows)], pa.int64()),
            "t": pa.array([rng.choice([None, *"uvw"] if gaps else "uvw") for _ in range(rows)], pa.string()),
            "p": [rng.randrange(2) for _ in range(rows)],
            "s": list(range(rows)),
        }
    )


def release_of(table, groups):
    """Published as Mondrian publishes."""
    made = generalized_release(table, groups, quasi=["a", "t"], sensitive=["s"], plain=["p"])
    return replace(made, made=Made("Mondrian", {LEAST: '["a", "t"]'}, reproducible=True))


def worlds(table, groups):
    """Every table with the same boxes: each column takes values of its box, all that the box shows among them."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    choices = []
    for name, group in itertools.product(("a", "t"), sorted(set(groups))):
        rows = [row for row in range(len(groups)) if groups[row] == group]
        own = [columns[name][row] for row in rows]
        there = {value for value in own if value is not None}
        inside = set(range(min(there), max(there) + 1)) if name == "a" and there else there
        shown = ({min(there), max(there)} if name == "a" and there else there) | ({None} if None in own else set())
        options = sorted(inside, key=str) + ([None] if None in own else [])
        choices.append(
            [(name, rows, world) for world in itertools.product(options, repeat=len(rows)) if shown <= set(world)]
        )
    for chosen in itertools.product(*choices):
        moved = {name: list(values) for name, values in columns.items()}
        for name, rows, world in chosen:
            for row, value in zip(rows, world, strict=True):
                moved[name][row] = value
        yield pa.table({name: pa.array(moved[name], table.schema.field(name).type) for name in moved})


def answers_of(tables, question):
    """What DuckDB says about each table: all of them below each other, with their numbers."""
    numbered = [table.append_column("world", pa.array([place] * table.num_rows)) for place, table in enumerate(tables)]
    item, _, rest = question.partition(" FROM release")
    text = f"SELECT w, {item.replace('count(*)', 'count(world)')} FROM range({len(tables)}) r(w) LEFT JOIN "
    text += f"(SELECT * FROM release{rest}) ON w = world GROUP BY w"
    return [row["x"] for row in true_answers(pa.concat_tables(numbered), text)]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("question", QUESTIONS)
def test_bounds_are_those_of_all_tables(question, gaps):
    """The truth of every table that fits is inside; both ends belong to some of them where docs say so."""
    rng = random.Random(f"{question} {gaps}")
    for _ in range(4):
        groups = [0, 0, 0]
        table = table_of(rng, len(groups), gaps)
        if any(table.column(name).null_count == len(groups) for name in ("a", "t")):
            continue
        session = connect(release_of(table, groups))
        found = session.ask(f"SELECT {question}")
        numbers = [float(number) for number in answers_of(list(worlds(table, groups)), question) if number is not None]
        if not numbers:
            continue
        assert float(found.lower) <= min(numbers) + 1e-9
        assert float(found.upper) >= max(numbers) - 1e-9
        if not any(part in question for part in LOOSE):
            assert (float(found.lower), float(found.upper)) == (min(numbers), max(numbers)), table.to_pydict()
        if found.exact:
            assert min(numbers) == max(numbers)


def test_an_end_is_somebody_s():
    """Ages 1 and 3: one of two rows is at most 1."""
    table = pa.table({"a": [1, 3], "t": ["u", "u"], "p": [0, 0], "s": [5, 6]})
    found = connect(release_of(table, [0, 0])).ask("SELECT count(*) FROM release WHERE a <= 1")
    assert (found.lower, found.upper, found.exact, found.std) == (1, 1, True, 0.0)


def test_gaps_are_not_counted():
    """One value of four is there: it is not four, and not sure to be one."""
    table = pa.table({"a": pa.array([None, None, 3, None], pa.int64()), "s": [1, 2, 3, 4]})
    release = Mondrian(2).publish(table, Schema(quasi=["a"], sensitive="s"))
    for engine in ("arrays", "duckdb"):
        session = connect(release, engine)
        for text in ("count(a)", "sum(s) / count(a)"):
            found = session.ask(f"SELECT {text} FROM release")
            assert not found.exact
            assert contradiction(session, table, f"SELECT {text} AS x FROM release") is None
        found = session.ask("SELECT count(*) FROM release WHERE a IS NOT NULL")
        assert found.lower >= 1
        assert found.upper <= 3
        assert found.std > 0
        assert found.lower < found.expected < found.upper


def test_what_to_expect_of_ranges_is_their_middle():
    """2,000 rows: the true average lies near what is expected, and not at the lower bound."""
    rng = random.Random(3)
    ages = [rng.randrange(18, 90) for _ in range(2000)]
    table = pa.table({"age": ages, "town": [rng.randrange(50) for _ in ages], "s": [rng.randrange(9) for _ in ages]})
    release = Mondrian(10).publish(table, Schema(quasi=["age", "town"], sensitive="s"))
    for text in ("avg(age)", "avg(age) FILTER"):
        condition = " WHERE age > 40" if "FILTER" in text else ""
        question = f"SELECT avg(age) AS x FROM release{condition}"
        found, ((truth),) = connect(release).ask(question), true_answers(table, question)
        assert found.lower < found.expected < found.upper
        assert found.std > 0
        assert found.expected == pytest.approx(truth["x"], abs=8 * found.std)
        assert abs(found.expected - truth["x"]) < abs(found.lower - truth["x"]) / 3


def test_mean_and_deviation_are_those_of_free_rows():
    """A row at either end, two free ones: uniform over the interval, by simulation."""
    table = pa.table({"a": [0, 9, 4, 5], "t": ["u"] * 4, "p": [0] * 4, "s": [1, 2, 3, 4]})
    session = connect(release_of(table, [0] * 4))
    found = session.ask("SELECT sum(a) FROM release")
    assert (found.lower, found.upper, found.expected) == (9, 27, 18)
    assert found.std == pytest.approx(math.sqrt(2 * (10**2 - 1) / 12))
    found = session.ask("SELECT count(*) FROM release WHERE a <= 4")
    assert (found.lower, found.upper) == (1, 3)
    assert found.expected == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("gaps", [False, True])
def test_engines_agree(gaps, url):
    """Databases count, and the same code answers."""
    rng = random.Random(8)
    table = table_of(rng, 12, gaps)
    release = release_of(table, [row // 4 for row in range(12)])
    export(release, url, overwrite=True)
    with connect(release, url) as server:
        for question in QUESTIONS:
            for other in (connect(release, "duckdb"), server):
                assert disagreement(connect(release), other, f"SELECT {question}") is None, question


def test_ends_that_lie_on_no_decimal_grid_are_inside():
    """0.2 beside 1/3 is known to 15 digits; extremes and quantiles enclose it, and one value is not taken for two."""
    for values in ([0.1, 0.2, 0.2, 1 / 3, 2.5, 7.0], [0.2] * 3 + [1 / 3] * 3):
        table = pa.table({"a": values, "s": list(range(6))})
        release = Mondrian(k=3).publish(table, Schema(quasi=["a"], sensitive="s"))
        truths = {"min": min(values), "max": max(values), "median": statistics.median(values), "sum": sum(values)}
        for function, truth in truths.items():
            answer = release.ask(f"SELECT {function}(a) FROM release")
            assert answer.lower <= truth <= answer.upper, function
    assert release.ask("SELECT quantile_disc(a, 0.5) FROM release").upper < 0.21


def test_different_values_of_ranges():
    """Ranges that do not overlap hold different values, points hold one; the truth of random tables lies inside."""
    rng = random.Random(11)
    for _ in range(25):
        values = [rng.randrange(9) for _ in range(rng.randrange(4, 14))]
        table = pa.table({"a": values, "s": [rng.randrange(5) for _ in values]})
        release = Mondrian(k=2).publish(table, Schema(quasi=["a"], sensitive="s"))
        for condition, kept in (("true", values), ("a > 3", [v for v in values if v > 3])):
            answer = release.ask(f"SELECT count(DISTINCT a) FROM release WHERE {condition}")
            assert answer.lower <= len(set(kept)) <= answer.upper
            assert answer.lower <= answer.expected <= answer.upper
    table = pa.table({"a": [2, 2, 2, 5, 5, 5, 7, 8, 9], "s": list(range(9))})
    release = Mondrian(k=3).publish(table, Schema(quasi=["a"], sensitive="s"))
    answer = release.ask("SELECT count(DISTINCT a) FROM release")
    assert (answer.lower, answer.upper) == (4, 5)
