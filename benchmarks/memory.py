"""Publishing in memory: the peak of a fresh process beyond its Arrow input, in multiples of that input.

`python -m benchmarks.memory [rows] [rows of different values]`. Three shapes: seven quasi-identifiers and one sensitive
column, all whole numbers; the census generator's seven quasi-identifiers, five of them texts; three quasi-identifiers
and a sensitive column of which no two rows have the same value. Compiled loops are loaded before anything is measured,
by publishing a few rows.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import peak_beyond, show
from hedgerow.datasets import census

__all__ = ["METHODS", "SHAPES", "input_table", "main", "peak_ratio"]

SHAPES = ("numbers", "census", "different")

_QUASI_VALUES = (80, 2, 17, 6, 9, 1_000, 85)
_FEW = 70_000  # enough for every loop to be compiled, and threads to be used

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


def peak_ratio(method: str, shape: str, rows: int) -> float:
    """Bytes that `publish` needs at its peak beyond its Arrow input, divided by the bytes of that input."""
    setup = f"""
import ctypes
import gc
import pyarrow as pa
from benchmarks.memory import METHODS, input_table, schema_of
method = METHODS[{method!r}]
few = input_table({shape!r}, {_FEW})
method.publish(few, schema_of(few))
table = input_table({shape!r}, {rows})
schema = schema_of(table)
gc.collect()
pa.default_memory_pool().release_unused()
ctypes.CDLL(None).malloc_trim(0)
"""
    peak = peak_beyond(setup, "release = method.publish(table, schema)")
    return peak / input_table(shape, rows).nbytes


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios of every method and shape."""
    most, different = map(int, arguments or ["1000000", "1000000"])
    for shape in SHAPES:
        rows = different if shape == "different" else most
        figures = [(name, peak_ratio(name, shape, rows), "tables") for name in METHODS]
        show(f"{shape}, {rows:,} rows", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
