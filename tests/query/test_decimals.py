"""Decimal numbers are exact, as in SQL: 0.1 + 0.2 is 0.3; quantiles between two of them enclose what databases cut."""

from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.methods import KEAnonymity
from hedgerow.query import connect
from hedgerow.schema import Schema
from tests.support.agreement import disagreement
from tests.support.truth import contradiction

ROWS = 60
TABLE = pa.table(
    {
        "age": list(range(1, ROWS + 1)),
        "fee": pa.array([Decimal(row % 40) / 10 for row in range(ROWS)], pa.decimal128(9, 2)),
        "s": [row % 7 for row in range(ROWS)],
    }
)
CONDITIONS = [
    "age * 0.1 = 0.3",
    "age * 1.1 > 33",
    "fee + 0.1 = 0.3",
    "fee * 3 = 0.9",
    "fee * 1.1 IN (0.33, 0.66)",
    "fee % 0.1 = 0",
    "(fee % 0.7) % 0.1 = 0",
    "(age * 1.1) % 3.3 = 0",
    "fee - 0.1 < 0.2",
    "abs(fee - 0.3) = 0.1",
    "coalesce(fee, 0) + 0.1 = 0.3",
    "s * 1.1 > 3.3",
    "CASE WHEN age > 3 THEN fee ELSE 0.1 END * 3 = 0.9",
    "fee * 3 / 2 = 0.45",
    "round(fee * 1.5, 1) = 0.2",
    "floor(fee * 10) = 3",
    "fee = age * 0.1",
    "fee + s * 0.1 = 0.3",
    "age / 10 = 0.3",
    "fee::DOUBLE * 3 = 0.9",
]
RESULTS = [
    "count(DISTINCT fee % 0.3)",
    "count(DISTINCT (fee * 3) % 0.7)",
    "sum(DISTINCT age * 0.1)",
    "max(fee * 1.1)",
    "sum(CASE WHEN age * 0.1 = 0.3 THEN s ELSE 0 END)",
    "median(fee * 0.3)",
    "quantile_cont(fee, 0.7)",
    "quantile_cont(-fee, 0.7)",
    "quantile_cont(age * 0.1, 0.3)",
    "median(CASE WHEN s > 3 THEN fee ELSE 0.05 END)",
    "median(s * 0.3)",
]


@pytest.fixture(scope="module")
def release():
    """Two known columns and a shuffled one."""
    return KEAnonymity(k=2, e=1).publish(TABLE, Schema(quasi=["age", "fee"], sensitive="s"))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_decided_in_decimals(release, condition):
    """The number of rows is that of DuckDB, on both engines."""
    session, other = connect(release), connect(release, "duckdb")
    for text in (
        f"SELECT count(*) AS x, sum(s) AS y FROM release WHERE {condition}",
        f"SELECT s AS k, count(*) AS x FROM release WHERE NOT ({condition}) GROUP BY 1",
        f"SELECT count_if({condition}) AS x FROM release",
    ):
        assert contradiction(session, TABLE, text) is None
        assert disagreement(session, other, text) is None


@pytest.mark.parametrize("item", RESULTS)
def test_results_enclose_those_of_a_database(release, item):
    """To the last digit that a type has room for, and beyond."""
    session, other = connect(release), connect(release, "duckdb")
    for text in (f"SELECT {item} AS x FROM release", f"SELECT {item} AS x FROM release WHERE age > 17"):
        assert contradiction(session, TABLE, text) is None
        assert disagreement(session, other, text) is None
    assert session.ask(text).bounded


def test_groups_are_decimals(release):
    """A key that is computed is the nearest float to the decimal number."""
    keys = connect(release).sql("SELECT fee * 3 AS k, count(*) AS n FROM release GROUP BY 1").to_arrow()["k"]
    assert 0.3 in keys.to_pylist()
    assert (
        contradiction(connect(release), TABLE, "SELECT fee % 0.3 AS k, count(*) AS n FROM release GROUP BY 1") is None
    )


def test_between_two_decimals_both_readings_are_inside(release):
    """PostgreSQL says 1.85 and DuckDB 1.8 of a type with one digit; neither is called exact."""
    answer = connect(release).ask("SELECT median(age * 0.1) AS x FROM release WHERE age BETWEEN 18 AND 19")
    assert (answer.lower, answer.expected, answer.upper) == (
        pytest.approx(1.8),
        pytest.approx(1.85),
        pytest.approx(1.9),
    )
    assert answer.lower <= 1.8 < 1.85 <= answer.upper
    assert not answer.exact
    assert connect(release).ask("SELECT median(age * 0.1) AS x FROM release WHERE age = 18").exact


KEYS = [
    "fee > 0.2",
    "fee = 0.3",
    "fee IN (0.1, 0.25, 0.3)",
    "fee BETWEEN 0.1 AND 2.05",
    "fee + 0.1 = 0.3",
    "fee * 3 = 0.9",
    "fee % 0.7 = 0.1",
    "age % 2 = 1",
    "-age % 4 = -3",
    "mod(age, 2) = 1 AND age > 2.5",
    "age + 9007199254740992 = 9007199254740995",
    "s > 2.5",
]


@pytest.mark.parametrize("condition", KEYS)
def test_keys_keep_their_digits_in_having(release, condition):
    """HAVING says of a key what WHERE says of its column, whether it is selected or not, by name or by alias."""
    key = next(name for name in ("fee", "age", "s") if name in condition)
    kept = f"SELECT {key}, count(*) AS x FROM release WHERE {condition} GROUP BY {key} ORDER BY {key}"
    wanted = connect(release).sql(kept).to_arrow()
    assert wanted.num_rows
    having = f"count(*) AS x FROM release GROUP BY {key} HAVING {condition} ORDER BY {key}"
    for session in (connect(release), connect(release, "duckdb")):
        assert session.sql(f"SELECT {key}, {having}").to_arrow().equals(wanted)
        assert session.sql(f"SELECT {having}").to_arrow().equals(wanted.drop([key]))


@pytest.mark.parametrize(
    "having", ["count(*) * 0.1 = 0.2", "max(fee) + 0.1 = 0.3", "fee * count(*) = 0.6", "max(fee) * 3 = 0.9"]
)
def test_results_that_are_decimals_are_decided_in_decimals(release, having):
    """HAVING keeps the rows that DuckDB keeps, though 3 * 0.1 is no 0.3 in floats."""
    text = f"SELECT fee AS k, count(*) AS x FROM release GROUP BY fee HAVING {having}"
    assert connect(release).sql(text).to_arrow().num_rows
    assert contradiction(connect(release), TABLE, text) is None
    assert disagreement(connect(release), connect(release, "duckdb"), text) is None
