"""What a column allows, before anything is published."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main


def advised(tmp_path, text, *options):
    """Print the advice for the column `pay` of a file."""
    (tmp_path / "t.csv").write_text(text)
    result = CliRunner().invoke(main, ["advise", str(tmp_path / "t.csv"), "--sensitive", "pay", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_column_without_values_promises_nothing(tmp_path):
    """No value fills more than half of the rows if there is none."""
    output = advised(tmp_path, "age,pay\n1,\n2,\n")
    assert "no values at all" in output
    assert "more than half" not in output


@pytest.mark.parametrize(("options", "shown"), [
    ((), "e up to 1,000,000"),
    (("--m", "2"), "eps below 500,000"),
])  # fmt: skip
def test_thousands_stand_apart(tmp_path, options, shown):
    """Large numbers are read, not counted."""
    assert shown in advised(tmp_path, "pay,n\n0,1\n500000,2\n1000000,3\n", *options)


def test_a_wrong_column_gets_the_nearest_name_and_a_skewed_one_a_remedy(tmp_path, run):
    """Nobody is left with "none"."""
    table = tmp_path / "t.csv"
    table.write_text("illness,age\n" + "none,1\n" * 8 + "flu,2\n" * 2)
    code, _, errors = run("advise", table, "--sensitive", "ilness")
    assert code == 2
    assert "Did you mean 'illness'?" in errors
    code, output, _ = run("advise", table, "--sensitive", "illness")
    assert code == 0
    assert "one value fills 80% of the rows" in output
    assert "--beta 1" in output


def test_the_remedies_that_it_names_work(tmp_path):
    """What is advised can be published."""
    table = pa.table({"age": range(40), "illness": ["none"] * 32 + ["flu"] * 8})
    schema = hr.Schema(quasi="age", sensitive="illness")
    for method in (hr.Mondrian(k=5, t="0.2"), hr.Mondrian(k=5, beta=1), hr.TargetDistribution("uniform")):
        method.publish(table, schema).verify()
