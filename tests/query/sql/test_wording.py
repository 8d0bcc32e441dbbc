"""What begins no question is answered with a sentence that helps."""

import pytest

from hedgerow.errors import QueryError
from hedgerow.query.sql.parse import parse
from hedgerow.query.sql.wording import check_beginning


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
