from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.errors import InputError
from studies.real import acs, adult, adult_arx, adult_capital_loss, adult_hierarchies, coauthors, data_folder

needs_data = pytest.mark.skipif(data_folder() is None, reason="the data folder is not on this machine")


@pytest.mark.parametrize("load", [acs, adult, adult_arx, adult_capital_loss, adult_hierarchies, coauthors])
def test_absent_data_is_said_in_a_sentence(
    load: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loader without its file raises an input error that says how to name the folder."""
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    with pytest.raises(InputError, match="HEDGEROW_DATA"):
        load()


def test_the_named_folder_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in HEDGEROW_DATA is taken, and one that does not exist means none."""
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    assert data_folder() == tmp_path.resolve()
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "none"))
    assert data_folder() is None


def test_a_folder_beside_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, ../shared/data beside the working directory is taken."""
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    assert data_folder() == (tmp_path / "shared" / "data").resolve()


def _adult_file(folder: Path, part: list[str], workclass: list[str], loss: list[int]) -> None:
    (folder / "adult").mkdir()
    pq.write_table(
        pa.table({"workclass": pa.array(workclass, pa.large_string()), "capital-loss": loss, "part": part}),
        folder / "adult" / "adult_48842.parquet",
    )


def test_question_marks_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adult writes ? for an unknown text; it is read as missing and texts come as plain strings."""
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    _adult_file(tmp_path, ["train", "test"], ["?", "Private"], [0, 5])
    table = adult()
    assert table["workclass"].to_pylist() == [None, "Private"]
    assert table.schema.field("workclass").type == pa.string()


def test_another_adult_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that does not give the dissertation's 1,427 rows is not passed off as that table."""
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    _adult_file(tmp_path, ["train"] * 3, ["Private", "?", "Private"], [5, 6, 0])
    with pytest.raises(InputError, match=r"it gave \(1, 1\)"):
        adult_capital_loss()


@needs_data
def test_adult() -> None:
    """The whole table, its complete train rows, and the people with a capital loss have the known sizes."""
    table = adult()
    assert (table.num_rows, table.num_columns) == (48_842, 16)
    train = table.filter(pa.compute.equal(table["part"], "train"))
    assert train.drop_null().num_rows == 30_162 == adult_arx().num_rows
    losses = adult_capital_loss()
    values = losses["capital-loss"].to_pylist()
    assert (len(values), len(set(values)), min(values), max(values)) == (1427, 89, 155, 4356)


@needs_data
def test_acs() -> None:
    """The survey has its rows, whole numbers, plain texts, and missing travel times."""
    table = acs()
    assert (table.num_rows, table.num_columns) == (295_243, 13)
    assert {str(field.type) for field in table.schema} == {"string", "int64"}
    assert table["Travel time to work"].null_count == 16_638


@needs_data
def test_coauthors() -> None:
    """Every edge joins an author and a paper that exist."""
    graph = coauthors()
    assert (graph.left.num_rows, graph.right.num_rows, graph.edges.num_rows) == (116_687, 109_769, 387_368)
    assert set(graph.edges["author"].unique().to_pylist()) <= set(graph.left["author"].to_pylist())
    assert set(graph.edges["paper"].unique().to_pylist()) <= set(graph.right["paper"].to_pylist())
