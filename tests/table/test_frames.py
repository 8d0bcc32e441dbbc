"""Data frames of every library, one test body for all."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError, ParameterError
from hedgerow.table import read_table, to_kind, write_csv

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

CANARY = "canary-c0de"

TABLE = pa.table(
    {
        "i": [1, None, -(2**60)],
        "f": [1.5, None, 0.0],
        "s": ["a", None, "é"],
        "b": [True, None, False],
        "d": [dt.date(2020, 1, 1), None, dt.date(1, 1, 1)],
        "t": [dt.datetime(2020, 1, 1, 2, 3, 4, 5), None, dt.datetime(1999, 1, 1)],
        "n": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2)),
    }
)


def through_csv(table, folder):
    """Write as CSV and give the path."""
    write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def through_parquet(table, folder):
    """Write as Parquet and give the path."""
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "pandas": lambda table, _: to_kind(table, "pandas"),
    "polars": lambda table, _: to_kind(table, "polars"),
    "lazy polars": lambda table, _: to_kind(table, "polars").lazy(),
    "duckdb": lambda table, _: to_kind(table, "duckdb"),
    "arrow": lambda table, _: table,
    "batch": lambda table, _: table.to_batches()[0],
    "reader": lambda table, _: table.to_reader(),
    "mapping": lambda table, _: {name: table.column(name) for name in table.column_names},
    "parquet": through_parquet,
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_table(source, tmp_path):
    """Types, values and gaps are the same wherever rows come from."""
    arrow = read_table(SOURCES[source](TABLE, tmp_path)).arrow
    # pandas keeps decimals without their precision, polars with the largest one.
    widened = arrow.set_column(6, "n", arrow.column("n").cast(pa.decimal128(38, 2)))
    assert widened.equals(TABLE.set_column(6, "n", TABLE.column("n").cast(pa.decimal128(38, 2))))


def test_csv_gives_the_same_table_but_for_decimals(tmp_path):
    """In a text file decimals are floats; everything else comes back."""
    arrow = read_table(through_csv(TABLE, tmp_path)).arrow
    assert arrow.drop_columns("n").equals(TABLE.drop_columns("n"))
    assert arrow.column("n").to_pylist() == [1.5, None, -2.25]


cells = {
    "i": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    # A letter first and last: texts that look like numbers, and spaces at the ends, are not a text file's strength.
    "s": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8).map(lambda s: f"x{s}y"),
    "b": st.booleans(),
    "d": st.dates(),
    "t": st.datetimes(),
}
types = {
    "i": pa.int64(),
    "f": pa.float64(),
    "s": pa.string(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
}


@st.composite
def tables(draw):
    """Any small table: some of the columns, gaps included, at least one value in each."""
    names = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, unique=True))
    rows = draw(st.integers(1, 8))
    columns = {}
    for name in names:
        values = st.lists(st.none() | cells[name], min_size=rows, max_size=rows)
        columns[name] = pa.array(draw(values.filter(any_value)), types[name])
    return pa.table(columns)


def any_value(values):
    """Tell whether a column has a value: one that has none has no type in a text file."""
    return any(value is not None for value in values)


@pytest.mark.parametrize("source", [*SOURCES, "csv"])
@given(table=tables())
def test_any_table_comes_back(source, tmp_path_factory, table):
    """Through every library and every file that we write, a table comes back as it was."""
    through = {**SOURCES, "csv": through_csv}[source]
    assert read_table(through(table, tmp_path_factory.getbasetemp())).arrow.equals(table)


@pytest.mark.parametrize("index", [[5, 5, 5], [CANARY, "b", "c"], [2, 0, 1]])
def test_an_index_of_any_kind_is_dropped(index):
    """Rows go by position; labels of rows are not data."""
    frame = pandas.DataFrame({"a": [1, 2, 3]}, index=index)
    assert read_table(frame).arrow.to_pydict() == {"a": [1, 2, 3]}
    layered = pandas.DataFrame({"a": [1, 2, 3]}, index=pandas.MultiIndex.from_tuples([(i, CANARY) for i in index]))
    assert read_table(layered).names == ("a",)


def test_nullable_categorical_and_sparse_columns():
    """The special columns of pandas become plain ones, without categories that no row uses."""
    frame = pandas.DataFrame(
        {
            "c": pandas.Categorical(["a", None], categories=[CANARY, "a"]),
            "i": pandas.array([1, None], dtype="Int32"),
            "f": pandas.array([1.5, None], dtype="Float64"),
            "s": pandas.arrays.SparseArray([0, 7]),
            "o": pandas.Series(["x", None], dtype=object),
            "z": pandas.to_datetime(["2020-01-01", None]).tz_localize("Europe/Rome"),
        }
    )
    assert read_table(frame).arrow.to_pydict() == {
        "c": ["a", None],
        "i": [1, None],
        "f": [1.5, None],
        "s": [0, 7],
        "o": ["x", None],
        "z": [dt.datetime(2019, 12, 31, 23), None],
    }


def test_categories_of_polars():
    """Categorical and Enum columns become text."""
    frame = polars.DataFrame({"e": polars.Series(["a", None], dtype=polars.Enum([CANARY, "a"]))})
    table = read_table(frame)
    assert table.arrow.column("e").to_pylist() == ["a", None]
    assert table.arrow.schema.field("e").metadata is None


def test_numbered_columns_get_their_number_as_name():
    """Frames made from arrays have numbers for names."""
    assert read_table(pandas.DataFrame(np.zeros((1, 2)))).names == ("0", "1")


BAD = {
    "mixed": (pandas.DataFrame({"a": [1, CANARY]}), "Column 'a' must hold values of one type"),
    "objects": (pandas.DataFrame({"a": [object()]}), "Column 'a' must hold values of one type"),
    "complex": (pandas.DataFrame({"a": [1j]}), "Column 'a' must hold values of one type"),
    "huge": (pandas.DataFrame({"a": [2**70]}), "Column 'a' must hold values of one type"),
    "surrogate": (pandas.DataFrame({"a": pandas.Series([f"{CANARY}\ud800"], dtype=object)}), "Column 'a' must hold"),
    "periods": (
        pandas.DataFrame({"a": pandas.period_range("2020", periods=1, freq="D")}),
        "Column 'a' has type extension",
    ),
    "infinite": (pandas.DataFrame({"a": [np.inf]}), "Column 'a' holds an infinite"),
    "double names": (pandas.DataFrame([[1, 2]], columns=[CANARY, CANARY]), "columns 1, 2 share a name"),
    "double after conversion": (pandas.DataFrame([[1, 2]], columns=[0, "0"]), "columns 1, 2 share a name"),
    "layered names": (pandas.DataFrame([[1]], columns=pandas.MultiIndex.from_tuples([(CANARY, "b")])), "type tuple"),
    "nameless": (pandas.DataFrame([[1]], columns=[None]), "Column 1 must be named by a text"),
    "true for a name": (pandas.DataFrame([[1]], columns=[True]), "type bool"),
    "no rows": (pandas.DataFrame({"a": []}), "at least one row"),
    "series": (pandas.Series([CANARY]), r"got pandas\..*Series"),
    "polars object": (polars.DataFrame({"a": polars.Series([object()], dtype=polars.Object)}), "Column 'a' has type"),
    "polars list": (polars.DataFrame({"a": [[CANARY]]}), "Column 'a' has type large_list"),
    "polars huge": (polars.DataFrame({"a": polars.Series([1], dtype=polars.Int128)}), "Column 'a' has type Int128"),
    "polars series": (polars.Series([CANARY]), r"got polars\..*Series"),
    "polars query": (polars.LazyFrame({"a": [CANARY]}).cast(polars.Int64), "query cannot be computed"),
    "arrow array": (pa.array([CANARY]), "got pyarrow"),
    "lengths": ({"a": [1], "b": [1, 2]}, "equally long; they have from 1 to 2"),
    "mixed mapping": ({"a": [1, CANARY]}, "Column 'a' must hold values of one type"),
    "text for a column": ({"a": CANARY}, "Column 'a' must hold values of one type"),
    "mapping for a column": (pandas.DataFrame({"a": [CANARY]}).to_dict(), "order of the rows; got dict"),
    "set for a column": ({"a": {CANARY}}, "order of the rows; got set"),
    "number for a column": ({"a": 5}, "Column 'a' must hold values of one type"),
    "number for a name": ({1: [1]}, "type int"),
    "empty mapping": ({}, "at least one row and one column"),
    "list": ([CANARY], r"got builtins\.list"),
    "nothing": (None, "got builtins.NoneType"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames_are_refused_without_quoting_them(case):
    """The refusal is a sentence of ours: no cell is in it, and no foreign error hangs on it."""
    source, reason = BAD[case]
    with pytest.raises(InputError, match=reason) as caught:
        read_table(source)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


MIXTURES = [
    [dt.date(2020, 1, 1), 5],
    [np.True_, dt.date(2020, 1, 1)],
    [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 3)],
    [dt.datetime(2020, 1, 1, 3), 1.5],
    [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
    [0.5, True],
    [1, np.True_],
    [dt.datetime(2020, 1, 1), pandas.Timestamp("2020-01-01 05:00:00.000000001")],
]
"""Python's values of two kinds, of which Arrow makes one kind in silence: 5 below a date is a day of 1970."""


