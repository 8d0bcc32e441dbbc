"""The schema of a release on a server: any name, quoted; never one that holds anything else."""

import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from hedgerow.query.engines.summary import fingerprint
from tests.support.every_method import PEOPLE, SCHEMA, cases

QUESTION = "SELECT sum(salary) FROM release WHERE age BETWEEN 35 AND 55"
HOSTILE = 'x"; DROP SCHEMA precious CASCADE; --'


@pytest.mark.parametrize("schema", ["second", "Mixed Case", 'quo"te', "50%s", HOSTILE, "ü" * 31])
def test_a_session_finds_its_release_in_any_schema(url, salaries_release, schema):
    """What was exported to a schema is asked there, and a name is a name whatever it looks like."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS precious")
    export(salaries_release, url, schema=schema, overwrite=True)
    with connect(salaries_release, url, schema=schema) as session:
        ours, theirs = salaries_release.ask(QUESTION), session.ask(QUESTION)
    assert session.engine.connection.closed
    assert (theirs.lower, theirs.upper) == (ours.lower, ours.upper)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regnamespace('precious')").fetchone() != (None,)


@pytest.mark.parametrize(
    "schema", ["", "a" * 64, "ü" * 32, "pg_mine", "PG_mine", "information_schema", "a\0b", "a\nb", 3, None]
)
def test_names_that_a_server_would_cut_or_keep_are_refused(salaries_release, schema):
    """A name of more than 63 bytes is cut in silence and may then be another's; some belong to the server."""
    for act in (export, connect):
        if schema is None and act is connect:
            continue
        with pytest.raises(hr.ParameterError, match="'schema' must be"):
            act(salaries_release, "postgresql://nobody@127.0.0.1:1/none", schema=schema)


def test_overwriting_replaces_releases_and_nothing_else(url, salaries_release):
    """A schema that no export made is not dropped, even if asked: it may hold somebody's tables."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS theirs CASCADE; CREATE SCHEMA theirs; CREATE TABLE theirs.t (a int)")
    with pytest.raises(hr.InputError, match="not made by"):
        export(salaries_release, url, schema="theirs", overwrite=True)
    with pytest.raises(hr.InputError, match="not made by"):
        export(salaries_release, url, schema="public", overwrite=True)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regclass('theirs.t')").fetchone() == ("theirs.t",)


def test_a_server_that_refuses_is_one_sentence(url, salaries_release):
    """An account without rights gets a sentence, and nothing is left of the attempt."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest")
        connection.execute("SET ROLE guest")
    with pytest.raises(hr.InputError, match="right to create"):
        export(salaries_release, url + "&options=-c%20role%3Dguest", schema="forbidden")


def _salaries(first):
    table = {"age": [1, 2, 3, 4] * 3, "pay": list(range(first, first + 12))}
    return hr.Anatomy(l=2).publish(table, hr.Schema(quasi="age", sensitive="pay"))


def test_a_schema_that_holds_another_release_is_not_asked(url):
    """Its answers were taken for those of the release that was asked: exact, and false."""
    ours, theirs = _salaries(0), _salaries(100)
    export(ours, url, schema="monthly", overwrite=True)
    with pytest.raises(hr.QueryError, match="holds another release"):
        connect(theirs, url, schema="monthly")
    with connect(ours, url, schema="monthly") as session:
        assert session.ask("SELECT sum(pay) FROM release").lower == 66
        export(theirs, url, schema="monthly", overwrite=True)
        for question in ("SELECT sum(pay) FROM release", "SELECT median(pay) FROM release"):
            with pytest.raises(hr.QueryError, match="holds another release"):
                session.ask(question)


def test_a_schema_that_is_not_marked_with_its_release_is_not_asked(url):
    """Somebody may have removed the comment, or an earlier version exported it."""
    import psycopg

    ours = _salaries(0)
    export(ours, url, schema="unmarked", overwrite=True)
    for comment in ("'a release that hedgerow exported'", "NULL"):
        with psycopg.connect(url) as connection:
            connection.execute(f"COMMENT ON SCHEMA unmarked IS {comment}")
        with pytest.raises(hr.QueryError, match="hedgerow export"):
            connect(ours, url, schema="unmarked")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_release_is_the_same_before_and_after_it_is_saved(case, tmp_path):
    """So that what was exported from memory is asked by who has the bundle, and nothing else is."""
    release, other = (case.method.publish(PEOPLE, SCHEMA) for _ in range(2))
    release.save(tmp_path / "out")
    assert fingerprint(hr.open(tmp_path / "out")) == fingerprint(release) != fingerprint(other)


def test_a_schema_without_a_server_is_refused(salaries_release):
    """Other engines have none: an option is never ignored."""
    for engine in ("arrays", "duckdb"):
        with pytest.raises(hr.ParameterError, match="'schema'"):
            connect(salaries_release, engine, schema="second")


def test_the_command_line_exports_and_asks_there(url, salaries_release, tmp_path):
    """`--schema` of export and of query name the same place."""
    salaries_release.save(tmp_path / "out", allow_insecure=True)
    bundle, run = str(tmp_path / "out"), CliRunner().invoke
    assert run(main, ["export", bundle, "--to", url, "--schema", "It's 2nd", "--overwrite"]).exit_code == 0
    asked = run(main, ["query", bundle, "--engine", url, "--schema", "It's 2nd", QUESTION])
    assert asked.exit_code == 0, asked.output
    assert "530,000" in asked.output
    refused = run(main, ["query", bundle, "--schema", "It's 2nd", QUESTION])
    assert refused.exit_code == 2
    assert "'schema'" in refused.stderr
