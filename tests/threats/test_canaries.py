"""threats.md, part A: what is not published is in no output of any method, in memory, on disk or on the screen."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow import graph as hg
from hedgerow.methods.registry import METHODS
from tests.support.canaries import CANARY, NUMBER, leaks, leaks_in_folder, leaks_in_tables, tainted_people
from tests.support.every_method import PEOPLE, SCHEMA, cases, people

CASES = cases()


@pytest.fixture(scope="module")
def tainted():
    """A frame with canaries in identifiers, suppressed rows, index, attributes and unused categories."""
    return tainted_people()


@pytest.fixture
def opened_for_writing():
    """The files that are opened for writing while the test runs, as the interpreter reports them."""
    opened, watching = [], [True]

    def hook(event, args):
        if watching[0] and event == "open" and isinstance(args[0], str):
            mode, flags = args[1], args[2]
            if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & 3):
                opened.append(args[0])

    sys.addaudithook(hook)
    yield opened
    watching[0] = False


def _is_code(file):
    """Compiled loops and modules hold no data."""
    return "/hedgerow" in file.partition(".cache")[2] or file.endswith(".pyc") or ".pyc." in file


def test_every_method_has_a_case():
    """A new method in the registry is scanned without anybody remembering to."""
    assert {case.name.split()[0] for case in CASES} == set(METHODS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_canary_leaves(tainted, case, tmp_path, opened_for_writing):
    """No buffer, page, footer, manifest or file name holds one, and nothing is written but the bundle."""
    release = case.method.publish(tainted, SCHEMA)
    assert release.rows.suppressed >= 2
    assert not leaks_in_tables(release.tables.values())
    assert not leaks((repr(release) + str(release.guarantee) + str(release.verify())).encode())
    release.save(tmp_path / "out")
    assert leaks_in_folder(tmp_path) == []
    assert [file for file in opened_for_writing if not file.startswith(str(tmp_path)) and not _is_code(file)] == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_slice_does_not_bring_its_parent(case):
    """Arrow slices share their parent's buffers; what is published holds the slice alone."""
    beyond = people(1).set_column(0, "name", pa.array([CANARY])).set_column(2, "age", pa.array([NUMBER]))
    beyond = beyond.set_column(3, "town", pa.array([CANARY])).set_column(5, "salary", pa.array([NUMBER]))
    parent = pa.concat_tables([beyond, PEOPLE, beyond]).combine_chunks()
    release = case.method.publish(parent.slice(1, PEOPLE.num_rows), SCHEMA)
    assert not leaks_in_tables(release.tables.values())


@pytest.mark.parametrize("name", METHODS)
def test_no_cell_in_a_refusal(tainted, name):
    """Tables that a method cannot publish, missing roles and wrong types: messages hold no cell."""
    case = next(case for case in CASES if case.name.split()[0] == name)
    alike = tainted.iloc[[0, 0, 0]].assign(salary=NUMBER)
    texts = tainted.iloc[:4].assign(salary=[f"{CANARY}-{n}" for n in range(4)])
    roleless = hr.Schema(quasi=["age"], sensitive="salary", identifier=["name"])
    refused = []
    for source, schema in [(alike, SCHEMA), (texts, SCHEMA), (tainted, roleless), (tainted.iloc[-2:], SCHEMA)]:
        try:
            case.method.publish(source, schema)
        except hr.HedgerowError as refusal:
            refused.append(refusal)
    assert len(refused) >= 2
    assert not any(leaks(str(refusal).encode()) for refusal in refused)
    assert [refusal.__cause__ for refusal in refused] == [None] * len(refused)


def test_the_scan_finds_what_it_looks_for(tmp_path):
    """A canary in a value, in a dictionary that no row uses, in metadata or in a name is found."""
    planted = {
        "value": pa.table({"a": [NUMBER]}),
        "dictionary": pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x", CANARY]))}),
        "metadata": pa.table({"a": [1]}).replace_schema_metadata({"note": CANARY}),
    }
    for name, table in planted.items():
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "t.parquet", compression="zstd")
        assert leaks_in_folder(tmp_path / name) == ["t.parquet"], name
    assert leaks_in_tables([pa.table({"a": [1, NUMBER]}).slice(0, 1)])
    assert leaks(np.float64(NUMBER).tobytes())


# --- graphs -----------------------------------------------------------------------------------------------------------


def _tainted_graph():
    """Entities whose published columns are clean; the canaries are in parents of slices, indexes and edge columns."""
    import pandas as pd

    rows = 12
    people = pd.DataFrame({"person": [f"p{n}" for n in range(rows)], "age": range(rows)})
    people.index = pd.Index([f"{CANARY}-{n}" for n in range(rows)], name=CANARY)
    people.attrs["note"] = CANARY
    drugs = pa.table({"drug": [*(f"d{n}" for n in range(rows)), f"{CANARY}-beyond"], "price": [*range(rows), NUMBER]})
    pairs = [(f"p{n}", f"d{n}") for n in range(rows)]
    edges = pd.DataFrame(pairs, columns=["person", "drug"]).assign(clerk=CANARY, receipt=NUMBER)
    return hg.BipartiteGraph.read(people, drugs.slice(0, rows), edges, values=[])