@pytest.mark.parametrize("values", MIXTURES, ids=str)
def test_values_of_two_kinds_are_no_column(values):
    """In lists, frames of objects and categories, in either order."""
    for listed in (values, values[::-1], [None, *values]):
        objects = pandas.Series(listed, dtype=object)
        sources = [
            {"a": listed},
            {"a": iter(listed)},
            {"a": np.array(listed, dtype=object)},
            pandas.DataFrame({"a": objects}),
        ]
        if not {bool, np.bool_} & set(map(type, values)):  # pandas itself makes numbers of these
            sources.append(pandas.DataFrame({"a": objects.astype("category")}))
        for source in sources:
            with pytest.raises(InputError, match=r"must hold values of one type|finer than microseconds"):
                read_table(source)


def test_numbers_of_several_types_keep_their_values():
    """Whole numbers, floats of all widths and decimals may stand in one column, and missing values among them."""
    assert read_table({"a": [1, np.float16(0.5), None, np.int8(3)]}).arrow["a"].to_pylist() == [1, 0.5, None, 3]
    assert read_table({"a": [1, Decimal("1.5"), float("nan")]}).arrow["a"].to_pylist() == [1, Decimal("1.5"), None]


def test_whole_numbers_beyond_38_digits_are_refused_by_name(tmp_path):
    """DuckDB hands over 2^128 - 1 as -1."""
    for number, kind in ((2**128 - 1, "UHUGEINT"), (2**127 - 1, "HUGEINT"), (10**38, "UHUGEINT")):
        with duckdb.connect(tmp_path / f"{kind}{number}.db") as connection:
            connection.sql(f"CREATE TABLE t AS SELECT {number}::{kind} AS a")
            with pytest.raises(InputError, match="'a' holds whole numbers of more than 38 digits"):
                read_table(connection.sql("FROM t"))
        with pytest.raises(InputError, match="'a' holds whole numbers of more than 38 digits"):
            read_table(f"duckdb:{tmp_path}/{kind}{number}.db#t")
    with duckdb.connect() as connection:
        assert read_table(connection.sql("SELECT 7::UHUGEINT AS a")).arrow["a"].to_pylist() == [7]


