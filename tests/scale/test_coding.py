"""Columns as codes of the whole table; columns with too many values stay as they are, or are refused."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.randomness import generator
from hedgerow.scale.coding import count_table
from hedgerow.scale.duckdb import DuckEngine
from hedgerow.verify import verify_bundle

ROWS = 240


@pytest.fixture(autouse=True)
def _few_codes(monkeypatch):
    """Columns of more than 50 values are wide, blocks have 60 rows."""
    monkeypatch.setattr("hedgerow.scale.coding.MOST_CODES", 50)
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 60)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 30)


@pytest.fixture
def table():
    """A table with wide columns of numbers, texts and weights."""
    random = generator(3)
    return pa.table(
        {
            "age": random.integers(20, 50, ROWS),
            "wage": pa.array(np.where(np.arange(ROWS) % 10 == 0, np.nan, np.arange(ROWS) / 7.0)),
            "note": [f" note {n} " for n in range(ROWS)],
            "weight": np.arange(1, ROWS + 1) / 3.0,
            "ill": [f"i{n}" for n in random.integers(0, 9, ROWS)],
        }
    )


def _published(out, names):
    tables = [pq.read_table(part) for part in sorted(out.glob("*.parquet")) if part.name.split("-")[0] in names]
    return pa.concat_tables(tables)


def test_wide_columns_are_published_as_in_memory(table, tmp_path):
    """Texts are trimmed, NaN is missing, weights are checked; nothing is decided on such columns."""
    schema = hr.Schema(quasi=["age", "wage"], sensitive="ill", plain="note", weight="weight")
    hr.Anatomy(l=3).publish(table, schema, out=tmp_path / "out")
    verify_bundle(tmp_path / "out")
    found, whole = _published(tmp_path / "out", ["quasi"]), hr.Anatomy(l=3).publish(table, schema).tables["quasi"]
    assert found.schema.field("wage").type == pa.float64()
    for name in ("wage", "note", "weight"):
        assert Counter(found[name].to_pylist()) == Counter(whole[name].to_pylist())


def test_wide_columns_can_be_suppressed(table, tmp_path):
    """Rows without a value are left out and counted."""
    schema = hr.Schema(quasi=["age", "wage"], sensitive="ill", plain=["note", "weight"], missing={"wage": "suppress"})
    made = hr.Anatomy(l=3).publish(table, schema, out=tmp_path / "out")
    assert made.rows == hr.Anatomy(l=3).publish(table, schema).rows
    assert None not in _published(tmp_path / "out", ["quasi"])["wage"].to_pylist()


def test_nothing_is_decided_on_wide_columns(table, tmp_path):
    """A sensitive column, or a quasi-identifier that is cut, must have codes."""
    schema = hr.Schema(quasi="age", sensitive="wage", plain=["note", "weight", "ill"], missing={"wage": "suppress"})
    with pytest.raises(SchemaError, match="different values"):
        hr.KEAnonymity(k=2, e=1).publish(table, schema, out=tmp_path / "out")
    schema = hr.Schema(quasi=["age", "wage"], sensitive="ill", plain=["note", "weight"])
    with pytest.raises(SchemaError, match="different values"):
        hr.Mondrian(k=3).publish(table, schema, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_weights_are_checked(table, tmp_path):
    """A weight of zero is found in the pass that scatters."""
    wrong = table.set_column(3, "weight", pa.array(np.arange(ROWS) / 3.0))
    schema = hr.Schema(quasi=["age", "wage"], sensitive="ill", plain="note", weight="weight")
    with pytest.raises(SchemaError, match="weight"):
        hr.Anatomy(l=3).publish(wrong, schema, out=tmp_path / "out")


def test_policies_are_those_of_memory(tmp_path):
    """Missing sensitive values are refused by default; a table of which every row is suppressed has none to publish."""
    table = {"age": [1, 2, 3, 4], "ill": ["a", None, "b", None]}
    with DuckEngine(table, tmp_path / "out", memory=1 << 28) as engine, pytest.raises(SchemaError, match="2 missing"):
        count_table(engine, hr.Schema(quasi="age", sensitive="ill"))
    table = {"age": [None, 1, None], "ill": ["a", None, "b"]}
    schema = hr.Schema(quasi="age", sensitive="ill", missing="suppress")
    with DuckEngine(table, tmp_path / "out", memory=1 << 28) as engine, pytest.raises(Infeasible, match="No rows"):
        count_table(engine, schema)


def test_merged_texts_are_counted(tmp_path):
    """Texts that differ in nothing that the policy keeps are one code."""
    table = {"age": [1, 2, 3, 4], "ill": ["flu", " flu", "Flu", "cold"]}
    schema = hr.Schema(quasi="age", sensitive="ill", texts={"ill": "folded"})
    with DuckEngine(table, tmp_path / "out", memory=1 << 28) as engine:
        counted = count_table(engine, schema)
    assert counted.merged == {"ill": 2}
    assert counted.column("ill").counts.tolist() == [1, 3]