@pytest.mark.parametrize(("k", "l"), [(2, 2), (3, 1), (1, 3)])
def test_no_canary_leaves_with_a_graph(tmp_path, k, l):  # noqa: E741 - the paper's letter
    """Other columns of the edges, indexes and rows beyond a slice are in no byte of a graph's bundle."""
    release = hg.SafeGrouping(k, l).publish(_tainted_graph())
    assert not leaks_in_tables(release.tables.values())
    release.save(tmp_path / "out")
    assert leaks_in_folder(tmp_path) == []


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tainted_file(tainted, tmp_path_factory):
    """The tainted people as a CSV file."""
    file = tmp_path_factory.mktemp("steward") / "people.csv"
    tainted.to_csv(file, index=False)
    return file


def _run(*words):
    """Run the command line in this process; return all that it printed."""
    from click.testing import CliRunner

    from hedgerow.cli import main

    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output.encode()


_ROLES = ("--quasi", "age,town", "--sensitive", "salary", "--identifier", "name,node", "--plain", "note")
_QUESTION = "SELECT town, avg(salary) FROM release GROUP BY town"


@pytest.fixture(scope="module")
def bundles(tainted_file, tmp_path_factory):
    """Releases of the tainted file of three forms, published by command line, with what was printed."""
    folder, printed = tmp_path_factory.mktemp("public"), b""
    for method, flags in {"ke": ("--k", 2), "mondrian": ("--k", 2), "anatomy": ("--l", 2)}.items():
        words = ("publish", tainted_file, *_ROLES, "--missing", "salary=suppress", "--method", method, *flags)
        code, output = _run(*words, "--out", folder / method)
        assert code == 0, output
        printed += output
    return folder, printed


def test_publishing_prints_no_canary(bundles, tainted_file):
    """What publish prints, also where it refuses, holds none; its files hold none."""
    folder, printed = bundles
    assert not leaks(printed)
    assert leaks_in_folder(folder) == []
    for flags in (("--k", 100), ("--k", 2, "--e", 10**9), ("--k", "x"), ()):
        code, refusal = _run("publish", tainted_file, *_ROLES, "--method", "ke", *flags, "--out", folder / "none")
        assert code == 2
        assert not leaks(refusal)
    code, refusal = _run("publish", tainted_file, "--sensitive", "salary", "--method", "ke", "--k", 2)
    assert code == 2
    assert not leaks(refusal)


def test_every_verb_about_a_release_prints_no_canary(bundles, tainted_file, tmp_path):
    """verify, query in all formats, explanations, and compare with its figure as text."""
    folder, _ = bundles
    for method in ("ke", "mondrian", "anatomy"):
        for words in (
            ("verify",),
            ("query", _QUESTION),
            ("query", "SELECT x FROM release"),
            ("query", "--explain", _QUESTION),
        ):
            code, printed = _run(words[0], folder / method, *words[1:])
            assert code in (0, 2), printed
            assert not leaks(printed), words
    (tmp_path / "w.toml").write_text("count = 2\nselectivity = [0.5]\n")
    words = (
        *folder.iterdir(),
        "--workload",
        tmp_path / "w.toml",
        "--original",
        tainted_file,
        "--out",
        tmp_path / "figures",
    )
    code, printed = _run("compare", *words)
    assert code in (0, 1), printed
    assert not leaks(printed)
    assert leaks_in_folder(tmp_path) == []
    assert list((tmp_path / "figures").rglob("*.svg"))


def test_certificates_hold_no_canary(bundles, tainted_file, tmp_path):
    """Page and data, the publishable version and the owner's, and what certify prints."""
    for method in ("ke", "mondrian", "anatomy"):
        owners = ("--internal", "--original", tainted_file, "--out", tmp_path / method / "private")
        for words in (("--out", tmp_path / method / "public"), owners):
            code, printed = _run("certify", bundles[0] / method, *words)
            assert code == 0, printed
            assert not leaks(printed)
        data = next((tmp_path / method / "public").glob("*.json"))
        code, printed = _run("certify", bundles[0] / method, "--check", data)
        assert code == 0, printed
        assert not leaks(printed)
    assert leaks_in_folder(tmp_path) == []
    assert len(list(tmp_path.rglob("*.html"))) == len(list(tmp_path.rglob("*.json"))) == 6


