"""What a column allows, before anything is published."""

import json

import numpy as np
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


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Three hundred people with a number and a text to hide."""
    rng = np.random.default_rng(9)
    folder = tmp_path_factory.mktemp("advise")
    columns = [rng.integers(20, 60, 300), rng.choice(["a", "b"], 300), rng.integers(0, 90, 300) * 10]
    columns.append(rng.choice(["flu", "cold", "none"], 300))
    lines = [",".join(map(str, line)) for line in zip(*columns, strict=True)]
    (folder / "people.csv").write_text("age,town,pay,illness\n" + "\n".join(lines) + "\n")
    return folder / "people.csv"


def test_methods_are_compared_and_the_recipe_that_is_written_publishes(people, tmp_path, run):
    """A table, a figure, data, a recommendation with reasons, and a recipe that works as it stands."""
    code, output, errors = run(
        "advise", people, "--quasi", "age,town", "--sensitive", "illness", "--others", "identifier",
        "--figure", tmp_path / "f.png", "--json", tmp_path / "f.json", "--recipe", tmp_path / "r.toml",
    )  # fmt: skip
    assert (code, errors) == (0, "")
    assert "What methods cost on 300 rows" in output
    assert "Recommended:" in output
    assert "no value has more than" in output
    data = json.loads((tmp_path / "f.json").read_text())
    assert data["recommended"] in {point["setting"] for point in data["points"]}
    assert (tmp_path / "f.png").stat().st_size > 5000
    code, _, errors = run("publish", tmp_path / "r.toml")
    assert (code, errors) == (0, "")
    assert (tmp_path / "out" / "manifest.json").exists()


def test_what_it_would_need_is_said_and_nothing_is_written(people, tmp_path, run):
    """No sensitive column; no quasi-identifiers to draw anything of; a column without a role."""
    figure = tmp_path / "f.png"
    for words, said in (
        (("--quasi", "age"), "--sensitive COLUMN"),
        (("--sensitive", "pay", "--figure", figure), "--quasi A,B"),
        (("--sensitive", "pay", "--quasi", "age", "--figure", figure), "every column must have a role"),
        (("--sensitive", "pay", "--quasi", "aeg", "--others", "plain", "--figure", figure), "did you mean 'age'"),
    ):
        code, _, errors = run("advise", people, *words)
        assert code == 2
        assert said in errors
    assert not list(tmp_path.iterdir())
    _, output, _ = run("advise", people, "--sensitive", "pay")
    assert "Name quasi-identifiers" in output
