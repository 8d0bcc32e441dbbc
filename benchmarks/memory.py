"""Publishing in memory: the peak of a fresh process beyond its Arrow input, in multiples of that input.

`python -m benchmarks.memory [rows] [rows of different values] [shapes]`. Seven quasi-identifiers and one sensitive
column, all whole numbers; the census generator's seven quasi-identifiers, five of them texts; three quasi-identifiers
and a sensitive column of which no two rows have the same value. Compiled loops are loaded before anything is measured,
by publishing a few rows.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import show, sized
from hedgerow.arrays import free_unused
from hedgerow.datasets import census

__all__ = ["METHODS", "SHAPES", "all_ratios", "input_table", "main", "peak_ratio", "schema_of"]

SHAPES = ("numbers", "census", "different")

_QUASI_VALUES = (80, 2, 17, 6, 9, 1_000, 85)
_FEW = sized(70_000)  # enough for every loop to be compiled, and threads to be used

METHODS: dict[str, hr.Method] = {
    "ke": hr.KEAnonymity(k=4, e=10),
    "anatomy": hr.Anatomy(l=4),
    "permutation": hr.PermutationAnonymization(l=4),
    "mondrian": hr.Mondrian(k=10, l=4),
    "proximity": hr.Proximity(eps=2, m=4),
}


def input_table(shape: str, rows: int) -> pa.Table:
    """The Arrow table that is published; its last column is sensitive."""
    if shape == "census":
        names = ["age", "gender", "education", "marital", "race", "workclass", "country", "income"]
        return census(rows, seed=1).select(names)
    draw = np.random.default_rng(1)
    if shape == "different":
        columns = [draw.integers(0, values, rows) for values in (100, 50, 10)]
        return pa.table([*columns, draw.permutation(rows) * 3], names=["a", "b", "c", "s"])
    columns = [draw.integers(0, values, rows) for values in (*_QUASI_VALUES, 50_000)]
    return pa.table(columns, names=[*(f"q{n}" for n in range(len(_QUASI_VALUES))), "s"])


def schema_of(table: pa.Table) -> hr.Schema:
    """The last column is sensitive, the others are quasi-identifiers."""
    *quasi, sensitive = table.column_names
    return hr.Schema(quasi=quasi, sensitive=sensitive)


def all_ratios(shape: str, rows: int) -> dict[str, float]:
    """Bytes that `publish` needs at its peak beyond its Arrow input, divided by the bytes of that input, by method.

    To be called in a process of its own (Linux): the peak is the system's.
    """
    return {name: peak_ratio(name, shape, rows) for name in METHODS}


def peak_ratio(name: str, shape: str, rows: int) -> float:
    """The ratio of one method, in this process."""
    method, few = METHODS[name], input_table(shape, _FEW)
    method.publish(few, schema_of(few))
    table = input_table(shape, rows)
    gc.collect()
    free_unused()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    release = method.publish(table, schema_of(table))
    peak = _status("VmHWM") - before
    del release
    return peak / int(table.nbytes)


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key))) * 1024


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios of every method and shape."""
    most, different, *shapes = arguments or [str(sized(1_000_000))] * 2
    for shape in shapes or SHAPES:
        rows = int(different if shape == "different" else most)
        figures = [(name, _in_fresh_process(name, shape, rows), "tables") for name in METHODS]
        show(f"{shape}, {rows:,} rows", figures)


def _in_fresh_process(name: str, shape: str, rows: int) -> float:
    code = f"from benchmarks.memory import peak_ratio; print(peak_ratio({name!r}, {shape!r}, {rows}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout.split()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
