"""Numbers keep SQL's types on their way from one part of a question to the next: 2, 2.00 and 2e0 are three numbers.

Means, quotients and functions of floats are floats, and sums and products of decimals are decimals, whether they are
used where they are written, by the name of a result, or as the answer of a sub-query. DuckDB is the judge.
"""

import random
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.assignments import release_of
from tests.support.every_form import sample_of
from tests.support.truth import contradiction_of, original_of

COLUMNS = {
    "i": pa.array([-7, -3, 3, 7] * 4, pa.int64()),
    "j": pa.array([1, 3] * 8, pa.int64()),
    "f": pa.array([0.1, 0.2, 0.3, 0.7] * 4, pa.float64()),
    "p": pa.array([Decimal(text) for text in ("0.10", "0.20", "0.30", "2.00")] * 4, pa.decimal128(9, 2)),
    "r": pa.array([Decimal("0.05"), Decimal("0.15")] * 8, pa.decimal128(9, 2)),
    "t": ["x", "y"] * 8,
    "d": [date(2020, 1, 2 + place) for place in range(16)],
    "s": list(range(16)),
}
TABLE = pa.table(COLUMNS)
INSIDE = [
    "i // (SELECT avg(j) FROM release) = -4",
    "i // (SELECT max(p) FROM release) = -4",
    "i // (SELECT count(*)::DOUBLE / 8 FROM release) = -4",
    "p * (SELECT avg(r) FROM release) = 0.02",
    "p + (SELECT min(f) FROM release) = 0.3",
    "p + (SELECT min(p) FROM release) = 0.3",
    "p + (SELECT round(min(f), 1) FROM release) = 0.3",
    "p + (SELECT coalesce(min(p), 0) FROM release) = 0.3",
    "p + (SELECT median(r) FROM release) = 0.3",
    "p + (SELECT p * 2 FROM release WHERE p < 0.15 GROUP BY 1) = 0.5",
    "p + (SELECT min(x) FROM (SELECT min(f) AS x FROM release GROUP BY i)) = 0.3",
    "p * 6 IN (SELECT x * 3 FROM (SELECT p * 2 AS x FROM release GROUP BY 1))",
    "f * 3 = (SELECT min(f) * 3 FROM release)",
    "p * 3 = (SELECT min(f) * 3 FROM release)",
    "f * 3 IN (SELECT min(f) * 3 FROM release GROUP BY i)",
    "(SELECT sum(r) FROM release)::VARCHAR = '1.60' AND (SELECT avg(j) FROM release)::VARCHAR = '2.0'",
]
RESULTS = [
    "SELECT count(*) AS n FROM (SELECT i, min(f) * 3 AS x FROM release GROUP BY i) WHERE x = 0.3",
    "SELECT count(*) AS n FROM (SELECT i, min(f) + 0.2 AS x FROM release GROUP BY i) WHERE x > 0.3",
    "SELECT count(*) AS n FROM (SELECT i, avg(j) * 0.1 AS x FROM release GROUP BY i) WHERE x = 0.3",
    "SELECT count(*) AS n FROM (SELECT x * 3 AS y FROM (SELECT i, min(f) AS x FROM release GROUP BY i)) WHERE y = 0.3",
    "SELECT count(*) AS n FROM (SELECT sum(x) AS z FROM (SELECT f AS x FROM release WHERE f < 0.4 GROUP BY f)) "
    "WHERE z = 0.6",
    "SELECT sum(CASE WHEN x > 0.3 THEN 1 END) AS n FROM (SELECT i, min(f) * 3 AS x FROM release GROUP BY i)",
    "SELECT count(*) AS n FROM (SELECT min(f) * 3 AS x FROM release UNION ALL SELECT max(p) FROM release) "
    "WHERE x = 0.3",
    "SELECT i, min(f) * 3 AS x FROM release GROUP BY i HAVING x = 0.3",
    "SELECT i, min(f) * 3 AS x FROM release GROUP BY i HAVING x > 0.3",
    "SELECT i, CASE WHEN count(*)::DOUBLE * 0.075 = 0.3 THEN 1 ELSE 0 END AS n FROM release GROUP BY i",
    "SELECT j, CASE WHEN ceil(max(j)) * 0.1 = 0.3 THEN 1 ELSE 0 END AS n FROM release GROUP BY j",
]
KEYS = [
    "SELECT count(*) AS n FROM (SELECT p * 2 AS x, count(*) AS m FROM release GROUP BY 1) WHERE x * 3 = 0.6",
    "SELECT x * 3 AS y, count(*) AS n FROM (SELECT p * 2 AS x, count(*) AS m FROM release GROUP BY 1) GROUP BY 1",
    "SELECT count(*) AS n FROM (SELECT x * 3 AS y FROM (SELECT p AS x FROM release GROUP BY 1)) WHERE y + 0.3 = 0.6",
    "SELECT count(*) AS n FROM (SELECT DISTINCT p * 2 AS x FROM release) WHERE x::VARCHAR = '0.20'",
    "SELECT p * 2 AS x, count(*) AS n FROM release GROUP BY 1 HAVING x * 3 = 0.6",
    "SELECT count(*) AS n FROM (SELECT floor(i) AS x, count(*) AS m FROM release GROUP BY 1) WHERE x // 2 = -2",
    "SELECT count(*) AS n FROM (SELECT -ceil(j) AS x, count(*) AS m FROM release GROUP BY 1) WHERE x // 2 = -2",
]


