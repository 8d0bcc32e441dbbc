"""Lines to statements."""

import pytest

from hedgerow.cli.prompt import is_waiting, statements


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["SELECT avg(s) FROM release", "SELECT count(*) FROM release;"], 2),
        (["SELECT avg(s)", "FROM release", "WHERE a > 1"], 1),
        (["SELECT avg(s) FROM release", "WHERE a > 1", "  AND b = 2;", "SELECT 1 FROM release"], 2),
        (["WITH t AS (", "SELECT a FROM release", ")", "SELECT count(*) FROM t"], 1),
        (["SELECT count(*) FROM release UNION ALL", "SELECT count(*) FROM release"], 1),
        (["SELECT count(*) FROM release WHERE a = 'x;", "y'", "SELECT 2 FROM release"], 2),
        (["SELECT count(*) FROM", "release;", ".columns", "help"], 3),
        (["-- SELECT (", "SELECT count(*) FROM release"], 2),
        (["(SELECT count(*) FROM release)", "SELECT count(*) FROM release"], 2),
        ([".explain SELECT avg(s)", "FROM release", "WHERE a > 1;", "SELECT 1 FROM release"], 2),
        (["SELECT avg(s) FROM release", ".explain SELECT avg(s)", "FROM release", ".tables"], 3),
        ([".explain WITH t AS (", "SELECT a FROM release)", "SELECT count(*) FROM t", ".explain"], 2),
    ],
)
def test_statements_take_the_lines_that_belong_to_them(lines, found):
    """By brackets, by words that need more, by words that go on."""
    made = list(statements(lines))
    assert len(made) == found
    assert "\n".join(made).split() == "\n".join(line.strip() for line in lines).split()


def test_a_blank_line_ends_a_statement():
    """So does the end of the input."""
    assert list(statements(["SELECT avg(s)", "", "FROM release"])) == ["SELECT avg(s)", "", "FROM release"]
    assert list(statements(["SELECT avg(s)"])) == ["SELECT avg(s)"]


def test_a_person_goes_on_until_the_question_is_whole():
    """A typing error is not waited for."""
    assert is_waiting("SELECT avg(s)")
    assert is_waiting("SELECT avg(s) FROM release WHERE")
    assert is_waiting("SELECT avg(s) FROM release WHERE a >")
    assert is_waiting(".explain SELECT avg(s)")
    assert not is_waiting(".explain")
    assert not is_waiting("SELECT avg(s) FROM release")
    assert not is_waiting("SELECT avg(s);")
    assert not is_waiting("SELEC avg(s)")
