"""Golden SQL: what an analyst gets to copy."""

import pytest

from hedgerow.errors import ParameterError
from hedgerow.query import rewrite
from tests.support.assignments import release_of


@pytest.fixture(scope="module")
def release():
    """A small release."""
    return release_of({"age": [1, 2], "sex": ["F", "M"], "salary": [3, 4]}, [0, 0], sensitive="salary")


def test_a_sum_joins_hits_with_help(release):
    """Hits per group, joined with the help table, added up."""
    assert (
        rewrite(release, "SELECT sum(salary) AS s FROM release WHERE age BETWEEN 30 AND 50 AND sex = 'it''s'")
        == """\
WITH hits AS (
    SELECT
        "group",
        count(*) AS hits
    FROM release
    WHERE (("age" >= 30 AND "age" <= 50) AND "sex" = 'it''s')
    GROUP BY "group"
),
parts AS (
    SELECT
        sum(hits) AS number_1,
        sum("sum_lower") AS lower_1,
        sum("sum_upper") AS upper_1,
        sum("sum_expected") AS mean_1,
        sum("sum_variance") AS variance_1
    FROM hits JOIN help USING ("group", hits)
)
SELECT
    mean_1 AS "s",
    lower_1 AS "s_lower",
    upper_1 AS "s_upper",
    sqrt(variance_1) AS "s_std"
FROM parts"""
    )


def test_known_columns_need_no_help(release):
    """Columns that are published as they are are aggregated directly."""
    printed = rewrite(release, "SELECT sex, avg(age) AS a FROM release GROUP BY sex")
    assert "help" not in printed
    assert 'sum("age") AS part_1' in printed
    assert printed.endswith("ORDER BY parts.key_1 NULLS LAST")


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        ("age < 2.5", '"age" <= 2'),
        ("age = 2.5", '"age" <> "age"'),
        ("age IN (1, NULL)", '("age" IN (1) OR CAST(NULL AS BOOLEAN))'),
        ("sex LIKE 'a!%' ESCAPE '!'", "\"sex\" LIKE 'a!%' ESCAPE '!'"),
        ("age / 2 > 0.1", "(CAST(\"age\" AS DOUBLE) / NULLIF(CAST('2.0' AS DOUBLE), 0)) > CAST('0.1' AS DOUBLE)"),
        ("NOT (sex IS NULL)", 'NOT (("sex" IS NULL))'),
        ("TRUE", "TRUE"),
    ],
)
def test_conditions_are_printed_fully_typed(release, condition, printed):
    """Nothing is left to a database's own rules for mixed types."""
    text = rewrite(release, f"SELECT count(*) FROM release WHERE {condition}")
    assert (f"WHERE {printed}\n" in text) or condition == "TRUE"


def test_other_dialects_are_refused(release):
    """Only what is tested is offered."""
    with pytest.raises(ParameterError, match="dialect"):
        rewrite(release, "SELECT count(*) FROM release", dialect="oracle")


def test_what_comes_after_the_statement_is_said():
    """HAVING, LIMIT and what is computed from aggregates were left out without a word, and names held a NUL."""
    release = release_of({"age": [1, 1, 2, 2], "pay": [1, 5, 3, 2]}, [0, 0, 1, 1], sensitive="pay")
    plain = rewrite(release, "SELECT sum(pay) AS s FROM release GROUP BY age")
    assert plain.startswith("WITH")
    text = rewrite(release, "SELECT round(avg(pay), 1) AS m FROM release GROUP BY age HAVING age > 1 LIMIT 1")
    assert text.startswith("-- These are the aggregates; what is computed from them, HAVING")
    assert "\0" not in text
    assert '"key age"' in text
