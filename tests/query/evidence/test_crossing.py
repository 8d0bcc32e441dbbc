"""Expressions that mix known and hidden columns: DuckDB on every table that a small release allows."""

import itertools
import math
import os
import random
from datetime import date

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.methods import Anatomy
from hedgerow.query import connect
from hedgerow.query.evidence import crossing
from hedgerow.schema import Schema
from tests.query.test_truth import is_inside, true_answers
from tests.support.agreement import answered, disagreement
from tests.support.assignments import release_of
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.truth import database_of

SEEDS = range(int(os.environ.get("HEDGEROW_SEEDS", "60")))
EXPRESSIONS = (
    "w * s", "w * s * 2", "s - 3 * w", "w + s", "CASE WHEN w <> 0 THEN s / w END", "abs(s - w)",
    "CASE WHEN t = 'x' THEN s ELSE 0 END",
    "CASE WHEN t = 'x' THEN s END", "CASE WHEN s > w THEN s ELSE w END", "CASE WHEN t = 'x' THEN w * s ELSE 0 END",
    "coalesce(s, w)", "s * (w - 2)", "CASE WHEN s > 2 THEN w END", "(w - 2) * (s - 2)",
    "CASE WHEN w <> 0 THEN s % w END",
)  # fmt: skip
CONDITIONS = (
    "TRUE", "w > 1", "s > 2", "s > w", "s <= w OR t = 'x'", "s = w", "NOT (s < w)", "s > w AND t = 'y'",
    "2 * w < s + 1", "w > 1 AND s > 1", "s IS NULL OR s > w",
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
    with database_of(worlds=table) as database:
        found = dict(
            database.execute(f"SELECT world, {aggregate} FROM worlds WHERE {condition} GROUP BY world").fetchall()
        )
    nothing = 0 if aggregate.startswith("count") else None
    return [found.get(world, nothing) for world in range(number)]


def is_near(left, right):
    """Equal but for the last digits of floats."""
    return abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right))


