"""The test suite with the oldest and with the newest versions that the metadata allows, each in its own environment.

python tools/versions.py query spark tests/verify/test_texts.py

Environments are made by uv below .versions: `lowest` takes the oldest version of everything that pyproject names,
`highest` the newest. What they hold is printed, so that the bounds of pyproject follow from what passed.

The suite runs folder by folder. What each folder said is kept beside the environment, and a
folder that passed with the same versions is not run again: a run that was stopped goes on. `--fresh` forgets all.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".versions"
RESOLUTIONS = {"lowest": "lowest-direct", "highest": "highest"}
NO_TESTS = 5
"""What pytest returns for a folder all of whose tests are marked otherwise."""


def main() -> int:
    """Make both environments, run the tests in each, and say which failed."""
    parser = argparse.ArgumentParser(description="tests with the oldest and the newest versions")
    parser.add_argument(
        "paths", nargs="*", help="folders, `files`, `spark`, or tests; all, folder by folder, if none is named"
    )
    parser.add_argument("--only", choices=RESOLUTIONS, help="one of the two environments")
    parser.add_argument("--fresh", action="store_true", help="make the environments again, and run what passed, too")
    options = parser.parse_args()
    names = [options.only] if options.only else list(RESOLUTIONS)
    failed = [f"{name} {piece}" for name in names for piece in _run(name, options.paths, fresh=options.fresh)]
    print("failed: " + ", ".join(failed) if failed else "passed: " + ", ".join(names))
    return 1 if failed else 0


def _run(name: str, paths: list[str], *, fresh: bool) -> list[str]:
    """Run each piece that has not passed yet with these versions; return those that failed."""
    python = PLACE / name / "bin" / "python"
    if fresh or not python.exists():
        _make(name, python)
    frozen = subprocess.run([_uv(), "pip", "freeze", "--python", python], capture_output=True, text=True, check=True)
    versions = sorted(line for line in frozen.stdout.split("\n") if "==" in line)
    print(f"{name}: " + " ".join(versions), flush=True)
    file = PLACE / f"{name}.jsonl"
    entries = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() and not fresh else []
    passed = {entry["piece"] for entry in entries if entry["passed"] and entry["versions"] == versions}
    failed = []
    for piece, arguments in _pieces(paths):
        if piece in passed:
            continue
        entry = {"piece": piece, "versions": versions, **_test(python, PLACE / f"{name}.log", arguments)}
        print(f"{piece:<24} {entry['said']}", flush=True)
        with file.open("a") as log:
            log.write(json.dumps(entry) + "\n")
        if not entry["passed"]:
            failed.append(piece)
    return failed


def _pieces(paths: list[str]) -> list[tuple[str, list[str]]]:
    """What is run in a process of its own: each folder, the files beside them, and what needs Spark's cluster."""
    tests = ROOT / "tests"
    folders = sorted(folder.name for folder in tests.iterdir() if any(folder.glob("**/test_*.py")))
    files = sorted(str(file.relative_to(ROOT)) for file in tests.glob("test_*.py"))
    pieces = [(folder, [f"tests/{folder}", "-m", "not spark"]) for folder in folders]
    pieces += [("files", [*files, "-m", "not spark"]), ("spark", ["tests", "-m", "spark"])]
    return [(path, dict(pieces).get(path, [path])) for path in paths] if paths else pieces


def _test(python: Path, log: Path, arguments: list[str]) -> dict[str, object]:
    # The code of this folder and not the one that was installed: environments outlive many changes.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", "--tb=short", *arguments]
    start = time.monotonic()
    with log.open("ab") as output:
        first = output.tell()
        code = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT).returncode
    lines = log.read_bytes()[first:].decode(errors="replace").splitlines()
    said = [line.strip("= ") for line in lines if line.startswith(("FAILED", "ERROR"))] + lines[-1:]
    seconds = round(time.monotonic() - start)
    return {"passed": code in (0, NO_TESTS), "said": "\n  ".join(said), "seconds": seconds}


def _make(name: str, python: Path) -> None:
    shutil.rmtree(PLACE / name, ignore_errors=True)
    subprocess.run([_uv(), "venv", "--quiet", "--seed", "--python", sys.executable, PLACE / name], check=True)
    install = [_uv(), "pip", "install", "--quiet", "--python", python, "--resolution", RESOLUTIONS[name], ".[test]"]
    subprocess.run(install, cwd=ROOT, check=True)


def _uv() -> str:
    """Where uv is: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else "uv"


if __name__ == "__main__":
    sys.exit(main())
