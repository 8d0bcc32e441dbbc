"""Every benchmark runs, on a small share of its rows: one that is run by hand alone stays broken for long."""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks
from studies.real import data_folder
from tests.support.spark_cluster import HAS_SPARK, REASON

ROOT = Path(__file__).resolve().parent.parent
NAMES = sorted(
    module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in ("measure", "__main__")
)
NEED_DATA = ("mondrian", "robust")


def _marked(name):
    marks = [pytest.mark.skipif(data_folder() is None, reason="the data folder is not on this machine")]
    on_spark = [pytest.mark.spark, pytest.mark.skipif(not HAS_SPARK, reason=REASON)]
    return pytest.param(name, marks=marks * (name in NEED_DATA) + on_spark * (name == "spark"))


@pytest.mark.parametrize("name", [_marked(name) for name in NAMES])
def test_a_benchmark_runs(name):
    """It ends and prints figures; what they are says nothing at this size."""
    small = os.environ | {"HEDGEROW_BENCHMARK_SHARE": "0.001"}
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", name], cwd=ROOT, env=small, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert any(character.isdigit() for character in run.stdout)


def test_an_unknown_benchmark_is_refused_by_name():
    """A typing error gets the list."""
    run = subprocess.run([sys.executable, "-m", "benchmarks", "kk"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "there are anatomy," in run.stderr
