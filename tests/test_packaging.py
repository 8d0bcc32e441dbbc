"""The wheel and the sdist: the same bytes whenever and wherever they are built, with everything that belongs inside."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")


def _build(folder, stamp):
    """Copy the sources, give every file another time, and build both."""
    home = folder / "home"
    home.mkdir(parents=True)
    for name in SOURCES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, home / name)
    for file in home.rglob("*"):
        os.utime(file, (stamp, stamp))
    build = "import hatchling.build as b; b.build_wheel('out'); b.build_sdist('out')"
    subprocess.run([sys.executable, "-c", build], cwd=home, check=True, capture_output=True)
    return {file.name: file for file in (home / "out").iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both, built twice from files of different times."""
    pytest.importorskip("hatchling", reason="missing tool: hatchling")
    return [_build(tmp_path_factory.mktemp("build"), stamp) for stamp in (1_500_000_000, 1_700_000_000)]


def test_builds_are_the_same_bytes(built):
    """Whoever builds the tag gets what was published."""
    digests = [{name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in one.items()} for one in built]
    assert digests[0] == digests[1]
    assert sorted(Path(name).suffix for name in digests[0]) == [".gz", ".whl"]


def test_everything_that_is_needed_is_inside(built):
    """Types, pages, texts and the licence; no cache and no test."""
    import hedgerow

    for name, file in built[0].items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(file) as opened:
                names = opened.namelist()
        else:
            with tarfile.open(file) as opened:
                names = opened.getnames()
        assert hedgerow.__version__ in name
        for part in (
            "hedgerow/py.typed",
            "app/texts.toml",
            "app/static/style.css",
            "app/templates/base.html",
            "LICENSE",
        ):
            assert any(one.endswith(part) for one in names), (name, part)
        assert not any("__pycache__" in one or one.endswith(".pyc") for one in names)
