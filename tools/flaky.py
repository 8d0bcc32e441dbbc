"""Run every test that depends on random draws many times, and list those that ever fail.

python tools/flaky.py tests/verify tests/graph --runs 50 --seconds 600

A test *draws* if it asks the operating system for randomness (hedgerow.randomness, an unseeded generator of NumPy or
Python), uses Hypothesis, or starts a process, whose draws are not seen; its fixtures and the import of its module count
too. It needs 50 runs. A run of a test that uses Hypothesis counts for as many as it had examples, since each draws
anew; it needs at least two. A test whose generators are all *seeded* needs two, in different processes: if both make
the same generators, it draws the same each time, and otherwise it counts as one that draws. Others need one.

Runs are repeated inside one process. Tests that share a fixture that draws are repeated together, with that fixture
made anew each time; others one after the other. First every file runs once, and the quickest tests get all their runs
there; then those that need least time come first. Tests on Spark are left out. Results are kept in .flaky, so that a
run that ends by `--seconds` is continued by the next one; `--again` forgets them. The exit status is 1 if a test ever
failed.
"""

from __future__ import annotations

import argparse
import collections
import functools
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parent.parent
FILES = 12
"""Files that run for the first time in one process."""
BATCH = 240.0
"""Processor seconds that the tests of a later process need, about."""
AT_ONCE = 5.0
"""Processor seconds that a test's remaining runs may take in the first process that runs it."""


@dataclass
class Record:
    """What is known about one test."""

    runs: int = 0
    failures: int = 0
    draws: set[str] = field(default_factory=set)
    seeds: set[str] = field(default_factory=set)
    seconds: float = 0.0
    is_shared: bool = False
    """A fixture that it shares with other tests draws."""
    examples: int = 1
    """How many examples of Hypothesis a run had, at least."""

    @property
    def kind(self) -> str:
        """How the test comes by its random numbers: the system, hypothesis, process, seeded, or none."""
        if self.draws or len(self.seeds) > 1:
            return min(self.draws, key=("process", "hypothesis", "system").index, default="system")
        return "none" if self.seeds <= {""} else "seeded"

    def wanted(self, runs: int) -> int:
        """How many runs the test needs."""
        if "hypothesis" in self.draws and not self.is_shared:
            return min(runs, max(2, -(-runs // self.examples)))
        return {"none": 1, "seeded": 2}.get(self.kind, runs)

    def remaining(self, runs: int) -> float:
        """Processor seconds that are still needed."""
        return (self.wanted(runs) - self.runs) * self.seconds / self.runs


def main() -> int:
    """Find the tests that draw, repeat them, and print those that failed."""
    options = _options()
    if options.again:
        shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(exist_ok=True)
    results, end = options.work / "runs.jsonl", time.monotonic() + options.seconds
    files = _files(options.paths)
    while (left := end - time.monotonic()) > 0 and (todo := _todo(files, *_read(results), options.runs)):
        _run(todo, options.runs, left, results)
    return _report(_read(results)[0], options.runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run tests that draw random numbers many times")
    parser.add_argument("paths", nargs="*", default=["tests"], help="test files or folders; all by default")
    parser.add_argument("--runs", type=int, default=50, help="runs of each test that draws")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no process after this time")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--work", type=Path, default=ROOT / ".flaky", help="folder for results")
    return parser.parse_args()


def _files(paths: list[str]) -> list[str]:
    """The files of all paths, in the order in which these were given."""
    files = (
        path
        for name in paths
        for path in ([Path(name)] if Path(name).is_file() else sorted(Path(name).rglob("test_*.py")))
    )
    return list(dict.fromkeys(str(file.resolve().relative_to(ROOT)) for file in files))


def _todo(files: list[str], known: dict[str, Record], seen: set[str], runs: int) -> dict[str, int]:
    """What the next process runs, with the runs of each: files that never ran, then tests that need least time."""
    if new := [file for file in files if file not in seen]:
        return dict.fromkeys(new[:FILES], 1)
    together: dict[str, list[str]] = defaultdict(list)
    for name, record in known.items():
        if name.split("::")[0] in files and record.runs < record.wanted(runs):
            together[name.split("::")[0] if record.is_shared else name].append(name)
    waiting = sorted((sum(known[name].remaining(runs) for name in names), names) for names in together.values())
    chosen: dict[str, int] = {}
    total = 0.0
    for seconds, names in waiting:
        total += seconds
        if chosen and total > BATCH:
            break
        chosen |= {name: known[name].wanted(runs) - known[name].runs for name in names}
    return dict(sorted(chosen.items()))


def _run(tests: dict[str, int], runs: int, seconds: float, results: Path) -> None:
    """Run files once, or tests many times, in a process of their own; it starts no test after `seconds`."""
    end = time.monotonic() + seconds
    plan = results.with_name("plan.json")
    known = _read(results)[0]
    plan.write_text(json.dumps({"runs": tests, "shared": [name for name in tests if known[name].is_shared]}))
    folders = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "HEDGEROW_SAME_DRAWS")}
    environment = inherited | {
        "PYTHONPATH": os.pathsep.join(folders),
        "FLAKY_RESULTS": str(results),
        "FLAKY_RUNS": str(runs),
        "FLAKY_SECONDS": str(seconds),
    }
    options = ["-q", "-p", "flaky", "-p", "no:cacheprovider", "-m", "not spark", "--no-header", "--tb=short"]
    names = results.with_name("tests.txt")
    names.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", *options, f"@{names}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 5):
        results.with_name(f"output-{time.time_ns()}.txt").write_text(done.stdout + done.stderr)
    after = _read(results)[0]
    with results.open("a") as file:
        for name, number in tests.items():
            if "::" not in name:
                file.write(json.dumps({"file": name}) + "\n")
            elif after[name].runs == known[name].runs and time.monotonic() < end:
                # One that is gone, or stopped its process, is not tried again and again.
                line = {"test": name, "passed": done.returncode in (0, 1, 5), "runs": number}
                file.write(json.dumps(line) + "\n")


