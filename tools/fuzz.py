"""A small coverage-guided fuzzer for what reads foreign text: CSV files, SQL questions, recipes.

python tools/fuzz.py csv sql recipe --seconds 60 --seed 1

Seeds are the texts of the tests. An input is a mutation of one that reached something new; what counts as new is a
step from one line of hedgerow to another. Any outcome but a value or one of hedgerow's own refusals, in a line without
a cell of the table, within a second or two, is a finding: it is written to a file and the program ends with 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz_targets import TARGETS, Finding, Target

import hedgerow

HOME = str(Path(hedgerow.__file__).parent)
MEMORY = 4 << 30
PATIENCE = 10.0
"""Seconds of processor time until an input is a finding for its slowness; tracing alone costs a factor of ten."""

Edge = tuple[str, int, int]


@dataclass
class Run:
    """What a campaign against one reader has seen."""

    tried: int = 0
    refused: int = 0
    edges: set[Edge] = field(default_factory=set)
    corpus: list[bytes] = field(default_factory=list)
    findings: dict[str, bytes] = field(default_factory=dict)


def main() -> int:
    """Fuzz each target for the given time; return 1 where something was found."""
    options = _options()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    found = 0
    for name in options.targets:
        run = campaign(TARGETS[name](), options.seconds, random.Random(options.seed))
        found += len(run.findings)
        print(
            f"{name:<7} {run.tried:,} inputs tried, {run.refused:,} refused, {run.tried - run.refused:,} read, "
            f"{len(run.edges):,} edges, {len(run.corpus):,} inputs in the corpus, {len(run.findings)} findings",
            flush=True,
        )
        _report(name, run, options.out)
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="coverage-guided fuzzing of hedgerow's readers")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=f"some of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for each target")
    parser.add_argument("--seed", type=int, default=None, help="draw the same mutations again")
    parser.add_argument("--out", type=Path, default=Path(".fuzz"), help="folder for inputs that are findings")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    return options


def campaign(target: Target, seconds: float, chance: random.Random) -> Run:
    """Try the seeds, then mutations of what reached something new, until the time is over."""
    run = Run()
    end = time.monotonic() + seconds
    for data in _inputs(target, run, chance):
        if time.monotonic() > end:
            return run
        _try(target, data, run)
    return run


def _inputs(target: Target, run: Run, chance: random.Random) -> Iterator[bytes]:
    yield from target.seeds
    while True:
        # Half of the time a recent one: what was reached last is where there is more to reach.
        recent = run.corpus[-20:] if chance.random() < 0.5 else run.corpus
        yield mutated(chance.choice(recent), run.corpus, target.words, chance)


def _try(target: Target, data: bytes, run: Run) -> None:
    run.tried += 1
    with _edges() as seen:
        refused, finding = _outcome(target, target.read, data)
    run.refused += refused
    if seen - run.edges:
        run.edges |= seen
        run.corpus.append(data)
        if not refused and finding is None:
            _, finding = _outcome(target, target.second_look, data)
    if finding is not None:
        run.findings.setdefault(finding, data)


def _outcome(target: Target, step: Callable[[bytes], None], data: bytes) -> tuple[bool, str | None]:
    """Whether the input was refused, and what was found."""
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        step(data)
    except hedgerow.HedgerowError as error:
        return True, target.complaint(data, error)
    except Finding as finding:
        return False, str(finding)
    except Exception as error:
        return False, f"{type(error).__name__} from {_place(error)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return False, None


def _place(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(HOME)]
    return f"{Path(frames[-1].filename).relative_to(HOME)}:{frames[-1].lineno}" if frames else "outside"


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no outcome after {PATIENCE:g} seconds")


@contextmanager
def _edges() -> Iterator[set[Edge]]:
    """Collect the steps between lines of hedgerow that happen meanwhile."""
    seen: set[Edge] = set()
    previous: dict[int, int] = {}

    def local(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            key = id(frame)
            seen.add((frame.f_code.co_filename, previous.get(key, 0), frame.f_lineno))
            previous[key] = frame.f_lineno
        return local

    def entered(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        previous.pop(id(frame), None)
        return local if frame.f_code.co_filename.startswith(HOME) else None

    sys.settrace(entered)
    try:
        yield seen
    finally:
        sys.settrace(None)


# --- mutations --------------------------------------------------------------------------------------------------------


def mutated(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    """Change an input in one to four places."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(_CHANGES)(data, corpus, words, chance)
    return data[: 1 << 16]


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice((1, 1, 2, 4, 8, 32, 256)))


def _flip(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, _ = _span(data, chance)
    return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]


def _remove(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _repeat(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:end] + data[start:end] * chance.choice((1, 1, 3, 50, 2000)) + data[end:]


def _insert(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + chance.choice(words) + data[chance.choice((start, end)) :]


def _join(data: bytes, corpus: list[bytes], words: list[bytes], chance: random.Random) -> bytes:
    other = chance.choice(corpus)
    return data[: _span(data, chance)[0]] + other[_span(other, chance)[0] :]


_CHANGES = (_flip, _remove, _repeat, _insert, _insert, _insert, _join)


def _report(name: str, run: Run, out: Path) -> None:
    for number, (finding, data) in enumerate(run.findings.items()):
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{name}-{number}.bin"
        file.write_bytes(data)
        print(f"  {finding}: {len(data)} bytes in {file}")


if __name__ == "__main__":
    sys.exit(main())
