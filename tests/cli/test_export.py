"""Releases as files for other programs."""

import pytest

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.table import read_csv


@pytest.fixture
def bundle(tmp_path):
    """A release in two tables."""
    schema = hr.Schema(quasi=["age", "gender"], sensitive="income")
    hr.Anatomy(2).publish(census(300, seed=3).select(["age", "gender", "income"]), schema).save(tmp_path / "out")
    return tmp_path / "out"


def test_published_tables_become_csv_files(run, bundle, tmp_path):
    """One file a published table, with the same cells in the same order; the help table, a question and a page."""
    code, output, errors = run("export", bundle, "--csv", tmp_path / "csv")
    assert code == 0, errors
    assert "quasi.csv" in output
    assert "sensitive.csv" in output
    assert {file.name for file in (tmp_path / "csv").iterdir()} == {
        "quasi.csv",
        "sensitive.csv",
        "help.csv",
        "question.sql",
        "README.md",
    }
    for name, table in hr.open(bundle).tables.items():
        assert read_csv(tmp_path / "csv" / f"{name}.csv").arrow.to_pylist() == table.to_pylist()


def test_a_folder_that_is_there_stays_as_it_is(run, bundle, tmp_path):
    """Nothing is written over, and nothing is half-written."""
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "mine.txt").write_text("mine")
    code, _, errors = run("export", bundle, "--csv", tmp_path / "csv")
    assert code == 2
    assert "'csv' exists already" in errors
    assert [file.name for file in (tmp_path / "csv").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("words", [(), ("--to", "postgresql://x/y", "--csv", "c")])
def test_an_export_goes_to_one_place(run, bundle, words):
    """Neither and both are refused in a sentence."""
    code, _, errors = run("export", bundle, *words)
    assert code == 2
    assert "give --to URL or one of --csv" in errors


def test_an_address_that_is_none_is_told_apart_from_a_server_that_is_down(run, bundle):
    """What an address looks like is said before anything is tried."""
    code, _, errors = run("export", bundle, "--to", "server/database")
    assert code == 2
    assert "postgresql://user@host/database" in errors
