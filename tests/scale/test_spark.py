"""The engine for a cluster: promises as in memory, and a release that is right or nothing when something breaks."""

import collections
import errno
import os
import pickle
import signal
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import DiskFull, InputError, ParameterError
from hedgerow.methods.scaled import decide_and_scatter
from hedgerow.randomness import KeyedStream
from hedgerow.scale.coding import count_table
from hedgerow.scale.dealing import Placing
from hedgerow.scale.spark import ClusterEngine
from hedgerow.scale.spark_session import frame_of, plain_error, plain_errors
from hedgerow.scale.spark_tasks import _NOTHING, _bytes, _Digest, _with_more, add_tasks
from tests.scale.test_groups import NUMBER, ONE
from tests.scale.test_groups import _table as census
from tests.scale.test_invariant import SCHEMA as NAMED
from tests.scale.test_invariant import people, signatures
from tests.scale.test_ke import SCHEMA, TABLES, _multiset, _table, groups_of
from tests.scale.test_other_methods import LEVELS, PARTS

pytest.importorskip("pyspark", reason="missing tool: Java 17 with pyspark")


@pytest.fixture(params=["classic", "connect"])
def spark(request, spark_cluster):
    """A session of either kind."""
    return spark_cluster.spark if request.param == "classic" else spark_cluster.remote


def frame(spark, table, folder):
    """A table in three files, which several tasks read."""
    rows = pa.table(table)
    (folder / "table").mkdir()
    for place in range(3):
        pq.write_table(rows.take(list(range(place, len(rows), 3))), folder / "table" / f"{place}.parquet")
    return frame_of(folder / "table", spark)


CELLS = (
    "zip,n,x,day,at,is,says,long,gap,none\n"
    '01234, 7,1.5,2026-01-31,2026-01-31 10:00:00,true,"say ""hi"",\nor \\ not",12345678901234567890,?,NA\n'
    "99999,-2,2e3,0001-01-01,1999-12-31T23:59:59.5,False,plain,1,3,\n"
)


def test_cells_and_names_of_folders_have_the_types_that_they_have_in_memory(spark, tmp_path):
    """Spark alone reads zip=01234 as 1234, whole numbers of 20 digits as another number, and a quoted line as two."""
    (tmp_path / "cells.csv").write_text(CELLS)
    for folder, zip_code in (("zip=01234", 1), ("zip=99999", 2)):
        (tmp_path / "folder" / folder / "year=2026").mkdir(parents=True)
        pq.write_table(pa.table({"n": [zip_code]}), tmp_path / "folder" / folder / "year=2026" / "part.parquet")
    for name in ("cells.csv", "folder"):
        found = frame_of(tmp_path / name, spark).toArrow()
        wanted = hr.read_table(tmp_path / name).to_arrow().select(found.column_names)
        assert [str(one.type).replace("int32", "int64") for one in found.schema] == [
            str(one.type) for one in wanted.schema
        ]
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, wanted.to_pylist()))


def test_rows_of_other_lengths_and_other_encodings_are_refused(spark, tmp_path):
    """Spark alone would leave cells empty, and put signs of its own in the place of those that it cannot read."""
    for name, content in (("short.csv", b"a,b\n1,2\n3\n"), ("latin.csv", "a,b\n1,Zürich\n".encode("latin-1"))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=r"could not read|not UTF-8"):
            frame_of(tmp_path / name, spark)


@dataclass(frozen=True)
class PublishedBlock:
    """What a test wants to know of a block: releases are not made to travel."""

    groups: int
    table: pa.Table
    rows: object

    def to_arrow(self):
        """The rows, as a release gives them."""
        return self.table


def publish(method, rows, schema, most=8, breaks=lambda: None):
    """The blocks, in the order in which they are published."""
    with ClusterEngine(rows) as engine:
        counted = count_table(engine, schema)
        engine.block_rows = most
        decided = decide_and_scatter(method._plan_blocks, counted)

        def work(block, coded):
            breaks()
            release = decided.block(block, coded)
            return PublishedBlock(release.groups, release.to_arrow(), release.rows)

        return list(engine.run(work, decided.order))


