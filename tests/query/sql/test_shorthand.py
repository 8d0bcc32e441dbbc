"""FILTER, COUNT_IF, GROUP BY 1 and GROUP BY ALL mean what they mean in a database."""

import random

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.assignments import release_of
from tests.support.truth import contradiction

PAIRS = [
    ("count(*) FILTER (WHERE age > 30) AS n FROM release", "count(*) AS n FROM release WHERE age > 30"),
    ("count(s) FILTER (WHERE town = 'Bern') AS n FROM release", "count(s) AS n FROM release WHERE town = 'Bern'"),
    ("sum(s) FILTER (WHERE age > 30) AS n FROM release", "sum(s) AS n FROM release WHERE age > 30"),
    ("avg(s) FILTER (WHERE age > 30) AS n FROM release", "avg(s) AS n FROM release WHERE age > 30"),
    ("count_if(age > 30) AS n FROM release", "count(*) AS n FROM release WHERE age > 30"),
    ("count_if(s > 50 AND age > 30) AS n FROM release", "count(*) AS n FROM release WHERE s > 50 AND age > 30"),
    ("town AS k, sum(s) AS n FROM release GROUP BY 1", "town AS k, sum(s) AS n FROM release GROUP BY town"),
    ("town AS k, sum(s) AS n FROM release GROUP BY ALL", "town AS k, sum(s) AS n FROM release GROUP BY town"),
    (
        "sum(s) AS n, town AS k, age % 2 AS h FROM release GROUP BY 2, 3",
        "sum(s) AS n, town AS k, age % 2 AS h FROM release GROUP BY town, age % 2",
    ),
    ("avg(s) AS n FROM release GROUP BY ALL", "avg(s) AS n FROM release"),
]
REFUSED = [
    "SELECT town, sum(s) FROM release GROUP BY 2",
    "SELECT town, sum(s) FROM release GROUP BY 3",
    "SELECT town, sum(s) FROM release GROUP BY 0",
    "SELECT town, sum(s) FROM release GROUP BY 1.5",
    "SELECT town, sum(s) FROM release GROUP BY 99999999999",
]


@pytest.fixture(scope="module")
def table():
    """Rows with gaps in every column."""
    rng = random.Random(7)
    return pa.table(
        {
            "age": [rng.choice([None, *range(20, 45)]) for _ in range(40)],
            "town": [rng.choice([None, "Bern", "Basel", "Chur"]) for _ in range(40)],
            "s": [rng.randrange(100) for _ in range(40)],
        }
    )


@pytest.fixture(scope="module")
def session(table):
    """Groups of four."""
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return connect(release_of(columns, [row // 4 for row in range(40)], sensitive="s"))


@pytest.mark.parametrize(("short", "long"), PAIRS)
def test_shorthand_is_answered_as_what_it_stands_for(session, table, short, long):
    """The same bounds as the long question, and the truth of a database inside."""
    assert contradiction(session, table, f"SELECT {short}") is None
    bounds = [
        [name for name in answered.column_names if not name.endswith("_std")]
        for answered in [session.sql(f"SELECT {long}")]
    ]
    one, other = (session.sql(f"SELECT {text}").select(bounds[0]).to_pylist() for text in (short, long))
    for mine, theirs in zip(one, other, strict=True):
        assert mine == pytest.approx(theirs, nan_ok=True)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_more_than_shorthand_is_refused(session, text):
    """A number that is no selected column, and what FILTER does not go with."""
    with pytest.raises(QueryError):
        session.sql(text)
