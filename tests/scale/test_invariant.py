"""m-invariance in blocks: everybody keeps the signature, and what can be seen is as likely as in memory."""

import errno
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import DiskFull, InputError
from hedgerow.methods import invariant_blocks
from hedgerow.methods.invariant_blocks import KnownPeople, SeriesClasses, divide_buckets
from hedgerow.partition.m_invariant import Signatures, fill_buckets, m_invariant, split_buckets
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import seeded_keys
from hedgerow.testing.posterior_draws import outcomes, sum_chances
from hedgerow.verify import verify_bundle

SCHEMA = hr.Schema(quasi="age", sensitive="ill", identifier="name", plain="town")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 24 rows."""
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 24)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 30)


def people(first, last, values=11):
    """People with numbers, of whom everybody has the same values in every table."""
    numbers = range(first, last)
    return pa.table(
        {
            "name": [f"person{n}" for n in numbers],
            "age": [n * 7 % 50 for n in numbers],
            "town": [f"t{n}" for n in numbers],
            "ill": [f"i{n * n % values}" for n in numbers],
        }
    )


def signatures(out):
    """The values that everybody's group publishes, by the town, which is a name of its own here."""
    release = hr.open(out)
    values = defaultdict(list)
    for group, value in zip(*release.tables["sensitive"].select(["group", "ill"]).to_pydict().values(), strict=True):
        values[group].append(value)
    assert all(len(set(own)) == len(own) for own in values.values())
    rows = release.tables["quasi"].to_pydict()
    return {town: frozenset(values[group]) for town, group in zip(rows["town"], rows["group"], strict=True)}


@pytest.mark.parametrize("grouping", ["blind", "near"])
@pytest.mark.parametrize("order", ["blocks", "memory first", "memory between"])
def test_everybody_keeps_the_signature(grouping, order, tmp_path):
    """Over four versions of a table, whichever of them are published in memory, under one ledger."""
    method, seen, counterfeits = hr.MInvariant(3, grouping=grouping), {}, []
    for step, (first, last) in enumerate([(0, 200), (60, 260), (20, 230), (20, 230)]):
        out, table = tmp_path / f"out{step}", people(first, last)
        if (order, step) in (("memory first", 0), ("memory between", 1)):
            release = method.publish(table, SCHEMA, ledger=tmp_path / "book")
            release.save(out)
            made = release
        else:
            made = method.publish(table, SCHEMA, out=out, ledger=tmp_path / "book")
            assert made.parts > 3
        verify_bundle(out)
        counterfeits.append(made.guarantee.parameters["counterfeits"])
        now = signatures(out)
        assert sorted(now) == sorted(table["town"].to_pylist())
        assert all(len(own) >= 3 for own in now.values())
        assert all(seen.setdefault(town, own) == own for town, own in now.items())
    assert counterfeits[0] == 0
    entries = hr.Ledger.open(tmp_path / "book").entries
    assert len(entries) == 4
    assert all(entry.bundle and entry.series == entries[0].series for entry in entries)