def _read(results: Path) -> tuple[dict[str, Record], set[str]]:
    """What is known about tests, and the files that ran."""
    known: dict[str, Record] = defaultdict(Record)
    files = set()
    for line in results.read_text().splitlines() if results.exists() else []:
        run = json.loads(line)
        if "file" in run:
            files.add(run["file"])
            continue
        record = known[run["test"]]
        record.failures += not run["passed"]
        record.runs += run.get("runs", 1)
        record.seconds += run.get("seconds", 0.0)
        record.draws |= set(run.get("draws", ()))
        record.is_shared |= run.get("shared", False)
        record.seeds |= {run["seeds"]} if "seeds" in run else set()
        examples = run.get("examples", 1)
        record.examples = examples if record.runs == 1 else min(record.examples, examples)
    return known, files


def _report(known: dict[str, Record], runs: int) -> int:
    kinds: dict[str, list[Record]] = collections.defaultdict(list)
    for record in known.values():
        kinds[record.kind].append(record)
    words = {
        "system": "draw from the operating system",
        "hypothesis": "draw with Hypothesis",
        "process": "start processes, whose draws are not seen",
        "seeded": "make seeded generators alone",
        "none": "draw nothing",
    }
    often = {"hypothesis": "on {} examples", "seeded": "twice", "none": "once"}
    for kind, text in words.items():
        found = kinds[kind]
        complete = sum(record.runs >= record.wanted(runs) for record in found)
        print(
            f"{len(found):>6,} tests {text}; {complete:,} of them have run {often.get(kind, '{} times').format(runs)}."
        )
    failed = {name: record for name, record in known.items() if record.failures}
    for name, record in sorted(failed.items()):
        print(f"failed {record.failures} of {record.runs} runs: {name}")
    print(f"{len(failed)} tests failed at least once." if failed else "No test ever failed.")
    return int(bool(failed))


