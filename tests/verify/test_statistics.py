"""What a Parquet file says of its values beside them is what they are: another program would believe it."""

import io
import struct
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.errors import BundleError
from hedgerow.verify.parquet import read_parquet

COLUMNS = {
    "whole": (pa.array([701, 702, None, 703]), struct.pack("<q", 701), struct.pack("<q", 703)),
    "short": (pa.array([701, 702, 702, 703], pa.int32()), struct.pack("<i", 701), struct.pack("<i", 703)),
    "float": (pa.array([-7.25, 0.0, None, 9.75]), struct.pack("<d", -7.25), struct.pack("<d", 9.75)),
    "text": (pa.array(["abcdé", "bcd", None, "wxyz"]), "abcdé".encode(), b"wxyz"),
    "day": (pa.array([date(2020, 1, 1), date(2021, 1, 1)] * 2), struct.pack("<i", 18262), struct.pack("<i", 18628)),
    "moment": (
        pa.array([datetime(2020, 1, 1), datetime(2021, 1, 1)] * 2, pa.timestamp("us")),
        struct.pack("<q", 18262 * 86400 * 10**6),
        struct.pack("<q", 18628 * 86400 * 10**6),
    ),
    "decimal": (
        pa.array([Decimal("-1.25"), Decimal("99.50"), None, None], pa.decimal128(38, 2)),
        (-125).to_bytes(16, "big", signed=True),
        (9950).to_bytes(16, "big"),
    ),
}


def _file(column, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": column}), sink, **{"compression": "zstd", "store_schema": False} | options)
    return sink.getvalue()


def _places(content, wanted):
    found = [place for place in range(len(content)) if content.startswith(wanted, place)]
    assert found, "the writer says nothing of these values"
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("end", [1, 2], ids=["least", "greatest"])
@pytest.mark.parametrize("rows", [4, 2], ids=["one part", "two parts"])
def test_least_and_greatest_values_are_those_of_the_column(name, end, rows):
    """Of a part and of each page: every place in which the file says them is held against the values."""
    column, wanted = COLUMNS[name][0], COLUMNS[name][end]
    content = _file(column, row_group_size=rows)
    assert read_parquet("x.parquet", content, rows=4).column("x").to_pylist() == column.to_pylist()
    for place in _places(content, wanted):
        forged = bytearray(content)
        forged[place + len(wanted) - 1] ^= 1
        with pytest.raises(BundleError, match="not a readable"):
            read_parquet("x.parquet", bytes(forged), rows=4)


@pytest.mark.parametrize("gaps", [0, 1, 4])
def test_gaps_and_values_that_are_all_missing(gaps):
    """Nothing is least where nothing is; zeros of both signs are one number."""
    for kind in (pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.decimal128(5, 2)):
        column = pa.array([None] * gaps + [Decimal(0) if pa.types.is_decimal(kind) else 0] * (4 - gaps))
        column = column.cast(kind) if gaps < 4 else pa.nulls(4, kind)
        assert read_parquet("x.parquet", _file(column), rows=4).column("x").null_count == gaps


def test_no_dictionary_holds_what_no_row_has():
    """A value of a suppressed row would stay readable there."""
    used = pa.DictionaryArray.from_arrays([0, 1, 0], ["a", "b"])
    unused = pa.DictionaryArray.from_arrays([0, 1, 0], ["a", "b", "CANARY"])
    read_parquet("x.parquet", _file(used), rows=3)
    content = _file(unused)
    assert (
        pq.read_table(io.BytesIO(content), read_dictionary=["x"]).column("x").chunk(0).dictionary[2].as_py() == "CANARY"
    )
    with pytest.raises(BundleError, match="not a readable"):
        read_parquet("x.parquet", content, rows=3)


def test_long_columns_leave_their_dictionary():
    """Where a writer stops using a dictionary its entries are those of the rows before."""
    texts = pa.array([f"text {n * 7919 % 50_000}" for n in range(60_000)])
    content = _file(texts, dictionary_pagesize_limit=20_000, data_page_size=10_000)
    assert read_parquet("x.parquet", content, rows=60_000).num_rows == 60_000


def test_no_part_says_that_it_is_sorted():
    """Others would believe it."""
    content = _file(pa.array([2, 1]), sorting_columns=[pq.SortingColumn(0)])
    with pytest.raises(BundleError, match="not a readable"):
        read_parquet("x.parquet", content, rows=2)
