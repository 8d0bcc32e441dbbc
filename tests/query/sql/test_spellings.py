"""Ways to write a question that analysts have: answered with the truth inside, or refused in their words."""

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.agreement import answered, difference
from tests.support.assignments import release_of
from tests.support.truth import contradiction

COLUMNS = {
    "a": [1, 2, 3, 4, 5, None, 7, 8],
    "b": [True, False, None, True, None, False, True, None],
    "t": ["x", "y", "z", "w", "x", "y", "", None],
    "s": [1, None, 3, 4, -5, 6, 0, 8],
}
TABLE = pa.table(COLUMNS)
ANSWERED = [
    "SELECT count(*) AS n FROM release WHERE coalesce(a > 2, FALSE)",
    "SELECT count(*) AS n FROM release WHERE coalesce(s > 2, b, TRUE)",
    "SELECT count(*) AS n FROM release WHERE coalesce(b, FALSE)",
    "SELECT count(*) AS n FROM release WHERE NOT coalesce(b, s > 2)",
    "SELECT count(*) AS n FROM release WHERE NOT coalesce(b AND s > 0, a > 3)",
    "SELECT count(*) AS n FROM release WHERE coalesce(s > a, NULL)",
    "SELECT count_if(coalesce(s > 0, FALSE)) AS n FROM release",
    "SELECT sum(s) AS n FROM (SELECT * FROM (SELECT * FROM release WHERE a > 1) AS p WHERE a < 7) AS q",
    "WITH p AS (SELECT * FROM release WHERE a > 1), q AS (SELECT * FROM p WHERE b) SELECT sum(s) AS n FROM q",
    "WITH p AS (SELECT a AS k, s + 1 AS v FROM release), q AS (SELECT * FROM p WHERE k > 3) SELECT avg(v) AS n FROM q",
]
REFUSED = [
    ("SELECT count(*) FROM release WHERE t ~ 'x'", r"^~ cannot be .* write regexp_matches"),
    ("SELECT count(*) FROM release WHERE t ~* 'x'", r"^~\* cannot be .* write regexp_matches"),
    ("SELECT count(*) FROM release WHERE t = E'x'", r"^E'...' cannot"),
    ("SELECT count(*) FROM release WHERE t = N'x'", r"^N'...' cannot"),
    ("SELECT count(*) FROM release WHERE a > 1 && b", r"^&& cannot"),
    ("SELECT count(*) FROM release WHERE a <> ALL([1, 2])", "NOT IN"),
    ("SELECT count(*) FROM release WHERE a AT TIME ZONE 'UTC' > 1", "^AT TIME ZONE cannot"),
    ("SELECT count(*) FROM release FETCH FIRST 1 ROW ONLY", "^FETCH FIRST is not understood; write LIMIT"),
    ("SELECT count(*) FROM release FOR UPDATE", "^FOR UPDATE is not understood"),
    ('SELECT count(*) FROM release WHERE t = "x"', "a text stands in single quotes"),
    ("SELECT count(*) FROM release WHERE t = Male", "a text stands in single quotes"),
    ("SELECT * FROM (SELECT * FROM release) AS q", "single rows have no bounds"),
]


@pytest.fixture(scope="module")
def release():
    """Truth values, numbers and texts, all with gaps."""
    return release_of(COLUMNS, [0, 0, 0, 1, 1, 1, 2, 2], sensitive="s")


@pytest.mark.parametrize("text", ANSWERED)
def test_it_is_answered(release, text):
    """As DuckDB does, and by both engines alike."""
    found = answered(connect(release), text)
    assert not isinstance(found, str), found
    assert contradiction(connect(release), TABLE, text) is None
    assert difference(found, answered(connect(release, "duckdb"), text)) is None


def test_every_is_bool_and(release):
    """The name that the standard has for it."""
    one, other = (
        connect(release).sql(f"SELECT {name}(a > 1) AS x, {name}(s > 0) AS y FROM release").to_arrow()
        for name in ("every", "bool_and")
    )
    assert one == other


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_it_is_refused_in_the_words_of_the_question(release, text, reason):
    """Never in those of a parser."""
    with pytest.raises(QueryError, match=reason):
        connect(release).answers(text)


@pytest.mark.parametrize("item", ["var_pop(f)", "stddev(s)", "sum(f * f)", "sum(f) * sum(f)", "power(sum(f), 3)"])
def test_answers_beyond_floats_are_refused(item):
    """Whatever step of the way leaves their range."""
    huge = release_of({"f": [1e200, 3.0, 1.5, 2.0], "s": [2.5, 1e200, -1e200, 4.0]}, [0, 0, 1, 1], sensitive="s")
    with pytest.raises(QueryError, match="beyond the range of floats"):
        connect(huge).answers(f"SELECT {item} AS x FROM release")


def test_bounds_of_truth_values_and_texts_say_that_they_are_not_reached():
    """Known and hidden parts joined by OR are bounded one by one; every table has a row with s = 0 or 1 that counts."""
    columns = {"b": [False, True, None, False, None], "s": [1, 1, 2, 0, 2]}
    release = release_of(columns, [0, 0, 0, 0, 1], sensitive="s")
    for engine in ("arrays", "duckdb"):
        answer = connect(release, engine).ask("SELECT bool_and(s > 1) AS x FROM release WHERE b OR s > 0")
        assert (answer.lower, answer.upper, answer.reached) == (False, True, False)
