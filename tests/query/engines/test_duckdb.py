"""The DuckDB engine against the array engine, and its locks."""

import random

import duckdb
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import QueryError
from hedgerow.query import connect, rewrite
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import sample_of


def sample(form="permuted, whole numbers"):
    """A release with its engines."""
    release = sample_of(form, random.Random(form)).release
    return release, connect(release, "duckdb"), connect(release)


def test_the_rewritten_question_runs_as_it_is_printed():
    """What an analyst copies into a database gives bounds that enclose the array engine's closely."""
    release, database, arrays = sample()
    items = "avg(s) AS a, sum(s) AS s, min(s) AS l, max(s) AS h, count(*) AS n"
    text = f"SELECT town, {items} FROM release GROUP BY town"
    printed = database.engine.connection.sql(rewrite(release, text)).fetchall()
    for row, ours in zip(printed, arrays.sql(text).to_pylist(), strict=True):
        assert row[0] == ours["town"]
        assert row[2] <= ours["a_lower"] <= row[2] + 1e-12
        assert row[3] - 1e-12 <= ours["a_upper"] <= row[3]
        assert row[6:8] == (ours["s_lower"], ours["s_upper"])
        assert row[10:12] == (ours["l_lower"], ours["l_upper"])
        assert row[13] == pytest.approx(ours["h"])


HOSTILE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_parquet('/tmp/x.parquet')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT getenv('HOME')",
    "SELECT * FROM glob('/etc/*')",
    "COPY release TO '/tmp/leak.csv'",
    "EXPORT DATABASE '/tmp/leak'",
    "ATTACH '/tmp/leak.db'",
    "SET enable_external_access = true",
    "SET threads = 3",
    "INSTALL httpfs",
    "LOAD httpfs",
]


@pytest.mark.parametrize("statement", HOSTILE)
def test_the_database_is_locked(statement):
    """Even a statement that got past the parser could neither read nor write files."""
    _, database, _ = sample()
    with pytest.raises(duckdb.Error):
        database.engine.connection.execute(statement).fetchall()


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM release WHERE s > 1",
        "SELECT s, count(*) AS n FROM release GROUP BY s",
        "SELECT median(s) AS a, variance(s) AS b, count(DISTINCT s) AS c, sum(s * 2) AS d, min(town) AS e FROM release",
        "SELECT avg(s) AS a FROM release WHERE age > 30 OR s > 3",
    ],
)
def test_what_the_help_table_cannot_say_is_counted_and_finished(question):
    """Conditions on sensitive values and aggregates beyond the help table give the array engine's answer."""
    _, database, arrays = sample()
    assert disagreement(arrays, database, question) is None
    assert database.sql(question).num_rows


def test_a_help_table_for_gaps_is_not_needed():
    """Missing sensitive values have no bounds in the help table; the answer is the array engine's."""
    holes = release_of({"a": [1, 2], "pay": [None, 3]}, [0, 0], sensitive="pay")
    answer = connect(holes, "duckdb").ask("SELECT sum(pay) FROM release WHERE a = 1")
    assert (answer.lower, answer.upper, answer.exact) == (3, 3, False)


def test_columns_that_differ_in_case_are_refused():
    """A database would take one for the other."""
    twins = release_of({"a": [1, 2], "A": [3, 4], "pay": [5, 6]}, [0, 0], sensitive="pay")
    for text in ('SELECT sum("A") FROM release', "SELECT median(pay) FROM release"):
        with pytest.raises(QueryError, match="differs in case"):
            connect(twins, "duckdb").ask(text)


def test_errors_of_the_database_quote_no_values():
    """An overflow inside DuckDB names numbers of the table; our refusal does not."""
    release = release_of({"a": [3037000499123, 2], "pay": [5, 6]}, [0, 0], sensitive="pay")
    for engine in ("duckdb", "arrays"):
        with pytest.raises(QueryError) as caught:
            connect(release, engine).ask("SELECT count(*) FROM release WHERE a * a > 1")
        assert "3037000499123" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_bundle_is_asked_by_its_files_alone(tmp_path):
    """What was saved gives the answers of the release."""
    table = pa.table({"a": list(range(12)), "s": [n * 7 % 12 for n in range(12)]})
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    release.save(tmp_path / "out")
    text = "SELECT a % 2 AS odd, avg(s) AS m, count(*) AS n FROM release WHERE a < 9 GROUP BY odd ORDER BY m DESC"
    session = connect(tmp_path / "out", "duckdb")
    ours, theirs = release.connect().sql(text), session.sql(text)
    for name in ("odd", "m_lower", "m_upper", "n", "n_lower"):
        assert ours[name].to_pylist() == theirs[name].to_pylist()


def test_rows_of_nothing_between_help_rows_join_nothing(monkeypatch):
    """Two threads join what lies in two row groups; the answers stay what they are."""
    monkeypatch.setattr("hedgerow.query.engines.duckdb._ROW_GROUP", 16)
    columns = {"a": [row % 5 for row in range(36)], "s": [row * 7 % 11 for row in range(36)]}
    release = release_of(columns, [row // 3 for row in range(36)], sensitive="s")
    session, arrays = connect(release, "duckdb"), connect(release)
    rows = session.engine.connection.execute('SELECT "group" FROM help_by_group').fetchall()
    assert [row for (row,) in rows] == [*range(6), *[None] * 10, *range(6, 12)]
    for text in ("SELECT sum(s) AS x FROM release WHERE a > 1", "SELECT a, avg(s) AS x FROM release GROUP BY a"):
        assert disagreement(arrays, session, text) is None
