"""Mutation testing: change one operator, border, constant or truth of the code, and see whether a test goes red.

python tools/mutants.py criteria verify --sample 300 --seed 1 --seconds 600

A mutant is tried with the tests that run the changed line, by a map that is made once (`--map`): those first that
killed another mutant of the file, then the quickest, until their usual times add up to `--budget` seconds. A line that
runs when its module is loaded is tried with the tests of the module's other lines. `mutations` says what is changed and
what cannot matter and is left out.

All tests are collected once. Each mutant is a fork of that process in which the functions concerned get the changed
code, so that it costs what its tests cost. What is still alive after that, and what is not inside a function, is tried
once more in a fork that loads everything from a private copy of the tree: for tests that start processes, and values
that are made when modules are loaded. A mutant is killed by a red test or by taking far longer than the unchanged code.
Tests draw the same examples each time. Results are kept in a file, so that a run that ends by `--seconds` is continued.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("src/hedgerow")
TESTS = ("criteria", "inference", "partition", "verify", "methods")
PATIENCE = 60
"""Seconds of processor time beyond the budget after which a mutant counts as killed by its slowness."""

Map = dict[str, dict[str, list[str]]]
"""By file and line the tests that run it, quickest first."""


def main() -> int:
    """Draw mutants, try those without a verdict until the time is over, and print the shares."""
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    times = _map(options.work, options.measured, fresh=options.map)
    drawn = _drawn(options.folders, options.sample, options.seed)
    known = _known(options.work / "results.jsonl")
    if options.again:
        known = {name: verdict for name, verdict in known.items() if verdict not in ("alive", "not run", "broken")}
    trial = Trial(options, *times)
    known |= _in_a_fork(trial, [mutant for mutant in drawn if mutant.name not in known])
    known |= trial.run([m for m in drawn if known.get(m.name, _DOUBTFUL) == _DOUBTFUL], trial.start_afresh)
    _print(drawn, known)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="mutation testing of parts of hedgerow")
    parser.add_argument("folders", nargs="*", default=["criteria", "partition", "verify"])
    parser.add_argument("--sample", type=int, default=200, help="mutants drawn in all, the same number of each folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no mutant after this time")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds that the tests of a mutant usually take")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / ".mutants", help="folder for copies, map and results")
    parser.add_argument("--map", action="store_true", help="make the map of lines to tests afresh")
    parser.add_argument("--measured", nargs="+", default=TESTS, help="folders of tests that the map is made of")
    parser.add_argument("--again", action="store_true", help="try survivors again, after tests were added")
    return parser.parse_args()


# --- which tests run which line ---------------------------------------------------------------------------------------


def _map(work: Path, folders: Sequence[str], *, fresh: bool) -> tuple[Map, dict[str, float]]:
    """Files, their lines, and the tests that run each, quickest first; how long each test takes."""
    file = work / "map.json"
    if fresh or not file.exists():
        file.write_text(json.dumps(_measure(work, folders)))
    lines, seconds = json.loads(file.read_text())
    return lines, seconds


def _measure(work: Path, folders: Sequence[str]) -> tuple[Map, dict[str, float]]:
    from coverage import CoverageData

    data, seconds = CoverageData(str(work / "coverage")), {}
    data.erase()
    for folder in folders:
        seconds |= _run_with_coverage(folder, data.data_filename())
    data.read()
    return {_relative(file): _by_line(data, file, seconds) for file in data.measured_files()}, seconds


def _run_with_coverage(folder: str, data: str) -> dict[str, float]:
    """Run the tests of a folder, adding to the coverage data; return how long each took."""
    print(f"mapping lines to tests: tests/{folder}", flush=True)
    command = [sys.executable, "-m", "pytest", f"tests/{folder}", *_QUIET, "-p", "pytest_cov"]
    command += [f"--cov={SOURCE}", "--cov-context=test", "--cov-append", "--cov-report=", "--durations=0", "-vv"]
    run = subprocess.run(command, cwd=ROOT, env=_environment(ROOT) | {"COVERAGE_FILE": data}, capture_output=True)
    if run.returncode:
        raise SystemExit(f"the tests of {folder} fail without any mutant:\n{run.stdout.decode()[-2000:]}")
    seconds: Counter[str] = Counter()
    for line in run.stdout.decode().splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] in ("call", "setup") and words[0].endswith("s") and "::" in words[2]:
            seconds[line.split(None, 2)[2]] += float(words[0][:-1])  # type: ignore[assignment]
    return dict(seconds)


def _by_line(data: Any, file: str, seconds: dict[str, float]) -> dict[str, list[str]]:
    lines = {}
    for line, contexts in data.contexts_by_lineno(file).items():
        names = {context.rpartition("|")[0] for context in contexts if "|" in context}
        lines[str(line)] = sorted(names, key=lambda name: seconds.get(name, 0.0))
    return lines


def _relative(file: str) -> str:
    return str(Path(file).resolve().relative_to(ROOT))


# --- mutants ----------------------------------------------------------------------------------------------------------


def _drawn(folders: list[str], sample: int, seed: int) -> list[Mutant]:
    """The same number of mutants of each folder, drawn evenly over all places that can be changed."""
    chance = np.random.default_rng(seed)
    drawn = []
    for folder in folders:
        pool = [m for file in sorted((ROOT / SOURCE / folder).rglob("*.py")) for m in mutants_of(file, ROOT)]
        chosen = chance.permutation(len(pool))[: sample // len(folders)]
        drawn += [pool[i] for i in chosen]
        print(f"{folder}: {len(pool)} mutants exist, {len(chosen)} drawn", flush=True)
    # Mixed, so that a run that ends early has tried some of each folder.
    return [drawn[i] for i in chance.permutation(len(drawn))]


def _known(file: Path, first: int = 0) -> dict[str, str]:
    lines = file.read_text().splitlines()[first:] if file.exists() else []
    return {entry["name"]: entry["verdict"] for entry in map(json.loads, lines)}


@dataclass
class Trial:
    """Mutants tried in forks, several at once, until the time is over; tests that killed are tried first."""

    options: argparse.Namespace
    lines: Map
    seconds: dict[str, float]
    killers: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.options.seconds

    def run(self, todo: list[Mutant], start: Callable[[Mutant, Path], int]) -> dict[str, str]:
        """Try mutants; those that got a verdict are in the results."""
        free = [self.options.work / f"place{number}" for number in range(self.options.workers)]
        running: dict[int, tuple[Mutant, Path]] = {}
        verdicts: dict[str, str] = {}
        todo = list(todo)
        while running or (todo and time.monotonic() < self.end):
            while todo and free and time.monotonic() < self.end:
                mutant, place = todo.pop(0), free.pop()
                shutil.rmtree(place / "temporary", ignore_errors=True)
                place.mkdir(exist_ok=True)
                (place / "killer").write_text("")
                running[start(mutant, place)] = mutant, place
            child, status = os.wait()
            mutant, place = running.pop(child)
            free.append(place)
            verdict = _VERDICTS.get(os.waitstatus_to_exitcode(status), "broken")
            verdicts[mutant.name] = verdict
            self._note(mutant, verdict, (place / "killer").read_text())
        return verdicts

    def _note(self, mutant: Mutant, verdict: str, killer: str) -> None:
        if killer:
            self.killers[mutant.file][killer] += 1
        with (self.options.work / "results.jsonl").open("a") as log:
            log.write(json.dumps({"name": mutant.name, "verdict": verdict, "by": killer, **asdict(mutant)}) + "\n")

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that run the changed lines, as many as the budget allows."""
        lines = self.lines.get(mutant.file, {})
        found: set[str] = set()
        for first, last in _spans(mutant):
            found = {name for line, names in lines.items() if first <= int(line) <= last for name in names}
            if found:
                break
        killers = self.killers[mutant.file]
        spent, chosen = 0.0, []
        for name in sorted(found, key=lambda name: (-killers[name], self.seconds.get(name, 0.0), name)):
            spent += self.seconds.get(name, 0.0)
            if spent > self.options.budget and chosen:
                break
            chosen.append(name)
        return chosen

    def start_afresh(self, mutant: Mutant, place: Path) -> int:
        """Run the tests on a tree with the mutant in a forked child that loads everything from it."""
        tree = _copy(place / "tree")
        target = tree / mutant.file
        target.write_text(mutant.apply(target.read_text()))
        child = os.fork()
        if child:
            return child
        chosen = self.tests_of(mutant)
        if not chosen:
            os._exit(_NOT_RUN)
        self.limit()
        os.chdir(tree)
        os.environ.update(_environment(tree))
        sys.path[:0] = [str(tree / "src")]
        sys.dont_write_bytecode = True
        code = _BROKEN
        try:
            arguments = [*chosen, *_QUIET, "-x", f"--basetemp={place / 'temporary'}"]
            code = int(importlib.import_module("pytest").main(arguments, plugins=[_NoShrinking()]))
        finally:
            os._exit(code)

    def limit(self) -> None:
        """Let the process end by a signal where it takes far longer than its tests do, and say nothing."""
        patience = PATIENCE + int(self.options.budget)
        resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 1))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)


