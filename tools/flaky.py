"""Run every test that draws random numbers many times, and list those that ever fail.

python tools/flaky.py tests/verify tests/graph --runs 50 --seconds 600

A first run notes which tests ask the operating system for randomness (hedgerow.randomness, an unseeded generator of
NumPy or Python, Hypothesis), themselves, in a fixture that they use, when their module is imported, or in a process
that they start. Those are run again, round by round and the quickest first, until each has its runs; several processes
share the rounds, so that hash seeds differ too. Results are kept in .flaky, so that a run that ends by `--seconds` is
continued by the next one; `--again` forgets them. The exit status is 1 if a test ever failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 25
"""Rounds in one process."""
BATCH = 20.0
"""Seconds that a round of one process takes, about: the quickest tests have all their runs before slow ones begin."""


@dataclass
class Record:
    """What is known about one test."""

    runs: int = 0
    failures: int = 0
    draws: bool = False
    seconds: float = 0.0


def main() -> int:
    """Find the tests that draw, repeat them, and print those that failed."""
    options = _options()
    if options.again:
        shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(exist_ok=True)
    results, end = options.work / "runs.jsonl", time.monotonic() + options.seconds
    files = _files(options.paths)
    while (left := end - time.monotonic()) > 0 and (todo := _todo(files, _read(results), options.runs)):
        _run(todo, options.runs, left, results)
    return _report(_read(results), options.runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run tests that draw random numbers many times")
    parser.add_argument("paths", nargs="*", default=["tests"], help="test files or folders; all by default")
    parser.add_argument("--runs", type=int, default=50, help="runs of each test that draws")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no process after this time")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--work", type=Path, default=ROOT / ".flaky", help="folder for results")
    return parser.parse_args()


def _files(paths: list[str]) -> list[str]:
    files = (
        path for name in paths for path in ([Path(name)] if Path(name).is_file() else Path(name).rglob("test_*.py"))
    )
    return sorted({str(file.resolve().relative_to(ROOT)) for file in files})


def _todo(files: list[str], known: dict[str, Record], runs: int) -> list[str]:
    """A file that never ran, whole; after them the quickest of the tests that draw and need more runs."""
    seen = {name.split("::")[0] for name in known}
    if new := [file for file in files if file not in seen]:
        return new[:1]
    waiting = [
        (record.seconds / record.runs, name)
        for name, record in known.items()
        if name.split("::")[0] in files and record.draws and record.runs < runs
    ]
    together = itertools.accumulate(seconds for seconds, _ in sorted(waiting))
    return [
        name
        for (seconds, name), total in zip(sorted(waiting), together, strict=True)
        if total < max(BATCH, seconds + 0.1)
    ]


def _run(tests: list[str], runs: int, seconds: float, results: Path) -> None:
    """Run files once, or tests a few rounds, in a process of their own; it starts no test after `seconds`."""
    is_first = "::" not in tests[0]
    folders = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(folders),
        "FLAKY_RESULTS": str(results),
        "FLAKY_ROUNDS": str(1 if is_first else min(ROUNDS, runs)),
        "FLAKY_SECONDS": str(seconds),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "flaky",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=short",
    ]
    names = results.with_name("tests.txt")
    names.write_text("\n".join(tests))
    done = subprocess.run([*command, f"@{names}"], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 5):
        results.with_name(f"output-{time.time_ns()}.txt").write_text(done.stdout + done.stderr)
    # A file without tests, and one that dies when it is imported, are noted, so that the next process goes on.
    missing = set(tests) - {name.split("::")[0] for name in _read(results)} if is_first and seconds > 0 else set()
    if done.returncode in (2, 5) and missing:
        with results.open("a") as file:
            for name in missing:
                line = {"test": name, "passed": done.returncode == 5, "draws": False, "seconds": 0.0}
                file.write(json.dumps(line) + "\n")


def _read(results: Path) -> dict[str, Record]:
    known: dict[str, Record] = defaultdict(Record)
    for line in results.read_text().splitlines() if results.exists() else []:
        run = json.loads(line)
        record = known[run["test"]]
        record.runs += 1
        record.failures += not run["passed"]
        record.draws |= run["draws"]
        record.seconds += run["seconds"]
    return known


def _report(known: dict[str, Record], runs: int) -> int:
    drawing = {name: record for name, record in known.items() if record.draws}
    failed = {name: record for name, record in known.items() if record.failures}
    complete = sum(record.runs >= runs for record in drawing.values())
    print(
        f"{len(drawing)} of {len(known)} tests draw random numbers; {complete} of them have run {runs} times or more."
    )
    for name, record in sorted(failed.items()):
        print(f"failed {record.failures} of {record.runs} runs: {name}")
    print(f"{len(failed)} tests failed at least once." if failed else "No test ever failed.")
    return int(bool(failed))


class Recorder:
    """A pytest plugin: repeats tests, and notes for each run whether it drew random numbers and whether it passed."""

    def __init__(self, results: Path, rounds: int, seconds: float) -> None:
        self.results, self.rounds, self.draws, self.end = results, rounds, 0, time.monotonic() + seconds
        self.fixtures: set[str] = set()
        self.modules: set[str] = set()

    def watch(self) -> None:
        """Count calls of the operating system's source of randomness from now on."""
        system = os.urandom

        def counting(size: int) -> bytes:
            self.draws += 1
            return system(size)

        start = subprocess.Popen.__init__

        def starting(process: Any, *args: Any, **options: Any) -> None:
            self.draws += 1  # what another process draws is not seen
            start(process, *args, **options)

        os.urandom = counting
        random._urandom = counting  # type: ignore[attr-defined]
        subprocess.Popen.__init__ = starting  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[Any]:
        """Note modules that draw when they are imported."""
        before = self.draws
        report = yield
        if self.draws > before:
            self.modules.add(collector.nodeid)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Note fixtures that draw: tests of a whole module or session may share one draw."""
        before = self.draws
        made = yield
        if self.draws > before:
            self.fixtures.add(f"{fixturedef.baseid}::{fixturedef.argname}")
        return made

    def _uses_draws(self, item: pytest.Item) -> bool:
        """Tell whether the module or a fixture of a test drew."""
        fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        used = {f"{found[-1].baseid}::{name}" for name, found in fixtures.items() if found}
        return bool(used & self.fixtures) or item.nodeid.split("::")[0] in self.modules

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run all tests round by round."""
        # Two runs of one test in a row would share its fixtures; a single test gets its rounds from new processes.
        items[:] = items * (self.rounds if len(items) > 1 else 1)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what one run did."""
        before, self.passed, began = self.draws, True, time.monotonic()
        done = yield
        is_hypothesis = bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
        draws = self.draws > before or is_hypothesis or self._uses_draws(item)
        with self.results.open("a") as file:
            seconds = time.monotonic() - began
            line = {"test": item.nodeid, "passed": self.passed, "draws": draws, "seconds": round(seconds, 3)}
            file.write(json.dumps(line) + "\n")
        item.session.shouldstop = "the time is over" if time.monotonic() > self.end else False
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A failure of the test, or of what prepares or clears up after it."""
        self.passed &= not report.failed


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder where the command asks for it."""
    if "FLAKY_RESULTS" in os.environ:
        rounds, seconds = int(os.environ["FLAKY_ROUNDS"]), float(os.environ["FLAKY_SECONDS"])
        recorder = Recorder(Path(os.environ["FLAKY_RESULTS"]), rounds, seconds)
        recorder.watch()
        config.pluginmanager.register(recorder)


if __name__ == "__main__":
    sys.exit(main())
