"""Arrow data in any shape become flat columns with nothing riding along."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hedgerow.errors import InputError
from hedgerow.table import Table, read_table

CANARY = "canary-7f3a"


def bytes_of(table: Table) -> bytes:
    """Everything that the table's buffers and schema hold."""
    buffers = [b for column in table.arrow.columns for chunk in column.chunks for b in chunk.buffers() if b]
    return b"".join(b.to_pybytes() for b in buffers) + table.arrow.schema.serialize().to_pybytes()


CONVERSIONS = {
    "small whole numbers": (pa.array([1, None], pa.int8()), pa.int64(), [1, None]),
    "unsigned": (pa.array([2**32 - 1], pa.uint32()), pa.int64(), [2**32 - 1]),
    "unsigned 64": (pa.array([2**63 - 1], pa.uint64()), pa.int64(), [2**63 - 1]),
    "small floats": (pa.array([1.5, None], pa.float32()), pa.float64(), [1.5, None]),
    "half floats": (pa.array([np.float16(1.5)], pa.float16()), pa.float64(), [1.5]),
    "not a number": (pa.array([float("nan"), 1.0]), pa.float64(), [None, 1.0]),
    "decimals": (pa.array([Decimal("1.50")], pa.decimal128(9, 2)), pa.decimal128(9, 2), [Decimal("1.50")]),
    "small decimals": (pa.array([Decimal("1.5")], pa.decimal64(9, 1)), pa.decimal128(9, 1), [Decimal("1.5")]),
    "thousands": (pa.array([Decimal(1500)], pa.decimal128(5, -2)), pa.decimal128(7, 0), [Decimal(1500)]),
    "wide decimals": (pa.array([Decimal("1.5")], pa.decimal256(60, 1)), pa.decimal128(38, 1), [Decimal("1.5")]),
    "large text": (pa.array(["x", None], pa.large_string()), pa.string(), ["x", None]),
    "viewed text": (pa.array(["x" * 30, None], pa.string_view()), pa.string(), ["x" * 30, None]),
    "categories": (pa.array(["b", None, "a"]).dictionary_encode(), pa.string(), ["b", None, "a"]),
    "run lengths": (pc.run_end_encode(pa.array([1, 1, None])), pa.int64(), [1, 1, None]),
    "nothing": (pa.nulls(2), pa.string(), [None, None]),
    "milliseconds of days": (pa.array([dt.date(2020, 1, 2)], pa.date64()), pa.date32(), [dt.date(2020, 1, 2)]),
    "seconds": (pa.array([0], pa.timestamp("s")), pa.timestamp("us"), [dt.datetime(1970, 1, 1)]),
    "a zone": (
        pa.array([dt.datetime(2020, 1, 1, 12)], pa.timestamp("ms", "America/New_York")),
        pa.timestamp("us"),
        [dt.datetime(2020, 1, 1, 12)],
    ),
}


@pytest.mark.parametrize("case", CONVERSIONS)
def test_types_become_one_of_seven(case):
    """Every flat type of Arrow has one form inside, with the same values."""
    array, kind, values = CONVERSIONS[case]
    column = read_table(pa.table({"c": array})).arrow.column("c")
    assert (column.type, column.to_pylist(), column.num_chunks) == (kind, values, 1)


