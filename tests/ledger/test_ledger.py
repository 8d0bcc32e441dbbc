"""A ledger notices rows that were published before, keeps what it was told, and tells nothing."""

import errno
import json
import os
import stat
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.ledger import store

SCHEMA = hr.Schema(quasi=["age", "town"], sensitive="salary", identifier=["name"])
NAMELESS = hr.Schema(quasi=["age", "town"], sensitive="salary")


def people(first, last, towns=("Ash", "Elm", "Oak")):
    """A table of people numbered from `first` up to `last`."""
    numbers = range(first, last)
    return pa.table(
        {
            "name": [f"canary-{n}" for n in numbers],
            "age": [n % 90 for n in numbers],
            "town": [towns[n % len(towns)] for n in numbers],
            "salary": [n % 7 for n in numbers],
        }
    )


@pytest.fixture
def book(tmp_path):
    """A ledger in which twenty people are recorded."""
    hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "book" / "ledger.json")
    return tmp_path / "book" / "ledger.json"


def test_the_same_table_is_refused(book):
    """A second release of the same rows names the first and counts."""
    with pytest.raises(
        hr.Infeasible, match=r"This very table was published before, in release \w{8} \(Anatomy"
    ) as told:
        hr.KEAnonymity(2, 1).publish(people(0, 20), SCHEMA, ledger=book)
    assert "canary" not in str(told.value)
    assert hr.Ledger.open(book).entries[0].id in str(told.value)


@pytest.mark.parametrize("change", [
    lambda t: t.take(list(range(20))[::-1]),
    lambda t: t.select(["salary", "town", "name", "age"]),
    lambda t: t.append_column("note", pa.array(["n"] * 20)),
    lambda t: t.set_column(1, "age", pa.array([float(a) for a in t["age"].to_pylist()])),
    lambda t: t.set_column(1, "age", pa.array([a + 1 for a in t["age"].to_pylist()])),
    lambda t: t.to_pandas(),
])  # fmt: skip
def test_a_table_is_known_in_another_dress(book, change):
    """Other orders, more columns, other types and changed quasi-identifiers do not hide people with a name."""
    changed = change(people(0, 20))
    with pytest.raises(hr.Infeasible, match="published before"):
        hr.Ledger.open(book).check(changed)


def test_overlap_is_counted(book):
    """Rows that came are not counted, rows that stayed are; people who were never published pass."""
    ledger = hr.Ledger.open(book)
    with pytest.raises(hr.Infeasible, match="5 of 30 rows were published before"):
        ledger.check(people(15, 45))
    (found,) = ledger.overlaps(people(15, 45))
    assert (found.rows, found.columns, found.same) == (5, ("name",), False)
    ledger.check(people(20, 60))


def test_without_names_quasi_identifiers_decide(book):
    """A table that lost its identifiers is recognized by quasi-identifiers; one with other columns cannot be."""
    ledger = hr.Ledger.open(book)
    (found,) = ledger.overlaps(people(15, 45).drop_columns(["name"]))
    assert (found.rows, found.columns) == (5, ("age", "town"))
    assert ledger.overlaps(people(0, 20).select(["age", "salary"])) == []


def test_one_telling_identifier_is_enough(tmp_path):
    """A dropped column that changes, beside a name that does not, makes no stranger of anybody."""
    schema = hr.Schema(quasi=["age"], sensitive="salary", identifier=["town", "name", "visits"])
    table = people(0, 20).append_column("visits", pa.array([0] * 20))
    hr.Anatomy(2).publish(table, schema, ledger=tmp_path / "ledger.json")
    changed = table.set_column(4, "visits", pa.array([1] * 20)).set_column(2, "town", pa.array(["Elm"] * 20))
    (found,) = hr.Ledger.open(tmp_path / "ledger.json").overlaps(changed)
    assert (found.rows, found.columns) == (20, ("name",))


def test_again_is_explicit_and_recorded(book):
    """Asked for, a second release is made, and it is in the ledger, too."""
    hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=book, again=True)
    first, second = hr.Ledger.open(book).entries
    assert first.table == second.table
    with pytest.raises(hr.Infeasible, match="and in 1 other release;"):
        hr.Ledger.open(book).check(people(0, 20))


