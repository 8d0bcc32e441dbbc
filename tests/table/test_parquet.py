"""Parquet files, whole, damaged and hostile."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.errors import InputError, ParameterError
from hedgerow.table import read_parquet, read_table

CANARY = "canary-91bd"


@pytest.fixture
def stored(tmp_path):
    """Write an Arrow table and give its path."""

    def stored(table, **options):
        pq.write_table(table, tmp_path / "t.parquet", **options)
        return tmp_path / "t.parquet"

    return stored


def test_a_file_is_read(stored):
    """Columns come back with their types, texts decoded, in one chunk each."""
    table = read_table(
        stored(pa.table({"a": [1, None], "s": ["x", None], "d": pa.array([1.5, 2]).cast(pa.decimal128(5, 1))}))
    )
    assert table.kind == "file"
    assert table.arrow.schema.types == [pa.int64(), pa.string(), pa.decimal128(5, 1)]
    assert table.arrow.column("s").to_pylist() == ["x", None]


def test_row_groups_and_dictionaries_are_joined(stored):
    """Row groups with dictionaries of their own give one column."""
    values = [f"v{i % 50}" if i % 9 else None for i in range(5_000)]
    path = stored(
        pa.table({"s": pa.array(values).dictionary_encode(), "l": pa.array(values, pa.large_string())}),
        row_group_size=100,
    )
    table = read_table(path).arrow
    assert table.column("s").to_pylist() == table.column("l").to_pylist() == values


def test_an_index_that_pandas_stored_is_dropped(tmp_path):
    """The index column is in the file; it is not in the table."""
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": [1]}, index=pandas.Index([CANARY], name="who")).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").names == ("a",)


@pytest.mark.parametrize("nested", [[[1]], [{"x": 1}]])
def test_nested_columns_are_refused_unread(stored, nested):
    """The type in the footer is enough to refuse, whatever the pages hold."""
    path = stored(pa.table({"a": [1], "n": nested}))
    path.write_bytes(b"PAR1" + b"\xff" * 60 + path.read_bytes()[64:])
    with pytest.raises(InputError, match=r"Column 'n' has type (list|struct)"):
        read_table(path)


def test_a_file_without_rows_is_refused(stored):
    """No rows, no table."""
    with pytest.raises(InputError, match="at least one row"):
        read_table(stored(pa.table({"a": pa.array([], pa.int64())})))


@pytest.mark.parametrize("keep", [0, 3, 4, 50, 0.5, -1, -4, -8, -20])
def test_a_truncated_file_is_refused(stored, keep):
    """Wherever a file is cut, the refusal is the same sentence."""
    path = stored(pa.table({"a": range(1000), "s": [CANARY] * 1000}))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(InputError, match=r"'t\.parquet' is not a whole Parquet file") as caught:
        read_table(path)
    assert caught.value.__context__ is None


@contextmanager
def suppress_into(refusals):
    """Collect the messages of refusals; anything else that is raised fails the test."""
    try:
        yield
    except InputError as error:
        refusals.append(str(error))


def test_damaged_bytes_give_a_typed_error_or_a_table(stored):
    """Flipping any byte never crashes, and no message quotes a cell."""
    path = stored(pa.table({"a": range(50), "s": [f"{CANARY}{i}" for i in range(50)]}), compression="none")
    whole = path.read_bytes()
    refusals = []
    for place in np.random.default_rng(0).integers(0, len(whole), 300):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with suppress_into(refusals):
            read_table(path)
    assert refusals
    assert not any(CANARY in refusal for refusal in refusals)


def test_size_is_checked_before_reading(stored):
    """A file that announces more cells than allowed is refused by its footer."""
    path = stored(pa.table({"a": np.zeros(100_000, np.int64), "b": np.zeros(100_000, np.int64)}))
    with pytest.raises(InputError, match="announces 100,000 rows of 2 columns, more than the limit of 199,999 cells"):
        read_parquet(path, max_cells=199_999)
    assert read_parquet(path, max_cells=200_000).num_rows == 100_000


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "3", None])
def test_the_limit_is_checked_too(stored, limit):
    """The limit must be a whole number of at least 1."""
    with pytest.raises(ParameterError, match="'max_cells' must be an integer of at least 1"):
        read_parquet(stored(pa.table({"a": [1]})), max_cells=limit)


def test_a_text_bomb_is_refused(stored):
    """Three kilobytes that would decode to ten gigabytes of text are refused, not decoded."""
    zeros = pa.array(np.zeros(1_000_000, np.int32))
    path = stored(pa.table({"s": pa.DictionaryArray.from_arrays(zeros, pa.array(["x" * 10_000]))}))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="Column 's' holds more than 2 GiB of text"):
        read_table(path)


def test_repeated_text_is_measured_before_it_is_decoded(stored, monkeypatch):
    """Plain text columns are read as dictionaries too, so that their size is known before it is taken."""
    path = stored(pa.table({"s": ["x" * 10_000] * 500}), row_group_size=100)
    monkeypatch.setattr("hedgerow.table.flat.MOST_TEXT", 4_999_999)
    with pytest.raises(InputError, match="Column 's' holds more than 2 GiB of text"):
        read_table(path)
