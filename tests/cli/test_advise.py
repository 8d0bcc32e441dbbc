"""What a column allows, before anything is published."""

import pytest
from click.testing import CliRunner

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
