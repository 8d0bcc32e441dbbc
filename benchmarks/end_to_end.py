"""From a Parquet file to a verified bundle, 1M rows, against reading and writing the same table with pyarrow."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

import hedgerow as hr
from benchmarks.measure import show, sized
from hedgerow.datasets import census
from hedgerow.verify import verify_bundle

QUASI = ["age", "gender", "education", "marital", "race", "workclass", "country"]


def main(rows: int = sized(1_000_000), runs: int = 2) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "census.parquet"
        pq.write_table(census(rows).select([*QUASI, "occupation", "income"]), source)
        plain = best(lambda: copy(source, Path(folder) / "copy.parquet"), runs)
        figures = [("pyarrow: read and write", plain, "s")]
        for name, method, sensitive in METHODS:
            bundle = Path(folder) / "bundle"
            steps = [publish(source, method, sensitive, bundle) for _ in range(runs + 1)][1:]
            whole = min(sum(step.values()) for step in steps)
            figures.append((f"{name} / pyarrow", whole / plain, "x"))
            figures += [(f"    {step}", min(run[step] for run in steps) / plain, "x") for step in steps[0]]
        show(f"file to verified bundle, {rows:,} rows, 9 columns", figures)


METHODS = (
    ("KEAnonymity(k=4, e=100)", hr.KEAnonymity(k=4, e=100), "income"),
    ("Anatomy(l=4)", hr.Anatomy(l=4), "occupation"),
    ("Mondrian(k=10, l=4)", hr.Mondrian(k=10, l=4), "occupation"),
)


def copy(source: Path, target: Path) -> None:
    pq.write_table(pq.read_table(source), target)


def publish(
    source: Path, method: hr.KEAnonymity | hr.Anatomy | hr.Mondrian, sensitive: str, out: Path
) -> dict[str, float]:
    """Publish, save and verify; seconds of each."""
    others = [name for name in ("occupation", "income") if name != sensitive]
    schema = hr.Schema(quasi=QUASI, sensitive=sensitive, identifier=others)
    began = time.perf_counter()
    release = method.publish(source, schema)
    published = time.perf_counter()
    release.save(out, overwrite=True)
    saved = time.perf_counter()
    verify_bundle(out)
    done = time.perf_counter()
    return {"publish and audit": published - began, "save": saved - published, "verify the bundle": done - saved}


def best(work: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times[1:])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else sized(1_000_000))
