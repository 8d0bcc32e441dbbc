"""A ledger of tables that are published in blocks: rows are recognized as in memory, every bundle has an entry."""

import datetime
import errno
from contextlib import nullcontext

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import BundleError, InputError
from hedgerow.ledger.fingerprint import Hashes
from hedgerow.methods.prepared import prepare
from hedgerow.methods.scaled import pending_in_blocks
from hedgerow.release.bundle import checksum
from hedgerow.scale.coding import count_table
from hedgerow.scale.duckdb import DuckEngine

SCHEMA = hr.Schema(quasi=["age", "born"], sensitive="pay", identifier=["note", "name"], plain="town")
METHOD = hr.KEAnonymity(k=3, e=1)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 60 rows."""
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 60)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 30)


def people(first=0, last=300):
    """People with a name, a note that does not tell them apart, and values of several types."""
    numbers = range(first, last)
    return pa.table(
        {
            "note": [None if n % 5 else " seen " for n in numbers],
            "name": [f"canary{n}" for n in numbers],
            "age": [None if n % 9 == 0 else float(n % 50) for n in numbers],
            "born": [datetime.date(1990, 1, 1) + datetime.timedelta(n % 70) for n in numbers],
            "town": [f"t{n % 5}" for n in numbers],
            "pay": [n % 80 / 4 for n in numbers],
        }
    )


def _sources(table, folder):
    pq.write_table(table, folder / "t.parquet")
    table.to_pandas().to_csv(folder / "t.csv", index=False, na_rep="")
    with duckdb.connect(str(folder / "db")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return {
        "frame": table,
        "parquet": folder / "t.parquet",
        "csv": folder / "t.csv",
        "db": f"duckdb:{folder}/db#people",
    }


@pytest.mark.parametrize(
    ("kind", "most"),
    [("frame", 1 << 21), ("parquet", 1 << 21), ("csv", 1 << 21), ("db", 1 << 21), ("parquet", 40), ("db", 40)],
)
def test_the_hashes_are_those_of_memory(kind, most, tmp_path, monkeypatch):
    """Whatever the source, whether values have codes or not, in one file of hashes or in several."""
    if most == 40:
        monkeypatch.setattr("hedgerow.scale.coding.MOST_CODES", 90)
        monkeypatch.setattr("hedgerow.scale.duck_source._SAMPLE", 4)
    monkeypatch.setattr("hedgerow.ledger.streamed._MOST", most)
    table = people()
    source = _sources(table, tmp_path)[kind]
    prepared = prepare(table, SCHEMA, None)
    whole = Hashes(prepared.table)
    with DuckEngine(source, tmp_path / "out", memory=1 << 30) as engine:
        counted = count_table(engine, SCHEMA, identifies=True)
        assert ("name" in counted.identified.wide) == (most == 40)
        with pending_in_blocks(tmp_path / "book", counted, again=False, series=False) as pending:
            key = pending.ledger.key
            assert pending.columns == (("name",), ("age", "born"))
            for columns in (*pending.columns, ("note",), ("pay", "town"), tuple(sorted(table.column_names))):
                assert np.array_equal(pending.hashes.sorted_rows(columns, key), whole.sorted_rows(columns, key))
            assert pending.hashes.mark(key) == whole.mark(key)
            assert [pending.hashes.is_key(name, key) for name in SCHEMA.identifier] == [False, True]
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_missing_names_tell_nobody_apart(tmp_path, monkeypatch):
    """One missing value among different ones: the column is no key, in memory and in blocks, with codes and without."""
    table = people().set_column(1, "name", pa.array([None, *(f"canary{n}" for n in range(1, 300))]))
    for most in (1 << 21, 90):
        monkeypatch.setattr("hedgerow.scale.coding.MOST_CODES", most)
        monkeypatch.setattr("hedgerow.scale.duck_source._SAMPLE", 4)
        with DuckEngine(table, tmp_path / "out", memory=1 << 30) as engine:
            counted = count_table(engine, SCHEMA, identifies=True)
            with pending_in_blocks(tmp_path / "book", counted, again=False, series=False) as pending:
                assert pending.columns[0] == ("name", "note")


@pytest.mark.parametrize("first", ["memory", "blocks"])
@pytest.mark.parametrize("second", ["memory", "blocks"])
def test_the_same_rows_are_refused(first, second, tmp_path):
    """Whichever way they were published, and are to be; `again` asks for them in spite of it."""
    book = tmp_path / "book"

    def publish(how, table, name, **options):
        if how == "blocks":
            return METHOD.publish(table, SCHEMA, out=tmp_path / name, ledger=book, **options)
        release = METHOD.publish(table, SCHEMA, ledger=book, **options)
        release.save(tmp_path / name)
        return release

    made = publish(first, people(), "out")
    before = sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(hr.Infeasible, match=f"This very table was published before, in release {made.receipt.id}"):
        publish(second, people(), "more")
    with pytest.raises(hr.Infeasible, match="100 of 300 rows were published before"):
        publish(second, people(200, 500), "more")
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    publish(second, people(300, 600), "others")
    publish(second, people(200, 500), "more", again=True)
    entries = hr.Ledger.open(book).entries
    assert [entry.rows for entry in entries] == [300] * 3
    for entry, name in zip(entries, ("out", "others", "more"), strict=True):
        assert entry.bundle == checksum(tmp_path / name)


@pytest.mark.parametrize("first", ["memory", "blocks"])
@pytest.mark.parametrize("second", ["memory", "blocks"])
def test_the_same_rows_in_another_case_are_refused(first, second, tmp_path):
    """Under another policy for texts as well."""
    table = people().set_column(1, "name", pa.array([f"Canary {n}" for n in range(300)]))
    folded = hr.Schema(
        quasi=["age", "born"], sensitive="pay", identifier=["note", "name"], plain="town", texts={"name": "folded"}
    )
    for number, (how, schema) in enumerate(((first, SCHEMA), (second, folded))):
        options = {"out": tmp_path / f"out{number}"} if how == "blocks" else {}
        with pytest.raises(hr.Infeasible, match="published before") if number else nullcontext():
            METHOD.publish(table, schema, ledger=tmp_path / "book", **options)


def test_rows_are_recognized_without_their_names(tmp_path):
    """A table without identifiers is compared by quasi-identifiers, whatever role other columns have now."""
    METHOD.publish(people(), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    nameless = people(0, 200).drop_columns(["name", "note"])
    schema = hr.Schema(quasi=["town", "age"], sensitive="pay", plain="born")
    with pytest.raises(hr.Infeasible, match="recognized by 'age', 'born'"):
        METHOD.publish(nameless, schema, out=tmp_path / "more", ledger=tmp_path / "book")


def test_a_release_of_somebody_else_meanwhile_is_noticed(tmp_path, monkeypatch):
    """Of two releases of the same rows at the same time the second to finish is refused, and leaves nothing."""
    from hedgerow.methods import scaled

    original = scaled.seal

    def seal(*args, **options):
        METHOD.publish(people(100, 200), SCHEMA, ledger=tmp_path / "book")
        return original(*args, **options)

    hr.Anatomy(l=2).publish(people(900, 1000), SCHEMA, ledger=tmp_path / "book")
    monkeypatch.setattr(scaled, "seal", seal)
    with pytest.raises(hr.Infeasible, match="100 of 300 rows were published before"):
        METHOD.publish(people(), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".book.lock", "book", "book.rows"]
    assert len(hr.Ledger.open(tmp_path / "book").entries) == 2


@pytest.mark.parametrize("step", ["before", "after"])
def test_an_entry_stands_exactly_if_the_bundle_does(step, tmp_path, monkeypatch):
    """A failure before the bundle appears takes the entry back; one afterwards leaves both."""
    from hedgerow.release import parts

    original = parts.put_in_place

    def put(*args, **options):
        assert len(hr.Ledger.open(tmp_path / "book").entries) == 1, "recorded before it appears"
        if step == "after":
            original(*args, **options)
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(parts, "put_in_place", put)
    with pytest.raises(BundleError):
        METHOD.publish(people(), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert (tmp_path / "out").exists() == (step == "after")
    assert [entry.bundle for entry in hr.Ledger.open(tmp_path / "book").entries] == [None] * (step == "after")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("ledger", [False, True])
def test_a_disk_that_fails_while_rows_are_scattered_is_told_in_a_sentence(number, ledger, tmp_path, monkeypatch):
    """It names the release's files, not the ledger, and nothing is left."""
    from hedgerow.scale import duckdb as engine

    def broken(*args):
        raise OSError(number, "canary")

    monkeypatch.setattr(engine.pa.ipc, "new_stream", broken)
    options = {"ledger": tmp_path / "book"} if ledger else {}
    with pytest.raises(BundleError, match="A temporary file beside the release could not be written") as told:
        METHOD.publish(people(), SCHEMA, out=tmp_path / "out", **options)
    assert "canary" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_grows_before_it_is_hashed_is_refused(tmp_path, monkeypatch):
    """As many rows are hashed as were counted, or nothing is published."""
    from hedgerow.methods import scaled

    file = tmp_path / "t.parquet"
    pq.write_table(people(), file)
    original = scaled.pending_in_blocks

    def opened(*args, **options):
        pq.write_table(people(0, 301), file)
        return original(*args, **options)

    monkeypatch.setattr(scaled, "pending_in_blocks", opened)
    with pytest.raises(InputError, match="changed"):
        METHOD.publish(file, SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert [one.name for one in tmp_path.iterdir()] == ["t.parquet"]


def test_a_ledger_that_cannot_be_read_is_refused_before_any_pass(tmp_path):
    """Nothing is read or written."""
    (tmp_path / "book").write_text("no ledger")
    with pytest.raises(BundleError, match="not a ledger"):
        METHOD.publish(tmp_path / "nowhere.parquet", SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert [one.name for one in tmp_path.iterdir()] == ["book"]


def test_the_command_records_and_refuses(tmp_path):
    """--ledger and --again with an engine."""
    file = tmp_path / "t.parquet"
    pq.write_table(people(), file)
    flags = ["publish", str(file), "--quasi", "age,born", "--sensitive", "pay", "--identifier", "note,name",
             "--plain", "town", "--method", "ke", "--k", "3", "--e", "1", "--engine", "duckdb", "--memory", "200MB",
             "--ledger", str(tmp_path / "book")]  # fmt: skip
    done = CliRunner().invoke(main, [*flags, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    (entry,) = hr.Ledger.open(tmp_path / "book").entries
    assert f"recorded as {entry.id}" in " ".join(done.output.split())
    done = CliRunner().invoke(main, [*flags, "--out", str(tmp_path / "more")])
    assert done.exit_code != 0
    assert "This very table was published before" in " ".join(done.output.split())
    assert "canary" not in done.output
    done = CliRunner().invoke(main, [*flags, "--out", str(tmp_path / "more"), "--again"])
    assert done.exit_code == 0, done.output
