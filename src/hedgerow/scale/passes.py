"""The protocol of sources that are read in passes, with quoting of names and translation of errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, is_interrupt
from hedgerow.scale.engine import Distinct

__all__ = ["PassSource", "quote_files", "quote_name", "quote_text", "run_step"]

T = TypeVar("T")


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

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, NDArray[np.int64]] | None:
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
