"""The PostgreSQL engine against the array engine, on a real server that the tests start themselves."""

import pytest

import hedgerow as hr
from hedgerow.query import bound_to, connect
from hedgerow.query.engines.postgres import PostgresEngine, export
from hedgerow.query.sql.dialect import to_postgres
from tests.support.agreement import disagreement
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


def test_a_large_release_is_cut_so_that_several_processes_count_its_groups(url, monkeypatch):
    """Pieces hold whole groups, answers are those of arrays, and the server's plan counts pieces side by side."""
    monkeypatch.setattr("hedgerow.query.engines.postgres._PIECE", 50)
    groups = [0] * 70 + [number // 3 for number in range(3, 303)] + [101] * 70
    columns = {"age": [n % 60 for n in range(440)], "sex": ["f", "m"] * 220, "s": [n * 37 % 101 for n in range(440)]}
    release = release_of(columns, groups, sensitive="s")
    export(release, url, overwrite=True)
    with connect(release, url) as session:
        run = session.engine.connection.execute
        pieces = run("SELECT DISTINCT tableoid FROM release").fetchall()
        split = run('SELECT "group" FROM release GROUP BY 1 HAVING count(DISTINCT tableoid) > 1').fetchall()
        assert len(pieces) > 4
        assert split == []
        for item in ("sum(s)", "avg(s)", "min(s)", "count(*)"):
            text = f"SELECT sex, {item} AS x FROM release WHERE age > 20 GROUP BY sex"
            assert disagreement(connect(release), session, text) is None, text
        for setting in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
            run(f"SET {setting} = 0")
        text = 'SELECT sum(n) FROM (SELECT "group", count(*) AS n FROM release GROUP BY "group") AS hits'
        plan = "\n".join(line for (line,) in run(f"EXPLAIN {text}").fetchall())
    assert 0 < plan.find("Parallel Append") < plan.rfind("Group Key"), plan


def test_few_groups_leave_fewer_pieces(url, monkeypatch):
    """A group is never cut; a release of one group is one table."""
    monkeypatch.setattr("hedgerow.query.engines.postgres._PIECE", 2)
    release = release_of({"q": [1, 2, 3, 4, 5], "s": [5, 4, 3, 2, 1]}, [0] * 5, sensitive="s")
    export(release, url, overwrite=True)
    with connect(release, url) as session:
        found = session.engine.connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'release'::regclass"
        )
        assert found.fetchone() == (0,)
        assert session.ask("SELECT sum(s) FROM release WHERE q > 3").upper == 9
