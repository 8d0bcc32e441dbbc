"""Everything that hedgerow raises on purpose.

HedgerowError
├── InputError        what came in cannot be read as a table
├── SchemaError       columns, roles, domains or hierarchies do not fit the table
├── ParameterError    a parameter is not what it must be
├── Infeasible        a promise that this table cannot keep
├── BrokenPromise     a release does not keep what it promises; it is not returned, not written, not read
├── BundleError       a folder is not a whole, unedited release
│   └── DiskFull      it could not be written, because the disk, or the owner's share of it, is full
├── QueryError        a question that cannot be answered with a bound, with the reason
└── OutOfMemory       the memory is not enough; a MemoryError, too

A message is one or two sentences: what must hold, what came, what to do. It names columns, counts and parameters,
never a cell of the table. Signs that steer a terminal or end a line, which a hostile name can hold, are spelled out.
"""

import errno
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

__all__ = [
    "BrokenPromise",
    "BundleError",
    "DiskFull",
    "HedgerowError",
    "Infeasible",
    "InputError",
    "OutOfMemory",
    "ParameterError",
    "QueryError",
    "SchemaError",
    "as_path",
    "counted",
    "is_interrupt",
    "limit_reached",
    "printable",
    "unwritten",
    "within_limits",
]

P = ParamSpec("P")
T = TypeVar("T")


class HedgerowError(Exception):
    """The root: catching this catches every deliberate refusal."""

    def __str__(self) -> str:
        return printable(super().__str__())


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun, and a verb where one follows: `1 row is`, `2 rows are`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """A text in which signs that steer a terminal, turn its direction or end a line are spelled out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class InputError(HedgerowError):
    """What came in cannot be read as a table."""


class SchemaError(HedgerowError):
    """Columns, roles, domains or hierarchies do not fit the table.

    `values` holds cells that do not fit, for the owner alone: they are no part of the message.
    """

    def __init__(self, message: str = "", *, values: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.values = values


class ParameterError(HedgerowError, ValueError):
    """A parameter is not what it must be."""


class Infeasible(HedgerowError):
    """A promise that this table cannot keep; the message names the nearest one that it can.

    `values` holds the cells that stand in the way, for the owner alone: they are no part of the message.
    """

    def __init__(self, message: str = "", *, values: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.values = values


class BrokenPromise(HedgerowError):
    """A release that does not keep what it promises."""


class BundleError(HedgerowError):
    """A folder that is not a whole, unedited release."""


class QueryError(HedgerowError):
    """A question that cannot be answered with a bound."""


class OutOfMemory(HedgerowError, MemoryError):
    """The memory is not enough."""


class DiskFull(BundleError):
    """The disk is full, or the owner's share of it."""


def as_path(path: object) -> Path:
    """A path that a caller gave, as a text or as a path; anything else is refused."""
    if isinstance(path, str | os.PathLike):
        with suppress(TypeError):  # of a path that is bytes
            return Path(path)
    raise ParameterError(f"A path must be a text or a pathlib.Path; got {type(path).__name__}.")


def unwritten(name: str, error: OSError) -> BundleError:
    """Say that a file or folder could not be written, and why."""
    reason = os.strerror(error.errno) if error.errno else "input/output error"
    return (DiskFull if error.errno in _FULL else BundleError)(f"{name} could not be written: {reason}.")


_FULL = (errno.ENOSPC, errno.EDQUOT)
_SIGNS_OF_MEMORY = ("start new thread", "annot allocate memory", "failed to map segment")


def limit_reached(error: BaseException) -> HedgerowError | None:
    """What an error says in a sentence if memory or disk are not enough; None if it says something else."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return unwritten("A file", error)
    texts = str(error) if isinstance(error, RuntimeError | ImportError | OSError) else ""
    by_name = type(error).__name__ == "OutOfMemoryException"  # DuckDB's
    if isinstance(error, MemoryError) or by_name or any(sign in texts for sign in _SIGNS_OF_MEMORY):
        return (
            error
            if isinstance(error, HedgerowError)
            else OutOfMemory(
                "There is not enough memory for this; take fewer rows or columns, or a machine that has more."
            )
        )
    return None


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error of a library means that the user pressed Ctrl-C."""
    by_duckdb = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    return by_duckdb or (isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt))  # numba's


def within_limits(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function of the front door say in a sentence that memory or disk are not enough, and end by Ctrl-C."""

    @functools.wraps(function)
    def run(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except HedgerowError:
            raise
        except Exception as error:
            plain = KeyboardInterrupt() if is_interrupt(error) else limit_reached(error)
            if plain is None:
                raise
        raise plain from None

    return run