def test_saving_confirms(book, tmp_path):
    """An entry gets the checksum of the bundle when it is saved, and not before."""
    release = hr.Anatomy(2).publish(people(50, 70), SCHEMA, ledger=book)
    assert hr.Ledger.open(book).entries[1].bundle is None
    release.save(tmp_path / "out")
    checksum = json.loads((tmp_path / "out" / "manifest.json").read_text())["checksum"]
    assert hr.Ledger.open(book).entries[1].bundle == checksum
    assert hr.open(tmp_path / "out").receipt is None


def test_a_release_that_fails_leaves_no_entry(tmp_path):
    """Infeasible parameters write nothing at all."""
    with pytest.raises(hr.Infeasible):
        hr.Anatomy(9).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_may_read_it_and_no_cell_is_in_it(book):
    """Files are the owner's alone, and hold no name, no town and no salary."""
    files = [file for file in book.parent.rglob("*") if file.is_file()]
    assert len(files) == 4
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert b"canary" not in file.read_bytes()
        assert b"Elm" not in file.read_bytes()
    assert stat.S_IMODE((book.parent / "ledger.json.rows").stat().st_mode) == 0o700


def test_two_ledgers_have_nothing_in_common(book, tmp_path):
    """Keys are random, so hashes of the same rows in two ledgers cannot be compared."""
    hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "other.json")
    rows = [
        set(store.read_hashes(ledger.path, ledger.entries[0].marks[0]).tolist())
        for ledger in (hr.Ledger.open(book), hr.Ledger.open(tmp_path / "other.json"))
    ]
    assert len(rows[0]) == len(rows[1]) == 20
    assert not rows[0] & rows[1]


def test_forgetting_frees_the_rows(book):
    """A release that never left can be taken out, with its hashes; an unknown one is an error."""
    ledger = hr.Ledger.open(book)
    with pytest.raises(hr.ParameterError, match="no release nothere"):
        ledger.forget(["nothere"])
    assert ledger.forget([ledger.entries[0].id]).entries == ()
    assert list((book.parent / "ledger.json.rows").iterdir()) == []
    hr.Ledger.open(book).check(people(0, 20))


@pytest.mark.parametrize("damage", ["cut", "edited", "removed"])
def test_damaged_hashes_stop_a_release(book, damage):
    """Hashes that are not those that were written cannot say "never published"."""
    for file in (book.parent / "ledger.json.rows").iterdir():
        content = bytearray(file.read_bytes())
        content[3] ^= 1
        if damage == "removed":
            file.unlink()
        else:
            file.write_bytes(content[:40] if damage == "cut" else content)
    with pytest.raises(hr.BundleError, match="missing or damaged"):
        hr.Anatomy(2).publish(people(100, 120), SCHEMA, ledger=book)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"key": "00", "entries": [], "format": "other"}'])
def test_a_file_that_is_no_ledger_stops_a_release(tmp_path, content):
    """What cannot be read is not taken for an empty ledger."""
    (tmp_path / "ledger.json").write_bytes(content)
    with pytest.raises(hr.BundleError, match=r"ledger\.json"):
        hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").read_bytes() == content


@pytest.mark.parametrize("key", ["", "zz" * 32, "ab", "00" * 65, "AB" * 32, "00" * 32 + " "])
def test_a_damaged_key_stops_a_release(book, key):
    """Another key recognizes nobody, and one that is no key ended in a ValueError."""
    book.write_text(json.dumps(json.loads(book.read_text()) | {"key": key}))
    with pytest.raises(hr.BundleError, match="key of the ledger"):
        hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=book)


def test_a_ledger_that_is_gone_stops_a_release(book):
    """Where hashes are left, a new ledger would recognize nobody and sweep them."""
    book.unlink()
    hashes = list(book.with_name("ledger.json.rows").iterdir())
    with pytest.raises(hr.BundleError, match="is missing, and the hashes"):
        hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=book)
    assert list(book.with_name("ledger.json.rows").iterdir()) == hashes


