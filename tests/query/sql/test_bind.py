"""Binding: names find their columns, constants their kind."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import ask, select
from tests.support.assignments import release_of


@pytest.fixture(scope="module")
def release():
    """Columns of every kind."""
    columns = {
        "Age": [1, 2, 3],
        "AGE": [4, 5, 6],
        "education": ["a", "b", None],
        "born": pa.array([date(1990, 1, 31), date(1991, 2, 28), None]),
        "seen": pa.array([datetime(2020, 1, 1, 12), datetime(2020, 1, 2), None], pa.timestamp("us")),
        "price": pa.array([Decimal("1.25"), Decimal("2.50"), Decimal("-3.75")], pa.decimal128(9, 2)),
        "salary": [1, 2, 3],
    }
    return release_of(columns, [0, 0, 0], sensitive="salary")


def test_a_list_of_columns_says_how_many_it_leaves_out():
    """Of a table with very many columns a refusal names twenty."""
    columns = {f"c{number:02}": [1, 2] for number in range(30)}
    with pytest.raises(QueryError, match=r'"c19" and 10 more; a text stands in single quotes$'):
        ask(release_of(columns, [0, 0], sensitive="c29"), "SELECT count(*) FROM release WHERE xyz = 1")


def test_unknown_columns_are_met_with_close_names(release):
    """A misspelt name gets the right one back, in quotes that work."""
    with pytest.raises(QueryError, match="no column 'educaton'; did you mean \"education\""):
        ask(release, "SELECT count(*) FROM release WHERE educaton = 'a'")


def test_names_in_any_case_must_be_unambiguous(release):
    """Written exactly, a name is always found; otherwise it must have one reading."""
    assert ask(release, "SELECT sum(Age) FROM release").lower == 6
    assert ask(release, 'SELECT sum("AGE") FROM release').lower == 15
    assert ask(release, "SELECT sum(SALARY) FROM release").lower == 6
    with pytest.raises(QueryError, match="age"):
        ask(release, "SELECT sum(age) FROM release")
    with pytest.raises(QueryError, match="SALARY"):
        ask(release, 'SELECT sum("SALARY") FROM release')


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("born = DATE '1990-01-31'", 1),
        ("born > '1990-06-01'", 1),
        ("born + 28 = DATE '1990-02-28'", 1),
        ("born < DATE '1991-03-01' - INTERVAL 1 DAY", 1),
        ("born - DATE '1990-01-30' = 1", 1),
        ("year(born) = 1991 AND month(born) = 2 AND EXTRACT(day FROM born) = 28", 1),
        ("born IS NULL", 1),
        ("seen > '2020-01-01'", 2),
        ("seen >= TIMESTAMP '2020-01-01 12:00:01'", 1),
        ("seen > born", 2),
        ("born >= TIMESTAMP '1990-01-31 00:00:01'", 1),
        ("price = 1.25", 1),
        ("price < 1.255", 2),
        ("price = 1.255", 0),
        ("price IN (1.25, 1.255, 99999999999)", 1),
        ("price > 1e300 OR price < -1e300", 0),
        ('price < "AGE"', 3),
        ("price * 2 > 2.5", 1),
    ],
)
def test_constants_take_the_kind_of_what_they_meet(release, condition, rows):
    """Dates, timestamps and decimals compare in their own terms."""
    assert ask(release, f"SELECT count(*) FROM release WHERE {condition}").lower == rows


def test_results_are_named(release):
    """Without an alias a result is called by its function and column."""
    names = select(release, "SELECT count(*), sum(salary) FROM release").column_names
    assert names[:5] == ["count", "count_lower", "count_upper", "count_std", "sum_salary"]


def test_ask_gives_a_table_where_one_answer_does_not_do(release):
    """More than one number does not fit one answer."""
    for text in ("SELECT count(*), sum(salary) FROM release", "SELECT count(*) FROM release GROUP BY education"):
        assert ask(release, text).equals(release.sql(text))


@pytest.mark.parametrize(
    "condition",
    [
        "born = '1990-W05-3'",
        "born = DATE '19900131'",
        "seen > '20200101T000000'",
        "seen > TIMESTAMP '2020-01-01 00'",
        "seen > TIMESTAMP '2020-01-01x00:00'",
        "seen > '2020-01-01 00:00:00,5'",
    ],
)
def test_dates_are_written_as_databases_write_them(release, condition):
    """Weeks, and digits without signs between them, are Python's, and an error in SQL."""
    with pytest.raises(QueryError, match=r"2020-12-31"):
        ask(release, f"SELECT count(*) FROM release WHERE {condition}")