@pytest.mark.parametrize("kind", ["whole", "cents", "ragged"])
@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.mark.parametrize("kind", ["whole", "cents", "ragged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_different_numbers_of_all_assignments(seed, kind):
    """COUNT(DISTINCT x) of every world is inside; nothing is expected but where all agree."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=kind)
    for expression in rng.sample([*EXPRESSIONS[:-1], "s"], 3):
        aggregate, condition = f"count(DISTINCT {expression})", rng.choice(CONDITIONS[3:])
        answer = release.ask(f"SELECT {aggregate} AS x FROM release WHERE {condition}")
        every = every_answer(release, aggregate, condition)
        assert answer.lower <= min(every) <= max(every) <= answer.upper, (aggregate, condition, answer)
        assert not answer.exact or len(set(every)) == 1, (aggregate, condition, answer)
        assert not answer.reached or (answer.lower, answer.upper) == (min(every), max(every))


def test_every_number_may_be_new_or_not():
    """Two rows with 1 and 2 that share 1 and 2: sums are 3 and 3, or 2 and 4; differences of rows are kept apart."""
    release = release_of({"w": [1, 2], "s": [1, 2]}, [0, 0], sensitive="s")
    answer = release.ask("SELECT count(DISTINCT w + s) AS x FROM release")
    assert (answer.lower, answer.upper, answer.expected) == (1, 2, None)
    assert not answer.reached
    assert release.ask("SELECT count(DISTINCT 10 * w + s) AS x FROM release").upper == 2


@pytest.mark.parametrize(
    "text",
    [
        "SELECT t, count(DISTINCT w * s) AS x FROM release GROUP BY t HAVING count(DISTINCT w * s) > 0",
        "SELECT t, count(DISTINCT w * s) AS x FROM release GROUP BY t ORDER BY x",
        "SELECT t, count(DISTINCT w * s) + 1 AS x FROM release GROUP BY t ORDER BY x DESC LIMIT 1",
        "SELECT t FROM (SELECT t, count(DISTINCT w * s) AS x FROM release GROUP BY t) AS q WHERE x > 0",
    ],
)
def test_what_has_no_expected_number_neither_chooses_nor_sorts(text):
    """Groups would vanish without a word: they are refused instead."""
    release = release_of({"w": [1, 2, 3, 4], "t": list("xxyy"), "s": [5, 6, 7, 8]}, [0] * 4, sensitive="s")
    for engine in ("arrays", "duckdb"):
        with pytest.raises(QueryError, match="has bounds alone"):
            connect(release, engine).sql(text)


RANKS = (
    "min", "max", "median", "quantile_disc 0.25", "quantile_disc 0.5", "quantile_disc 0.9", "quantile_cont 0.3",
    "quantile_disc 0", "quantile_cont 1", "var_pop", "var_samp", "stddev_pop", "stddev",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["whole", "cents", "ragged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_and_variances_of_all_assignments(seed, kind):
    """Bounds enclose every world's answer; MIN, MAX and discrete quantiles of known pairs are reached."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=kind)
    for function in rng.sample(RANKS, 4):
        expression, condition = rng.choice(EXPRESSIONS[:-1]), rng.choice(CONDITIONS)
        name, *share = function.split()
        aggregate = f"{name}({', '.join([expression, *share])})"
        text = f"SELECT {aggregate} AS x FROM release WHERE {condition}"
        answer, every = release.ask(text), every_answer(release, aggregate, condition)
        numbers = [float(n) for n in every if n is not None]
        if answer.lower is None:
            assert not numbers, text
            continue
        low, high = min(numbers, default=answer.lower), max(numbers, default=answer.upper)
        assert answer.lower <= low or is_near(answer.lower, low), (text, answer, low)
        assert answer.upper >= high or is_near(answer.upper, high), (text, answer, high)
        assert answer.lower <= answer.expected <= answer.upper, (text, answer)
        if answer.exact:
            assert is_near(low, high), (text, answer, every)
            assert None not in every, (text, answer, every)
        if answer.reached:
            assert is_near(answer.lower, low), (text, answer, low)
            assert is_near(answer.upper, high), (text, answer, high)
        assert answer.reached or name not in ("min", "max", "quantile_disc"), (text, answer)


def test_extremes_of_mixed_texts_and_dates():
    """Each row may have either value of its group."""
    columns = {"t": ["a", "b", "c", "d"], "d": [date(2020, 1, 1 + n) for n in range(4)], "s": ["x", "y", "x", "z"]}
    release = release_of(columns, [0, 0, 1, 1], sensitive="s")
    answer = release.ask("SELECT max(s || t) AS m FROM release WHERE t < 'd'")
    assert (answer.lower, answer.upper, answer.reached) == ("ya", "zc", True)
    answer = release.ask("SELECT min(CASE WHEN s = 'y' THEN d END) AS m FROM release")
    assert (answer.lower, answer.upper) == (date(2020, 1, 1), date(2020, 1, 2))


@pytest.mark.parametrize("kind", ["whole", "cents"])
@pytest.mark.parametrize("seed", SEEDS)
def test_comparisons_by_merging(seed, kind):
    """COUNT(*) with one comparison of a known with a hidden side: bounds, mean and deviation of all assignments."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=kind)
    sides = [rng.choice(["s", "s * 2", "s - 1"]), rng.choice(["w", "w * w", "1 + w"])]
    rng.shuffle(sides)
    condition = f"{sides[0]} {rng.choice(['<', '<=', '>', '>='])} {sides[1]}"
    condition += rng.choice(["", " AND t = 'x'", " AND w > 0"])
    answer = release.ask(f"SELECT count(*) FROM release WHERE {condition}")
    every = every_answer(release, "count(*)", condition)
    assert (answer.lower, answer.upper) == (min(every), max(every)), condition
    mean = sum(every) / len(every)
    assert answer.expected == pytest.approx(mean, abs=1e-9), condition
    deviation = (sum((n - mean) ** 2 for n in every) / len(every)) ** 0.5
    assert answer.std == pytest.approx(deviation, abs=1e-6), condition


@pytest.mark.parametrize("kind", ["whole", "cents"])
@pytest.mark.parametrize("seed", SEEDS)
def test_quotients_of_two_sums(seed, kind):
    """Weighted averages under a condition on the hidden column: the best ratios, and not ratios of bounds.

    They speak of the tables in which the divisor is not zero, and are refused where there is none.
    """
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=kind)
    quotient = rng.choice(["sum(w * w * s) / sum(w * w)", "sum(abs(w) * s) / sum(abs(w))", "sum(w) / sum(abs(s))"])
    condition = rng.choice(["s > 0", "s > w", "s > 1 OR t = 'x'", "w > 0 AND s < 3"])
    text = f"SELECT {quotient} AS x FROM release WHERE {condition}"
    every = every_answer(release, quotient, condition)
    numbers = [float(n) for n in every if n is not None and math.isfinite(n)]
    found = answered(connect(release), text)
    if isinstance(found, str):
        assert "divides by zero" in found
        assert not numbers
        return
    answer = found.estimates["x"].answers[0]
    if answer.exact:
        assert len(numbers) == len(every) or every.count(None) == len(every), (text, answer, every)
    if answer.lower is None:
        return
    low, high = min(numbers, default=answer.lower), max(numbers, default=answer.upper)
    assert answer.lower <= low or is_near(answer.lower, low), (text, answer, low)
    assert answer.upper >= high or is_near(answer.upper, high), (text, answer, high)
    if answer.exact:
        assert is_near(low, high), (text, answer, every)
    elif answer.reached and numbers:
        assert is_near(answer.lower, low), (text, answer, low)
        assert is_near(answer.upper, high), (text, answer, high)


def test_a_weighted_average_of_nobody_is_not_exact():
    """One of two people has the value that passes; if it is the other, the average is NULL."""
    release = release_of({"w": [5, 6], "s": [57, 3]}, [0, 0], sensitive="s")
    answer = release.ask("SELECT sum(w * s) / sum(w) AS x FROM release WHERE s > 50 AND w = 5")
    assert (answer.lower, answer.upper, answer.exact) == (57, 57, False)


def test_a_weighted_average_under_a_condition_is_reached():
    """Two of three values pass; whoever has them, the average is of theirs."""
    release = release_of({"w": [1, 2, 3], "s": [10, 20, 0]}, [0] * 3, sensitive="s")
    answer = release.ask("SELECT sum(w * s) / sum(w) AS x FROM release WHERE s > 5")
    assert (answer.lower, answer.upper) == pytest.approx((12.5, 17.5))
    assert answer.reached


@pytest.mark.parametrize("seed", range(25))
def test_databases_say_the_same(seed):
    """DuckDB counts, array code finishes: equal bounds, close means, also per group."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=seed % 2 == 1, kind=rng.choice(["whole", "cents"]))
    key = "t, " if seed % 3 else ""
    text = f"SELECT {key}sum({rng.choice(EXPRESSIONS[:-1])}) AS x, sum(w * s) / sum(w * w) AS y FROM release "
    text += f"WHERE {rng.choice(CONDITIONS)}" + (" GROUP BY t ORDER BY t" if key else "")
    assert disagreement(connect(release), connect(release, "duckdb"), text) is None, text


def test_weighted_average_of_whole_groups_is_exact():
    """Equal weights in a group leave nothing open."""
    release = release_of({"w": [2, 2, 3, 3], "s": [10, 20, 30, 50]}, [0, 0, 1, 1], sensitive="s")
    answer = release.ask("SELECT sum(w * s) / sum(w) AS x FROM release")
    assert answer.exact
    assert answer.expected == 30


def test_shares_and_splits():
    """The women of a group of four have two of its values."""
    columns = {"sex": ["F", "F", "M", "M"], "s": [1, 2, 3, 10]}
    release = release_of(columns, [0] * 4, sensitive="s")
    answer = release.ask("SELECT sum(CASE WHEN sex = 'F' THEN s ELSE 0 END) / sum(s) AS share FROM release")
    assert (answer.lower, answer.upper) == pytest.approx((3 / 16, 13 / 16))
    assert answer.expected == pytest.approx(0.5)


def test_comparisons_between_columns():
    """At most two of three rows can earn more than a thousand times their age."""
    release = release_of({"age": [30, 40, 50], "income": [35_000, 45_000, 20_000]}, [0] * 3, sensitive="income")
    answer = release.ask("SELECT count(*) FROM release WHERE income > 1000 * age")
    assert (answer.lower, answer.upper) == (0, 2)
    assert answer.expected == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT sum(DISTINCT w * s) FROM release", "COUNT, SUM, AVG, MIN"),
        ("SELECT sum(DISTINCT s) FROM release WHERE s > w", "COUNT, SUM, AVG, MIN"),
        ("SELECT w * s, count(*) FROM release GROUP BY w * s", "mixes"),
        ("SELECT s, sum(w * s) FROM release GROUP BY s", "WHERE"),
    ],
)
def test_refusals_say_why(text, reason):
    """What has no bound is refused with what has."""
    release = small_release(random.Random(1), gaps=False)
    with pytest.raises(QueryError, match=reason):
        release.sql(text)


