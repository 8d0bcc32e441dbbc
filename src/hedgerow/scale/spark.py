"""The engine for a cluster: Spark reads, counts and moves rows; its Python workers run the kernels.

Guarantee  a task that is repeated deals its rows to the same blocks; a table whose rows or order differ between two
           passes is refused
Cost       one pass for the distinct values of all columns, and one for each column in which most values differ; one
           for the shares of tasks where these are not known yet, one that moves the coded rows once

Classic sessions and Spark Connect: nothing but data frames and functions over Arrow batches, no context, no broadcast.
Before rows move, each task records how many rows of each class it has, and a digest of the values in their order; the
task that moves them must find the same. If the class of a row follows from one column these numbers are known from
counting values; otherwise they take a pass. The tasks of all passes must therefore be the same, as they are for files
and tables. The random numbers of a task come from a keyed stream, so that they are the same when Spark repeats it. A
frame whose order changes from pass to pass must be written to files first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import HedgerowError, InputError, ParameterError
from hedgerow.randomness import KeyedStream
from hedgerow.scale.coding import Coder, ColumnClass
from hedgerow.scale.dealing import Placing
from hedgerow.scale.engine import Distinct, ScaleEngine
from hedgerow.scale.spark_session import frame_of, open_session, plain_errors
from hedgerow.scale.spark_tasks import (
    CountWork,
    FoldWork,
    GatherWork,
    RunWork,
    ScatterWork,
    TaskCounts,
    add_tasks,
    shares_of,
)
from hedgerow.table.checks import check_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


T = TypeVar("T")
Progress = Callable[[str, float], None]

_FIXED = {
    # Tasks have to be the same in every pass, and a block must not share its task with others.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
_LEAST, _MOST, _BLOCKS = 1 << 14, 1 << 20, 16
"""Rows of a block, and how many blocks a table is cut into where they may be smaller than the most."""
_BYTES_PER_ROW = 512
"""What the kernels, the audit and the help table of a block take for each of its rows."""


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
        self._seen: dict[int, TaskCounts] = {}
        self._scattered: ScatterWork | None = None
        self._stop = stop
        self._most = self.block_rows = block_rows

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return self._names

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        with plain_errors():
            return self._select([column]).limit(1).toArrow().column(0).combine_chunks()

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        if self._rows is None:
            with plain_errors():
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
        with self._fix_settings(), plain_errors():
            seen = self._select(columns).mapInArrow(CountWork(tuple(columns)), "task int, share binary").toArrow()
        self._seen = shares_of(seen)
        self._note_rows(sum(task.total for task in self._seen.values()))
        tasks = [task.counts for task in self._seen.values()]
        found: dict[str, Distinct | None] = {}
        for place, name in enumerate(columns):
            self._progress("counting", 0.1 + 0.1 * place / len(columns))
            own = [task[name] for task in tasks]
            if all(own):
                found[name] = add_tasks(own, most)
            else:
                with plain_errors():
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
        return counted.column(0).combine_chunks(), counted.column(1).to_numpy().astype(np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """Count the combinations of several columns' values; None if there are more than `most`."""
        with plain_errors():
            grouped = self._frame.groupBy(*(self._places[name] for name in columns)).count()
            counted = grouped.limit(most + 1).toArrow()
        if counted.num_rows > most:
            return None
        values = pa.table([column.combine_chunks() for column in counted.columns[:-1]], names=list(columns))
        return values, counted.column(len(columns)).to_numpy().astype(np.int64)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        for name, listed in values.items():
            own = self._places[name]
            for condition in _conditions(own, listed):
                self._frame = self._frame.filter(condition)
        self._rows, self._seen = None, {}

    def fold(self, coder: Coder, count: Callable[[pa.Table], Ints]) -> list[Ints]:
        """Add up what `count` says of the coded batches of each task."""
        self._progress("counting", 0.25)
        return [share.total for share in self._shares(coder, count).values()]

    def gather(
        self, columns: Sequence[str], work: Callable[[pa.Table], NDArray[np.uint64]]
    ) -> Iterator[NDArray[np.uint64]]:
        """What `work` makes of each batch of some columns; the driver takes one task's results after the other."""
        self._progress("recognizing", 0.2)
        with self._fix_settings(), plain_errors():
            found = self._select(columns).mapInArrow(GatherWork(tuple(columns), work), "found binary")
            for row in found.toLocalIterator(prefetchPartitions=True):
                yield pickle.loads(row[0])

    def _shares(self, coder: Coder, count: Callable[[pa.Table], Ints]) -> dict[int, TaskCounts]:
        work = FoldWork(coder, count)
        with self._fix_settings(), plain_errors():
            return shares_of(self._select(coder.names).mapInArrow(work, "task int, share binary").toArrow())

    def _tallies(self, coder: Coder, placing: Placing) -> dict[int, TaskCounts]:
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
        self._scattered = ScatterWork(coder, tasks)
        self._blocks = placing.num_blocks

    def run(self, work: Callable[[int, pa.Table], T], blocks: Sequence[int]) -> Iterator[T]:
        """Move the rows of each block to a task of its own, and call `work` there."""
        assert self._scattered is not None, "rows are scattered before blocks are run"
        self._progress("publishing", 0.5)
        coder = self._scattered.coder
        with self._fix_settings(), plain_errors():
            sent = self._select(coder.names).mapInArrow(self._scattered, "block int, records binary")
            placed = sent.repartitionById(self._blocks, "block")
            done = placed.mapInArrow(RunWork(coder, work, frozenset(blocks)), "block int, found binary").toArrow()
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
