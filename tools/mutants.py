"""Mutation testing: change one operator, border, constant or truth of the code, and see whether a test goes red.

python tools/mutants.py criteria partition verify --sample 200 --seed 1 --seconds 600

Each mutant is tried in a private copy of the tree against the tests that run the changed line, fastest first; a map
of these is made once (`--map`). A mutant is killed by a red test or by taking far longer than the unchanged code.
Results are kept in a file, so that a run that ends by `--seconds` is continued by the next one. Tests draw the same
examples each time, and kernels run as plain Python wherever inputs are small, which is where the tests are.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("src/hedgerow")
TESTS = ("criteria", "inference", "partition", "verify", "methods")
PATIENCE = 60
"""Seconds of processor time after which a mutant counts as killed by its slowness."""

SLOWEST = 6.0
"""Tests that take longer than this many seconds are left out: a mutant that only they would kill counts as alive."""


def main() -> int:
    """Draw mutants, try those without a verdict until the time is over, and print the shares."""
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    tests = _map(options.work, options.measured, fresh=options.map)
    drawn = _drawn(options.folders, options.sample, options.seed)
    known = _known(options.work / "results.jsonl")
    wanted = ("untried", "alive", "not run") if options.again else ("untried",)
    todo = [mutant for mutant in drawn if known.get(mutant.name, "untried") in wanted]
    known |= _try_all(todo, tests, options)
    _print(drawn, known)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="mutation testing of parts of hedgerow")
    parser.add_argument("folders", nargs="*", default=["criteria", "partition", "verify"])
    parser.add_argument("--sample", type=int, default=200, help="mutants drawn in all, the same number of each folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no mutant after this time")
    parser.add_argument("--tests", type=int, default=15, help="most tests to try on a mutant, fastest first")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / ".mutants", help="folder for copies, map and results")
    parser.add_argument("--map", action="store_true", help="make the map of lines to tests afresh")
    parser.add_argument("--measured", nargs="+", default=TESTS, help="folders of tests that the map is made of")
    parser.add_argument("--again", action="store_true", help="try survivors again, after tests were added")
    return parser.parse_args()


# --- which tests run which line ---------------------------------------------------------------------------------------


def _map(work: Path, folders: Sequence[str], *, fresh: bool) -> dict[str, dict[str, list[str]]]:
    """Files, their lines, and the tests that run each, fastest first."""
    file = work / "map.json"
    if fresh or not file.exists():
        file.write_text(json.dumps(_measure(work, folders)))
    found: dict[str, dict[str, list[str]]] = json.loads(file.read_text())
    return found


def _measure(work: Path, folders: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    from coverage import CoverageData

    data, seconds = CoverageData(str(work / "coverage")), {}
    data.erase()
    for folder in folders:
        seconds |= _run_with_coverage(folder, data.data_filename())
    data.read()
    return {_relative(file): _by_line(data, file, seconds) for file in data.measured_files()}


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


def _by_line(data: object, file: str, seconds: dict[str, float]) -> dict[str, list[str]]:
    lines = {}
    for line, contexts in data.contexts_by_lineno(file).items():  # type: ignore[attr-defined]
        names = {context.rpartition("|")[0] for context in contexts if "|" in context}
        lines[str(line)] = sorted(names, key=lambda name: seconds.get(name, 0.0))
        lines[str(line)] = [name for name in lines[str(line)] if seconds.get(name, 0.0) <= SLOWEST]
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


def _known(file: Path) -> dict[str, str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {entry["name"]: entry["verdict"] for entry in map(json.loads, lines)}


def _try_all(todo: list[Mutant], tests: dict[str, dict[str, list[str]]], options: argparse.Namespace) -> dict[str, str]:
    """Try mutants on several private copies of the tree at once until the time is over."""
    free = [_copy(options.work / f"tree{number}") for number in range(options.workers)]
    running: dict[int, tuple[Mutant, Path]] = {}
    verdicts: dict[str, str] = {}
    end = time.monotonic() + options.seconds
    _preload()
    while running or (todo and time.monotonic() < end):
        while todo and free and time.monotonic() < end:
            mutant, tree = todo.pop(0), free.pop()
            chosen = _tests_of(mutant, tests.get(mutant.file, {}), options.tests)
            running[_started(mutant, tree, chosen)] = mutant, tree
        child, status = os.wait()
        mutant, tree = running.pop(child)
        shutil.copy(ROOT / mutant.file, tree / mutant.file)
        free.append(tree)
        verdicts[mutant.name] = _VERDICTS.get(os.waitstatus_to_exitcode(status), "broken")
        with (options.work / "results.jsonl").open("a") as log:
            entry = {"name": mutant.name, "verdict": verdicts[mutant.name], **asdict(mutant)}
            log.write(json.dumps(entry) + "\n")
    return verdicts


def _preload() -> None:
    """Load what all tests need once; of hedgerow nothing, for each child loads its own copy."""
    for name in ("pytest", "numba", "pyarrow.compute", "pyarrow.parquet"):
        importlib.import_module(name)


def _started(mutant: Mutant, tree: Path, chosen: list[str]) -> int:
    """Run the tests on the mutant in a forked child; it returns pytest's verdict."""
    child = os.fork()
    if child:
        return child
    if not chosen:
        os._exit(_NOT_RUN)
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))
    target = tree / mutant.file
    target.write_text(mutant.apply(target.read_text()))
    os.chdir(tree)
    os.environ.update(_environment(tree))
    sys.path[:0] = [str(tree / "src")]
    sys.dont_write_bytecode = True
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    code = _BROKEN
    try:
        code = int(importlib.import_module("pytest").main([*chosen, *_QUIET, "-x"]))
    finally:
        os._exit(code)


def _copy(tree: Path) -> Path:
    shutil.rmtree(tree, ignore_errors=True)
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def _tests_of(mutant: Mutant, lines: dict[str, list[str]], most: int) -> list[str]:
    """The tests that run the changed lines; the file's own tests first, for they are about it."""
    names = dict.fromkeys(name for line in range(mutant.line, mutant.last + 1) for name in lines.get(str(line), []))
    home = Path(mutant.file).relative_to(SOURCE)
    own = f"tests/{home.parent}/test_{home.stem}.py"
    ordered = sorted(names, key=lambda name: not name.startswith(own))[:most]
    return [own] if not ordered and (ROOT / own).exists() else ordered


_NOT_RUN, _BROKEN = 90, 91
_VERDICTS = {
    0: "alive",
    1: "killed",
    2: "killed",  # the tests cannot even be loaded
    _NOT_RUN: "not run",
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
    return (mutant for mutant in drawn if known.get(mutant.name) in ("alive", "not run"))


if __name__ == "__main__":
    sys.exit(main())