def test_categories_with_missing_entries():
    """A category that is itself missing is missing in its rows, in every chunk."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["x", None, "z", CANARY]))
    table = read_table(pa.table({"c": pa.chunked_array([array, array])}))
    assert table.arrow.column("c").to_pylist() == ["x", None, None, "z"] * 2
    assert CANARY.encode() not in bytes_of(table)


def test_negative_zero_becomes_zero():
    """Equal numbers have equal bytes."""
    numbers = read_table({"c": [-0.0, 0.0, -1.0]}).arrow.column("c").to_numpy()
    assert np.signbit(numbers).tolist() == [False, False, True]


REFUSED = {
    "list": (pa.array([[1]]), "type list.*single values"),
    "struct": (pa.array([{CANARY: 1}]), "type struct.*single values"),
    "map": (pa.array([[(CANARY, 1)]], pa.map_(pa.string(), pa.int64())), "type map"),
    "binary": (pa.array([CANARY.encode()]), "type binary"),
    "time of day": (pa.array([dt.time(1)]), "type time64"),
    "duration": (pa.array([dt.timedelta(1)]), "type duration"),
    "uuid": (pa.array([b"\0" * 16], pa.uuid()), "extension arrow.uuid"),
    "unsigned": (pa.array([2**64 - 1], pa.uint64()), "beyond 64 bits"),
    "infinite": (pa.array([1.0, float("-inf")]), "infinite number"),
    "decimal": (pa.array([Decimal(10**50)], pa.decimal256(60, 0)), "more than 38 digits"),
    "nanoseconds": (pa.array([1], pa.timestamp("ns")), "finer than microseconds"),
    "far future": (pa.array([2**62], pa.timestamp("us")), "outside the years"),
    "year 10000": (pa.array([253_402_300_800], pa.timestamp("s")), "outside the years"),
    "year 0": (pa.array([-62_135_596_801], pa.timestamp("s")), "outside the years"),
    "far future in days": (pa.array([2**30], pa.int32()).view(pa.date32()), "outside the years"),
    "part of a day": (pa.array([1], pa.int64()).view(pa.date64()), "damaged"),
    "broken text": (pa.array([b"\xff\xfe"]).view(pa.string()), "damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_held_is_refused_by_column(case):
    """The refusal names the column and the trouble, and quotes nothing of the data."""
    array, reason = REFUSED[case]
    with pytest.raises(InputError, match=f"Column 'c' .*{reason}") as caught:
        read_table(pa.table({"c": array}))
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_text_that_explodes_when_decoded_is_refused():
    """A long text that a dictionary repeats is measured before it is written out."""
    bomb = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3_000, np.int32)), pa.array(["x" * 10**6]))
    with pytest.raises(InputError, match="more than 2 GiB of text"):
        read_table(pa.table({"c": pa.chunked_array([bomb, bomb])}))


def test_rows_outside_a_slice_stay_behind():
    """A slice is copied without the rows around it, for text and for numbers."""
    secret = 0x5EC12E7
    whole = pa.table(
        {"t": [CANARY, "a", CANARY], "n": [secret, 1, secret], "v": pa.array([CANARY] * 3, pa.large_string())}
    )
    table = read_table(whole.slice(1, 1).select(["t", "n"]))
    held = bytes_of(table)
    assert CANARY.encode() not in held
    assert secret.to_bytes(8, "little") not in held


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.string()])
def test_slices_of_converted_text_stay_behind_too(kind):
    """Casts that share buffers share compact ones."""
    assert CANARY.encode() not in bytes_of(read_table(pa.table({"t": pa.array([CANARY, "a"], kind).slice(1)})))


def test_values_under_a_null_stay_behind():
    """A masked number keeps its bytes in Arrow; they are zeroed here."""
    secret = np.array([0x5EC12E7, 1, 2])
    masked = pa.array(secret, mask=np.array([True, False, False]))
    assert secret[:1].tobytes() in masked.buffers()[1].to_pybytes()
    table = read_table(pa.table({"n": masked}))
    assert table.arrow.column("n").to_pylist() == [None, 1, 2]
    assert secret[:1].tobytes() not in bytes_of(table)


def test_metadata_stay_behind():
    """Metadata of the table and of its fields do not travel."""
    field = pa.field("a", pa.int64(), metadata={"k": CANARY})
    table = read_table(pa.table([[1]], schema=pa.schema([field], metadata={"k": CANARY})))
    assert table.arrow.schema.metadata is None
    assert CANARY.encode() not in bytes_of(table)


def test_an_index_declared_by_pandas_is_dropped():
    """A stored index is recognised by the metadata that pandas writes."""
    pandas = pytest.importorskip("pandas")
    arrow = pa.Table.from_pandas(pandas.DataFrame({"a": [1]}, index=[CANARY]))
    assert arrow.num_columns == 2
    assert read_table(arrow).names == ("a",)


@pytest.mark.parametrize(
    "metadata", [b"", b"[]", b"{", b'{"index_columns": 5}', b'{"index_columns": [{"kind": "range"}, 7]}']
)
def test_odd_metadata_do_no_harm(metadata):
    """Metadata that are not what pandas writes are ignored."""
    assert read_table(pa.table({"a": [1]}).replace_schema_metadata({"pandas": metadata})).names == ("a",)


def test_the_input_can_change_later():
    """A table holds a copy: changing the memory it came from changes nothing."""
    memory = np.array([1, 2, 3])
    table = read_table(pa.table({"a": pa.array(memory)}))
    memory[:] = 0
    assert table.arrow.column("a").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("names", [["a", "a"], ["", "b"], [" ", "b"], ["a\0", "b"]])
def test_names_are_checked(names):
    """Double, empty and unwritable names are refused."""
    with pytest.raises(InputError, match=r"[Cc]olumn"):
        read_table(pa.table([[1], [2]], names=names))


@pytest.mark.parametrize("name", ["group", "select", 'a "b"', "a.b", "a b", "ключ", "'; DROP TABLE x; --"])
def test_unusual_names_are_kept(name):
    """Quotes, dots, spaces and keywords are names like others."""
    assert read_table(pa.table([[1]], names=[name])).names == (name,)


@pytest.mark.parametrize("empty", [pa.table({}), pa.table({"a": pa.array([], pa.int64())})])
def test_a_table_needs_a_row_and_a_column(empty):
    """Nothing cannot be published."""
    with pytest.raises(InputError, match="at least one row and one column"):
        read_table(empty)


@pytest.mark.parametrize("others", [["b"] * 40, [f"b{n}" for n in range(40)]], ids=["repeated", "different"])
@pytest.mark.parametrize(
    ("ends", "data"), [([0, 1, 2], b"a\xff"), ([0, 2, 1], b"aa"), ([0, 9, 2], b"aa")], ids=["letters", "order", "end"]
)
def test_damaged_texts_are_refused_whether_texts_repeat_or_not(others, ends, data):
    """Each distinct text is looked at, and where every text begins and ends."""
    damaged = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array(ends, np.int32)), pa.py_buffer(data)])
    column = pa.chunked_array([pa.array(others), damaged])
    with pytest.raises(InputError, match="Column 'c' is damaged"):
        read_table(pa.table({"c": column}))
