"""The tables of docs/query.md about composed questions, asked."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from tests.support.assignments import release_of

PAGE = (Path(__file__).parents[3] / "docs" / "query.md").read_text().partition("## Questions that are composed")[2]
ANSWERED, _, REFUSED = PAGE.partition("| refused | the reason |")
ROWS = re.compile(r"^\| `((?:SELECT|WITH) .*?)` \| (.*) \|$", re.MULTILINE)
TABLES = {
    "region": pa.table({"town": ["Bern", "Genf"], "canton": ["BE", "GE"]}),
    "twice": pa.table({"town": ["Bern", "Bern"]}),
}


@pytest.fixture(scope="module")
def release():
    """Sixty people."""
    columns = {
        "age": [20 + place * 7 % 50 for place in range(60)],
        "sex": ["F", "M", "M"] * 20,
        "town": ["Bern", "Biel", "Genf", "Chur"] * 15,
        "income": [place * 37 % 101 for place in range(60)],
    }
    return release_of(columns, [place // 6 for place in range(60)], sensitive="income")


def test_the_page_has_its_tables():
    """Enough of both."""
    assert len(ROWS.findall(ANSWERED)) >= 10
    assert len(ROWS.findall(REFUSED.partition("### How tight")[0])) >= 8


@pytest.mark.parametrize(("sql", "bounds"), ROWS.findall(ANSWERED))
def test_what_is_answered_is_reached_where_the_page_says_so(release, sql, bounds):
    """In every row."""
    found = release.sql(sql, tables=TABLES)
    assert len(found)
    reached = [answer.reached for name in found.aggregates for answer in found.answers(name)]
    assert all(reached) == ("not reached" not in bounds)


@pytest.mark.parametrize(("sql", "reason"), ROWS.findall(REFUSED.partition("### How tight")[0]))
def test_what_is_refused_is_refused(release, sql, reason):
    """With a sentence."""
    with pytest.raises(QueryError):
        release.sql(sql, tables=TABLES)