def test_refusals_are_those_of_memory(tmp_path):
    """A value that is too frequent, people who cannot be told apart, a value outside the signature, too many fakes."""
    equal = people(0, 60).set_column(3, "ill", pa.array(["flu"] * 60))
    often = people(0, 60).set_column(3, "ill", pa.array(["flu"] * 54 + [f"i{n}" for n in range(6)]))
    twice = pa.concat_tables([people(0, 60), people(3, 5)])
    gap = people(0, 60).set_column(3, "ill", pa.array([None] + ["flu", "cold"] * 29 + ["flu"]))
    for table in (equal, often, twice, gap):
        told = []
        for folder in ({}, {"out": tmp_path / "out"}):
            with pytest.raises((hr.Infeasible, hr.SchemaError)) as error:
                hr.MInvariant(2).publish(table, SCHEMA, ledger=tmp_path / "book", **folder)
            told.append(str(error.value))
        assert told[0] == told[1]
    assert list(tmp_path.iterdir()) == []
    hr.MInvariant(2).publish(people(0, 60), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    changed = people(0, 60).set_column(3, "ill", pa.array([f"i{n * n % 11}x" for n in range(60)]))
    with pytest.raises(hr.Infeasible, match="60 people now have a sensitive value outside"):
        hr.MInvariant(2).publish(changed, SCHEMA, out=tmp_path / "more", ledger=tmp_path / "book")
    with pytest.raises(hr.Infeasible, match="counterfeit"):
        hr.MInvariant(2, fakes=0).publish(people(0, 31), SCHEMA, out=tmp_path / "more", ledger=tmp_path / "book")
    assert not (tmp_path / "more").exists()
    assert len(hr.Ledger.open(tmp_path / "book").entries) == 1


def test_without_a_ledger_it_is_a_first_release(tmp_path):
    """Nobody is recognized, and identifiers are not read."""
    made = hr.MInvariant(3).publish(people(0, 200), SCHEMA, out=tmp_path / "out")
    assert made.receipt is None
    assert (made.form, made.parts > 3) == ("separated", True)
    verify_bundle(tmp_path / "out")


def _dealt_by_shuffling(counts, sizes, *, keys):
    """What `draw_tables` draws, by a shuffle whose outcomes can be counted; `test_dealing` has their equality."""
    things = np.repeat(np.arange(len(counts)), counts)[permutation(int(sum(sizes)), keys=keys)]
    cuts = np.split(things, np.cumsum(sizes)[:-1])
    return np.array([np.bincount(cut, minlength=len(counts)) for cut in cuts])


def _view(groups):
    """What everybody sees: who is together with which values."""
    return frozenset((frozenset(names), tuple(sorted(values))) for names, values in groups.values())


def _grouped(found, names, codes, first, groups):
    """The groups of a block, with those before."""
    for name, label, code in zip(names, found.labels.tolist(), codes.tolist(), strict=True):
        own = groups.setdefault((first, label), ([], []))
        own[0].append(name)
        own[1].append(code)
    for label, code in zip(found.fake_groups.tolist(), found.fake_codes.tolist(), strict=True):
        groups[first, label][1].append(code)


@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize(
    ("values", "known", "listed"),
    [
        ([0, 0, 1, 1], [-1, -1, -1, -1], []),
        ([0, 1, 2, 1], [-1, -1, -1, -1], []),
        ([0, 0, 1], [0, 0, 0], [(0, 1)]),
        ([0, 1, 1, 0], [0, -1, 0, -1], [(0, 1)]),
        ([0, 0, 2], [0, 0, 1], [(0, 1), (1, 2)]),
        ([0, 0, 0], [-1, -1, -1], [(0, 1), (1, 2)]),
    ],
)
def test_what_is_seen_is_as_likely_as_in_memory(values, known, listed, most, monkeypatch):
    """Over all outcomes of all draws, with blocks of two and of three."""
    monkeypatch.setattr(invariant_blocks, "draw_tables", _dealt_by_shuffling)
    codes, owners = np.array(values, np.int32), np.array(known, np.int32)
    before = Signatures(np.cumsum([0, *map(len, listed)]), np.array([code for own in listed for code in own], np.int32))
    width = max([*values, *(code for own in listed for code in own)]) + 1
    persons = np.arange(len(values), dtype=np.uint64)
    mine = owners >= 0
    crowd = KnownPeople("person", persons[mine], owners[mine])
    classes = SeriesClasses("v", np.arange(width, dtype=np.int32), crowd, before, width)
    batch = pa.table({"v": codes, "person": persons})

    def in_memory(keys):
        found = m_invariant(codes, owners, before, m=2, keys=keys)
        groups = {}
        _grouped(found, range(len(codes)), codes, 0, groups)
        return _view(groups)

    def in_blocks(keys):
        counts = classes.count(batch)
        held, offered = counts[: len(before.members)], counts[len(before.members) : -1]
        buckets = fill_buckets(held, offered, before, m=2, keys=keys)
        placing, blocks = divide_buckets(buckets, classes, most=most, keys=keys)
        place, groups = placing.place(batch), {}
        placing.finish()
        for number, block in enumerate(blocks):
            rows = np.flatnonzero(place == number)
            found = split_buckets(codes[rows], block.owners_of(owners[rows]), block.buckets, keys=keys)
            _grouped(found, rows.tolist(), codes[rows], number, groups)
        return _view(groups)

    seen = [sum_chances(outcomes(run, order=seeded_keys(1), most=100_000)) for run in (in_memory, in_blocks)]
    assert seen[0] == seen[1]
    assert sum(seen[0].values()) == 1


def test_a_bucket_larger_than_a_block_is_divided(tmp_path):
    """Two values alone are one signature; nine in ten people of one value are gone, and counterfeits stand in."""
    table = people(0, 400, values=2)
    method = hr.MInvariant(2, fakes=1)
    made = method.publish(table, SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert (made.parts, made.groups) == (17, 200)
    kept = table.filter([n % 2 == 0 or n % 20 == 1 for n in range(400)])
    made = method.publish(kept, SCHEMA, out=tmp_path / "next", ledger=tmp_path / "book")
    assert made.parts > 5
    assert made.guarantee.parameters["counterfeits"] == 180
    assert set(signatures(tmp_path / "next").values()) == {frozenset({"i0", "i1"})}


def test_what_lies_on_the_disk_meanwhile_names_nobody(tmp_path, monkeypatch):
    """Rows carry a keyed hash of the person; no file of the work holds a name."""
    from hedgerow.scale import duckdb as engine

    file, found = tmp_path / "t.parquet", []
    pq.write_table(people(0, 200), file)
    original = engine._append

    def append(target, rows):
        found.append(rows)
        original(target, rows)

    monkeypatch.setattr(engine, "_append", append)
    for step in range(2):
        hr.MInvariant(3).publish(file, SCHEMA, out=tmp_path / f"out{step}", ledger=tmp_path / "book")
    assert {name for rows in found for name in rows.column_names} == {"age", "town", "ill", "person"}
    assert not any(b"person1" in buffer for rows in found for buffer in _buffers(rows))


def _buffers(rows):
    for column in rows.columns:
        for chunk in column.chunks:
            yield from (bytes(buffer) for buffer in chunk.buffers() if buffer is not None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), InputError("changed")], ids=repr)
def test_what_stops_the_work_leaves_the_series_as_it_was(error, tmp_path, monkeypatch):
    """No bundle, no entry, nobody remembered, no temporary file: the next publication is a first one."""
    from hedgerow.methods import scaled

    def write(*args, **options):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(scaled, "write_part", write)
        with pytest.raises((KeyboardInterrupt, DiskFull, InputError)):
            hr.MInvariant(3).publish(people(0, 200), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert list(tmp_path.iterdir()) == []
    hr.MInvariant(3).publish(people(0, 200), SCHEMA, out=tmp_path / "out", ledger=tmp_path / "book")
    assert Counter(map(len, signatures(tmp_path / "out").values()))[2] == 0
