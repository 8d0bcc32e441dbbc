"""The engine for a cluster: Spark reads, counts and moves rows; its Python workers run the kernels.

Guarantee  a task that is repeated deals its rows to the same blocks; a table whose rows or order differ between two
           passes is refused; what leaves a task before the kernels are codes, and no message or log has a cell
Cost       one pass for the distinct values of all columns, and one for each column in which most values differ; one
           for the shares of tasks where these are not known yet, one that moves the coded rows once

Classic sessions and Spark Connect: nothing but data frames and functions over Arrow batches, no context, no broadcast.
Before rows move it is taken down, task by task, how many rows of each class there are, and a digest of the values in
their order; the task that moves them has to find the same. Where the class of a row follows from one column the
counting of values has told that already; otherwise it takes a pass. So the tasks of all passes are the same, as they
are for files and tables, and the coins of a task, which come from a keyed stream, fall the same way when Spark repeats
it. A frame whose order changes from pass to pass is to be written to files first.

Coded rows of one block travel as one record for many rows, in the narrowest integers: a few bytes a row.
"""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow import errors
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, ParameterError, limit_reached
from hedgerow.randomness import KeyedStream
from hedgerow.scale.coding import Coder, ColumnClass
from hedgerow.scale.dealing import CHANGED, Placing
from hedgerow.scale.engine import Distinct, ScaleEngine
from hedgerow.table.checks import check_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ClusterEngine", "frame_of", "open_cluster", "open_session"]

T = TypeVar("T")
Progress = Callable[[str, float], None]
Batches = Iterator[pa.RecordBatch]

