"""Long work: one after the other on one thread, with progress, a way to stop, and an address that survives a reload."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.randomness import token

_MOST_JOBS = 100


class Stopped(BaseException):
    """Raised inside of work that was stopped; no handler of errors takes it for one."""


@dataclass
class Job:
    """One piece of work. `state` is waiting, running, done, failed or stopped; `result` is what the work returned.

    `seen` grows with every change, so that watchers notice it.
    """

    kind: str
    work: Callable[[Job], Any]
    done_at: str = "/"
    key: object = None
    note: str = ""
    id: str = field(default_factory=lambda: token(8))
    state: str = "waiting"
    step: str = ""
    share: float = 0.0
    problem: str = ""
    refusal: str = ""
    result: Any = None
    parts: list[Any] = field(default_factory=list)
    seen: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def is_stopping(self) -> bool:
        """Whether somebody asked it to end."""
        return self._stop.is_set()

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen any more."""
        return self.state in ("done", "failed", "stopped")

    def report(self, step: str, share: float) -> None:
        """Note how far the work is; raise Stopped if nobody wants it any more."""
        if self._stop.is_set():
            raise Stopped
        self.step, self.share = step, max(0.0, min(1.0, share))
        self.seen += 1

    def add(self, part: Any) -> None:
        """Hand over a part of the result before the rest is there."""
        self.parts.append(part)
        self.report(self.step, self.share)

    def stop(self) -> None:
        """Ask the work to end; it does so at its next report."""
        self._stop.set()
        if self.state == "waiting":
            self.state = "stopped"
        self.seen += 1


class Jobs:
    """A queue with one worker; `prepare` runs on it first."""

    def __init__(self, prepare: Callable[[], None] = lambda: None) -> None:
        self._jobs: dict[str, Job] = {}
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(prepare,), daemon=True, name="hedgerow-worker")
        self._thread.start()

    def start(self, job: Job) -> Job:
        """Put work at the end of the queue."""
        over = [known.id for known in list(self._jobs.values()) if known.is_over]
        for id in over[: max(0, len(self._jobs) - _MOST_JOBS)]:
            self._jobs.pop(id, None)
        self._jobs[job.id] = job
        self._queue.put(job)
        return job

    def find(self, id: str) -> Job | None:
        """The job of that name, if there is one."""
        return self._jobs.get(id)

    def last(self, kind: str) -> Job | None:
        """The latest job of a kind."""
        return next((job for job in reversed(list(self._jobs.values())) if job.kind == kind), None)

    def close(self, seconds: float = 10.0) -> None:
        """Stop everything and wait for the worker."""
        for job in list(self._jobs.values()):
            if not job.is_over:
                job.stop()
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self, prepare: Callable[[], None]) -> None:
        try:
            prepare()
        finally:
            self.is_ready.set()
        while (job := self._queue.get()) is not None:
            if job.state == "waiting":
                _do(job)


def _do(job: Job) -> None:
    job.state = "running"
    try:
        job.report(job.step, 0.0)
        job.result = job.work(job)
        job.share, job.state = 1.0, "done"
    except Stopped:
        job.state = "stopped"
    except HedgerowError as error:
        job.problem, job.refusal, job.state = str(error), type(error).__name__, "failed"
    except Exception as error:
        if os.environ.get("HEDGEROW_DEBUG"):
            traceback.print_exc()
        job.problem, job.state = fault(error), "failed"
    job.seen += 1


def fault(error: Exception) -> str:
    """Name the kind and the place of a fault; the words of other libraries may hold a cell of the table."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "hedgerow" in frame.filename]
    where = f" ({Path(places[-1].filename).name}, line {places[-1].lineno})" if places else ""
    return f"This is a fault of hedgerow: an unexpected {type(error).__name__}{where}. Please report it."
