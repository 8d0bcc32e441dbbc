"""`hedgerow regress`: a table, JSON, a figure."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """Pay grows by ten a year."""
    table = {"age": list(range(20, 60)), "sex": ["F", "M"] * 20, "pay": list(range(0, 400, 10))}
    release = hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi=["age", "sex"], sensitive="pay"))
    folder = tmp_path_factory.mktemp("bundles") / "out"
    release.save(folder)
    return str(folder)


def test_a_table_for_people(bundle):
    """One line a coefficient."""
    found = CliRunner().invoke(main, ["regress", bundle, "pay ~ age + sex"])
    assert found.exit_code == 0
    assert "(40 rows)" in found.output
    assert [line.split()[0] for line in found.output.splitlines() if "[T.M]" in line] == ["sex[T.M]"]


def test_json_for_programs(bundle):
    """The same numbers as from Python."""
    found = CliRunner().invoke(main, ["regress", bundle, "pay ~ age", "--where", "age >= 30", "--json"])
    assert json.loads(found.output) == hr.regress(bundle, "pay ~ age", where="age >= 30").to_dict()


def test_a_figure(bundle, tmp_path):
    """Error bars as SVG and PNG."""
    pytest.importorskip("matplotlib")
    found = CliRunner().invoke(
        main, ["regress", bundle, "pay ~ age", "--weights", "age", "--figure", str(tmp_path / "bars")]
    )
    assert found.exit_code == 0
    assert {path.name for path in Path(tmp_path).iterdir()} == {"bars.svg", "bars.png"}


def test_a_refusal_is_a_sentence(bundle):
    """Exit code 2, and no trace."""
    found = CliRunner().invoke(main, ["regress", bundle, "pay ~ height"])
    assert isinstance(found.exception, hr.QueryError) or found.exit_code == 2
