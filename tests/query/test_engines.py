"""Three engines, every form: a thousand random questions each, and the truth inside every answer."""

import random

import pytest

from hedgerow.query import connect
from hedgerow.query.postgres_engine import export
from hedgerow.testing.agreement import disagreement
from hedgerow.testing.assignments import release_of
from hedgerow.testing.every_form import EVERY_FORM, sample_of
from hedgerow.testing.random_sql import random_question

QUESTIONS = 64


def questions(sample, rng, number):
    """Random questions that suit the form; on scattered releases columns stand in one place."""
    form = sample.release.form
    for _ in range(number):
        once = form == "scattered" or rng.random() < 0.5
        yield random_question(rng, sample.kind, once=once, boxed=form == "generalized")


@pytest.mark.parametrize("form", EVERY_FORM)
def test_duckdb_agrees_with_arrays_to_the_last_digit(form):
    """Keys, bounds and refusals are equal, means and deviations as closely as floats allow."""
    rng = random.Random(f"duckdb {form}")
    for _ in range(2):
        sample = sample_of(form, rng)
        arrays, database = connect(sample.release), connect(sample.release, "duckdb")
        for text in questions(sample, rng, QUESTIONS // 2):
            assert disagreement(arrays, database, text) is None, text


@pytest.mark.slow
@pytest.mark.parametrize("form", EVERY_FORM)
def test_postgresql_agrees_with_arrays_to_the_last_digit(form, url):
    """The same on a server."""
    rng = random.Random(f"postgresql {form}")
    sample = sample_of(form, rng)
    export(sample.release, url, overwrite=True)
    arrays, database = connect(sample.release), connect(sample.release, url)
    for text in questions(sample, rng, QUESTIONS):
        assert disagreement(arrays, database, text) is None, text
    database.engine.close()


ODD = [
    "SELECT sum(x / y) AS a, avg(x % y) AS b, count(x / y) AS c FROM release",
    "SELECT x / y AS k, count(*) AS n FROM release GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE x / y > 0 OR x % y IS NULL",
    "SELECT sum(s) AS t FROM release WHERE x / (y - y) IS NULL AND s / (s - 1) > 1",
    "SELECT sum(s) AS t FROM release WHERE 1 / 0 IS NULL",
    "SELECT round(r) AS k, sum(s) AS t FROM release GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE round(r) = 0",
    "SELECT upper(w) AS k, max(s) AS t FROM release WHERE lower(w) <> 'ß' GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE x IN (y, 2, NULL)",
    "SELECT count(*) AS n FROM release WHERE x NOT IN (y - 1, 4)",
]


@pytest.mark.parametrize("text", ODD)
def test_where_databases_differ_engines_do_not(text, url):
    """Division by zero is NULL, halves are rounded away from zero, case is Unicode's; DuckDB and PostgreSQL vary."""
    columns = {
        "x": [1, -2, 0, 4, None, 5],
        "y": [0, 1, 0, -3, 2, None],
        "r": [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994],
        "w": ["Ä", "ä", "ß", None, "é", "E"],
        "s": [1, 2, 3, 4, 5, 6],
    }
    release = release_of(columns, [0, 0, 0, 1, 1, 1], sensitive="s")
    export(release, url, overwrite=True)
    server = connect(release, url)
    for other in (connect(release, "duckdb"), server):
        assert disagreement(connect(release), other, text) is None
    server.engine.close()


def test_dividing_by_zero_is_null():
    """As the engines agree, so is it written down."""
    release = release_of({"x": [1, 2], "y": [0, 2], "s": [3, 4]}, [0, 0], sensitive="s")
    for engine in ("arrays", "duckdb"):
        (row,) = connect(release, engine).sql("SELECT sum(x / y) AS q, count(x % y) AS n FROM release").to_pylist()
        assert (row["q"], row["n"]) == (1.0, 1)
