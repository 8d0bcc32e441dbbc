"""The table itself."""

import numpy as np
import pytest

from hedgerow.errors import SchemaError
from hedgerow.table import Table, read_table


@pytest.fixture
def table() -> Table:
    """Three rows, two columns."""
    return read_table({"age": [30, 20, 30], "name": ["canary", None, "b"]})


def test_names_and_rows(table):
    """A table tells its names and its size."""
    assert (table.names, table.num_rows, table.kind) == (("age", "name"), 3, "arrow")


def test_columns_are_encoded_once(table):
    """The second request for codes returns the first result."""
    assert table.encode("age") is table.encode("age")
    assert table.encode("age").codes.tolist() == [1, 0, 1]


def test_select_keeps_order_asked_for(table):
    """Columns come in the order in which they are named."""
    assert table.select(["name", "age"]).names == ("name", "age")


def test_take_picks_rows_by_position(table):
    """Rows come in the order of the positions, repeats included."""
    assert table.take(np.array([2, 0, 0])).arrow.to_pydict() == {"age": [30] * 3, "name": ["b", "canary", "canary"]}


def test_taken_rows_are_compact(table):
    """Rows that were not taken are not in the buffers either."""
    buffers = [
        b for c in table.take(np.array([1, 2])).arrow.columns for chunk in c.chunks for b in chunk.buffers() if b
    ]
    assert not any(b"canary" in buffer.to_pybytes() for buffer in buffers)


@pytest.mark.parametrize("use", [lambda t: t.encode("nope"), lambda t: t.select(["age", "nope"])])
def test_an_unknown_column_is_named(table, use):
    """The refusal names the column that is missing and those that exist."""
    with pytest.raises(SchemaError, match="no column 'nope'; it has 'age', 'name'"):
        use(table)


def test_a_table_cannot_be_changed(table):
    """Attributes of a table are frozen."""
    with pytest.raises(AttributeError):
        table.kind = "file"


def test_the_text_form_shows_no_cell(table):
    """Printing a table prints names, types and counts."""
    assert repr(table) == "Table(3 rows; age: int64, name: string)"


def test_the_text_form_of_a_wide_table_is_short():
    """Only the first columns are listed."""
    assert repr(read_table({f"c{i}": [1] for i in range(30)})).endswith("and 10 more)")


@pytest.mark.parametrize(
    "values", [["b", "a", None, "b", "a", "b"], [f"v{n}" for n in range(6)], [3, None, 1, 3, 3, 1]]
)
def test_columns_at_rows_are_the_values_there(values):
    """Texts that are published by their codes are those of the table, missing ones included."""
    rows = np.array([5, 2, 2, 0, 4], np.int32)
    found = read_table({"c": values, "d": values}).at(("c", "d"), rows)
    assert [column.to_pylist() for column in found.values()] == [[values[row] for row in rows]] * 2


def test_other_values_have_other_codes(table):
    """A column that is replaced is encoded anew; the others keep what is known of them."""
    known = table.encode("age")
    other = table.with_columns({"name": table.arrow.column("name").fill_null("c").combine_chunks()})
    assert other.encode("age") is known
    assert other.encode("name").domain.to_pylist() == ["b", "c", "canary"]