def test_groups_with_too_many_pairs_are_refused(monkeypatch):
    """Products need no pairs, so that they are answered all the same."""
    monkeypatch.setattr(crossing, "MOST_PAIRS", 3)
    release = small_release(random.Random(1), gaps=False)
    assert release.ask("SELECT sum(w * s) FROM release").bounded
    with pytest.raises(QueryError, match="too many different"):
        release.ask("SELECT sum(abs(s - w)) FROM release")


FORM_EXPRESSIONS = (
    "age * s", "s - age", "rate * s", "fee * s", "abs(s - age)", "CASE WHEN age > 30 THEN s ELSE 0 END",
    "CASE WHEN town = 'Bern' THEN s ELSE 0 END", "CASE WHEN s > age THEN s ELSE age END", "coalesce(s, age) * 2",
    "s / (age + 1)", "CASE WHEN town LIKE 'B%' AND s > 2 THEN age END",
)  # fmt: skip
FORM_CONDITIONS = (
    "TRUE", "s > age", "age > 30", "s * 10 > age", "s + age > 40 OR town = 'Bern'", "NOT (s > fee)",
    "s > 2 AND age < 50", "town = 'Bern' AND s < age",
)  # fmt: skip
NUMBERS = [form for form in EVERY_FORM if EVERY_FORM[form][0] in ("whole", "few", "large", "ragged", "decimal")]
BOUNDED = [form for form in NUMBERS if not form.startswith(("perturbed", "swapped", "substituted"))]


