"""The engine for one machine: DuckDB reads and counts within its share of memory, rows of a block wait in a file.

The files lie in a hidden folder beside the release to be, readable by its owner alone. They hold codes and the values
of published columns that have none. The folder is gone when the engine is closed, whatever happens; one that a killed
process left is removed by the next release under that name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import unwritten
from hedgerow.release.folder import folder_beside, named_folder
from hedgerow.scale.coding import Coder
from hedgerow.scale.dealing import Placing
from hedgerow.scale.engine import Distinct, PassSource, ScaleEngine
from hedgerow.scale.sources import open_source

T = TypeVar("T")
Progress = Callable[[str, float], None]

_BATCH = 1 << 19
_LEAST_ROWS = 1 << 12
_BYTES_PER_ROW = 512
"""What the kernels, the audit and the help table of a block take for each of its rows, measured on 8 columns."""


class DuckEngine(ScaleEngine):
    """A table in files or a database, read in passes with bounded memory; `target` is the folder of the release.

    `reading` are options of reading, such as the delimiter of a text file.
    """

    def __init__(
        self,
        source: object,
        target: str | os.PathLike[str],
        *,
        memory: int,
        reading: Mapping[str, Any] | None = None,
        progress: Progress = lambda step, share: None,
    ) -> None:
        self._progress = progress
        self._opened = ExitStack()
        with ExitStack() as opened:
            self._folder = opened.enter_context(folder_beside(named_folder(target)))
            self._folder.chmod(0o700)
            self._source: PassSource = opened.enter_context(
                open_source(source, self._folder, memory=memory // 2, reading=reading)
            )
            self._opened = opened.pop_all()
        self.block_rows = max(_LEAST_ROWS, memory // 2 // _BYTES_PER_ROW)
        self._rows: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return self._source.names

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        return self._source.head(column)

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean."""
        return self._source.type_values(column, values)

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        if self._rows is None:
            self._rows = self._source.count_rows()
        return self._rows

    def distinct(self, columns: Sequence[str], most: int) -> dict[str, Distinct | None]:
        """Count the distinct values of each column; None for a column that has more than `most`."""
        found: dict[str, Distinct | None] = {}
        for place, name in enumerate(columns):
            self._progress("counting", 0.2 * place / len(columns))
            found[name] = self._source.distinct(name, most)
        return found

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """Count the combinations of several columns' values; None if there are more than `most`."""
        return self._source.combinations(columns, most)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        self._source.leave_out(values)
        self._rows = None

    def fold(self, coder: Coder, count: Callable[[pa.Table], Ints]) -> list[Ints]:
        """Add up what `count` says of all batches; there is one task. Codes are kept for the passes that follow."""
        total: Ints | None = None
        for batch in self._code_batches(coder, "counting", 0.2, 0.3):
            found = count(batch)
            total = found if total is None else total + found
        return [] if total is None else [total]

    def gather(
        self, columns: Sequence[str], work: Callable[[pa.Table], NDArray[np.uint64]]
    ) -> Iterator[NDArray[np.uint64]]:
        """What `work` makes of each batch of some columns."""
        total, seen = max(1, self.count_rows()), 0
        for batch in self._source.batches(columns, _BATCH):
            self._progress("recognizing", 0.15 + 0.05 * min(1.0, seen / total))
            seen += batch.num_rows
            yield work(batch)

    def scatter(self, coder: Coder, placing: Placing) -> None:
        """Append the rows of each batch to the files of their blocks."""
        for batch in self._code_batches(coder, "scattering", 0.3, 0.5):
            blocks = placing.place(batch)
            order = np.argsort(blocks.astype(np.uint16) if placing.num_blocks < 2**16 else blocks, kind="stable")
            ends = np.cumsum(np.bincount(blocks, minlength=placing.num_blocks))
            sorted_rows = batch.take(pa.array(order)).combine_chunks()
            for block, end in enumerate(ends):
                start = 0 if block == 0 else int(ends[block - 1])
                if end > start:
                    _append(self._file(block), sorted_rows.slice(start, int(end) - start))
        placing.finish()

    def run(self, work: Callable[[int, pa.Table], T], blocks: Sequence[int]) -> Iterator[T]:
        """Call `work` block after block; the file of a block is removed when it is read."""
        for place, block in enumerate(blocks):
            self._progress("publishing", 0.5 + 0.4 * place / len(blocks))
            yield work(block, self._read(block))

    def close(self) -> None:
        """Remove the folder and close the source."""
        self._opened.close()

    def _code_batches(self, coder: Coder, step: str, first: float, last: float) -> Iterator[pa.Table]:
        total, seen = max(1, self.count_rows()), 0
        self._empty = coder.schema.empty_table()
        keeping = step != "scattering"
        kept = self._folder / "codes"
        batches = _streams(kept) if kept.exists() else map(coder.encode, self._source.batches(coder.names, _BATCH))
        if keeping and not kept.exists():
            batches = self._keep(batches, kept)
        for batch in batches:
            self._progress(step, first + (last - first) * min(1.0, seen / total))
            seen += batch.num_rows
            yield batch

    def _keep(self, batches: Iterable[pa.Table], kept: Path) -> Iterator[pa.Table]:
        """Write codes for the passes that follow; a pass that was broken off is no such file."""
        unfinished = kept.with_suffix(".part")
        for batch in batches:
            _append(unfinished, batch)
            yield batch
        if unfinished.exists():
            unfinished.rename(kept)

    def _file(self, block: int) -> Path:
        return self._folder / f"block-{block}"

    def _read(self, block: int) -> pa.Table:
        file = self._file(block)
        if not file.exists():
            return self._empty
        rows = pa.concat_tables(_streams(file)).combine_chunks()
        file.unlink()
        return rows


def _append(file: Path, rows: pa.Table) -> None:
    try:
        with file.open("ab") as opened, pa.ipc.new_stream(opened, rows.schema) as writer:
            writer.write_table(rows)
    except OSError as error:
        raise unwritten("A temporary file beside the release", error) from None


def _streams(file: Path) -> Iterator[pa.Table]:
    """The tables that were appended to a file, in their order."""
    with pa.OSFile(str(file)) as opened:
        while opened.tell() < opened.size():
            yield pa.ipc.open_stream(opened).read_all()
