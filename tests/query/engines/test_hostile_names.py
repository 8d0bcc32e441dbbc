"""Hostile names of columns, tables, files and values on every engine: nothing is read, nothing is written.

A folder with a secret is watched by the kernel (inotify), which sees what a database's own code opens, too.
"""

import os

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from tests.support.forger import Forgery
from tests.support.watching import watched_folder

NAMES = [
    "x\" FROM release; COPY (SELECT 1) TO '{place}/written'; --",
    "x'; COPY release TO '{place}/written'; --",
    "(SELECT count(*) FROM read_text('{place}/secret'))",
    "read_csv('{place}/secret')",
    "pg_read_file('{place}/secret')",
    '"; DROP TABLE release; --',
    "x); ATTACH '{place}/written'; --",
    "x' OR pg_ls_dir('{place}') IS NOT NULL --",
]


@pytest.fixture
def watched():
    """A folder with a secret in it, and all that the kernel saw happen there."""
    with watched_folder() as found:
        yield found


def test_the_watch_sees_a_file_that_is_read(watched):
    """A watch that sees nothing would let everything pass."""
    import duckdb

    place, nothing_happens = watched
    with pytest.raises(AssertionError), nothing_happens():
        duckdb.sql(f"SELECT * FROM read_csv('{place}/secret')").fetchall()


@pytest.mark.parametrize("statement", ["SELECT pg_read_file('{}/secret')", "COPY (SELECT 1) TO '{}/written'"])
def test_the_watch_sees_what_a_server_does(watched, url, statement):
    """The server of the tests may read and write there, if anything makes it do so."""
    import psycopg

    place, nothing_happens = watched
    with pytest.raises(AssertionError), nothing_happens(), psycopg.connect(url) as connection:
        connection.execute(statement.format(place))


def _short(name, place):
    """A name that PostgreSQL takes, with the place in it."""
    full = name.format(place=place)
    assert len(full.encode()) <= 63, full
    return full


def _session(release, engine, request, **options):
    """A session on an engine; PostgreSQL gets the release first."""
    address = request.getfixturevalue("url") if engine == "postgres" else engine
    if engine == "postgres":
        export(release, address, overwrite=True, **options)
    return connect(release, address, **options)


def _questions(quasi, sensitive, value):
    def name(text):
        return '"' + text.replace('"', '""') + '"'

    text = "'" + value.replace("'", "''") + "'"
    yield f"SELECT sum({name(sensitive)}) FROM release WHERE {name(quasi)} = {text}"
    yield f"SELECT count(*) FROM release WHERE {name(quasi)} IN ({text}, 'a')"
    yield f"SELECT {name(quasi)}, max({name(sensitive)}) FROM release GROUP BY {name(quasi)}"
    yield f"SELECT count(*) AS {name(value)} FROM release"


