"""The test suite with the oldest and with the newest versions that the metadata allows, each in its own environment.

python tools/versions.py tests/query tests/verify

Environments are made by uv below .versions: `lowest` takes the oldest version of everything that pyproject names,
`highest` the newest. What they hold is printed, so that the bounds of pyproject follow from what passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".versions"
RESOLUTIONS = {"lowest": "lowest-direct", "highest": "highest"}


def main() -> int:
    """Make both environments, run the tests in each, and say which failed."""
    parser = argparse.ArgumentParser(description="tests with the oldest and the newest versions")
    parser.add_argument("paths", nargs="*", help="tests to run; all if none is named")
    parser.add_argument("--only", choices=RESOLUTIONS, help="one of the two environments")
    parser.add_argument("--fresh", action="store_true", help="make the environments again")
    options = parser.parse_args()
    names = [options.only] if options.only else list(RESOLUTIONS)
    failed = [name for name in names if _run(name, options.paths, fresh=options.fresh)]
    print("failed: " + ", ".join(failed) if failed else "passed: " + ", ".join(names))
    return 1 if failed else 0


def _run(name: str, paths: list[str], *, fresh: bool) -> int:
    python = PLACE / name / "bin" / "python"
    if fresh or not python.exists():
        _make(name, python)
    versions = subprocess.run([_uv(), "pip", "freeze", "--python", python], capture_output=True, text=True, check=True)
    print(f"{name}: " + " ".join(versions.stdout.split()), flush=True)
    # The code of this folder and not the one that was installed: environments outlive many changes.
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *paths]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _make(name: str, python: Path) -> None:
    shutil.rmtree(PLACE / name, ignore_errors=True)
    subprocess.run([_uv(), "venv", "--quiet", "--python", sys.executable, PLACE / name], check=True)
    install = [_uv(), "pip", "install", "--quiet", "--python", python, "--resolution", RESOLUTIONS[name], ".[test]"]
    subprocess.run(install, cwd=ROOT, check=True)


def _uv() -> str:
    """Where uv is: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else "uv"


if __name__ == "__main__":
    sys.exit(main())