def test_hashes_are_written_after_the_ledger_that_knows_their_key(tmp_path, monkeypatch):
    """So that a first release that was killed is no ledger that is gone."""

    def killed(*args, **options):
        assert json.loads((tmp_path / "ledger.json").read_text())["entries"] == []
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.ledger.ledger.write_hashes", killed)
        with pytest.raises(KeyboardInterrupt):
            hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")
    hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_to_a_ledger_is_the_ledger(book, tmp_path):
    """A release under a link is recorded where it leads; a file took the link's place."""
    link = tmp_path / "link.json"
    link.symlink_to(book)
    hr.Anatomy(2).publish(people(20, 40), SCHEMA, ledger=link)
    assert link.is_symlink()
    for ledger in (book, link):
        with pytest.raises(hr.Infeasible, match="published before"):
            hr.Anatomy(2).publish(people(30, 50), SCHEMA, ledger=ledger)


def test_a_full_disk_keeps_the_old_ledger(book, monkeypatch):
    """A ledger that cannot be written is an error in one sentence, and the old one stays; nothing is released."""
    before = book.read_bytes()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(hr.BundleError, match="No space left on device"):
        hr.Anatomy(2).publish(people(100, 120), SCHEMA, ledger=book)
    monkeypatch.undo()
    assert book.read_bytes() == before
    assert not [file for file in book.parent.iterdir() if file.name.startswith(".") and not file.name.endswith(".lock")]


def test_of_two_releases_at_once_the_second_is_refused(book):
    """Rows that somebody else recorded while a release was made are noticed before it is returned."""

    class Slow(hr.Anatomy):
        def _release(self, prepared, progress):
            hr.Anatomy(2).publish(people(100, 120), SCHEMA, ledger=book)
            return super()._release(prepared, progress)

    with pytest.raises(hr.Infeasible, match="published before"):
        Slow(2).publish(people(100, 120), SCHEMA, ledger=book)
    assert len(hr.Ledger.open(book).entries) == 2


def test_writers_wait_for_each_other(tmp_path):
    """Processes that publish different people into one new ledger leave an entry each, or say try again."""
    script = """
        import sys, pyarrow as pa, hedgerow as hr
        first = int(sys.argv[2])
        table = pa.table({"name": [f"n{n}" for n in range(first, first + 20)], "pay": [n % 5 for n in range(20)]})
        for attempt in range(20):
            try:
                hr.Anatomy(2).publish(table, hr.Schema(identifier=["name"], sensitive="pay"), ledger=sys.argv[1])
                break
            except hr.BundleError as error:
                assert "meanwhile" in str(error), error
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "ledger.json")]
    running = [subprocess.Popen([*command, str(100 * n)]) for n in range(3)]
    assert [process.wait() for process in running] == [0] * 3
    assert len(hr.Ledger.open(tmp_path / "ledger.json").entries) == 3


_PUBLISHER = """
    import os, signal, sys
    import pyarrow as pa
    import hedgerow as hr
    # What publishing loads is loaded before the processes part.
    import hedgerow.verify.promise, hedgerow.ledger, hedgerow.table.read
    import hedgerow.query.engines.help, hedgerow.query.evidence.view
    import hedgerow.methods.m_invariant, hedgerow.release.forms.padded, hedgerow.release.bundle, hedgerow.schema.schema
    import pandas, pyarrow.parquet, pyarrow.compute, hedgerow.table.flat, hedgerow.table.encode

    def publish(folder, step):
        done = 0
        def before(function):
            def wrapped(*args, **kwargs):
                nonlocal done
                if done == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                done += 1
                return function(*args, **kwargs)
            return wrapped
        os.fsync, os.rename, os.replace = before(os.fsync), before(os.rename), before(os.replace)
        table = pa.table({"name": [f"n{n}" for n in range(12)], "pay": [n % 3 for n in range(12)]})
        schema = hr.Schema(identifier=["name"], sensitive="pay")
        release = hr.MInvariant(2).publish(table, schema, ledger=f"{folder}/ledger.json")
        release.save(f"{folder}/out")

    status, step = signal.SIGKILL, 0
    while status == signal.SIGKILL:
        folder = f"{sys.argv[1]}/{step:03}"
        os.mkdir(folder)
        child = os.fork()
        if child == 0:
            publish(folder, step)
            os._exit(0)
        status, step = os.waitpid(child, 0)[1], step + 1
    sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that part")
