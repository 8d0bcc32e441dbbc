"""The verifier works with numpy and pyarrow alone, and knows what decoding costs before it decodes."""

import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.verify.parquet import read_parquet
from tests.support.forger import Forgery

ALLOWED = {"hedgerow", "numpy", "pyarrow"}
BLOCKED = """
import runpy, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed!r} and not top.startswith("_sysconfig"):
            raise ImportError(f"{{top}} is not there")
sys.meta_path.insert(0, Blocked())
sys.argv = ["verify", {path!r}]
runpy.run_module("hedgerow.verify", run_name="__main__")
"""


def _alone(path):
    script = BLOCKED.format(allowed=ALLOWED, path=str(path))
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.fixture
def bundle(tmp_path):
    """A small bundle with a column of text."""
    table = pa.table({"age": range(16), "ill": list("wxyz") * 4})
    hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["age"], sensitive="ill")).save(tmp_path / "in")
    return tmp_path / "in"


def test_it_needs_numpy_and_pyarrow_alone(bundle, tmp_path):
    """Good, broken and hostile bundles, and those of graphs, with every other library blocked."""
    run = _alone(bundle)
    assert (run.returncode, run.stderr) == (0, "")
    assert "no sensitive value fills more than 1/2" in run.stdout
    forged = Forgery.of(bundle)
    forged.edit("sensitive", "ill", ["w"] * 16)
    run = _alone(forged.write(tmp_path / "out"))
    assert run.returncode == 1
    assert run.stderr.startswith("not verified: ")
    sides = (pa.table({name: range(8)}) for name in "ap")
    some = graph.BipartiteGraph.read(*sides, pa.table({"a": range(8), "p": range(8)}))
    graph.SafeGrouping(k=2, l=2).publish(some).save(tmp_path / "graph")
    assert _alone(tmp_path / "graph").returncode == 0


def _written(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, store_schema=False, **options)
    return sink.getvalue().to_pybytes()


BOMBS = {
    # 20,000 cells refer to one text of a million characters.
    "text": lambda: _written(
        pa.table({"x": pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["x" * 10**6])})
    ),
    "cells": lambda: _written(pa.table({"x": pa.array(np.zeros(80_000_000, np.int32))})),
    "zeros": lambda: _written(pa.table({"x": np.zeros(40_000_000)}), use_dictionary=False, compression="zstd"),
    "pages": lambda: _written(
        pa.table({"x": pa.array(["y" * 10**6] * 400)}), use_dictionary=False, compression="zstd"
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_not_decoded(tmp_path, kind):
    """Small files that hold gigabytes are refused in less than a second and 300 MB, libraries included."""
    content = BOMBS[kind]()
    assert len(content) < 1 << 20
    (tmp_path / "bomb").write_bytes(content)
    script = f"""
import sys, time
import pyarrow.parquet
from hedgerow.errors import BundleError
from hedgerow.verify.parquet import read_parquet
content = open({str(tmp_path / "bomb")!r}, "rb").read()
start = time.process_time()
try:
    read_parquet("x", content, rows={pq.read_metadata(tmp_path / "bomb").num_rows})
except BundleError:
    assert time.process_time() - start < 1, "slow"
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 300 * 1024, "large"
    sys.exit(7)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 7


def test_the_limit_can_be_given():
    """What takes more than --max-bytes is refused; everything honest is read."""
    content = _written(pa.table({"x": ["a", None, "b"], "a.b": [1, 2, 3]}))
    assert read_parquet("x", content, rows=3).column("x").to_pylist() == ["a", None, "b"]
    with pytest.raises(hr.BundleError, match="max-bytes"):
        read_parquet("x", content, rows=3, max_bytes=10)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_refused_or_read(seed):
    """Any byte may be wrong: the file is read or refused in one sentence, soon."""
    content = _written(pa.table({"x": ["a", "b"] * 50, "y": range(100)}))
    rng = np.random.default_rng(seed)
    start = time.process_time()
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            damaged[place] = rng.integers(256)
        with suppress(hr.BundleError):
            read_parquet("x", bytes(damaged), rows=100)
    assert time.process_time() - start < 60


def test_a_manifest_that_is_too_long_is_not_read(bundle):
    """16 MB are enough for any manifest."""
    (bundle / "manifest.json").write_bytes(b" " * (17 << 20))
    with pytest.raises(hr.BundleError, match="16 MB"):
        hr.open(bundle)
