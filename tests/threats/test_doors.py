"""Every public door that takes a bundle, with forged bundles of every kind: an answer or one of our errors, and nothing
is read or written elsewhere. A new function or verb is tried without being added here."""

import os
import shutil
import signal
import sys
import tempfile
import warnings
from contextlib import contextmanager

import anyio
import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.export import KINDS, export_files
from hedgerow.query import connect
from tests.support.doors import HARMLESS, commands, forged_bundles, functions, honest_bundles
from tests.support.watching import watched_folder

SECONDS = 5
"""Of processor time, for one bundle at one door."""

DECIDES = ("certify", "verify", "verify_bundle", "check")
"""Doors that say yes or no: to none of these bundles yes, but for the harmless ones."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Honest bundles; the loops that they need are compiled before anybody takes the time."""
    folder = tmp_path_factory.mktemp("honest")
    places = {name: folder / name for name in honest_bundles(folder)}
    for place in places.values():
        hr.certify(place)
    return places


@pytest.fixture(scope="module")
def forged(tmp_path_factory, compiled):
    """The bundles, and the folder that nobody may touch."""
    with watched_folder() as (place, nothing_happens):
        yield forged_bundles(tmp_path_factory.mktemp("forged"), place / "secret"), nothing_happens


class TooSlow(BaseException):
    """No handler of errors may catch it."""


@contextmanager
def _in_time():
    def end(*_):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_written = None
"""Where files were opened for writing, while somebody looks."""


def _note(event, details):
    if event == "open" and _written is not None and isinstance(details[0], str | bytes | os.PathLike):
        flags = details[2] if isinstance(details[2], int) else 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _written.append(os.path.abspath(os.fsdecode(details[0])))


sys.addaudithook(_note)


@contextmanager
def _writing_only(folder):
    global _written
    _written = []
    try:
        yield
        outside = [file for file in _written if not file.startswith((str(folder), "/dev/"))]
        assert outside == []
    finally:
        _written = None


def _use(door, bundle):
    """What a door said: None where it refused."""
    try:
        with _in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return door(bundle) or True
    except hr.HedgerowError as error:
        said = str(error)
    assert "canary-lie" not in said
    return None


@pytest.mark.parametrize("name", functions())
def test_no_function_is_taken_in(name, forged, tmp_path, monkeypatch):
    """An answer or one of our errors; nothing is written, and nobody who decides says yes."""
    bundles, nothing_happens = forged
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    accepted = []
    with nothing_happens(), _writing_only(tmp_path):
        for what, place in bundles.items():
            if _use(functions()[name], place) is not None and what not in HARMLESS:
                accepted.append(what)
    assert not (name.split(".")[-1] in DECIDES and accepted)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", commands())
def test_no_verb_is_taken_in(name, forged, tmp_path, monkeypatch):
    """The same on the command line: it ends with 0, 1 or 2, and says no sentence of the stranger."""
    bundles, nothing_happens = forged
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pa.csv.write_csv(pa.table({"author": [0, 1, 2], "paper": [0, 1, 2]}), tmp_path / "edges.csv")
    workload = tmp_path / "workload.toml"
    workload.write_text("dimensions = [1]\ncount = 1\n")
    accepted, wrong = [], []
    with nothing_happens(), _writing_only(tmp_path):
        for what, place in bundles.items():
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            filled = {"bundle": place, "out": tmp_path / "out", "table": tmp_path / "edges.csv", "workload": workload}
            words = [word.format(**filled) if word.startswith("{") else word for word in commands()[name]]
            with _in_time():
                run = CliRunner().invoke(main, words)
            fault = None if isinstance(run.exception, SystemExit | None) else run.exception
            lied = what not in HARMLESS and "canary-lie" in run.output + _texts_in(tmp_path)
            if fault is not None or run.exit_code not in (0, 1, 2) or lied:
                wrong.append((what, run.exit_code, repr(fault), lied))
            if run.exit_code == 0 and what not in HARMLESS:
                accepted.append(what)
    assert wrong == []
    assert not (name.split(" ")[-1] in DECIDES and accepted)


def _texts_in(folder):
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix in (".md", ".csv", ".json", ".html")]
    return " ".join(file.read_text(errors="replace") for file in files)


def test_engines_agree_about_forgeries_that_open(forged):
    """Whatever the help table of the bundle says: nobody verified it, so that no engine answers from it."""
    asked, text = 0, "SELECT count(*) AS n, sum(salary) AS s, min(salary) AS m FROM release WHERE age > 30"
    for what, place in forged[0].items():
        try:
            one, other = (connect(place, engine).sql(text) for engine in ("arrays", "duckdb"))
        except hr.HedgerowError:
            continue
        for name in ("n_lower", "n_upper", "s_lower", "s_upper", "m_lower", "m_upper"):
            assert one[name].to_pylist() == other[name].to_pylist(), what
        asked += "help" in what
    assert asked >= 4


