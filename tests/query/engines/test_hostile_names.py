"""Hostile names of columns, tables, files and values on every engine: nothing is read, nothing is written.

A folder with a secret is watched by the kernel (inotify), which sees what a database's own code opens, too.
"""

import ctypes
import os
import sys
from contextlib import contextmanager

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export

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
def watched(tmp_path):
    """A folder with a secret in it, and all that the kernel saw happen there."""
    if sys.platform != "linux":
        pytest.skip("files are watched by inotify")
    place = tmp_path / "w"
    place.mkdir()
    (place / "secret").write_text("1,2\n")
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(handle, str(place).encode(), 0xFFF) >= 0

    @contextmanager
    def nothing_happens():
        yield
        try:
            seen = os.read(handle, 65_536)
        except BlockingIOError:
            seen = b""
        assert seen == b""

    yield place, nothing_happens
    os.close(handle)


def test_the_watch_sees_a_file_that_is_read(watched):
    """A watch that sees nothing would let everything pass."""
    import duckdb

    place, nothing_happens = watched
    with pytest.raises(AssertionError), nothing_happens():
        duckdb.sql(f"SELECT * FROM read_csv('{place}/secret')").fetchall()


def _short(name, place):
    """A name that PostgreSQL takes: at most 63 bytes, with the place in the middle if it fits."""
    full = name.format(place=place)
    return full if len(full.encode()) <= 63 else name.format(place=f"/proc/self/cwd/{os.path.relpath(place)}")[:63]


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
    address = request.getfixturevalue("url") if engine == "postgres" else engine
    _release(hostile, "pay", hostile).save(tmp_path / "quasi")
    _release("town", hostile, hostile).save(tmp_path / "sensitive")
    with nothing_happens():
        for role in ("quasi", "sensitive"):
            release = hr.open(tmp_path / role)
            if engine == "postgres":
                export(release, address, overwrite=True)
            names = (hostile, "pay") if role == "quasi" else ("town", hostile)
            with connect(release, address) as session:
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
    address = engine
    if engine == "postgres":
        address = request.getfixturevalue("url")
        export(release, address, overwrite=True)
    with nothing_happens(), connect(release, address) as session, pytest.raises(hr.QueryError):
        session.sql(f"SELECT count(*) FROM {source.format(place=place)}")
    assert sorted(os.listdir(place)) == ["secret"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_parameter_is_a_value(watched, tmp_path, name):
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
        for engine in ("arrays", "duckdb"):
            with connect(release, engine) as session:
                session.sql("SELECT count(*) FROM release WHERE town = 'a'")


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