_FIXED = {
    # Tasks have to be the same in every pass, and a block must not share its task with others.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
_SAMPLE = 1 << 16
_MOST_SENT = 1 << 18
"""Different values of a column that a task holds and sends to the driver; columns with more are counted by Spark."""
_SENT = 1 << 19
"""Coded rows that a task gathers before it sends them to their blocks."""
_LEAST, _MOST, _BLOCKS = 1 << 14, 1 << 20, 16
"""Rows of a block, and how many blocks a table is cut into where they may be smaller than the most."""
_BYTES_PER_ROW = 512
"""What the kernels, the audit and the help table of a block take for each of its rows."""
_MARK = re.compile(r"hedgerow<(\w+):([0-9a-f]*)>")


class ClusterEngine(ScaleEngine):
    """A frame of Spark, read in passes by the tasks of a cluster."""

    def __init__(
        self,
        frame: DataFrame,
        *,
        block_rows: int = _MOST,
        progress: Progress = lambda step, share: None,
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._names = tuple(frame.columns)
        check_names(self._names)
        self._places = {name: f"c{place}" for place, name in enumerate(self._names)}
        # Names of a table are nothing that a statement should have to quote.
        self._frame = frame.toDF(*self._places.values())
        self._session: Any = frame.sparkSession
        self._progress = progress
        self._rows: int | None = None
        self._seen: dict[int, _Share] = {}
        self._scattered: _Scatter | None = None
        self._stop = stop
        self._most = self.block_rows = block_rows

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return self._names

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        with _plain_errors():
            return _one(self._select([column]).limit(1).toArrow().column(0))

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        if self._rows is None:
            with _plain_errors():
                self._note_rows(int(self._frame.count()))
        assert self._rows is not None
        return self._rows

    def _note_rows(self, rows: int) -> None:
        self._rows = rows
        self.block_rows = min(max(rows // _BLOCKS, _LEAST), self._most)

    def distinct(self, columns: Sequence[str], most: int) -> dict[str, Distinct | None]:
        """Count the distinct values of each column; None for a column that has more than `most`.

        One pass in Python workers counts rows and all columns with few values; Spark counts the others, one by one.
        """
        self._progress("counting", 0.0)
        with self._fix_settings(), _plain_errors():
            seen = self._select(columns).mapInArrow(_Count(tuple(columns)), "task int, share binary").toArrow()
        self._seen = _shares(seen)
        self._note_rows(sum(task.total for task in self._seen.values()))
        tasks = [task.counts for task in self._seen.values()]
        found: dict[str, Distinct | None] = {}
        for place, name in enumerate(columns):
            self._progress("counting", 0.1 + 0.1 * place / len(columns))
            own = [task[name] for task in tasks]
            if all(own):
                found[name] = _add_tasks(own, most)
            else:
                with _plain_errors():
                    found[name] = None if self._about(name) > 1.1 * most else self._count_values(name, most)
        return found

    def _about(self, name: str) -> int:
        own = self._places[name]
        return int(self._frame.selectExpr(f"approx_count_distinct({own}) AS n").toArrow().column(0)[0].as_py())

    def _count_values(self, name: str, most: int) -> Distinct | None:
        own = self._places[name]
        # One value more than allowed is enough to know, and all that the driver has to hold.
        counted = self._frame.groupBy(own).count().limit(most + 1).toArrow()
        if counted.num_rows > most:
            return None
        return _one(counted.column(0)), counted.column(1).to_numpy().astype(np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
        """Count the combinations of several columns' values; None if there are more than `most`."""
        with _plain_errors():
            grouped = self._frame.groupBy(*(self._places[name] for name in columns)).count()
            counted = grouped.limit(most + 1).toArrow()
        if counted.num_rows > most:
            return None
        values = pa.table([_one(column) for column in counted.columns[:-1]], names=list(columns))
        return values, counted.column(len(columns)).to_numpy().astype(np.int64)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        for name, listed in values.items():
            own = self._places[name]
            for condition in _conditions(own, listed):
                self._frame = self._frame.filter(condition)
        self._rows, self._seen = None, {}

    def fold(
        self, coder: Coder, count: Callable[[pa.Table], NDArray[np.int64]], *, step: str = "counting"
    ) -> list[NDArray[np.int64]]:
        """Add up what `count` says of the coded batches of each task."""
        self._progress(step, 0.25)
        return [share.total for share in self._shares(coder, count).values()]

    def gather(
        self, columns: Sequence[str], work: Callable[[pa.Table], NDArray[np.uint64]]
    ) -> Iterator[NDArray[np.uint64]]:
        """What `work` makes of each batch of some columns; the driver takes one task's results after the other."""
        self._progress("recognizing", 0.2)
        with self._fix_settings(), _plain_errors():
            found = self._select(columns).mapInArrow(_Gather(tuple(columns), work), "found binary")
            for row in found.toLocalIterator(prefetchPartitions=True):
                yield pickle.loads(row[0])

    def _shares(self, coder: Coder, count: Callable[[pa.Table], NDArray[np.int64]]) -> dict[int, _Share]:
        work = _Fold(coder, count)
        with self._fix_settings(), _plain_errors():
            return _shares(self._select(coder.names).mapInArrow(work, "task int, share binary").toArrow())

    def _tallies(self, coder: Coder, placing: Placing) -> dict[int, _Share]:
        """How many rows of each class every task has: from what was counted, or else by a pass."""
        by, size = placing.classify, len(placing.left)
        if not isinstance(by, ColumnClass) or not all(
            by.column is None or seen.counts[by.column] for seen in self._seen.values()
        ):
            return self._shares(coder, placing.tally)
        found = {}
        for task, seen in self._seen.items():
            values, rows = np.zeros(1, np.int32), np.array([seen.total])
            if by.column is not None:
                counted = pa.ipc.open_stream(seen.counts[by.column]).read_all()
                values, rows = coder.columns[by.column].encode(counted.column(0)), counted.column(1).to_numpy()
            classes = values if by.of_code is None else by.of_code[values]
            found[task] = replace(seen, total=np.bincount(classes, rows, minlength=size).astype(np.int64))
        return found

    def scatter(self, coder: Coder, placing: Placing) -> None:
        """Divide the urns among the tasks; rows move when the blocks are run."""
        self._progress("scattering", 0.3)
        shares = self._tallies(coder, placing)
        secret = placing.keys(4).tobytes()
        divided = placing.divide([share.total for share in shares.values()])
        tasks = {
            task: (replace(own, keys=KeyedStream(secret + task.to_bytes(8, "little"))), share.digests)
            for (task, share), own in zip(shares.items(), divided, strict=True)
        }
        self._scattered = _Scatter(coder, tasks)
        self._blocks = placing.num_blocks

    def run(self, work: Callable[[int, pa.Table], T], blocks: Sequence[int]) -> Iterator[T]:
        """Move the rows of each block to a task of its own, and call `work` there."""
        assert self._scattered is not None, "rows are scattered before blocks are run"
        self._progress("publishing", 0.5)
        coder = self._scattered.coder
        with self._fix_settings(), _plain_errors():
            sent = self._select(coder.names).mapInArrow(self._scattered, "block int, records binary")
            placed = sent.repartitionById(self._blocks, "block")
            done = placed.mapInArrow(_Block(coder, work, frozenset(blocks)), "block int, found binary").toArrow()
        found = dict(zip(done.column(0).to_pylist(), done.column(1).to_pylist(), strict=True))
        for block in blocks:
            if block not in found:
                yield work(block, coder.schema.empty_table())
                continue
            result = pickle.loads(found.pop(block))
            if isinstance(result, HedgerowError):
                raise result
            yield result

    def close(self) -> None:
        """Forget the rows; what Spark keeps of them goes with its frames. A session that was opened here is closed."""
        self._scattered = None
        self._stop()

    def _select(self, columns: Sequence[str]) -> DataFrame:
        return self._frame.select(*(self._places[name] for name in columns))

    @contextmanager
    def _fix_settings(self) -> Iterator[None]:
        """Settings under which the tasks of a pass are those of the last one; the session gets its own back."""
        kept = {name: self._session.conf.get(name, None) for name in _FIXED}
        for name, value in _FIXED.items():
            self._session.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in kept.items():
                self._session.conf.unset(name) if value is None else self._session.conf.set(name, value)


@dataclass(frozen=True, eq=False)
class _Share:
    """What a task saw: its total, digests of its columns in the order of rows, and what it counted of each."""

    total: Any
    digests: Mapping[str, bytes]
    counts: Mapping[str, bytes] = field(default_factory=dict)


def _shares(found: pa.Table) -> dict[int, _Share]:
    pairs = zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True)
    return dict(sorted((int(task), _Share(*pickle.loads(share))) for task, share in pairs))


def _record_of(*share: object) -> pa.RecordBatch:
    """A task's share as one record."""
    return pa.record_batch(
        {"task": pa.array([_task()], pa.int32()), "share": pa.array([pickle.dumps(share)], pa.binary())}
    )


class _Digest:
    """Digests of columns in the order of their rows, whatever the batches are that they come in."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[Any, Any]] = {}

    def update(self, batch: pa.Table) -> None:
        for name in batch.column_names:
            new = (hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16))
            for own, content in zip(self._columns.setdefault(name, new), _contents(batch.column(name)), strict=True):
                own.update(content)

    def value(self) -> dict[str, bytes]:
        return {name: b"".join(own.digest() for own in pair) for name, pair in self._columns.items()}


def _contents(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The values of a column as bytes, and which of them are missing, or how long the texts are."""
    values = column.combine_chunks()
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy()
        there = values.drop_null()
        _, offsets, content = there.buffers()
        if content is None or not len(there):
            return b"", lengths
        ends = np.frombuffer(offsets, np.int32)[there.offset : there.offset + len(there) + 1]
        return memoryview(content)[int(ends[0]) : int(ends[-1])], lengths
    if not pa.types.is_integer(values.type) and not pa.types.is_floating(values.type):
        return "".join(f"{value!r};" for value in values.to_pylist()).encode("utf-8", "surrogatepass"), b""
    missing = values.is_null().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(pc.fill_null(values, 0).to_numpy()), missing


@dataclass(frozen=True, eq=False)
class _Count:
    """Counts the rows of a task, and the values of each column as long as these are few."""

    names: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        with _marked_errors():
            rows, digest, found = 0, _Digest(), dict[str, pa.Table | None].fromkeys(self.names, _NOTHING)
            for batch in _name_batches(self.names, batches):
                rows += batch.num_rows
                digest.update(batch)
                for name in self.names:
                    found[name] = _with_more(found[name], batch.column(name).combine_chunks(), rows)
            if rows:
                kept = {name: b"" if one is None else _bytes(one) for name, one in found.items()}
                yield _record_of(rows, digest.value(), kept)


_NOTHING = pa.table({"v": pa.nulls(0), "n": pa.array([], pa.int64())})


def _with_more(before: pa.Table | None, column: pa.Array, rows: int) -> pa.Table | None:
    """The values so far and those of a batch; None where they are many, or of a kind that is not counted here."""
    if before is None or not len(column):
        return before
    try:
        more = column.value_counts()
    except pa.ArrowNotImplementedError:
        return None
    counted = pa.table({"v": more.field("values"), "n": more.field("counts")})
    if before is not _NOTHING:
        counted = _sum_counts(pa.concat_tables([before, counted]))
    return None if counted.num_rows > max(_SAMPLE // 4, min(rows // 4, _MOST_SENT)) else counted


def _sum_counts(counted: pa.Table) -> pa.Table:
    """Each value once, with the rows of all its lines."""
    encoded = counted.column("v").combine_chunks().dictionary_encode(null_encoding="encode")
    rows = np.bincount(encoded.indices.to_numpy(), counted.column("n").to_numpy(), minlength=len(encoded.dictionary))
    return pa.table({"v": encoded.dictionary, "n": rows.astype(np.int64)})


def _add_tasks(tasks: Sequence[bytes], most: int) -> Distinct | None:
    """What all tasks counted of a column."""
    counted = _sum_counts(pa.concat_tables([pa.ipc.open_stream(task).read_all() for task in tasks]))
    return None if counted.num_rows > most else (counted.column(0).combine_chunks(), counted.column(1).to_numpy())


@dataclass(frozen=True, eq=False)
class _Fold:
    """Codes the batches of a task, and adds up what a function says of them."""

    coder: Coder
    count: Callable[[pa.Table], NDArray[np.int64]]

    def __call__(self, batches: Batches) -> Batches:
        with _marked_errors():
            total, digest = None, _Digest()
            for batch in _name_batches(self.coder.names, batches):
                digest.update(batch)
                found = self.count(self.coder.encode(batch))
                total = found if total is None else total + found
            if total is not None:
                yield _record_of(total, digest.value())


@dataclass(frozen=True, eq=False)
class _Gather:
    """Sends what a function makes of each batch."""

    names: tuple[str, ...]
    work: Callable[[pa.Table], NDArray[np.uint64]]

    def __call__(self, batches: Batches) -> Batches:
        with _marked_errors():
            for batch in _name_batches(self.names, batches):
                yield pa.record_batch({"found": pa.array([pickle.dumps(self.work(batch))], pa.binary())})


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Codes the batches of a task, deals their rows to blocks, and sends the rows of each block as one record."""

    coder: Coder
    tasks: Mapping[int, tuple[Placing, Mapping[str, bytes]]]

    def __call__(self, batches: Batches) -> Batches:
        with _marked_errors():
            placing, expected = self.tasks.get(_task(), (None, {}))
            digest, gathered = _Digest(), list[pa.Table]()
            for batch in _name_batches(self.coder.names, batches):
                if placing is None:
                    raise InputError(CHANGED)
                digest.update(batch)
                coded = self.coder.encode(batch)
                placed = pa.array(placing.place(coded))
                gathered.append(coded.append_column("", placed))
                if sum(table.num_rows for table in gathered) >= _SENT:
                    yield _records(gathered)
                    gathered = []
            if placing is not None:
                placing.finish()
                if any(expected[name] != own for name, own in digest.value().items()):
                    raise InputError(CHANGED)
            if gathered:
                yield _records(gathered)


def _records(gathered: list[pa.Table]) -> pa.RecordBatch:
    """The rows of each block as bytes, without the blocks' numbers."""
    table = pa.concat_tables(gathered).combine_chunks()
    blocks = table.column("").to_numpy()
    order = np.argsort(blocks, kind="stable")
    ordered = table.drop_columns([""]).take(pa.array(order)).combine_chunks()
    numbers, starts = np.unique(blocks[order], return_index=True)
    ends = [*starts[1:].tolist(), len(blocks)]
    pieces = [_bytes(ordered.slice(start, end - start)) for start, end in zip(starts.tolist(), ends, strict=True)]
    return pa.record_batch({"block": pa.array(numbers, pa.int32()), "records": pa.array(pieces, pa.binary())})


def _bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


@dataclass(frozen=True, eq=False)
class _Block:
    """Puts the records of a block together and runs the kernels; an error of ours is a result, no reason to retry."""

    coder: Coder
    work: Callable[[int, pa.Table], Any]
    wanted: frozenset[int]

    def __call__(self, batches: Batches) -> Batches:
        with _marked_errors():
            block, pieces = _task(), list[pa.Table]()
            for batch in batches if block in self.wanted else ():
                pieces += [pa.ipc.open_stream(record).read_all() for record in batch.column("records").to_pylist()]
            if not pieces:
                return
            try:
                found: Any = self.work(block, pa.concat_tables(pieces).combine_chunks())
            except Exception as error:
                found = error if isinstance(error, HedgerowError) else limit_reached(error)
                if found is None:
                    raise
            made = pa.array([pickle.dumps(found)], pa.binary())
            yield pa.record_batch({"block": pa.array([block], pa.int32()), "found": made})


def _task() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "called in a task of Spark"
    return int(context.partitionId())


def _name_batches(names: Sequence[str], batches: Batches) -> Iterator[pa.Table]:
    """The batches of a task, under the names of the table."""
    for batch in batches:
        if batch.num_rows:
            yield pa.table([_normal(column) for column in batch.columns], names=list(names))


def _normal(column: pa.Array) -> pa.Array:
    """Values as Spark's groups show them, which do not tell zero from negative zero."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _one(column: pa.ChunkedArray) -> pa.Array:
    return _normal(column.combine_chunks())


def _conditions(own: str, listed: pa.Array) -> Iterator[str]:
    """What a row must keep so that its value is none of these; texts are written in hexadecimal digits."""
    if listed.null_count:
        yield f"{own} IS NOT NULL"
    for value in listed.drop_null().to_pylist():
        if isinstance(value, str):
            yield f"({own} IS NULL OR {own} <> decode(unhex('{value.encode().hex()}'), 'UTF-8'))"
        elif value != value:
            yield f"({own} IS NULL OR NOT isnan({own}))"
        else:
            raise InputError("Only texts and floats stand for missing values.")


@contextmanager
def _marked_errors() -> Iterator[None]:
    """In a task: let an error of ours reach the driver, and nothing of any other but its kind."""
    try:
        yield
    except Exception as error:
        plain = error if isinstance(error, HedgerowError) else limit_reached(error)
        text = "" if plain is None else str(plain)
        kind = type(error if plain is None else plain).__name__
    else:
        return
    raise RuntimeError(f"hedgerow<{kind}:{text.encode().hex()}>") from None  # a log would show what it came from


@contextmanager
def _plain_errors() -> Iterator[None]:
    """On the driver: errors of tasks as they were raised there, those of Spark in a sentence, which quotes no cell."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:  # Java's own errors come as the second kind
        found = plain_error(str(error))
    else:
        return
    raise found from None


def plain_error(text: str) -> HedgerowError:
    """What a message of Spark means."""
    if (mark := _MARK.search(text)) is not None:
        kind = getattr(errors, mark[1], None)
        if isinstance(kind, type) and issubclass(kind, HedgerowError):
            return kind(bytes.fromhex(mark[2]).decode())
        return InputError(f"A task on the cluster failed ({mark[1]}); nothing was published.")
    if "No space left on device" in text:
        return DiskFull("A disk of the cluster is too full for the rows that are moved; free some space.")
    if "OutOfMemoryError" in text:
        return OutOfMemory("The cluster's memory is not enough for this table; give its executors more.")
    return InputError(
        "Spark could not read the table or finish its tasks; its own log says why. Nothing was published."
    )


def open_cluster(source: object, master: str | None, memory: int | None, progress: Progress) -> ClusterEngine:
    """Open a frame of Spark, or what a session at the address `master` can read; `memory` is that of one task."""
    most = _MOST if memory is None else max(_LEAST, memory // _BYTES_PER_ROW)
    if hasattr(source, "mapInArrow"):
        if master is not None:
            raise ParameterError("'master' is for files and tables; a data frame has a session of its own.")
        return ClusterEngine(source, block_rows=most, progress=progress)  # type: ignore[arg-type]
    session = open_session(master)
    try:
        return ClusterEngine(frame_of(source, session), block_rows=most, progress=progress, stop=session.stop)
    except BaseException:
        session.stop()
        raise


def open_session(master: str | None) -> Any:
    """A session at an address: sc://... for Spark Connect; spark://..., yarn, k8s://... for a classic one."""
    if not master:
        raise ParameterError(
            "Spark needs a data frame, or the address of a cluster: master='spark://...' or 'sc://...'."
        )
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.session import SparkSession as RemoteSession
    except ImportError:
        raise InputError("Spark needs pyspark: pip install 'hedgerow[spark]'.") from None
    try:
        if master.startswith("sc://"):
            return RemoteSession.builder.remote(master).create()
        if SparkSession.getActiveSession() is not None:
            raise ParameterError("This process has a Spark session already; hand over a data frame of it.")
        # Until the session is there Spark logs nothing: a cluster that cannot be reached is a sentence, not a trace.
        quiet = SparkSession.builder.master(master).appName("hedgerow").config("spark.log.level", "OFF")
        session = quiet.getOrCreate()
        session.sparkContext.setLogLevel("WARN")
        return session
    except HedgerowError:
        raise
    except Exception:
        raise InputError("The Spark cluster cannot be reached under that address.") from None


_FORMATS = ("parquet", "csv", "json", "orc", "avro", "delta", "iceberg")


def frame_of(source: object, spark: Any) -> DataFrame:
    """What a session reads: a path of Parquet files or of a CSV file, `format:path`, or `table:name`."""
    text = str(source)
    kind, sign, rest = text.partition(":")
    if not sign or kind not in ("table", *_FORMATS):
        kind, rest = ("csv" if text.endswith((".csv", ".csv.gz")) else "parquet"), text
    with _plain_errors():
        if kind == "table":
            return spark.read.table(rest)  # type: ignore[no-any-return]
        reader = spark.read.format(kind)
        options = {"header": True, "inferSchema": True} if kind == "csv" else {}
        return reader.options(**options).load(rest)  # type: ignore[no-any-return]