CASES = [
    ("spread", "sum"),
    ("nine in ten are zero", "sum"),
    ("border values shared", "max"),
    ("few values", "count"),
    ("decimals", "max_overlap"),
    ("spread", "random"),
]


@pytest.mark.parametrize(("name", "objective"), CASES)
def test_every_group_keeps_the_promise(name, objective, spark_cluster, tmp_path):
    """k distinct values over a range of e in each group, all rows and values published once, groups as in memory."""
    session = spark_cluster.spark if objective != "max" else spark_cluster.remote
    pay, method = TABLES[name], hr.KEAnonymity(k=2, e=1, objective=objective)
    releases = publish(method, frame(session, _table(pay), tmp_path), SCHEMA)
    groups = groups_of(releases)
    assert len(releases) > 1
    assert sorted(value for group in groups for value in group) == sorted(pay)
    assert all(len(set(group)) >= 2 and max(group) - min(group) >= 1 for group in groups)
    ages = [age for release in releases for age in release.to_arrow()["age"].to_pylist()]
    assert sorted(ages) == list(range(len(pay)))
    whole = groups_of([method.publish(_table(pay), SCHEMA, seed=1)])
    if objective != "random" and max(map(len, whole)) <= 8:
        assert collections.Counter(map(_multiset, groups)) == collections.Counter(map(_multiset, whole))


def test_missing_values_texts_and_settings(spark):
    """Rows with a suppressed value are left out, texts are trimmed, and the session's settings come back."""
    table = {
        "age": [None, 1, 2, 3, None, 5, 6, 7],
        "a.b`": [" m", "m", "f ", "f", None, "m", "f", "m"],
        "pay": [1.0, 2.0, None, 4.5, 5.0, float("nan"), 7.0, -0.0],
    }
    schema = hr.Schema(quasi=["age", "a.b`"], sensitive="pay", missing={"pay": "suppress"})
    before = spark.conf.get("spark.sql.adaptive.enabled")
    releases = publish(hr.KEAnonymity(k=2, e=1), spark.createDataFrame(pa.table(table)), schema, most=2)
    rows = pa.concat_tables([release.to_arrow() for release in releases])
    assert sorted(rows["pay"].to_pylist()) == [0.0, 1.0, 2.0, 4.5, 5.0, 7.0]
    assert sorted(map(str, rows["age"].to_pylist())) == ["1", "3", "6", "7", "None", "None"]
    assert set(rows["a.b`"].to_pylist()) == {"m", "f", None}
    assert spark.conf.get("spark.sql.adaptive.enabled") == before


def test_the_command_publishes_on_a_cluster(spark_cluster, tmp_path):
    """A path, an address of Spark Connect, and a bundle that opens; an address without Spark is refused."""
    frame(spark_cluster.spark, _table(TABLES["spread"]), tmp_path)
    roles = [
        "--quasi",
        "age,sex",
        "--sensitive",
        "pay",
        "--identifier",
        "name",
        "--method",
        "ke",
        "--k",
        "2",
        "--e",
        "1",
    ]
    words = [
        "publish",
        str(tmp_path / "table"),
        *roles,
        "--out",
        str(tmp_path / "out"),
        "--master",
        spark_cluster.address,
    ]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(main, [*words, "--engine", "spark"])
    assert done.exit_code == 0, done.output
    assert hr.open(tmp_path / "out").rows.published == 40


