"""Tables larger than memory: processor seconds and peak memory of whole publications with DuckDB, each in a process.

The table has seven quasi-identifiers and a sensitive column of 7,000 values. `python -m benchmarks scale` runs small
sizes; `python -m benchmarks.scale 10000000 50000000` those that are named.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.measure import show, sized

SIZES = (sized(200_000), sized(1_000_000))
METHODS = {
    "(k,e), k = 4, e = 10": "hr.KEAnonymity(k=4, e=10)",
    "Anatomy, l = 4, blind": "hr.Anatomy(l=4)",
    "Mondrian, k = 10": "hr.Mondrian(k=10)",
}

_TABLE = """
SELECT (17 + hash(i * 11) % 73)::INT AS age, (hash(i * 3 + 1) % 2)::INT AS sex, (hash(i * 5 + 2) % 52)::INT AS state,
       'occ' || (hash(i * 7 + 3) % 300) AS occupation, (hash(i * 13 + 4) % 16)::INT AS education,
       (hash(i * 17 + 5) % 9)::INT AS race, (hash(i * 19 + 6) % 99)::INT AS hours,
       (hash(i * 23 + 7) % 1000 * 100 + hash(i * 29) % 7 * 10)::INT AS income
FROM range({rows}) t(i)
"""

_PUBLISH = """
import resource, sys, time
import hedgerow as hr
quasi = ["age", "sex", "state", "occupation", "education", "race", "hours"]
began = time.process_time()
{method}.publish({table!r}, hr.Schema(quasi=quasi, sensitive="income"), out={out!r}, engine="duckdb", memory="1GB")
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write_table(rows: int, file: Path) -> None:
    """Write a table of so many rows as Parquet."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({_TABLE.format(rows=rows)}) TO '{file}' (FORMAT parquet)")


def measure(method: str, table: Path, out: Path) -> tuple[float, float]:
    """Processor seconds and peak megabytes of one publication with a limit of 1 GB."""
    code = _PUBLISH.format(method=method, table=str(table), out=str(out))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, run.stdout.split()[-2:])
    return seconds, megabytes


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Publish tables of growing size by each method."""
    for name, method in METHODS.items():
        rows: list[tuple[str, float, str]] = []
        before = None
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                table = Path(folder) / "table.parquet"
                write_table(size, table)
                seconds, megabytes = measure(method, table, Path(folder) / "out")
            rows += [(f"{size:,} rows", seconds, "CPU s"), (f"{size:,} rows, peak", megabytes, "MB")]
            rows += [("growth", seconds / before, "x")] if before is not None else []
            before = seconds
        show(f"scale: {name}, 8 columns, limit 1 GB", rows)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
