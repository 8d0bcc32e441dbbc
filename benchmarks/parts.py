"""Verifying and asking bundles in parts: peak memory and processor time of a fresh process, by number of parts.

`python -m benchmarks.parts [rows of a part] [parts ...]`. Every part holds the same groups under other numbers, so that
a bundle of any size is made from one release.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from unittest import mock

import hedgerow as hr
from benchmarks.measure import sized
from hedgerow.datasets import census
from hedgerow.query import help_table_of_part
from hedgerow.release.parts import seal, stage_bundle, write_part
from hedgerow.release.release import Release, Rows
from hedgerow.verify.help import grids_of

_QUESTION = "SELECT gender, avg(income) AS a FROM release WHERE age < 40 GROUP BY gender"
_ASK = f"import hedgerow as hr; hr.open({{out!r}}).sql({_QUESTION!r})"
_TELL = """
import time
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), time.process_time())
"""
_VERIFY = "from hedgerow.verify import verify_bundle; verify_bundle({out!r})"


def write(release: Release, parts: int, out: str) -> None:
    """Write a release as many times as there are parts."""
    rows, groups = release.rows.published * parts, release.groups * parts
    grids = grids_of(release.published)
    helper = help_table_of_part(replace(release, grids=grids), rows)
    whole = replace(release, rows=Rows(rows, rows), groups=groups)
    with mock.patch("hedgerow.release.parts.verify_bundle"), stage_bundle(out) as stage:
        written = [
            write_part(stage.folder, release, first_group=number * release.groups, rows=rows, helper=helper)
            for number in range(parts)
        ]
        seal(stage, whole, written, helper=helper)


def measure(code: str) -> tuple[float, float]:
    """Megabytes at the peak and processor seconds of a process that runs some code (Linux)."""
    run = subprocess.run([sys.executable, "-c", code + _TELL], capture_output=True, text=True, check=True)
    peak, seconds = run.stdout.split()[-2:]
    return int(peak) / 1024, float(seconds)


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each number of parts."""
    size, *numbers = map(int, arguments or [str(sized(500_000)), "1", "4", "16"])
    table = census(size)
    quasi = [name for name in table.column_names if name != "income"]
    release = hr.KEAnonymity(k=4, e=10).publish(table, hr.Schema(quasi=quasi, sensitive="income"))
    print("  rows      parts   verify MB   CPU s     ask MB   CPU s")
    for parts in numbers:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/out"
            write(release, parts, out)
            verified, asked = measure(_VERIFY.format(out=out)), measure(_ASK.format(out=out))
        figures = f"{verified[0]:>10.0f} {verified[1]:>7.1f} {asked[0]:>10.0f} {asked[1]:>7.1f}"
        print(f"{size * parts:>10,} {parts:>5} {figures}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
