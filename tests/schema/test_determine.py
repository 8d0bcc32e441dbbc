"""Columns that determine a sensitive one: found where it is no coincidence, silent elsewhere."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.schema import suggest
from hedgerow.schema.determine import Determining, determining_columns
from hedgerow.table.table import Table

SCHOOL = ["HS", "BA", "MA", "PhD"]


def _found(published: list, hidden: list) -> list[Determining]:
    return determining_columns(Table(pa.table({"code": published, "school": hidden})), ["code"], ["school"])


@pytest.mark.parametrize("code", [SCHOOL.index, str.lower, str], ids=["code", "other case", "copy"])
def test_a_code_of_the_sensitive_column_is_named_with_counts(code):
    """So is a finer value, and gaps on either side are left out of the count."""
    hidden = [SCHOOL[row % 4] for row in range(40)]
    (found,) = _found([code(one) for one in hidden], hidden)
    assert found == Determining("code", "school", 4, 40)
    assert not any(value in str(found) for value in SCHOOL)
    finer = [f"{one}{row % 2}" for row, one in enumerate(hidden)]
    assert [one.values for one in _found(finer, hidden)] == [4]
    gaps = [None if row < 4 else value for row, value in enumerate(finer)]
    assert [one.rows for one in _found(gaps, [*hidden[:36], None, None, None, None])] == [32]


@pytest.mark.parametrize(
    ("published", "hidden"),
    [
        ([row % 4 for row in range(40)], ["HS"] * 40),
        (list(range(40)), [SCHOOL[row % 4] for row in range(40)]),
        ([row // 2 if row < 20 else row for row in range(40)], [SCHOOL[row // 2 % 4] for row in range(40)]),
        ([row % 4 for row in range(8)], [SCHOOL[row % 4] for row in range(8)]),
        ([row // 2 for row in range(100)], ["HS"] * 98 + ["BA"] * 2),
        ([0, *[row % 4 for row in range(1, 6_000)], 0], [*[SCHOOL[row % 4] for row in range(6_000)], "BA"]),
        ([None] * 40, [SCHOOL[row % 4] for row in range(40)]),
        ([], []),
    ],
    ids=["one value", "unique", "nearly unique", "few rows", "one frequent value", "one exception", "empty", "no rows"],
)
def test_nothing_is_said_where_it_is_no_wonder_or_untrue(published, hidden):
    """One value, a value a row, too few rows, a value that nearly all rows have, an exception, nothing at all."""
    assert _found(pa.array(published, pa.int64()), pa.array(hidden, pa.string())) == []


@given(st.lists(st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, "a", "b"])), max_size=120))
def test_what_is_named_determines(pairs):
    """By sets of partners, value by value."""
    found = _found(pa.array([a for a, _ in pairs], pa.int64()), pa.array([b for _, b in pairs], pa.string()))
    both = {(a, b) for a, b in pairs if a is not None and b is not None}
    if found:
        assert len(both) == len({a for a, _ in both}) == found[0].values


def test_a_suggestion_says_so():
    """The reason for the role of the column names what it determines."""
    table = pa.table({"code": [row % 4 for row in range(64)], "diagnosis": [SCHOOL[row % 4] for row in range(64)]})
    reasons = {one.column: one.reason for one in suggest(table)}
    assert "'code' determines 'diagnosis': each of its 4 values" in reasons["code"]
    assert "determines" not in reasons["diagnosis"]