def _spans(mutant: Mutant) -> Iterator[tuple[int, int]]:
    """Lines that tell which tests run a mutant: its own, its statement's, its function's, and the whole file's."""
    yield mutant.line, mutant.last
    tree = ast.parse((ROOT / mutant.file).read_text())
    around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= mutant.line <= (n.end_lineno or 0)]
    around.sort(key=lambda node: node.lineno, reverse=True)
    yield from ((node.lineno, node.end_lineno or 0) for node in around if not isinstance(node, ast.ClassDef))
    yield 1, 10**9


class _NoShrinking:
    """Leaves out hypothesis' search for the smallest example: one is enough."""

    def pytest_collection_finish(self, session: Any) -> None:
        from hypothesis import Phase, settings

        for item in session.items:
            test, name = getattr(item, "obj", None), "_hypothesis_internal_use_settings"
            if hasattr(test, name):
                setattr(test, name, settings(getattr(test, name), phases=(Phase.explicit, Phase.generate)))


# --- many mutants in one process --------------------------------------------------------------------------------------


def _in_a_fork(trial: Trial, todo: list[Mutant]) -> dict[str, str]:
    """Collect the tests in a child, for this process must not load hedgerow, and try mutants of functions there."""
    for name in ("pytest", "pyarrow.compute", "pyarrow.parquet", "duckdb"):
        importlib.import_module(name)
    file = trial.options.work / "results.jsonl"
    old = len(file.read_text().splitlines()) if file.exists() else 0
    child = os.fork()
    if not child:
        code = 1
        try:
            os.environ.update(_environment(ROOT))
            sys.path[:0] = [str(ROOT / "src")]
            files = sorted(
                {name.split("::")[0] for tests in trial.lines.values() for t in tests.values() for name in t}
            )
            plugins = [_NoShrinking(), _Loop(trial, todo)]
            code = int(importlib.import_module("pytest").main([*files, *_QUIET], plugins=plugins))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise SystemExit(f"the tests cannot be collected: {code}")
    return _known(file, old)