def once(marker):
    """Tell whether this is the first call, in whatever process."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def executor():
    """The process id of the executor in which this runs: an ancestor of the Python worker."""
    process = os.getpid()
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return process


def breaking(kind, marker):
    """What breaks a task: once, so that a repetition succeeds, or always."""

    def breaks():
        if kind == "killed" and once(marker):
            os.kill(executor(), signal.SIGKILL)
        if kind == "broken" or (kind == "failed" and once(marker)):
            raise ValueError("canary-4711-cell")
        if kind == "full":
            raise OSError(errno.ENOSPC, "canary-4711-cell")

    return breaks


METHODS = {
    "ke": (hr.KEAnonymity(k=2, e=10), NUMBER),
    "ke refined": (hr.KEAnonymity(k=2, e=10, refine="quasi"), NUMBER),
    "anatomy": (hr.Anatomy(l=3), ONE),
    "anatomy near": (hr.Anatomy(l=3, grouping="near"), ONE),
    "permutation": (hr.PermutationAnonymization(l=3), ONE),
    "proximity": (hr.Proximity(eps=20, m=3), NUMBER),
    "mondrian": (hr.Mondrian(k=3, l=2), ONE),
    "mondrian t": (hr.Mondrian(k=3, t=0.3), ONE),
    "full domain": (hr.FullDomain(k=5, suppression="0.3"), LEVELS),
    "target": (hr.TargetDistribution("source", parts="sex"), PARTS),
    "rank swap": (hr.RankSwap(share="0.2"), NUMBER),
    "microaggregation": (hr.Microaggregation(k=4), ONE),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_bundle_is_published_and_verified(name, spark_cluster, tmp_path, monkeypatch):
    """Every method through the one interface: rows of the table, parts that verify, answers that are in bounds."""
    monkeypatch.setattr("hedgerow.scale.spark._LEAST", 90)
    method, schema = METHODS[name]
    session = (spark_cluster.spark, spark_cluster.remote)[list(METHODS).index(name) % 2]
    found = method.publish(frame(session, census(), tmp_path), schema, out=tmp_path / "out")
    assert found.parts > 1
    assert sorted(place.name for place in tmp_path.iterdir()) == ["out", "table"]
    release = hr.open(tmp_path / "out")
    assert release.rows.input == len(census()["pay"])
    if release.rows.suppressed or release.form.is_altered:
        return  # nothing is bounded by what is not published, or not as it was
    pay = sum(value for value, age in zip(census()["pay"], census()["age"], strict=True) if age < 40)
    answer = release.ask("SELECT sum(pay) FROM release WHERE age < 40")
    assert answer.lower <= pay <= answer.upper


def test_a_series_under_a_ledger(spark, spark_cluster, tmp_path, monkeypatch):
    """Everybody keeps the signature; the ledger knows the rows as in memory; no log of the cluster names anybody."""
    monkeypatch.setattr("hedgerow.scale.spark._LEAST", 60)
    seen, book = {}, tmp_path / "book"
    for step, (first, last) in enumerate([(0, 200), (60, 260)]):
        (tmp_path / str(step)).mkdir()
        rows = frame(spark, people(first, last), tmp_path / str(step))
        made = hr.MInvariant(3).publish(rows, NAMED, out=tmp_path / f"out{step}", ledger=book)
        assert made.parts > 2
        assert all(seen.setdefault(town, own) == own for town, own in signatures(tmp_path / f"out{step}").items())
    assert [entry.bundle is not None for entry in hr.Ledger.open(book).entries] == [True, True]
    assert hr.Ledger.open(book).overlaps(people(60, 260))[0].same
    with pytest.raises(hr.Infeasible, match="This very table was published before"):
        hr.Anatomy(l=2).publish(rows, NAMED, out=tmp_path / "more", ledger=book)
    assert not (tmp_path / "more").exists()
    logs = [file for file in spark_cluster.folder.rglob("std*") if file.is_file()]
    assert not any(b"person1" in file.read_bytes() for file in logs)


@pytest.mark.parametrize("kind", ["failed", "killed"])
def test_what_breaks_once_is_repeated_and_right(kind, spark_cluster, tmp_path):
    """A task that fails, an executor that is killed while others hold blocks: the same rows, each once."""
    table, marker = _table(TABLES["nine in ten are zero"]), str(tmp_path / "marker")
    rows = frame(spark_cluster.spark, table, tmp_path)
    releases = publish(hr.KEAnonymity(k=2, e=1), rows, SCHEMA, breaks=breaking(kind, marker))
    assert Path(marker).exists()
    groups = groups_of(releases)
    assert sorted(value for group in groups for value in group) == sorted(table["pay"])
    assert sorted(age for release in releases for age in release.to_arrow()["age"].to_pylist()) == table["age"]


@pytest.mark.parametrize(("kind", "error", "words"), [("full", DiskFull, "full|space"), ("broken", InputError, "task")])
def test_what_breaks_always_is_one_sentence_without_a_cell(kind, error, words, spark_cluster, tmp_path):
    """The error has its kind, and neither its message nor a log of the cluster has what it was about."""
    rows = frame(spark_cluster.spark, _table(TABLES["spread"]), tmp_path)
    with pytest.raises(error, match=f"(?i){words}") as caught:
        publish(hr.KEAnonymity(k=2, e=1), rows, SCHEMA, breaks=breaking(kind, ""))
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    logs = [file for file in spark_cluster.folder.rglob("std*") if file.is_file()]
    assert logs
    # The whole word: the cluster numbers its tasks, and comes to 4711 one day.
    assert not any(b"canary-4711-cell" in file.read_bytes() for file in logs)


def _break_in_one(plan, number, prepared):
    """Publish some blocks, and break in one of them whenever it is tried."""
    if number == 0:
        raise ValueError("canary-4711-cell")
    return plan(number, prepared)


@dataclass(frozen=True)
class BreakingMethod(hr.KEAnonymity):
    """(k,e)-anonymity of which one block never succeeds."""

    def _plan_blocks(self, whole, counted):
        plan = super()._plan_blocks(whole, counted)
        return replace(plan, publish=partial(_break_in_one, plan.publish))


@pytest.mark.parametrize("kind", ["a task that never succeeds", "Ctrl-C"])
def test_what_stops_the_work_leaves_nothing_at_the_target(kind, spark_cluster, tmp_path, monkeypatch):
    """Parts that other tasks wrote are gone with their folder, and what was at the target is still there."""
    monkeypatch.setattr("hedgerow.scale.spark._LEAST", 90)
    rows = frame(spark_cluster.spark, census(), tmp_path)
    (tmp_path / "out").mkdir()
    kept = hr.KEAnonymity(k=2, e=10).publish(census(), NUMBER)
    kept.save(tmp_path / "out", overwrite=True)
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    def stop(step, share):
        if step == "publishing":
            raise KeyboardInterrupt

    if kind == "Ctrl-C":
        with pytest.raises(KeyboardInterrupt):
            hr.KEAnonymity(k=2, e=10).publish(rows, NUMBER, out=tmp_path / "out", overwrite=True, progress=stop)
    else:
        with pytest.raises(InputError, match="task"):
            BreakingMethod(k=2, e=10).publish(rows, NUMBER, out=tmp_path / "out", overwrite=True)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["out", "table"]
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize("change", ["other rows", "other order"])
def test_a_table_that_changes_between_passes_is_refused(change, spark_cluster, tmp_path):
    """Other rows are found by the urns, another order of the same rows by the digests."""
    table = pa.table(_table(TABLES["border values shared"]))
    file = tmp_path / "t.parquet"
    pq.write_table(table, file)
    with ClusterEngine(frame_of(file, spark_cluster.spark)) as engine:
        counted = count_table(engine, SCHEMA)
        engine.block_rows = 8
        decided = decide_and_scatter(hr.KEAnonymity(k=2, e=1)._plan_blocks, counted)
        other = table.slice(1) if change == "other rows" else table.take(list(range(len(table)))[::-1])
        pq.write_table(other, file)
        rows = frame_of(file, spark_cluster.spark)
        engine._frame = rows.toDF(*engine._places.values())
        with pytest.raises(InputError, match="changed"):
            list(engine.run(decided.block, decided.order))


def test_a_method_that_needs_the_whole_table_says_so(spark_cluster, tmp_path):
    """Before rows move."""
    with pytest.raises(ParameterError, match="memory"):
        publish(hr.Robust(r=2), frame(spark_cluster.spark, _table(list(range(20))), tmp_path), SCHEMA)


def test_a_repeated_task_draws_the_same_coins():
    """A placing that travels to a task and back deals the same rows to the same blocks; another task draws others."""
    classes = np.zeros(400, np.int32)
    placing = Placing.of(
        _first,
        np.zeros(2, np.int32),
        np.arange(2, dtype=np.int32),
        np.array([200, 200]),
        size=1,
        keys=KeyedStream(b"x"),
    )
    sent = pickle.dumps(placing)
    one, again = (pickle.loads(sent).place(pa.table({"a": classes})) for _ in range(2))
    assert np.array_equal(one, again)
    other = pickle.loads(sent)
    other.keys = KeyedStream(b"y")
    assert not np.array_equal(one, other.place(pa.table({"a": classes})))


def _first(batch):
    return batch.column(0).to_numpy()


def test_messages_of_spark_become_sentences():
    """An error of ours arrives as it was; a foreign one shows its kind alone; a full disk is said."""
    assert str(plain_error(f"x hedgerow<SchemaError:{b'No such.'.hex()}> y")) == "No such."
    assert "4711" not in str(plain_error("hedgerow<ValueError:> 4711"))
    assert isinstance(plain_error("java.io.IOException: No space left on device"), DiskFull)
    assert "4711" not in str(plain_error("cannot parse 4711"))


COLUMNS = [
    pa.array([1, 2, None, 4, 5], pa.int32()),
    pa.array([1.5, None, float("nan"), 0.0, -1.0]),
    pa.array(["a", "", None, "bc", "b"]),
    pa.array([None, None, None, None, None], pa.string()),
    pa.array([b"x", b"yz", b"", None, b"q"]),
    pa.array([True, None, False, True, True]),
    pa.array([0, 1, None, 3, 4], pa.date32()),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: str(one.type))
def test_digests_are_of_rows_in_their_order_however_they_are_cut(column):
    """The same for other batches and slices, another one for any other row, order or border between texts."""
    whole = _digest([column])
    for border in range(1, 5):
        assert _digest([column.slice(0, border), column.slice(border)]) == whole
        assert _digest([column.take([*range(border), *range(border, 5)])]) == whole
    if column.null_count < 5:
        assert _digest([column.take([1, 0, 2, 3, 4])]) != whole
    for changed in ([0, 1, 2, 3], [0, 1, 2, 3, 4, 4]):
        assert _digest([column.take(changed)]) != whole
    assert _digest([pa.array(["a", "b"])]) != _digest([pa.array(["", "ab"])])
    assert _digest([pa.array(["", None])]) != _digest([pa.array([None, ""])])


def _digest(columns):
    digest = _Digest()
    for column in columns:
        digest.update(pa.table({"x": column}))
    return digest.value()


@pytest.mark.parametrize("rows", [10, 100_000])
def test_values_are_counted_while_they_are_few(rows):
    """Batch by batch, missing and not a number among them; a column in which most values differ is left to Spark."""
    few = pa.array([[1.0, None, float("nan"), 0.0][n % 4] for n in range(rows)])
    own, seen = _NOTHING, 0
    for start in range(0, rows, 1000):
        batch = few.slice(start, 1000)
        seen += len(batch)
        own = _with_more(own, batch, seen)
    found = {repr(value): count for value, count in zip(own["v"].to_pylist(), own["n"].to_pylist(), strict=True)}
    assert found == collections.Counter(map(repr, few.to_pylist()))
    many = _with_more(_NOTHING, pa.array(range(rows)), rows)
    assert (many is None) == (rows > 20_000)
    assert _with_more(_NOTHING, pa.array([[1]]), 1) is None
    assert add_tasks([_bytes(own), _bytes(own)], 3) is None
    values, counts = add_tasks([_bytes(own), _bytes(own)], 4)
    assert (len(values), int(counts.sum())) == (4, 2 * rows)


def test_errors_of_java_are_a_sentence_without_a_cell():
    """They come through another door than those of Spark, and may quote what they stumbled over."""
    from py4j.protocol import Py4JError

    with pytest.raises(InputError, match="Spark could not read") as found, plain_errors():
        raise Py4JError("cannot cast 'gallstones' to a number")
    assert "gallstones" not in str(found.value)
    assert found.value.__cause__ is None
