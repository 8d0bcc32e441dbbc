"""Three engines, every form: a thousand random questions each, and the truth inside every answer."""

import random

import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.float_questions import float_question
from tests.support.random_sql import random_question

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


RAGGED = [form for form, (kind, *_) in EVERY_FORM.items() if kind == "ragged"]


@pytest.mark.parametrize("form", RAGGED)
@pytest.mark.parametrize("engine", ["duckdb", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_no_order_of_summation_shows_in_a_bound(form, engine, request):
    """Floats on no decimal grid, known and hidden: databases hand rows over in any order, and bounds are equal bits."""
    rng = random.Random(f"floats {form}")
    for _ in range(3):
        sample = sample_of(form, rng)
        place = engine if engine == "duckdb" else request.getfixturevalue("url")
        if engine == "postgresql":
            export(sample.release, place, overwrite=True)
        arrays, database = connect(sample.release), connect(sample.release, place)
        for _ in range(QUESTIONS):
            text = float_question(rng)
            assert disagreement(arrays, database, text) is None, text
        database.close()


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
    "SELECT sum(x / y) AS a, avg(x % y) AS b, count(x / y) AS c FROM release WHERE y <> 0",
    "SELECT CASE WHEN y <> 0 THEN x / y END AS k, count(*) AS n FROM release GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE y = 0 OR x / y > 0 OR x % y IS NULL",
    "SELECT sum(s) AS t FROM release WHERE x / (y - y) IS NULL AND s / (s - 1) > 1",
    "SELECT sum(s) AS t FROM release WHERE s > 1 AND s / (s - 1) > 1",
    "SELECT sum(s) AS t FROM release WHERE 1 / 0 IS NULL",
    "SELECT round(r) AS k, sum(s) AS t FROM release GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE round(r) = 0",
    "SELECT upper(w) AS k, max(s) AS t FROM release WHERE lower(w) <> 'ß' GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE x IN (y, 2, NULL)",
    "SELECT count(*) AS n FROM release WHERE x NOT IN (y - 1, 4)",
]


@pytest.mark.parametrize("text", ODD)
def test_where_databases_differ_engines_do_not(text, url):
    """Halves are rounded away from zero, case is Unicode's, division by zero is refused if it is looked at."""
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


HOSTILE = [
    "SELECT count(*) FROM release; DROP TABLE release",
    "SELECT count(*) FROM release; SELECT 1",
    "SELECT count(*) FROM release UNION ALL SELECT s FROM release",
    "SELECT count(*) FROM release WHERE s IN (SELECT s FROM help)",
    "SELECT count(*) FROM read_parquet('/etc/passwd')",
    "SELECT count(*) FROM release WHERE pg_read_file('/etc/passwd') IS NULL",
    "SELECT max(getenv('HOME')) FROM release",
    "SELECT count(*) FROM pg_catalog.pg_authid",
    "SELECT count(*) FROM information_schema.tables",
    "COPY (SELECT s FROM release) TO PROGRAM 'cat'",
    "ATTACH '/tmp/leak.db'",
    "PRAGMA database_list",
    "SELECT lo_import('/etc/passwd')",
    "SELECT count(*) FROM release WHERE " + "(" * 10_000 + "s = 1" + ")" * 10_000,
    "SELECT count(*) FROM release WHERE town = '' OR nowhere = 1 -- '",
]


@pytest.mark.parametrize("form", ["permuted, whole numbers", "scattered, floats", "generalized, whole numbers"])
def test_hostile_questions_are_refused_by_every_engine(form, url):
    """None of them reaches a database; the tables that are asked are the release's own."""
    release = sample_of(form, random.Random(form)).release
    export(release, url, overwrite=True)
    sessions = [connect(release), connect(release, "duckdb"), connect(release, url)]
    for session in sessions:
        for text in HOSTILE:
            with pytest.raises(QueryError):
                session.sql(text)
        # A comment is no condition, and a quote inside a text ends nothing.
        text = "SELECT count(*) AS n FROM release /* WHERE town = 'x' */ WHERE town <> 'a'' OR 1 = 1 --' -- AND age = 1"
        assert session.sql(text).equals(session.sql("SELECT count(*) AS n FROM release WHERE town <> 'b'"))
    sessions[-1].engine.close()


def test_a_session_on_a_server_writes_nothing(url):
    """Its transactions are read-only."""
    import psycopg

    release = release_of({"a": [1, 2], "s": [3, 4]}, [0, 0], sensitive="s")
    export(release, url, overwrite=True)
    session = connect(release, url)
    for statement in ("DELETE FROM release", "CREATE TABLE leak (a int)", "DROP SCHEMA hedgerow CASCADE"):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session.engine.connection.execute(statement)
    session.engine.close()


def test_the_deviation_of_an_extreme_does_not_cancel(url):
    """A minimum that is 0 or 1, while the bound is a thousand million: the squares of that leave no digit of 1/4."""
    far = 10**9
    groups = [[0, far]] + [[1, far, far]] * 200
    values = [value for group in groups for value in group]
    first = [int(place == 0) for group in groups for place in range(len(group))]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    release = release_of({"a": first, "s": values}, numbers, sensitive="s")
    mirrored = release_of({"a": first, "s": [-value for value in values]}, numbers, sensitive="s")
    for published, text in ((release, "min"), (mirrored, "max")):
        export(published, url, overwrite=True)
        server = connect(published, url)
        for session in (connect(published), connect(published, "duckdb"), server):
            answer = session.ask(f"SELECT {text}(s) FROM release WHERE a = 1")
            assert (abs(answer.expected), answer.std) == pytest.approx((0.5, 0.5))
        server.engine.close()


@pytest.mark.parametrize("size", [3, 400, 20_000])
def test_groups_of_any_size_fit_on_a_server(size, url):
    """Lists lie in their rows where a page has room for them, and beside it where not; so do decimals."""
    for values in (range(2 * size), [n / 4 for n in range(2 * size)]):
        columns = {"a": [n % 3 for n in range(2 * size)], "s": list(values)}
        release = release_of(columns, [n // size for n in range(2 * size)], sensitive="s")
        export(release, url, overwrite=True)
        with connect(release, url) as server:
            for text in ("SELECT sum(s) AS t, max(s) AS m FROM release WHERE a = 1", "SELECT min(s) FROM release"):
                assert disagreement(connect(release), server, text) is None