def test_kill_before_every_durable_step_leaves_no_bundle_without_an_entry(tmp_path):
    """Kill -9 before each sync and rename: a bundle that is there is in the ledger, and the ledger can be read."""
    subprocess.run([sys.executable, "-c", textwrap.dedent(_PUBLISHER), str(tmp_path)], check=True)
    seen = []
    for folder in sorted(tmp_path.iterdir()):
        entries = hr.Ledger.open(folder / "ledger.json").entries
        seen.append((len(entries), (folder / "out").exists(), bool(entries and entries[0].bundle)))
    assert seen == sorted(seen)
    assert set(seen) == {(0, False, False), (1, False, False), (1, True, False), (1, True, True)}
    assert len(seen) >= 15


def test_what_a_killed_writer_left_is_swept(book):
    """Half-written files and hashes that no entry names are gone after the next release."""
    (book.parent / ".ledger.json.0badc0de").write_text("half")
    (book.parent / "ledger.json.rows" / "orphan.u64").write_bytes(b"0" * 8)
    hr.Anatomy(2).publish(people(100, 120), SCHEMA, ledger=book)
    assert sorted(file.name for file in book.parent.iterdir()) == [
        ".ledger.json.lock",
        "ledger.json",
        "ledger.json.rows",
    ]
    assert len(list((book.parent / "ledger.json.rows").iterdir())) == 4
    assert os.access(book, os.R_OK)


def test_tables_without_quasi_identifiers_are_recognized_by_what_they_have(tmp_path):
    """Where nothing identifies anybody, whole rows do."""
    schema = hr.Schema(plain=["town"], sensitive="salary")
    table = people(0, 20).select(["town", "salary"])
    hr.Anatomy(2).publish(table, schema, ledger=tmp_path / "ledger.json")
    with pytest.raises(hr.Infeasible, match="recognized by 'salary', 'town'"):
        hr.Anatomy(2).publish(table, schema, ledger=tmp_path / "ledger.json")


def test_a_name_is_known_in_another_spelling(tmp_path):
    """One program writes an accent as a sign of its own, and another one adds a sign of no width."""
    named = people(0, 20)
    names = [f"José {number}" for number in range(20)]
    for place, others in enumerate(
        ([name.replace("é", "e\u0301") for name in names], [f"\u200b{name}" for name in names])
    ):
        book = tmp_path / str(place) / "ledger.json"
        hr.Anatomy(2).publish(named.set_column(0, "name", pa.array(names)), SCHEMA, ledger=book)
        with pytest.raises(hr.Infeasible, match="This very table was published before"):
            hr.Anatomy(2).publish(named.set_column(0, "name", pa.array(others)), SCHEMA, ledger=book)


FOLDED = {"name": "folded", "town": "folded"}


@pytest.mark.parametrize("first", [{}, FOLDED])
@pytest.mark.parametrize("second", [{}, FOLDED])
@pytest.mark.parametrize("identifier", [["name"], []])
def test_rows_are_recognized_in_upper_and_lower_case(first, second, identifier, tmp_path):
    """Whatever the policy for texts was, and is; strangers stay strangers."""
    table = people(0, 20) if identifier else people(0, 20).drop_columns("name")
    shouted = table.set_column(
        table.column_names.index("town"), "town", pa.array([town.upper() for town in table["town"].to_pylist()])
    )
    book = tmp_path / "ledger.json"

    def publish(rows, texts):
        own = {name: policy for name, policy in texts.items() if name in rows.column_names}
        schema = hr.Schema(quasi=["age", "town"], sensitive="salary", identifier=identifier, texts=own)
        hr.Anatomy(2).publish(rows, schema, ledger=book)

    publish(shouted, first)
    for again in (table, shouted):
        with pytest.raises(hr.Infeasible, match=f"published before.*by '{'name' if identifier else 'age'}'"):
            publish(again, second)
        assert hr.Ledger.open(book).overlaps(again)[0].rows == 20
    assert not hr.Ledger.open(book).overlaps(people(30, 50))


def test_ledgers_in_which_case_counts_are_still_read(tmp_path, monkeypatch):
    """Marks of older versions are compared as these wrote them."""
    with monkeypatch.context() as older:
        older.setattr("hedgerow.ledger.ledger.has_texts", lambda hashes, names: False)
        hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")
    assert b"folds" not in (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(hr.Infeasible, match="This very table was published before"):
        hr.Anatomy(2).publish(people(0, 20), SCHEMA, ledger=tmp_path / "ledger.json")