class Recorder:
    """A pytest plugin: repeats tests, and notes for each run what it drew and whether it passed."""

    def __init__(self, results: Path, runs: int, seconds: float) -> None:
        self.results, self.runs, self.end = results, runs, time.monotonic() + seconds
        plan = json.loads(results.with_name("plan.json").read_text())
        self.plan: dict[str, int] = plan["runs"]
        self.shared = frozenset(plan["shared"])
        self.draws: collections.Counter[str] = collections.Counter()
        self.seeds: list[str] = []
        self.fixtures: dict[str, set[str]] = {}
        self.modules: dict[str, set[str]] = {}

    def watch(self) -> None:
        """Note from now on what is asked of the operating system, and with which seeds generators are made."""
        system, start, seed = os.urandom, subprocess.Popen.__init__, random.Random.seed

        def draw(size: int) -> bytes:
            self.draws["system"] += 1
            return system(size)

        def start_process(process: Any, *args: Any, **options: Any) -> None:
            self.draws["process"] += 1
            start(process, *args, **options)

        def seed_python(made: Any, a: Any = None, version: int = 2) -> None:
            if a is not None:
                self.seeds.append(f"python {_seed_text(a)}")
            seed(made, a, version)

        os.urandom = draw
        random._urandom = draw  # type: ignore[attr-defined]
        random.Random.seed = seed_python  # type: ignore[method-assign]
        subprocess.Popen.__init__ = start_process  # type: ignore[method-assign]
        for name in ("default_rng", "PCG64", "PCG64DXSM"):
            self._watch_numpy(name)

    def _watch_numpy(self, name: str) -> None:
        make = getattr(np.random, name)

        def make_seeded(seed: Any = None) -> Any:
            if seed is not None:
                self.seeds.append(f"{name} {_seed_text(seed)}")
            return make(seed)

        setattr(np.random, name, make_seeded)

    def _since(self, before: collections.Counter[str]) -> set[str]:
        return set(self.draws - before)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[Any]:
        """Note modules that draw when they are imported."""
        before = self.draws.copy()
        report = yield
        if drawn := self._since(before):
            self.modules[collector.nodeid] = drawn
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Note fixtures that draw: tests of a whole module or session may share one draw."""
        before = self.draws.copy()
        made = yield
        if drawn := self._since(before):
            self.fixtures[_name(fixturedef)] = drawn
        return made

    def _fixtures_of(self, item: pytest.Item) -> list[Any]:
        """The fixtures of a test that drew."""
        found = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        return [made[-1] for made in found.values() if made and _name(made[-1]) in self.fixtures]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Repeat tests that share a fixture that draws together, round by round."""
        groups: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            groups[_module(item) if item.nodeid in self.shared else item.nodeid].append(item)
        self.first = {group[0].nodeid for group in groups.values()}
        items[:] = [
            item
            for group in groups.values()
            for run in range(max(self.plan[item.nodeid] for item in group) if group[0].nodeid in self.shared else 1)
            for item in group
            if run == 0 or run < self.plan[item.nodeid]
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run one test as often as the plan says; a quick one that draws has all its runs at once."""
        wanted = 1 if item.nodeid in self.shared else self.plan.get(item.nodeid)
        done, seconds = 0, 0.0
        while True:
            if item.nodeid in self.first and item.nodeid in self.shared:
                self._forget_fixtures(item)
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            record = self._run(item)
            done, seconds = done + 1, seconds + record["seconds"]
            known = Record(done, 0, set(record["draws"]), set(), seconds, record["shared"], record.get("examples", 1))
            if wanted is None and known.draws and not known.is_shared and known.remaining(self.runs) < AT_ONCE:
                wanted = known.wanted(self.runs)
            is_over = time.monotonic() > self.end
            # What a module drew when it was imported is drawn anew in another process alone.
            if done >= (wanted or 1) or is_over or _module(item) in self.modules:
                break
        item.session._setupstate.teardown_exact(nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session.shouldstop = "the time is over" if time.monotonic() > self.end else False
        return True

    def _forget_fixtures(self, item: pytest.Item) -> None:
        for fixture in self._fixtures_of(item):
            if "process" not in self.fixtures[_name(fixture)]:  # servers stay
                fixture.finish(_Request(item))

    def _run(self, item: pytest.Item) -> dict[str, Any]:
        before, self.seeds, began = self.draws.copy(), [], _processor_seconds()
        # The module as the next item keeps what modules share and clears up what is the test's own.
        with _counted_examples(item) as examples:
            reports = runtestprotocol(item, nextitem=item.parent)  # type: ignore[arg-type]
        drawn = self._since(before) | self.modules.get(_module(item), set())
        fixtures = self._fixtures_of(item)
        drawn |= {kind for fixture in fixtures for kind in self.fixtures[_name(fixture)]}
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            drawn.add("hypothesis")
        failures = [report for report in reports if report.failed]
        line = {
            "test": item.nodeid,
            "passed": not failures,
            "draws": sorted(drawn),
            "shared": any(fixture.scope != "function" for fixture in fixtures),
            "seeds": hashlib.sha256("\n".join(self.seeds).encode()).hexdigest()[:12] if self.seeds else "",
            "seconds": round(_processor_seconds() - began, 4),
        } | ({"examples": examples["all"]} if examples else {})
        with self.results.open("a") as file:
            file.write(json.dumps(line) + "\n")
        for report in failures:
            with self.results.with_name("failures.txt").open("a") as file:
                file.write(f"==== {item.nodeid} ({report.when})\n{report.longreprtext}\n{report.caplog}\n")
        return line


@dataclass
class _Request:
    """As much of a request as the end of a fixture asks for."""

    node: pytest.Item


@contextmanager
def _counted_examples(item: pytest.Item) -> Iterator[collections.Counter[str]]:
    """Count how often Hypothesis calls a test."""
    examples: collections.Counter[str] = collections.Counter()
    test = getattr(getattr(item, "obj", None), "hypothesis", None)
    if test is None:
        yield examples
        return
    inner = test.inner_test

    @functools.wraps(inner)
    def call(*args: Any, **options: Any) -> Any:
        examples["all"] += 1
        return inner(*args, **options)

    test.inner_test = call
    try:
        yield examples
    finally:
        test.inner_test = inner


def _module(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


def _processor_seconds() -> float:
    """What this process and its ended children have used: on a busy machine a clock would call quick tests slow."""
    return sum(os.times()[:4])


def _seed_text(seed: Any) -> str:
    return repr(seed) if isinstance(seed, int | str | bytes | list | tuple) else type(seed).__name__


def _name(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder where the command asks for it."""
    if "FLAKY_RESULTS" in os.environ:
        results, runs = Path(os.environ["FLAKY_RESULTS"]), int(os.environ["FLAKY_RUNS"])
        recorder = Recorder(results, runs, float(os.environ["FLAKY_SECONDS"]))
        recorder.watch()
        config.pluginmanager.register(recorder)


if __name__ == "__main__":
    sys.exit(main())