class _Loop:
    """In place of pytest's loop over tests: one over mutants, each in a fork that runs its own tests."""

    def __init__(self, trial: Trial, todo: list[Mutant]) -> None:
        self.trial, self.todo = trial, todo

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions = _functions()
        self.trial.run(self.todo, self._start)
        return True

    def _start(self, mutant: Mutant, place: Path) -> int:
        child = os.fork()
        if child:
            return child
        code = _BROKEN
        try:
            self.trial.limit()
            code = self._run(mutant, place)
        finally:
            os._exit(code)

    def _run(self, mutant: Mutant, place: Path) -> int:
        from _pytest.runner import runtestprotocol

        chosen = [self.items[name] for name in self.trial.tests_of(mutant) if name in self.items]
        if not chosen or not _swap_code(mutant, self.functions):
            return _UNSURE
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config._tmp_path_factory._given_basetemp = place / "temporary"
            if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
                (place / "killer").write_text(item.nodeid)
                return 1
        return _UNSURE


def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    """Every living function of the code by file and name."""
    import gc

    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            found[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
    return found


def _swap_code(mutant: Mutant, functions: dict[tuple[str, str], list[FunctionType]]) -> bool:
    """Give the living functions that a mutant changes their changed code; False where that is not all it changes."""
    file = str(ROOT / mutant.file)
    text = Path(file).read_text()
    try:
        pairs = list(_changed(compile(text, file, "exec"), compile(mutant.apply(text), file, "exec")))
        for before, after in pairs:
            living = [each for each in functions[file, before.co_qualname] if each.__code__ == before]
            if not living:
                return False
            for function in living:
                function.__code__ = after
    except (SyntaxError, ValueError):
        return False
    return bool(pairs)


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The outermost functions whose code, or that of a function inside, differs; ValueError if others differ too."""
    inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (before, after)]
    if _own(before) != _own(after) or len(inner[0]) != len(inner[1]):
        raise ValueError("a module or a class differs")
    for old, new in zip(*inner, strict=True):
        if old.co_flags & _FUNCTION:
            if _deep(old) != _deep(new):
                yield old, new
        else:
            yield from _changed(old, new)


_FUNCTION = 2  # CO_NEWLOCALS: set in functions, not in modules and classes


def _own(code: CodeType) -> tuple[object, ...]:
    consts = [repr(const) for const in code.co_consts if not isinstance(const, CodeType)]
    return code.co_qualname, code.co_code, code.co_names, code.co_varnames, consts


def _deep(code: CodeType) -> tuple[object, ...]:
    return *_own(code), *(_deep(const) for const in code.co_consts if isinstance(const, CodeType))


def _copy(tree: Path) -> Path:
    shutil.rmtree(tree, ignore_errors=True)
    for part in ("src", "tests", "studies"):  # a test that cannot be loaded would count as one that noticed
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


_NOT_RUN, _BROKEN, _UNSURE = 90, 91, 92
_DOUBTFUL = "alive in one process"
_VERDICTS = {
    0: "alive",
    1: "killed",
    2: "killed",  # the tests cannot even be loaded
    _NOT_RUN: "not run",
    _UNSURE: _DOUBTFUL,
    -signal.SIGXCPU: "killed by time",
    -signal.SIGKILL: "killed by time",
    -signal.SIGSEGV: "killed",
}
_QUIET = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:randomly")


def _environment(tree: Path) -> dict[str, str]:
    """The copy's code comes first, and tests draw the same examples each time."""
    return os.environ | {"PYTHONPATH": str(tree / "src"), "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}


# --- report -----------------------------------------------------------------------------------------------------------


def _print(drawn: list[Mutant], known: dict[str, str]) -> None:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in drawn:
        rows[Path(mutant.file).relative_to(SOURCE).parts[0]][known.get(mutant.name, "untried")] += 1
    for folder, counts in rows.items():
        tried = sum(counts.values()) - counts["untried"]
        killed = counts["killed"] + counts["killed by time"]
        print(f"{folder:<10} {killed} of {tried} killed ({killed / max(tried, 1):.0%}); {dict(counts)}")
    for mutant in sorted(_survivors(drawn, known), key=lambda mutant: mutant.name):
        print(f"{known[mutant.name]:<8} {mutant.file}:{mutant.line}  {mutant.before}  ->  {mutant.after}")


def _survivors(drawn: list[Mutant], known: dict[str, str]) -> Iterator[Mutant]:
    return (mutant for mutant in drawn if known.get(mutant.name) in ("alive", "not run", "broken"))


if __name__ == "__main__":
    sys.exit(main())