@pytest.mark.parametrize("form", BOUNDED)
@pytest.mark.parametrize("seed", range(6))
def test_the_truth_lies_inside_on_every_form(form, seed):
    """Ranges of known columns and subdomains of hidden ones give wider bounds that hold; databases say the same."""
    rng = random.Random(seed)
    sample = sample_of(form, rng, rows=rng.randrange(10, 40))
    for _ in range(3):
        expression, condition = rng.choice(FORM_EXPRESSIONS), rng.choice(FORM_CONDITIONS)
        key, end = ("fee AS k, ", " GROUP BY fee") if rng.random() < 0.3 else ("", "")
        text = (
            f"SELECT {key}{rng.choice(['count', 'sum', 'avg'])}({expression}) AS x FROM release WHERE {condition}{end}"
        )
        try:
            found = {row.get("k"): row for row in connect(sample.release).sql(text).to_pylist()}
        except QueryError:
            assert form.startswith("scattered") or "large" in form
            continue
        for true in true_answers(sample.table, text):
            answer = found[true.get("k")]
            if true["x"] is not None:
                assert is_inside(answer["x_lower"], true["x"], answer["x_upper"]), (text, true, answer)
        again = {row.get("k"): row for row in connect(sample.release, "duckdb").sql(text).to_pylist()}
        for place, answer in found.items():
            for name in ("x_lower", "x_upper"):
                assert (again[place][name] is None) == (answer[name] is None), text
                assert again[place][name] == pytest.approx(answer[name] or 0, rel=1e-12) or answer[name] is None, text


def test_ranges_are_not_called_reached():
    """A box of several ages leaves room that no table of the release need fill."""
    sample = sample_of("generalized, whole numbers", random.Random(3), rows=30)
    assert not sample.release.ask("SELECT sum(age * s) FROM release").reached


def test_values_that_are_shuffled_together_are_one_value():
    """Two sensitive columns of a person stay in one row, or are shuffled apart: then nothing of both has a bound."""
    table = pa.table({"a": [1, 1, 2, 2, 3, 3], "s": [1, 2, 3, 4, 5, 6], "r": [6, 5, 4, 3, 2, 1]})
    schema = Schema(quasi=["a"], sensitive=["s", "r"])
    together = Anatomy(2, together=True).publish(table, schema)
    assert together.ask("SELECT sum(s * r) FROM release").expected == 56
    assert together.ask("SELECT count(*) FROM release WHERE s > r").expected == 3
    assert together.ask("SELECT sum(r) FROM release WHERE s > 4 * a").bounded
    apart = Anatomy(2, together=False).publish(table, schema)
    for text in ("sum(s * r) FROM release", "sum(r) FROM release WHERE s > a", "avg(a * r) FROM release WHERE s > 1"):
        with pytest.raises(QueryError):
            apart.ask(f"SELECT {text}")
    for text in ("sum(r) FROM release WHERE s > 1 OR a = 1", "sum(a * r) / sum(a * s) AS x FROM release WHERE a > 1"):
        try:
            answer = apart.ask(f"SELECT {text}")
        except QueryError:
            continue
        (truth,) = true_answers(table, f"SELECT {text}")
        assert is_inside(answer.lower, next(iter(truth.values())), answer.upper)
