"""What begins no question is answered with a sentence that helps."""

from datetime import date

import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.sql.parse import parse
from hedgerow.query.sql.wording import check_beginning
from tests.support.assignments import release_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELEC avg(s) FROM release", "did you mean SELECT"),
        ("selct avg(s) from release", "did you mean SELECT"),
        ("WHERE a > 1", "none before it"),
        ("avg(s)", "no question begins with 'avg'"),
        ("what is the average", "no question begins with 'what'"),
        ("DROP TABLE release", "single SELECT"),
        ("SELECT agv(s) FROM release", r"AGV cannot be computed here: did you mean AVG\?"),
        ("SELECT avg(rond(s)) FROM release", r"ROND cannot be computed here: did you mean ROUND\?"),
        ("SELECT xqzzy(s) FROM release", "XQZZY cannot be computed here: it is not known"),
    ],
)
def test_typing_errors_get_a_sentence(text, words):
    """The word that was written, and the one that may be meant."""
    with pytest.raises(QueryError, match=words):
        parse(text)


def test_a_bare_column_gets_a_question():
    """Quoted where it must be."""
    with pytest.raises(QueryError, match=r"SELECT avg\(income\) FROM release"):
        check_beginning("Income;", ["income"])
    with pytest.raises(QueryError, match=r'avg\("capital-loss"\)'):
        check_beginning('"capital-loss"', ["capital-loss"])


@pytest.mark.parametrize(
    "text", ["", "-- x", ";;", "/* x */ select 1", "(SELECT 1)", "WITH a AS (SELECT 1) SELECT 1", "'a"]
)
def test_the_rest_is_left_to_the_reader(text):
    """Which says more about it."""
    check_beginning(text)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT s, sum(a % 2) AS x FROM release GROUP BY s",
        "SELECT s, max(CASE WHEN NOT a > 1 THEN 2 ELSE 3 END) AS x FROM release GROUP BY s",
        "SELECT median(sqrt(a)) AS x FROM release WHERE s > 2 OR a < 2",
    ],
)
def test_a_refusal_shows_no_text_of_ours(text, engine):
    """What a question computes has no name that the analyst wrote."""
    release = release_of({"a": [1, 2, 3, 4], "s": [1, 2, 3, 4]}, [0, 0, 1, 1], sensitive="s")
    with pytest.raises(QueryError, match=r"^[^']*the expression[^']*$"):
        connect(release, engine).answers(text)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT d + 5 AS k, count(*) AS n FROM release GROUP BY k",
        "SELECT s + 5 AS k, count(*) AS n FROM release GROUP BY k",
        "SELECT date_trunc('day', d + INTERVAL 40 DAY) AS k, count(*) AS n FROM release GROUP BY k",
        "SELECT max(d + 5) AS n FROM release",
        "SELECT min(s - 5) AS n FROM release",
        "SELECT max(s) + 5 AS n FROM release",
    ],
)
def test_dates_that_python_has_not_are_refused(text, engine):
    """Databases go on after 9999-12-31 and before 0001-01-01; conditions may, results may not."""
    ends = [date.max, date.min, date.max, date.min]
    session = connect(release_of({"d": ends, "s": ends}, [0, 0, 1, 1], sensitive="s"), engine)
    with pytest.raises(QueryError, match="leaves the range of dates"):
        session.answers(text)
    assert session.ask("SELECT count(*) FROM release WHERE d + 5 > DATE '2020-01-01'").lower == 2
