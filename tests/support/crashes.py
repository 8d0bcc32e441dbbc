"""Faults on purpose: kill -9 before each durable step, a step that fails, an interrupt at any moment.

What is done to files runs in a forked child, so that nothing of the parent dies with it. A durable step is whatever
opens a file for writing, syncs, makes, renames, exchanges or removes; the interpreter reports most of them itself.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from hedgerow import table
from hedgerow.release import folder

__all__ = ["failed_at_each_step", "forked", "interrupted", "killed_at_each_step"]

_EVENTS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_WRITES = os.O_WRONLY | os.O_RDWR
_CRASHED = 70
_UNHARMED = 71

Act = Callable[[], object]
Look = Callable[[], int]


def killed_at_each_step(act: Act, look: Look, reset: Act, *, stride: int = 1) -> list[int]:
    """Kill `act` before its first durable step, before its second, and so on; return what `look` saw each time.

    The last entry is what is seen after a run that was not killed. Before each run `reset` makes things as they were.
    With `stride` 3 every third step is struck.
    """
    ends, seen = _at_each_step(act, look, reset, _die, stride)
    assert ends[:-1] == [-signal.SIGKILL] * (len(ends) - 1), "a run ended by itself"
    return seen


def failed_at_each_step(act: Act, look: Look, reset: Act, error: OSError) -> list[tuple[int, int]]:
    """Let the first durable step of `act` fail, then the second, and so on; return what `act` and `look` returned."""

    def fail() -> None:
        raise error

    ends, seen = _at_each_step(act, look, reset, fail)
    return list(zip(ends[:-1], seen[:-1], strict=True))


def _at_each_step(
    act: Act, look: Look, reset: Act, strike: Callable[[], None], stride: int = 1
) -> tuple[list[int], list[int]]:
    ends: list[int] = []
    seen: list[int] = []
    while not ends or ends[-1] != _UNHARMED:
        reset()
        ends.append(forked(lambda: _armed(act, len(seen) * stride, strike)))
        seen.append(forked(look))
        assert ends[-1] != _CRASHED, "a run raised what it should not"
    return ends, seen


def interrupted(act: Callable[[], object], seconds: float) -> int:
    """Press Ctrl-C after some time; 1 where `act` was interrupted, 0 where it was done before."""

    def run() -> int:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            act()
        except KeyboardInterrupt:
            return 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return 0

    return forked(run)


def forked(run: Callable[[], object]) -> int:
    """Run in a child; return the number that it returned, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        _leave(run)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _leave(run: Callable[[], object]) -> NoReturn:
    try:
        code = run()
    except BaseException:
        traceback.print_exc()
        code = _CRASHED
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def _armed(act: Act, step: int, strike: Callable[[], None]) -> object:
    """Run `act` with a strike before the durable step of this number; say so if there were not as many steps."""
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if done == step + 1:
            strike()

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event in _EVENTS or (event == "open" and isinstance(args[2], int) and args[2] & _WRITES):
            tick()

    os.fsync = _before(os.fsync, tick)
    folder._exchange = _before(folder._exchange, tick)
    table.write_csv = _before(table.write_csv, tick)  # which writes where the interpreter does not see it
    sys.addaudithook(watch)
    code = act()
    return code if done > step else _UNHARMED


def _before(function: Callable[..., Any], tick: Callable[[], None]) -> Callable[..., Any]:
    def wrapped(*args: Any) -> Any:
        tick()
        return function(*args)

    return wrapped


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
