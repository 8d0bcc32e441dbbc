"""The examples of the pages run as they are printed, on the first rows of real tables."""

import shutil

import pytest

from studies.real import data_folder
from tools import pages

ROWS = 2000

pytestmark = pytest.mark.skipif(data_folder() is None, reason="no real tables here: name their folder in HEDGEROW_DATA")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with the first rows of the tables."""
    folder = tmp_path_factory.mktemp("tables")
    pages.prepare(folder, ROWS)
    return folder


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_example_runs(page, tables, tmp_path):
    """A block that fails fails the test; what it prints depends on the rows and is not compared."""
    folder = tmp_path / "work"
    shutil.copytree(tables, folder)
    written = pages.run(page, folder)
    assert written.count("```python") == page.read_text().count("```python")


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_figure_is_there(page):
    """Pages show figures that examples saved."""
    for line in page.read_text().splitlines():
        if line.startswith("!["):
            assert (page.parent / line.split("(")[1].rstrip(")")).is_file()


def test_an_example_that_fails_is_noticed(tmp_path):
    """A page whose block raises, or whose command is refused, does not pass."""
    page = tmp_path / "page.md"
    page.write_text("```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        pages.run(page, tmp_path)
    page.write_text("```console\n$ hedgerow verify nowhere\n```\n")
    with pytest.raises(ValueError, match="ended with 1"):
        pages.run(page, tmp_path)
