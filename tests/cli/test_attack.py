"""`hedgerow attack` as a person calls it."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CANARY = "canary-51c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, two releases of it, and people who were not published."""
    import hedgerow as hr

    folder = tmp_path_factory.mktemp("attack")
    rng = np.random.default_rng(0)
    jobs = np.array([f"{CANARY}-{one}" for one in range(9)])[rng.integers(0, 9, 900)]
    people = pa.table({"age": rng.permutation(900), "sex": rng.integers(0, 2, 900).astype(str), "job": jobs})
    pq.write_table(people.slice(0, 600), folder / "table.parquet")
    pq.write_table(people.slice(600), folder / "others.parquet")
    for name in ("one", "two"):
        schema = hr.Schema(quasi=["age", "sex"], sensitive="job")
        hr.Anatomy(l=3).publish(people.slice(0, 600), schema).save(folder / name)
    return folder


def test_everything_that_applies_is_tried(run, folder, tmp_path):
    """A line per adversary, the promise kept, words with a next step, a figure and a file of data."""
    words = ("attack", folder / "one", "--original", folder / "table.parquet", "--also", folder / "two")
    more = ("--holdout", folder / "others.parquet", "--targets", 200)
    files = ("--figure", tmp_path / "rates.png", "--json", tmp_path / "rates.json")
    code, output, errors = run(*words, *more, *files)
    assert code == 0, errors
    for adversary in ("linking", "deFinetti", "composition", "inference", "membership", "presence", "linkability"):
        assert f" {adversary} " in output
    assert "33.3% kept" in output
    assert "→ Never publish the same people twice" in output
    assert "Not tried" in output
    assert CANARY not in output
    assert (tmp_path / "rates.png").stat().st_size > 5000
    data = json.loads((tmp_path / "rates.json").read_text())
    assert data["findings"][0]["adversary"] == "linking"
    assert CANARY not in (tmp_path / "rates.json").read_text()
    assert CANARY not in (tmp_path / "rates.svg").read_text()


def test_without_the_original_groups_are_attacked(run, folder):
    """Two exact lines, and the others say what they need."""
    code, output, _ = run("attack", folder / "one")
    assert code == 0
    assert "2 adversaries" in output
    assert "--original" in output
    assert "drawn at random" not in output


def test_a_table_that_was_not_published_is_refused(run, folder):
    """One sentence on the error stream, exit code 2, and no cell in it."""
    code, _, errors = run("attack", folder / "one", "--original", folder / "others.parquet")
    assert code == 2
    assert "600 rows" in errors
    assert CANARY not in errors


def test_a_broken_promise_is_exit_code_one(run, folder, monkeypatch):
    """Whoever runs it at night is told by the exit code."""
    import msgspec

    import hedgerow.attack

    honest = hedgerow.attack.run

    def spoiled(*args, **settings):
        report = honest(*args, **settings)
        worse = msgspec.structs.replace(report.findings[0], worst=0.9)
        return msgspec.structs.replace(report, findings=(worse, *report.findings[1:]))

    monkeypatch.setattr(hedgerow.attack, "run", spoiled)
    code, output, _ = run("attack", folder / "one")
    assert code == 1
    assert "BROKEN" in output


def test_a_closed_pipe_does_not_lose_the_files(folder, tmp_path):
    """`| head` closes the output: the figure and the data are written nevertheless."""
    reader, writer = os.pipe()
    os.close(reader)
    words = ("attack", folder / "one", "--figure", tmp_path / "rates.png", "--json", tmp_path / "rates.json")
    run = subprocess.run([sys.executable, "-m", "hedgerow", *map(str, words)], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert run.returncode == 141
    assert (tmp_path / "rates.png").stat().st_size > 5000
    assert json.loads((tmp_path / "rates.json").read_text())["method"] == "Anatomy"


def test_a_release_without_a_sensitive_column_has_no_tables(run, tmp_path):
    """One sentence instead of empty tables; what was asked for is written."""
    import hedgerow as hr

    table = pa.table({"age": np.arange(60) % 12, "pay": np.arange(60)})
    hr.Microaggregation(k=3).publish(table, hr.Schema(quasi="age", plain="pay")).save(tmp_path / "out")
    code, output, _ = run("attack", tmp_path / "out", "--json", tmp_path / "r.json", "--figure", tmp_path / "r.png")
    assert code == 0
    assert "The release has no sensitive column" in output
    assert "adversary" not in output
    assert json.loads((tmp_path / "r.json").read_text())["findings"] == []