@pytest.fixture(scope="module", params=["arrays", "duckdb"])
def session(request):
    """A release on an engine."""
    labels = [place // 4 for place in range(16)]
    with connect(release_of(COLUMNS, labels, sensitive="s"), request.param) as opened:
        yield opened


@pytest.mark.parametrize(
    "text", [*(f"SELECT count(*) AS n FROM release WHERE {condition}" for condition in INSIDE), *RESULTS, *KEYS]
)
def test_numbers_keep_their_types(session, text):
    """Answers of sub-queries lost them, and results and keys did where something was said of them by name."""
    with original_of(TABLE) as original:
        assert contradiction_of(session.answers(text), original, text) is None


def test_a_number_that_a_database_rounds_on_its_way_is_no_constant(session):
    """A mean of floats depends on the order of rows."""
    with pytest.raises(QueryError, match="the answer of the sub-query lies between"):
        session.ask("SELECT count(*) FROM release WHERE p * (SELECT avg(f) FROM release) > 0.1")
    assert session.ask("SELECT count(*) FROM release WHERE i > (SELECT avg(j) / 3 FROM release)").exact


def test_rows_that_rounding_decides_are_picked(session):
    """HAVING about a sum of floats at the border: the database may keep the row, or not."""
    table = session.sql("SELECT j, sum(f) * 1.1 AS x FROM release GROUP BY j HAVING x > 1.76")
    assert table.is_picked
    assert not session.sql("SELECT j, sum(f) * 1.1 AS x FROM release GROUP BY j HAVING x > 1.7").is_picked
    assert not session.sql("SELECT j, count(*) AS n FROM release GROUP BY j HAVING max(t) > 'x'").is_picked


def test_dates_and_texts_beside_floats_are_no_numbers(session):
    """Days between dates go with means; what goes with nothing is refused."""
    text = "SELECT max(x) AS n FROM (SELECT j, max(d) - DATE '2020-01-01' + avg(f) / 3 AS x FROM release GROUP BY j)"
    assert session.ask(text).lower > 0
    with pytest.raises(QueryError):
        session.ask("SELECT count(*) AS n FROM (SELECT j, avg(f) / 3 + 'a' AS x FROM release GROUP BY j) WHERE x > 1")


def test_estimates_without_bounds_have_names_too():
    """HAVING about a computed result of a release of changed values looks at what is expected."""
    sample = sample_of("perturbed by noise", random.Random(1))
    text = "SELECT town, avg(s) / 2 AS x FROM release GROUP BY town HAVING x > -1000"
    assert len(connect(sample.release).sql(text)) > 1
