"""The tasks of Spark's Python workers: count, encode, assign and send rows, and run the kernels of a block.

Guarantee  what leaves a task before the kernels are codes; an error of ours reaches the driver, and nothing of any
           other but its kind, so that no message or log has a cell

Coded rows of one block travel as one record for many rows, in the narrowest integers: a few bytes a row.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import HedgerowError, InputError, limit_reached
from hedgerow.scale.coding import Coder
from hedgerow.scale.dealing import CHANGED, Placing
from hedgerow.scale.engine import Distinct

Batches = Iterator[pa.RecordBatch]

_SAMPLE = 1 << 16
_MOST_SENT = 1 << 18
"""Different values of a column that a task holds and sends to the driver; columns with more are counted by Spark."""
_SENT = 1 << 19
"""Coded rows that a task gathers before it sends them to their blocks."""


@dataclass(frozen=True, eq=False)
class TaskCounts:
    """What a task saw: its total, digests of its columns in the order of rows, and what it counted of each."""

    total: Any
    digests: Mapping[str, bytes]
    counts: Mapping[str, bytes] = field(default_factory=dict)


def shares_of(found: pa.Table) -> dict[int, TaskCounts]:
    """What each task saw, by its number."""
    pairs = zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True)
    return dict(sorted((int(task), TaskCounts(*pickle.loads(share))) for task, share in pairs))


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
class CountWork:
    """Counts the rows of a task, and the values of each column as long as these are few."""

    names: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        """One record with what this task counted."""
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


def add_tasks(tasks: Sequence[bytes], most: int) -> Distinct | None:
    """What all tasks counted of a column."""
    counted = _sum_counts(pa.concat_tables([pa.ipc.open_stream(task).read_all() for task in tasks]))
    return None if counted.num_rows > most else (counted.column(0).combine_chunks(), counted.column(1).to_numpy())


@dataclass(frozen=True, eq=False)
class FoldWork:
    """Codes the batches of a task, and adds up what a function says of them."""

    coder: Coder
    count: Callable[[pa.Table], Ints]

    def __call__(self, batches: Batches) -> Batches:
        """One record with this task's total."""
        with _marked_errors():
            total, digest = None, _Digest()
            for batch in _name_batches(self.coder.names, batches):
                digest.update(batch)
                found = self.count(self.coder.encode(batch))
                total = found if total is None else total + found
            if total is not None:
                yield _record_of(total, digest.value())


@dataclass(frozen=True, eq=False)
class GatherWork:
    """Sends what a function makes of each batch."""

    names: tuple[str, ...]
    work: Callable[[pa.Table], NDArray[np.uint64]]

    def __call__(self, batches: Batches) -> Batches:
        """One record a batch."""
        with _marked_errors():
            for batch in _name_batches(self.names, batches):
                yield pa.record_batch({"found": pa.array([pickle.dumps(self.work(batch))], pa.binary())})


@dataclass(frozen=True, eq=False)
class ScatterWork:
    """Codes the batches of a task, deals their rows to blocks, and sends the rows of each block as one record."""

    coder: Coder
    tasks: Mapping[int, tuple[Placing, Mapping[str, bytes]]]

    def __call__(self, batches: Batches) -> Batches:
        """Records of the rows of each block."""
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
class RunWork:
    """Puts the records of a block together and runs the kernels; an error of ours is a result, no reason to retry."""

    coder: Coder
    work: Callable[[int, pa.Table], Any]
    wanted: frozenset[int]

    def __call__(self, batches: Batches) -> Batches:
        """One record with what the work returned."""
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
            yield pa.table(batch.columns, names=list(names))


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
