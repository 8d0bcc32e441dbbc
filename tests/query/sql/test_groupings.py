"""ROLLUP, CUBE and GROUPING SETS: the rows that DuckDB gives, whatever names and texts their keys have."""

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.assignments import release_of
from tests.support.truth import true_answers

COLUMNS = {
    "a": pa.array([1, 1, 2, 3, None, 2]),
    "b": [3, 1, 3, 1, 2, 1],
    "t": ["A", "a", "B", "b", None, "A"],
    "s": [1, 2, 3, 4, 5, 5],
}


def _rows(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a AS k, grouping(k) AS g, count(*) AS n FROM release GROUP BY ROLLUP (k)",
        "SELECT A AS k, grouping(K, b) AS g, count(*) AS n FROM release GROUP BY CUBE (k, release.b)",
        "SELECT a + 1 AS k, b, grouping(b, k) AS g, count(*) AS n FROM release GROUP BY GROUPING SETS ((k), (b), ())",
        "SELECT replace(t, 'A', 'x') AS k, replace(t, 'a', 'x') AS j, grouping(j) AS g, count(*) AS n FROM release "
        "GROUP BY ROLLUP (k, j)",
        "SELECT t || 'A' AS k, t || 'a' AS j, count(*) AS n FROM release GROUP BY CUBE (t || 'A', t || 'a')",
        "SELECT a AS k, a AS j, count(*) AS n FROM release GROUP BY ROLLUP (a)",
    ],
)
def test_rows_and_marks_are_those_of_sql(text):
    """GROUPING names a key as GROUP BY does; keys that differ in the case of a constant are two."""
    found = connect(release_of(COLUMNS, [0, 0, 0, 1, 1, 1], sensitive="s")).answers(text)
    rows = [{name: row[name] for name in (*found.keys, "n")} for row in found.table().to_pylist()]
    assert _rows(rows) == _rows(true_answers(pa.table(COLUMNS), text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT a, grouping(b) AS g, count(*) AS n FROM release GROUP BY ROLLUP (a)", "GROUPING takes what GROUP BY"),
        ("SELECT a AS k, a AS j, count(*) AS n FROM release GROUP BY ROLLUP (k, j)", "one expression in two ways"),
    ],
)
def test_what_has_no_one_meaning_is_refused(text, reason):
    """A key under two names is NULL under one of them; GROUPING of anything else is no SQL."""
    with pytest.raises(QueryError, match=reason):
        connect(release_of(COLUMNS, [0, 0, 0, 1, 1, 1], sensitive="s")).answers(text)
