"""Hierarchies built from a column, shown and saved in ARX's format."""

import pytest

import hedgerow as hr

TABLE = "age,zip,day,town\n" + "".join(
    f"{20 + n},{10000 + 111 * n},20{n:02d}-0{n % 9 + 1}-01,{'Ash' if n < 8 else 'Elm' if n < 10 else 'Oak'}\n"
    for n in range(12)
)


@pytest.fixture
def table(tmp_path):
    """A small table."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "p.csv").write_text("value,parent\nAsh,hard\nElm,hard\nOak,tree\nhard,tree\n")
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("column", "flags", "height"),
    [
        ("age", ("--intervals", "5,10"), 3),
        ("zip", ("--digits",), 5),
        ("day", ("--dates",), 4),
        ("town", ("--rare", "5"), 2),
        ("town", ("--parents", "p.csv"), 3),
    ],
)
def test_what_is_built_is_saved_and_fits_the_column(table, tmp_path, run, monkeypatch, column, flags, height):
    """The file is read back by the reader of ARX's format, and publishes the table it was made from."""
    monkeypatch.chdir(tmp_path)
    code, output, errors = run("hierarchy", table, "--column", column, *flags, "--out", tmp_path / "h.csv")
    assert code == 0, errors
    assert "level 1" in output
    tree = hr.Hierarchy.from_arx(tmp_path / "h.csv")
    assert tree.height == height
    rows = hr.read_table(table)
    schema = hr.Schema(
        quasi=column, sensitive="age" if column != "age" else "town", hierarchies={column: tree},
        identifier=[name for name in rows.names if name not in (column, "age" if column != "age" else "town")],
    )  # fmt: skip
    hr.Mondrian(k=2).publish(rows, schema).verify()
    code, _, errors = run("hierarchy", table, "--column", column, *flags, "--out", tmp_path / "h.csv")
    assert code == 2
    assert "there already" in errors


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--column", "age"), "Name one way"),
        (("--column", "age", "--digits", "--dates"), "Name one way"),
        (("--column", "town", "--intervals", "5"), "intervals need numbers"),
        (("--column", "age", "--intervals", "5,x"), "must be numbers"),
        (("--column", "age", "--intervals", "5,7"), "multiple of the one before"),
        (("--column", "town", "--dates"), "needs dates"),
        (("--column", "town", "--rare", "1"), "nothing to merge"),
        (("--column", "twon", "--digits"), "Did you mean 'town'"),
        (("--column", "age", "--parents", "p.csv"), "without a parent in the file"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(table, tmp_path, run, monkeypatch, flags, message):
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    code, _, errors = run("hierarchy", table, *flags, "--out", tmp_path / "h.csv")
    assert code == 2
    assert message in errors
    assert not (tmp_path / "h.csv").exists()
