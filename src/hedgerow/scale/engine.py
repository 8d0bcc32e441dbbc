"""What an engine does for a table that is larger than memory, DuckDB or Spark, and what a source of rows does.

The plan has five steps, and an engine does the three that touch rows:

    count    `names`, `head`, `count_rows`, `distinct`, `combinations`: what is there, in the engine's own values.
             Identifiers are not read, unless the release is recorded in a ledger.
             `leave_out` drops rows for good: later calls do not see them. `gather` returns what a function makes of
             each batch, such as keyed hashes of its rows.
    decide   on the driver, on counts alone (`methods`). A decision that needs more counts asks for `fold`: a function
             of a coded batch that returns an array of whole numbers, added up over all batches of a task; the answer
             is one array for each task, so that sums over the whole table and shares of tasks come from one call.
    scatter  `scatter` codes every row with `Coder.encode`, asks `Placing.place` for its block and brings the rows of
             each block together. This is the only time that rows move. Nothing but what the coder returns may be
             written to disk or sent: codes, and the values of published columns that have none.
    run      `run` calls a function with the number and the coded rows of each block, and gives back what it returned,
             in the order in which `blocks` names them. The function runs the kernels, audits and writes a part
             under a random name; it may run twice or be killed, so only what it returned counts.
    seal     on the driver, where parts become a bundle.

An engine with several tasks has to divide the urns of a placing before it scatters: `fold(coder, placing.tally)` says
how many rows of each class every task will see, and `placing.divide` gives each task its own placing. The tasks of both
passes have to see the same rows: if they do not, `place` or `finish` raises InputError, which is what has to happen
when the table changed. Random draws before rows move must be the same when a task is repeated: give a placing
whose task may be repeated `keys` made from a secret seed of that task.

Functions that are handed to `fold`, `scatter` and `run` can be pickled by cloudpickle and hold small plans alone.
Errors of hedgerow that they raise have to arrive as they are; no message of an engine may be passed on, for it may
quote a cell.

A `PassSource` is a table that can be read again and again. With it are names as SQL quotes them, and errors of DuckDB
as sentences.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, is_interrupt

if TYPE_CHECKING:
    from hedgerow.scale.coding import Coder
    from hedgerow.scale.dealing import Placing


T = TypeVar("T")

Distinct = tuple[pa.Array, Ints]
"""The distinct values of a column, missing among them where it occurs, and the rows of each."""


class ScaleEngine(ABC):
    """Rows that are too many for memory; see the head of this module. Use it in a `with` block."""

    block_rows: int
    """How many rows a block may have, so that the kernels of one fit into a task's memory."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""

    @abstractmethod
    def head(self, column: str) -> pa.Array:
        """One value of a column, of the type that `distinct` and batches have; empty where there is no row."""

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each: texts of delimited files become numbers and dates."""
        return values

    @abstractmethod
    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""

    @abstractmethod
    def distinct(self, columns: Sequence[str], most: int) -> dict[str, Distinct | None]:
        """Count the distinct values of each column; None for a column that has more than `most`, or about as many."""

    @abstractmethod
    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """Count the combinations of several columns' values; None if there are more than `most`."""

    @abstractmethod
    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values, for all calls that follow."""

    @abstractmethod
    def fold(self, coder: Coder, count: Callable[[pa.Table], Ints]) -> list[Ints]:
        """Add up what `count` says of the coded batches of each task."""

    @abstractmethod
    def gather(
        self, columns: Sequence[str], work: Callable[[pa.Table], NDArray[np.uint64]]
    ) -> Iterator[NDArray[np.uint64]]:
        """What `work` makes of each batch of some columns, in any order; nothing of it is kept."""

    @abstractmethod
    def scatter(self, coder: Coder, placing: Placing) -> None:
        """Bring the rows of each block together."""

    @abstractmethod
    def run(self, work: Callable[[int, pa.Table], T], blocks: Sequence[int]) -> Iterator[T]:
        """Call `work` with the number and the coded rows of each block; a block without rows has an empty table."""

    @abstractmethod
    def close(self) -> None:
        """Remove everything that was written, and stop what runs."""

    def __enter__(self) -> ScaleEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class PassSource(Protocol):
    """A table that can be counted and read again and again."""

    names: tuple[str, ...]

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        ...

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each."""
        ...

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        ...

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        ...

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        ...

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        ...

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many."""
        ...


def run_step(step: Callable[[], T]) -> T:
    """Run a step of DuckDB; what it raises becomes a sentence: its messages may quote a cell, and are not passed on."""
    try:
        return step()
    except (HedgerowError, MemoryError):
        raise
    except Exception as error:
        was_stopped = is_interrupt(error)
        found = _sentence(type(error).__name__, str(error))
    if was_stopped:
        raise KeyboardInterrupt
    raise found


def _sentence(kind: str, text: str) -> HedgerowError:
    if "max_temp_directory_size" in text or "No space left" in text:
        return DiskFull("The disk is too full for the temporary files; free some, or publish to another disk.")
    if "not latin-1 encoded" in text:
        return InputError(
            "The file holds signs that its encoding has between 128 and 159, such as the euro sign of cp1252, which "
            "are read in memory alone; convert it to UTF-8 or Parquet."
        )
    if (line := re.search(r"CSV Error on Line: (\d+)|CSV Parser state machine", text)) is not None:
        return InputError(
            f"{f'Line {line[1]}' if line[1] else 'A line'} of a delimited file cannot be read: it has more or fewer "
            "cells than the first line, a quote that is not closed, or another line end; repair it, or convert the "
            "file to Parquet."
        )
    if kind == "OutOfMemoryException":
        return OutOfMemory("The memory limit is too small to count this table; allow more (--memory).")
    return InputError("The table cannot be read; it may be damaged, or it changed while it was read.")


def quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: object) -> str:
    """A text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def quote_files(files: Sequence[Path]) -> str:
    """A list of files as DuckDB reads it: signs that would make a pattern of a name stand for themselves."""
    plain = (re.sub(r"[*?[]", r"[\g<0>]", str(file)) for file in files)
    return f"[{', '.join(map(quote_text, plain))}]"
