"""`hedgerow compare` as a person calls it."""

import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and two releases of it, one with larger groups."""
    import hedgerow as hr
    from hedgerow.datasets import census

    folder = tmp_path_factory.mktemp("compare")
    table = census(800, seed=4).select(["age", "gender", "education", "income"])
    schema = hr.Schema(quasi=["age", "gender", "education"], sensitive="income")
    pq.write_table(table, folder / "table.parquet")
    for name, k in (("small", 3), ("large", 60)):
        hr.KEAnonymity(k=k, e=500).publish(table, schema).save(folder / name)
    (folder / "w.toml").write_text("count = 4\nselectivity = [0.1, 0.5]\n")
    return folder


def test_two_releases_side_by_side(run, folder, tmp_path):
    """A line per aggregate and release, the truth inside everywhere, and a figure."""
    words = ("compare", folder / "small", folder / "large", "--workload", folder / "w.toml")
    more = ("--out", tmp_path, "--answers", tmp_path / "answers.csv")
    code, output, errors = run(*words, "--original", folder / "table.parquet", *more)
    assert code == 0, errors
    assert "within 2 std" in output
    listed = (tmp_path / "answers.csv").read_text().splitlines()
    assert listed[0].replace('"', "") == "release,aggregate,selectivity,truth,expected,std,lower,upper,question"
    assert len(listed) == 1 + 2 * 3 * 2 * 4
    lines = [line.split() for line in output.splitlines() if "permuted" in line]
    assert [line[:2] for line in lines] == [[a, name] for a in ("count", "sum", "avg") for name in ("small", "large")]
    assert all((line[4], line[-1]) == ("100%", "100%") for line in lines)
    widths = [float(line[5].rstrip("%")) for line in lines]
    assert all(narrow < wide for narrow, wide in zip(widths[::2], widths[1::2], strict=True))
    assert (tmp_path / "compare.png").stat().st_size > 5000
    assert "width of the bounds" in (tmp_path / "compare.svg").read_text()


def test_without_the_original_the_default_workload_is_asked(run, folder, tmp_path):
    """There are widths, and no errors."""
    code, output, _ = run("compare", folder / "small", "--out", tmp_path)
    assert code == 0
    assert "width" in output
    assert "truth inside" not in output


def test_a_table_that_was_not_published_is_an_error(run, folder, tmp_path):
    """Exit code 1, and a question back."""
    table = pq.read_table(folder / "table.parquet")
    income = [value * 3 for value in table.column("income").to_pylist()]
    pq.write_table(table.set_column(3, "income", [income]), tmp_path / "other.parquet")
    words = ("compare", folder / "small", "--workload", folder / "w.toml", "--out", tmp_path)
    code, _, errors = run(*words, "--original", tmp_path / "other.parquet")
    assert code == 1
    assert "outside the bounds of small" in errors


def test_without_a_workload_texts_are_counted(run, folder, tmp_path, monkeypatch):
    """A sensitive column of texts, and one column that conditions may name, allow fewer questions than the default."""
    import hedgerow as hr

    monkeypatch.chdir(tmp_path)
    rows = pq.read_table(folder / "table.parquet").select(["education", "gender"])
    hr.Anatomy(l=2).publish(rows, hr.Schema(quasi="gender", sensitive="education")).save("out")
    pq.write_table(rows, "rows.parquet")
    code, output, errors = run("compare", "out", "--original", "rows.parquet")
    assert code == 0, errors
    assert "count" in output
    assert "avg" not in output
    assert hr.compare(["out"])["out"]["count"].answered == 1


def test_mistakes_are_one_sentence(run, folder, tmp_path):
    """A wrong workload and a folder that is no bundle."""
    (tmp_path / "bad.toml").write_text("dimensions = [9]")
    code, _, errors = run("compare", folder / "small", "--workload", tmp_path / "bad.toml")
    assert (code, errors.count("\n")) == (2, 1)
    assert "dimensions" in errors
    assert run("compare", tmp_path)[0] == 2


def test_a_release_without_bounds_is_named_in_the_figure(run, folder, tmp_path):
    """Its errors are drawn, so the legend says whose they are."""
    import hedgerow as hr

    schema = hr.Schema(quasi=["age", "gender", "education"], sensitive="income")
    hr.Noise(scale=0.1).publish(folder / "table.parquet", schema).save(tmp_path / "noisy")
    words = ("compare", folder / "small", tmp_path / "noisy", "--workload", folder / "w.toml")
    code, _, errors = run(*words, "--original", folder / "table.parquet", "--out", tmp_path)
    assert code == 0, errors
    assert "noisy" in (tmp_path / "compare.svg").read_text()