def test_honest_bundles_come_in(compiled):
    """Doors that refuse everybody would pass every test above."""
    for name, place in compiled.items():
        doors = functions()
        verify = "hedgerow.graph.verify_bundle" if name == "graph" else "hedgerow.verify.verify_bundle"
        for door in (verify, "hedgerow.certify", "hedgerow.certificate.check", "hedgerow.open"):
            assert _use(doors[door], place) is not None
        if name != "graph":
            assert _use(doors["hedgerow.query.connect duckdb"], place) is not None
    assert {"query", "attack", "export", "compare", "graph query", "graph export"} <= set(commands())


def test_no_page_of_the_app_is_taken_in(forged, tmp_path):
    """Every address of a release shows what was verified, or a sentence; a fault of the program is no answer."""
    from hedgerow.app.jobs import Jobs
    from hedgerow.app.serve import application, open_workspace

    bundles, nothing_happens = forged
    workspace, jobs = open_workspace(None, str(tmp_path / "work")), Jobs()
    app = application(workspace, jobs)
    routes = [route.path for route in app.routes if "GET" in (route.methods or ()) and "/releases" in route.path]
    for number, place in enumerate(bundles.values()):
        shutil.copytree(place, tmp_path / "work" / f"r{number}", symlinks=True, copy_function=_copy)

    harmless = [f"r{number}" for number, what in enumerate(bundles) if what in HARMLESS]

    async def visit():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=None) as client:
            for route in routes:
                for number in range(len(bundles)) if "{name}" in route else [0]:
                    address = route.format(name=f"r{number}")
                    found = await client.get(address, params={"q": "SELECT count(*) FROM release"})
                    yield address, found

    async def look():
        with nothing_happens():
            async for address, found in visit():
                assert found.status_code in (200, 404, 422), (address, found.text)
                assert "canary-lie" not in found.text or set(address.split("/")) & set(harmless), address

    try:
        anyio.run(look)
    finally:
        jobs.close()


def _copy(source, target):
    if os.path.isfile(source):
        shutil.copy(source, target)
    return target


STRANGE_PATHS = (None, 5, b"out", "", " ", "x" * 300, "x" * 5000, "a\0b", "\ud800", "no/such")
"""What is no path, and paths that no file system has."""


@pytest.mark.parametrize("path", STRANGE_PATHS, ids=lambda path: ascii(path)[:20])
def test_a_strange_path_is_refused_at_every_door(path, tmp_path, monkeypatch):
    """At doors that read a bundle, a table or a ledger, and doors that write: one of our errors, nothing written."""
    monkeypatch.chdir(tmp_path)
    table = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
    schema, method = hr.Schema(quasi="age", sensitive="pay"), hr.KEAnonymity(k=2, e=1)
    release = method.publish(table, schema)
    doors = {name: door for name, door in functions().items() if "connect" not in name}
    doors |= {"read_table": hr.read_table, "publish": lambda path: method.publish(path, schema)}
    if path not in ("x" * 300, " ", "no/such"):  # some systems have files of these names
        doors |= {f"export {kind}": lambda path, kind=kind: export_files(release, path, kind) for kind in KINDS}
        doors |= {"save": release.save, "overwrite": lambda path: release.save(path, overwrite=True)}
        doors |= {"ledger": lambda path: method.publish(table, schema, ledger=path or 7)}
    assert {name: found for name, door in doors.items() if (found := _met(door, path)) != "refused"} == {}
    assert list(tmp_path.iterdir()) == []


def _met(door, path):
    try:
        found = door(path)
    except hr.HedgerowError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    # How large a table is, or whether it is too large: nobody knows, so no.
    return found or "refused"


def test_nothing_is_written_into_a_published_bundle(tmp_path):
    """An export, a second release, or a ledger with its secret key, inside the folder that is handed on."""
    table = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
    schema, method = hr.Schema(quasi="age", sensitive="pay"), hr.KEAnonymity(k=2, e=1)
    release = method.publish(table, schema)
    release.save(tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for folder in (tmp_path / "out", tmp_path / "out" / "deeper", tmp_path / "link"):
        for write in (
            *(lambda place, kind=kind: export_files(release, place, kind) for kind in KINDS),
            release.save,
            lambda place: method.publish(table, schema, ledger=place),
        ):
            with pytest.raises(hr.ParameterError, match="would lie inside the release"):
                write(folder / "more")
    pq.write_table(pa.table(table), tmp_path / "table.parquet")
    words = ["publish", str(tmp_path / "table.parquet"), "--quasi", "age", "--sensitive", "pay", "--method", "ke"]
    words += [
        "--k",
        "2",
        "--e",
        "1",
        "--out",
        str(tmp_path / "second"),
        "--ledger",
        str(tmp_path / "out" / "ledger.json"),
    ]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, (tmp_path / "second").exists()) == (2, False)
    hr.open(tmp_path / "out").verify()


def test_a_manifest_of_another_program_is_in_nobodys_way(tmp_path):
    """Folders of web pages have a manifest.json, too."""
    (tmp_path / "manifest.json").write_text('{"name": "a web page", "format": 3}')
    release = hr.KEAnonymity(k=2, e=1).publish(
        {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay")
    )
    release.save(tmp_path / "out")
    hr.open(tmp_path / "out").verify()
