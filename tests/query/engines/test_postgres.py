"""The PostgreSQL engine against the array engine, on a real server that the tests start themselves."""

import pytest

import hedgerow as hr
from hedgerow.query import bound_to, connect
from hedgerow.query.engines.postgres import PostgresEngine, export
from hedgerow.query.sql.dialect import to_postgres
from tests.support.assignments import release_of


def test_export_refuses_to_replace_by_accident(url, salaries_release):
    """A schema that is there stays unless overwriting is asked for."""
    export(salaries_release, url, schema="it's here")
    with pytest.raises(hr.InputError, match="already"):
        export(salaries_release, url, schema="it's here")
    export(salaries_release, url, schema="it's here", overwrite=True)
    engine = PostgresEngine(salaries_release, url, schema="it's here")
    (estimate,) = engine.run(bound_to(salaries_release, "SELECT count(*) FROM release")).estimates.values()
    engine.close()
    assert estimate.answers[0].expected == 9


def test_an_address_without_a_server_is_one_sentence():
    """Neither the address nor the password is repeated."""
    with pytest.raises(hr.InputError) as refusal:
        export(release_of({"q": [1], "s": [1]}, [0], sensitive="s"), "postgresql://user:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(refusal.value)


def test_a_schema_without_a_release_is_refused(url, salaries_release):
    """Asking before loading says what to do."""
    with pytest.raises(hr.QueryError, match="hedgerow export"):
        PostgresEngine(salaries_release, url, schema="empty")


def test_texts_with_quotes_breaks_and_backslashes_survive(url):
    """Odd texts, empty ones and missing ones come back as they were, and patterns mean the same."""
    towns = ['a"b', "c,d", "e\nf", "g\\h", "", None, "zü%", "NULL"]
    release = release_of({"town": towns, "s": list(range(8))}, [0] * 8, sensitive="s")
    export(release, url, overwrite=True)
    engine = PostgresEngine(release, url)
    for condition in ("town IS NULL", "town = ''", "town LIKE '%\\h'", "town LIKE 'z_!%' ESCAPE '!'", "town > 'e'"):
        text = f"SELECT count(*) AS n, sum(s) AS t FROM release WHERE {condition}"
        assert engine.run(bound_to(release, text)).table().equals(connect(release).sql(text).to_arrow()), condition
    engine.close()


def test_statements_are_postgresql():
    """Types and powers are spelled the way the server wants them."""
    assert to_postgres("SELECT CAST(a AS DOUBLE) ** 2") == "SELECT POWER(CAST(a AS DOUBLE PRECISION), 2)"


def test_the_printed_sql_runs_on_the_server_as_it_is(url, salaries_release):
    """What `--explain --dialect postgres` prints gives the analyst bounds that enclose ours, to the last few floats."""
    import psycopg

    from hedgerow.query import rewrite

    text = "SELECT gender, avg(salary) AS pay, min(salary) AS least FROM release WHERE age > 36 GROUP BY gender"
    export(salaries_release, url, overwrite=True)
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path TO hedgerow")
        cursor = connection.execute(rewrite(salaries_release, text, dialect="postgres"))
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for ours, theirs in zip(connect(salaries_release).sql(text).to_pylist(), rows, strict=True):
        assert theirs["pay_lower"] <= ours["pay_lower"] <= ours["pay_upper"] <= theirs["pay_upper"]
        assert theirs["pay_lower"] == pytest.approx(ours["pay_lower"], rel=1e-14)
        assert (theirs["least_lower"], theirs["least_upper"]) == (ours["least_lower"], ours["least_upper"])


def test_a_session_on_a_server(url, salaries_release):
    """`connect` takes an address and answers like the other engines."""
    export(salaries_release, url, overwrite=True)
    session = connect(salaries_release, url)
    text = "SELECT sum(salary) FROM release WHERE age BETWEEN 35 AND 55"
    ours, theirs = connect(salaries_release).ask(text), session.ask(text)
    session.engine.close()
    assert (theirs.lower, theirs.upper, theirs.exact) == (ours.lower, ours.upper, ours.exact)
    assert (theirs.expected, theirs.std) == pytest.approx((ours.expected, ours.std))
