"""Bounds that a PostgreSQL server gives by itself: the engine's, with the caller's rights, to one expression alone."""

from dataclasses import replace
from decimal import Decimal

import psycopg
import pytest

from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from hedgerow.release import PublishedColumns
from tests.support.assignments import release_of

CONDITIONS = ["true", "age between 30 and 50", "town = 'it''s' or age < 25", "town is null", "age / 2 > 20", "false"]


@pytest.fixture(scope="module")
def release():
    """Two sensitive columns of numbers and one of texts, in three groups."""
    columns = {
        "age": [23, 31, 45, 52, 38, 29, 61, 33, 47],
        "town": ["a", "it's", None, "b", "a", "it's", "b", None, "a"],
        "income": [5, 7, 9, 10, 12, 14, 20, 21, 23],
        "rate": [0.25, 1.5, -2.0, 3.75, 0.5, 0.25, 8.0, 1.25, -0.75],
        "illness": list("xyzxyzxyz"),
    }
    release = release_of(columns, [0, 0, 0, 1, 1, 1, 2, 2, 2], sensitive="income")
    return replace(release, columns=PublishedColumns(("age", "town"), ("income", "rate", "illness"), ()))


@pytest.fixture(scope="module")
def server(url, release):
    """A session of an analyst who has no hedgerow."""
    export(release, url, overwrite=True)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("column", ["income", "rate"])
def test_bounds_are_the_engines(server, release, column, condition):
    """Enclosed closely, means and deviations as floats allow, NULL where no row matches."""
    for function in ("sum", "avg", "min", "max"):
        ours = connect(release).ask(f"SELECT {function}({column}) FROM release WHERE {condition}")
        found = server.execute(f"SELECT * FROM hedgerow.bounds_{function}(%s, %s)", (column, condition)).fetchall()
        rows, lower, expected, upper, std, exact = found[0] if found else (0, None, None, None, None, None)
        if ours.lower is None:
            assert (rows, lower, upper) == (0, None, None)
            continue
        assert lower - Decimal("1e-12") <= Decimal(ours.lower) <= Decimal(ours.upper) <= upper + Decimal("1e-12")
        assert [float(lower), float(upper)] == pytest.approx([ours.lower, ours.upper])
        assert [expected, std] == pytest.approx([ours.expected, ours.std], abs=1e-9)
        assert exact == (ours.lower == ours.upper or ours.exact)
    counted = server.execute("SELECT lower, upper FROM hedgerow.bounds_count(%s)", (condition,)).fetchone()
    ours = connect(release).ask(f"SELECT count(*) FROM release WHERE {condition}")
    assert counted == (ours.lower, ours.upper)


HOSTILE = [
    "true) UNION SELECT 1, 2 FROM release WHERE (true",
    "true; DROP TABLE hedgerow.release",
    "true THEN 1 END FROM known; SELECT CASE WHEN true",
    "true) OR (true",
    "income > 10",
    "release.income > 10",
    "exists (select 1)",
    "(table release) is not null",
    "age > 30 --",
    "age > 30 /* */",
    "age > 30 group by 1",
    "$$a$$ = town",
    "town = E'\\''",
    "count(*) > 1",
    "nowhere = 1",
    "",
]


@pytest.mark.parametrize("condition", HOSTILE)
def test_what_is_no_condition_on_known_columns_is_refused(server, condition):
    """Neither a second statement nor a sensitive column gets through; the tables stay."""
    for function in ("bounds_avg('income', %s)", "bounds_count(%s)"):
        with pytest.raises(psycopg.Error):
            server.execute(f"SELECT * FROM hedgerow.{function}", (condition,)).fetchall()
    assert server.execute("SELECT count(*) FROM hedgerow.release").fetchone() == (9,)


@pytest.mark.parametrize("condition", [None, "", "  "])
def test_a_missing_condition_gets_a_sentence(server, condition):
    """And not what the server's parser says about a half-written statement."""
    with pytest.raises(psycopg.Error, match="a condition is one expression over known columns"):
        server.execute("SELECT * FROM hedgerow.bounds_avg('income', %s)", (condition,)).fetchall()


def test_functions_run_with_the_rights_of_the_caller(server):
    """Whoever may not read the release gets nothing from its functions, and a condition writes nothing."""
    server.execute("CREATE ROLE analyst; GRANT USAGE ON SCHEMA hedgerow TO analyst")
    try:
        server.execute("SET ROLE analyst")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            server.execute("SELECT * FROM hedgerow.bounds_count('age > 30')")
        server.execute("RESET ROLE; GRANT SELECT ON ALL TABLES IN SCHEMA hedgerow TO analyst; SET ROLE analyst")
        assert server.execute("SELECT lower FROM hedgerow.bounds_count('age > 30')").fetchone() == (7,)
    finally:
        server.execute("RESET ROLE; DROP OWNED BY analyst; DROP ROLE analyst")


def test_what_can_be_asked_is_listed(server):
    """A column without bounds is refused with the columns that have some."""
    listed = server.execute("SELECT name, asked FROM hedgerow.columns ORDER BY name").fetchall()
    assert dict(listed) == {
        "age": "in conditions",
        "town": "in conditions",
        "income": "bounds",
        "rate": "bounds",
        "illness": "hedgerow alone",
    }
    with pytest.raises(psycopg.errors.UndefinedColumn, match="income, rate"):
        server.execute("SELECT * FROM hedgerow.bounds_sum('illness')")
