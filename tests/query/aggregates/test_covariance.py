"""CORR, COVAR and REGR of a known and a hidden column: DuckDB on every table that a small release allows."""

import itertools
import math
import os
import random

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.aggregates.covariance import FUNCTIONS
from tests.query.evidence.test_crossing import is_near, small_release, worlds_of
from tests.support.assignments import release_of
from tests.support.truth import database_of

SEEDS = range(int(os.environ.get("HEDGEROW_SEEDS", "40")))


def every_answer(release, text):
    """What DuckDB says in each world, None for NULL and for what is not a number."""
    table, number = worlds_of(release)
    with database_of(worlds=table) as database:
        found = dict(
            database.execute(
                text.replace("SELECT", "SELECT world,").replace("release", "worlds") + " GROUP BY world"
            ).fetchall()
        )
    answers = [found.get(world) for world in range(number)]
    return [None if n is None or math.isnan(n) else float(n) for n in answers]


@pytest.mark.parametrize("kind", ["whole", "cents", "ragged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_assignments(seed, kind):
    """Bounds enclose, and are reached where they say so; the mean of what is linear is that of all."""
    rng = random.Random(seed)
    release = small_release(rng, gaps=False, kind=kind)
    function, condition = rng.choice(FUNCTIONS), rng.choice(["TRUE", "TRUE", "w > 0", "t = 'x'", "w <> 1"])
    first, second = ("s", "w") if rng.random() < 0.6 else ("w", "s")
    text = f"SELECT {function}({first}, {second}) AS x FROM release WHERE {condition}"
    try:
        answer = release.ask(text)
    except QueryError:
        assert function in ("regr_slope", "regr_intercept")
        assert (first, second) == ("w", "s")
        return
    every = every_answer(release, text)
    numbers = [n for n in every if n is not None]
    if answer.lower is None:
        assert not numbers, (text, numbers)
        return
    low, high = min(numbers, default=answer.lower), max(numbers, default=answer.upper)
    assert answer.lower <= low or is_near(answer.lower, low), (text, answer, low)
    assert answer.upper >= high or is_near(answer.upper, high), (text, answer, high)
    if answer.reached and numbers:
        assert is_near(answer.lower, low), (text, answer, low)
        assert is_near(answer.upper, high), (text, answer, high)
        mean = sum(numbers) / len(numbers)
        assert answer.expected == pytest.approx(mean, abs=1e-7), (text, answer, mean)
        if function != "regr_r2":
            deviation = (sum((n - mean) ** 2 for n in numbers) / len(numbers)) ** 0.5
            assert answer.std == pytest.approx(deviation, abs=1e-6), (text, answer, deviation)


@pytest.mark.parametrize("text", ["s, w", "w, s", "w, v", "v, w"])
@pytest.mark.parametrize("condition", ["TRUE", "t < 3", "t > 0", "t = 1"])
def test_equal_outcomes_are_met_by_every_line(text, condition):
    """REGR_R2 is 1 where all outcomes are equal and regressors are not, else NULL; it was always NULL."""
    for w, s in itertools.product(((1, 1, 1, 1), (1, 1, 1, 2), (1, 2, 2, 2), (1, 2, 1, 2)), repeat=2):
        columns = {"w": list(w), "v": list(s), "s": list(s), "t": [0, 1, 2, 3]}
        release = release_of(columns, [0, 0, 1, 1], sensitive="s", plain=["v"])
        asked = f"SELECT regr_r2({text}) AS x FROM release WHERE {condition}"
        answer, every = release.ask(asked), every_answer(release, asked)
        numbers = [number for number in every if number is not None]
        if answer.lower is None:
            assert not numbers, (w, s, every)
            continue
        assert all(answer.lower - 1e-9 <= number <= answer.upper + 1e-9 for number in numbers), (w, s, answer, every)
        assert not answer.reached or numbers, (w, s, answer)
        assert not answer.exact or (None not in every and max(every) - min(every) < 1e-9), (w, s, every)


def test_groups_taken_whole_give_correlations_that_are_reached():
    """The variance of the hidden column is known, so that only the covariance is open."""
    release = release_of({"x": [1, 2, 3, 4], "s": [10, 20, 30, 50]}, [0, 0, 1, 1], sensitive="s")
    assert release.ask("SELECT corr(s, x) FROM release").reached
    assert not release.ask("SELECT corr(s, x) FROM release WHERE x < 4").reached


def test_per_group_and_on_databases():
    """GROUP BY gives a line per cell; DuckDB counts and array code finishes."""
    rng = random.Random(4)
    release = small_release(rng, gaps=False)
    text = "SELECT t, regr_slope(s, w) AS b, regr_intercept(s, w) AS a, covar_samp(w, s) AS c, regr_count(s, w) AS n "
    text += "FROM release GROUP BY t ORDER BY t"
    arrays, database = (connect(release, engine).sql(text).to_pylist() for engine in ("arrays", "duckdb"))
    for mine, its in itertools.zip_longest(arrays, database):
        for name in mine:
            assert mine[name] == its[name] or mine[name] == pytest.approx(its[name], nan_ok=True)
    assert {"b_lower", "a_upper", "c", "n"} <= set(arrays[0])


def test_known_columns_are_exact():
    """Two known columns leave nothing open."""
    release = release_of({"x": [1, 2, 3], "y": [2, 4, 7], "s": [1, 2, 3]}, [0, 0, 0], sensitive="s")
    answer = release.ask("SELECT regr_slope(y, x) FROM release")
    assert answer.exact
    assert answer.expected == pytest.approx(2.5)


def test_values_far_from_zero_keep_their_digits():
    """A hundred million and a little: the slope is that of the little."""
    base = 10**8
    release = release_of(
        {"x": [1, 2, 3, 4], "s": [base + 1, base + 2, base + 3, base + 5]}, [0, 0, 1, 1], sensitive="s"
    )
    answer = release.ask("SELECT regr_slope(s, x) FROM release")
    assert answer.lower == pytest.approx(0.7)
    assert answer.upper == pytest.approx(1.3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT corr(s, s) FROM release", "two sensitive"),
        ("SELECT corr(s, w) FROM release WHERE s > 1", "condition"),
        ("SELECT corr(s, t) FROM release", "numbers"),
        ("SELECT corr(s * w, w) FROM release", "mixes"),
        ("SELECT s, corr(s, w) FROM release GROUP BY s", "GROUP BY"),
    ],
)
def test_refusals_say_why(text, reason):
    """What has no bound is refused."""
    with pytest.raises(QueryError, match=reason):
        small_release(random.Random(0), gaps=False).sql(text)


def test_missing_values_are_refused_where_it_is_open_whose_they_are():
    """One of two rows has no value; of the other group nobody has one."""
    columns = {"x": [1, 2, 3, 4, 5], "s": pa.array([1, None, 2, 5, None], pa.int64())}
    with pytest.raises(QueryError, match="which of them is hidden"):
        release_of(columns, [0, 0, 1, 1, 2], sensitive="s").ask("SELECT corr(s, x) FROM release")
    kept = release_of(columns, [0, 0, 1, 1, 2], sensitive="s").ask("SELECT regr_slope(s, x) FROM release WHERE x > 2")
    assert (kept.lower, kept.upper) == pytest.approx((-3, 3))