def test_attacks_tell_no_canary(bundles, tainted_file, tmp_path):
    """Rates of every adversary who has the original and a second release: screen, data, and the figure as text."""
    for method in ("ke", "mondrian", "anatomy"):
        figure = tmp_path / method / "rates.png"
        figure.parent.mkdir()
        words = ("--original", tainted_file, "--also", bundles[0] / method, "--targets", 10, "--figure", figure)
        code, printed = _run("attack", bundles[0] / method, *words, "--json", figure.with_suffix(".json"))
        assert code == 0, printed
        assert not leaks(printed)
        assert sorted(file.suffix for file in figure.parent.iterdir()) == [".json", ".png", ".svg"]
    assert leaks_in_folder(tmp_path) == []


def test_a_ledger_holds_hashes_only(tainted, tmp_path):
    """Every text of the table is a canary and may be published: the ledger's files hold none, nor what is printed."""
    table, ledger = tmp_path / "people.csv", tmp_path / "kept" / "ledger.json"
    ledger.parent.mkdir()
    tainted.assign(town=[f"{CANARY}-{town}" for town in tainted["town"]]).to_csv(table, index=False)
    words = ("--missing", "salary=suppress", "--method", "ke", "--k", 2, "--ledger", ledger)
    runs = [_run("publish", table, *_ROLES, *words, "--out", tmp_path / out) for out in ("first", "second")]
    runs += [_run("ledger", ledger), _run("ledger", ledger, "check", table), _run("ledger", ledger, "forget", "none")]
    assert [code for code, _ in runs[:3]] == [0, 2, 0]
    assert not any(leaks(printed) for _, printed in runs)
    assert ledger.is_file()
    assert leaks_in_folder(ledger.parent) == []


@pytest.mark.slow
def test_a_database_holds_no_canary(bundles):
    """Every cell of every table that export makes in PostgreSQL, and the names of its tables and columns."""
    pgserver, psycopg = pytest.importorskip("pgserver"), pytest.importorskip("psycopg")
    folder, seen = bundles[0], 0
    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as place:
        server = pgserver.get_server(Path(place) / "data")
        try:
            for method in ("ke", "anatomy"):
                code, printed = _run("export", folder / method, "--to", server.get_uri(), "--schema", method)
                assert code == 0, printed
                assert not leaks(printed)
            with psycopg.connect(server.get_uri()) as connection:
                tables = connection.execute(
                    "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('ke', 'anatomy')"
                ).fetchall()
                for schema, table in tables:
                    rows = connection.execute(f'SELECT t::text FROM "{schema}"."{table}" t').fetchall()
                    seen += len(rows)
                    assert not leaks((schema + table + str(rows)).encode()), table
        finally:
            server.cleanup()
    assert seen >= 4 * PEOPLE.num_rows


# --- what stays on the machine of the owner --------------------------------------------------------------------------


def _typed(words, lines, environment):
    """Run the command line at a terminal of its own, type some lines, and return all that it showed."""
    pty = pytest.importorskip("pty")
    near, far = pty.openpty()
    command = [sys.executable, "-m", "hedgerow", *map(str, words)]
    child = subprocess.Popen(command, stdin=far, stdout=far, stderr=far, env=environment, close_fds=True)
    os.close(far)
    os.write(near, "".join(f"{line}\n" for line in lines).encode())
    shown = b""
    while True:
        try:
            part = os.read(near, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(near)
    assert child.wait(timeout=60) == 0, shown
    return shown


@pytest.mark.slow
def test_nothing_stays_behind_at_home(tainted_file, tmp_path):
    """Home, caches, history and temporary files of an owner who publishes, attacks, certifies, exports and asks."""
    home, out, book = tmp_path / "home", tmp_path / "out", tmp_path / "kept" / "ledger.json"
    for folder in (home, book.parent):
        folder.mkdir()
    places = {name: str(home / name.lower()) for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    for folder in places.values():
        Path(folder).mkdir()
    environment = os.environ | places | {"HOME": str(home), "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    publish = ("publish", tainted_file, *_ROLES, "--missing", "salary=suppress", "--method", "m-invariant", "--m", 2)
    owners = ("--internal", "--original", tainted_file, "--ledger", book)
    for words in (
        (*publish, "--ledger", book, "--out", out),
        ("attack", out, "--original", tainted_file, "--targets", 5),
        ("certify", out, *owners, "--out", tmp_path / "internal"),
        ("export", out, "--csv", tmp_path / "files"),
    ):
        command = [sys.executable, "-m", "hedgerow", *map(str, words)]
        run = subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)
        assert run.returncode == 0, run.stderr
        assert not leaks(run.stdout + run.stderr)
    shown = _typed(("query", out), [_QUESTION, ".quit"], environment)
    assert not leaks(shown)
    assert "avg(salary)" in (Path(places["XDG_STATE_HOME"]) / "hedgerow" / "history").read_text()
    assert leaks_in_folder(tmp_path) == []
    assert list(Path(places["TMPDIR"]).iterdir()) == []
