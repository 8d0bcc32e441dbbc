"""Loops that NumPy cannot express, compiled by Numba when the input is large enough.

A kernel is written once, in the part of Python that Numba compiles. Small inputs run the plain function: importing
Numba costs more than looping over a few thousand rows, and the plain function is the reference in the tests. The
first compilation on a machine takes seconds, so it is announced; later processes load it from the disk cache.

A kernel may call kernels of its own module only: Numba's cache looks at the caller's file, so a change in another
file would go unnoticed.
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SMALL = 4096
"""Up to this many elements the plain Python loop wins over importing Numba."""

_listeners: list[Callable[[str], None]] = []


def on_compile(listener: Callable[[str], None]) -> None:
    """Call `listener` with a sentence, once, before this process compiles what the machine has not compiled before."""
    _listeners.append(listener)


def _announce() -> None:
    for listener in _listeners:
        listener("compiling inner loops that this machine has not run before: some seconds")
    _listeners.clear()


class Kernel(Generic[P, R]):
    """A loop in two speeds: `plain` for small inputs and as the reference, `compiled` for large ones."""

    def __init__(self, plain: Callable[P, R], *, inline: Literal["never", "always"] = "never") -> None:
        self.plain, self._inline = plain, inline
        functools.update_wrapper(self, plain)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run compiled where the longest argument has more than `SMALL` elements, plain otherwise.

        Once Numba is there for something larger, importing it costs nothing, and shorter loops are worth it too.
        """
        longest = max(map(_length, args), default=0)
        small = SMALL if "numba" not in sys.modules else SMALL // 8
        return (self.plain if longest <= small else self.compiled)(*args, **kwargs)

    @functools.cached_property
    def compiled(self) -> Callable[P, R]:
        """The compiled function; loads from the cache, or compiles, when first called."""
        import numba

        folder = _cache_folder()
        if folder is not None:
            setattr(numba.config, "CACHE_DIR", str(folder))  # noqa: B010  (its stubs do not list it)
        _drop_unreadable(folder, self.plain)
        if not _is_cached(folder, self.plain):
            _announce()
        compile_it = numba.njit(nogil=True, cache=folder is not None, inline=self._inline)
        compiled: Callable[P, R] = compile_it(_with_compiled_callees(self.plain))
        return compiled


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel."""
    return Kernel(function)


def inline_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel that becomes part of the kernels that call it.

    A call that hands on tuples of arrays counts a reference to each of them, which takes longer than a short loop.
    """
    return Kernel(function, inline="always")


def _length(argument: object) -> int:
    """How many elements an argument has; a (named) tuple of arrays as many as its longest."""
    if isinstance(argument, tuple):
        return max(map(_length, argument), default=0)
    return len(argument) if hasattr(argument, "__len__") else 0


def _with_compiled_callees(function: Any) -> Any:
    """Return `function` seeing the compiled form of the kernels that it calls."""
    callees = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    kernels = {name: callee.compiled for name, callee in callees.items() if isinstance(callee, Kernel)}
    if not kernels:
        return function
    rebound = types.FunctionType(function.__code__, {**function.__globals__, **kernels}, function.__name__)
    rebound.__qualname__, rebound.__module__ = function.__qualname__, function.__module__
    return rebound


@functools.cache
def _cache_folder() -> Path | None:
    """Find a writable folder for compiled kernels; where there is none Numba would raise, so caching is left off."""
    for base in (os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"), "~/.cache"):
        if not base:
            continue
        folder = Path(base).expanduser() / "hedgerow"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _is_cached(folder: Path | None, function: Any) -> bool:
    """Return whether Numba's index for this function exists and is newer than the source."""
    written = max((index.stat().st_mtime for index in _indexes(folder, function)), default=0.0)
    return written > Path(function.__code__.co_filename).stat().st_mtime


def _drop_unreadable(folder: Path | None, function: Any) -> None:
    """Remove indexes that name a type of an older version: Numba unpickles them before it sees their age, and fails."""
    for index in _indexes(folder, function):
        try:
            with index.open("rb") as file:
                pickle.load(file)
                pickle.load(file)
        except Exception:
            index.unlink(missing_ok=True)


def _indexes(folder: Path | None, function: Any) -> list[Path]:
    """Numba's indexes of this function, in the subfolder of its source."""
    from numba.core.caching import _CacheLocator

    if folder is None:
        return []
    source = Path(function.__code__.co_filename)
    pattern = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}.*.nbi"
    subfolder: str = _CacheLocator.get_suitable_cache_subpath(str(source))  # type: ignore[no-untyped-call]
    return list((folder / subfolder).glob(pattern))