def test_a_connection_is_not_a_table():
    """A connection could stand for any table, so it stands for none."""
    with duckdb.connect() as connection, pytest.raises(InputError, match=r"got .*DuckDBPyConnection"):
        read_table(connection)


def test_a_failing_relation_is_refused_without_quoting_it():
    """DuckDB quotes the cell that it cannot convert; we do not."""
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT '{CANARY}' || range AS a FROM range(3)").select("a::INTEGER AS a")
        with pytest.raises(InputError, match="relation cannot be computed") as caught:
            read_table(relation)
    assert CANARY not in str(caught.value)


def refusal(source):
    """The sentence with which a source is refused, or nothing."""
    try:
        read_table(source)
    except InputError as error:
        return str(error)
    return ""


@given(st.data())
def test_no_message_quotes_a_cell(data):
    """Whatever mixture a column holds, a refusal never repeats any of it."""
    odd = st.sampled_from(
        [f"{CANARY}x", 1, 2.5, None, True, dt.date(2020, 1, 1), b"canary-c0de", [CANARY], {CANARY: 1}, 1j, 2**80]
    )
    source = {"a": data.draw(st.lists(odd, min_size=1, max_size=4))}
    if data.draw(st.booleans()):
        source = pandas.DataFrame({"a": pandas.Series(source["a"], dtype=object)})
    assert "canary" not in refusal(source)


def test_frames_are_never_changed():
    """Reading leaves frames as they were."""
    frame = pandas.DataFrame({"a": [-0.0, np.nan], "s": ["x", None]}, index=[3, 3])
    before = frame.copy(deep=True)
    read_table(frame)
    pandas.testing.assert_frame_equal(frame, before)
    assert np.signbit(frame["a"].iloc[0])


def test_whole_numbers_with_gaps_stay_whole_in_pandas():
    """A missing value does not turn large whole numbers into floats."""
    frame = to_kind(TABLE, "pandas")
    assert (str(frame["i"].dtype), str(frame["b"].dtype), frame["i"].iloc[2]) == ("Int64", "boolean", -(2**60))


def test_kinds_are_those_of_the_source():
    """The same kind goes out as came in."""
    for kind in ("pandas", "polars", "duckdb", "arrow"):
        source = to_kind(TABLE, kind)
        table = read_table(source)
        assert table.kind == kind
        assert type(to_kind(table.arrow, table.kind)) is type(source)
    assert to_kind(TABLE, "file") is TABLE


def test_an_unknown_kind_is_refused():
    """The refusal lists the kinds that exist."""
    with pytest.raises(ParameterError, match="'kind' must be one of 'pandas', 'polars'"):
        to_kind(TABLE, "excel")


def test_a_table_is_its_own_source():
    """Reading a table again gives the same object."""
    table = read_table(TABLE)
    assert read_table(table) is table


def test_any_arrow_stream_is_welcome():
    """Objects that export an Arrow stream are read without knowing their library."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return TABLE.__arrow_c_stream__(requested_schema)

    assert read_table(Stream()).arrow.equals(TABLE)