def _release(quasi, sensitive, value):
    table = pa.table({quasi: [value, "a", "b", "c"] * 4, sensitive: [n % 7 for n in range(16)]})
    return hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi=[quasi], sensitive=sensitive))


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_name_is_a_name(watched, request, tmp_path, name, engine):
    """Columns, values and aliases that look like SQL are answered as what they are, from a bundle on disk."""
    place, nothing_happens = watched
    hostile = _short(name, place) if engine == "postgres" else name.format(place=place)
    _release(hostile, "pay", hostile).save(tmp_path / "quasi")
    _release("town", hostile, hostile).save(tmp_path / "sensitive")
    with nothing_happens():
        for role in ("quasi", "sensitive"):
            release = hr.open(tmp_path / role)
            names = (hostile, "pay") if role == "quasi" else ("town", hostile)
            with _session(release, engine, request) as session:
                for question in _questions(*names, hostile):
                    try:
                        answer = session.sql(question)
                    except hr.QueryError:
                        continue
                    assert answer.num_rows >= 1
    assert sorted(os.listdir(place)) == ["secret"]


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
@pytest.mark.parametrize("source", [
    "read_csv('{place}/secret')", "'{place}/secret'", "read_text('{place}/secret')", '"{place}/secret"',
    "release, read_csv('{place}/secret')", "pg_read_file('{place}/secret')", "glob('{place}/*')",
    "(SELECT * FROM read_csv('{place}/secret')) AS release",
])  # fmt: skip
def test_a_hostile_table_is_refused(watched, request, source, engine):
    """Nothing but the release and tables that were brought along can be asked."""
    place, nothing_happens = watched
    release = _release("town", "pay", "x")
    with nothing_happens(), _session(release, engine, request) as session, pytest.raises(hr.QueryError):
        session.sql(f"SELECT count(*) FROM {source.format(place=place)}")
    assert sorted(os.listdir(place)) == ["secret"]


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_parameter_is_a_value(watched, request, tmp_path, name, engine):
    """Protected values and series of a ledger are written down and read back, and run nowhere."""
    place, nothing_happens = watched
    hostile = name.format(place=place)
    ills = [hostile, "flu", "gout", "cold"]
    table = pa.table({"town": list("abcd") * 6, "ill": [ills[(n + n // 4) % 4] for n in range(24)]})
    method = hr.Robust(r="1.2", protect=[hostile], max_suppressed="0.5", knowledge=KnowledgeEstimate(support=1))
    with nothing_happens():
        method.publish(table, hr.Schema(quasi=["town"], sensitive="ill")).save(tmp_path / "out")
        release = hr.open(tmp_path / "out")
        release.verify()
        with _session(release, engine, request) as session:
            answer = session.sql("SELECT count(*) AS n FROM release WHERE town = 'a'")
            assert answer["n_lower"].to_pylist() == [sum(release.tables["quasi"]["town"].to_numpy() == "a")]


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_table_of_ones_own_is_a_name(watched, request, name, engine):
    """A frame that is brought along under such a name is joined, or refused, and nothing else happens."""
    place, nothing_happens = watched
    hostile = _short(name, place)
    quoted = '"' + hostile.replace('"', '""') + '"'
    own = {hostile: pa.table({"town": ["a", "b"], "size": [1, 2]})}
    with nothing_happens(), _session(_release("town", "pay", "x"), engine, request) as session:
        try:
            found = session.sql(f"SELECT count(*) AS n FROM release JOIN {quoted} AS own USING (town)", own)
        except hr.QueryError:
            return
        assert found["n_lower"].to_pylist() == [8]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_schema_is_a_name_to_the_server(watched, request, name):
    """The schema of an export has the very name that was given, or it is refused."""
    place, nothing_happens = watched
    release = _release("town", "pay", "x")
    with nothing_happens():
        try:
            session = _session(release, "postgres", request, schema=_short(name, place))
        except hr.HedgerowError:
            return
        with session:
            assert session.sql("SELECT count(*) AS n FROM release")["n_lower"].to_pylist() == [16]


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
@pytest.mark.parametrize(
    "name", ["x'; COPY (SELECT 1) TO 'written'; --", "x\"; ATTACH 'written'; --", "read_text('secret')"]
)
def test_a_hostile_file_is_refused_or_a_name(watched, request, tmp_path, monkeypatch, name, engine):
    """As the stem of a file in the manifest it is refused before any engine sees it; as the folder's it is a name."""
    place, nothing_happens = watched
    monkeypatch.chdir(place)
    _release("town", "pay", "x").save(tmp_path / name)
    forged = Forgery.of(tmp_path / name)
    forged.tables[name] = forged.tables.pop("release")
    forged.write(tmp_path / "forged")
    with nothing_happens():
        with _session(hr.open(tmp_path / name), engine, request) as session:
            assert session.sql("SELECT count(*) AS n FROM release")["n_lower"].to_pylist() == [16]
        with pytest.raises(hr.BundleError):
            _session(hr.open(tmp_path / "forged"), engine, request)
        with pytest.raises(hr.BundleError):
            connect(tmp_path / "forged", "duckdb")


@pytest.mark.parametrize("name", ["x" * 64, "\u00fc" * 32, "a" * 61 + "\u20ac"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
def test_a_column_that_postgresql_would_cut_is_refused_by_name(url, role, name):
    """A name of more than 63 bytes would be cut in silence, and could then be another column's; 63 bytes are taken."""
    table = {"quasi": list("abcd") * 4, "sensitive": [n % 7 for n in range(16)], "plain": list(range(16))}
    short = name.encode()[: len(name.encode()) - 1].decode(errors="ignore")
    for given in (name, short):
        names = {one: given if one == role else one for one in table}
        schema = hr.Schema(quasi=[names["quasi"]], sensitive=names["sensitive"], plain=[names["plain"]])
        release = hr.KEAnonymity(k=2, e=1).publish(
            pa.table({names[one]: values for one, values in table.items()}), schema
        )
        if given == name:
            with pytest.raises(hr.HedgerowError, match="63") as caught:
                export(release, url, overwrite=True)
            assert name[:20] in str(caught.value)
        else:
            export(release, url, overwrite=True)
