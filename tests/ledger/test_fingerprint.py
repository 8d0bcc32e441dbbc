"""The same rows have the same fingerprints, wherever they come from."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.ledger.fingerprint import Hashes
from hedgerow.table import read_table, write_csv

KEY = bytes(range(32))
TABLE = pa.table({"name": ["Ada", "Bob", None, "x" * 100], "age": [30, 41, 41, 7], "pay": [1.5, 2.0, 3.25, 2.0]})


def _hashes(source, names=("name", "age", "pay"), key=KEY):
    return Hashes(read_table(source)).rows(tuple(names), key).tolist()


def test_columns_and_rows_in_another_order_are_the_same_rows():
    """Turned columns leave each row's hash, turned rows turn the hashes."""
    turned = TABLE.select(["pay", "name", "age"])
    assert _hashes(turned, ("age", "pay", "name")) == _hashes(TABLE)
    assert _hashes(TABLE.take([3, 1, 0, 2])) == [_hashes(TABLE)[i] for i in (3, 1, 0, 2)]


def test_a_file_has_the_rows_that_were_written(tmp_path):
    """CSV, Parquet and frames give the same hashes."""
    write_csv(TABLE, tmp_path / "t.csv")
    pq.write_table(TABLE, tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", pl.from_arrow(TABLE), TABLE.to_pandas()):
        assert _hashes(source) == _hashes(TABLE)


@pytest.mark.parametrize("other", [
    (pa.array([5, 12, None]), pa.array([5.0, 12.0, None])),
    (pa.array([5, 12, None]), pa.array([Decimal("5.00"), Decimal("12.00"), None])),
    (pa.array([0.5, 10.0, 2.25]), pa.array([Decimal("0.50"), Decimal("10.00"), Decimal("2.25")])),
    (pa.array([0, 1e-7, -2.5e-9, 1e22]), pa.array([Decimal(0), Decimal("1e-7"), Decimal("-2.5e-9"), Decimal("1e22")])),
    (pa.array([0, 3]), pa.array([Decimal(0), Decimal(3)], pa.decimal128(20, 10))),
    (pa.array([date(2020, 1, 2)]), pa.array([datetime(2020, 1, 2)])),
    (pa.array(["José", "a b"]), pa.array(["Jose\u0301", "a\u200b\u00a0b"])),
])  # fmt: skip
def test_a_value_is_the_same_in_every_type(other):
    """Whole numbers, decimals and days do not depend on the type that holds them."""
    one, two = (_hashes(pa.table({"x": column}), ("x",)) for column in other)
    assert one == two


def test_different_rows_differ():
    """Another value, another column name, a missing value, another key: another hash."""
    base = _hashes(pa.table({"x": ["a", "b", "", None, "x" * 65, "x" * 66]}), ("x",))
    assert len(set(base)) == 6
    assert not set(base) & set(_hashes(pa.table({"y": ["a", "b", "", None]}), ("y",)))
    assert not set(base) & set(_hashes(pa.table({"x": ["a", "b", "", None]}), ("x",), bytes(32)))
    swapped = pa.table({"x": ["a"], "y": ["b"]}), pa.table({"x": ["b"], "y": ["a"]})
    assert _hashes(swapped[0], ("x", "y")) != _hashes(swapped[1], ("x", "y"))


def test_hashes_do_not_add_up():
    """Three known rows do not give away the hash of a fourth, which sums of values would."""
    table = pa.table({"x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]})
    ac, ad, bc, bd = Hashes(read_table(table)).rows(("x", "y"), KEY)
    with np.errstate(over="ignore"):
        assert ad + bc - ac != bd


def test_a_table_has_one_hash_in_any_order():
    """The hash of the table forgets the order of rows and columns and notices a changed cell."""
    marks = [Hashes(read_table(t)).mark(KEY) for t in (TABLE, TABLE.take([1, 0, 3, 2]).select(["age", "pay", "name"]))]
    assert marks[0] == marks[1]
    changed = TABLE.set_column(1, "age", pa.array([30, 41, 41, 8]))
    assert Hashes(read_table(changed)).mark(KEY) != marks[0]
