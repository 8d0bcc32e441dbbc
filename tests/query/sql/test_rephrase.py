"""Questions said otherwise."""

import pytest

from hedgerow.errors import QueryError
from hedgerow.query import select
from hedgerow.query.sql.rephrase import by_group, ranges_of
from tests.support.assignments import release_of


@pytest.fixture(scope="module")
def release():
    """Forty rows in groups of four."""
    columns = {"age": list(range(20, 60)), "sex": list("FM") * 20, "pay": [100 + 3 * row for row in range(40)]}
    return release_of(columns, [row * 7 % 10 for row in range(40)], sensitive="pay")


@pytest.mark.parametrize(
    ("where", "columns"),
    [
        ("age BETWEEN 30 AND 40", ["age"]),
        ("age >= 30 AND sex = 'F' AND age < 40", ["age"]),
        ("30 <= age AND (r.age > -4)", ["age", "age"][:1]),
        ("(age > 3 AND sex = 'M')", ["age"]),
        ("age > 3 OR sex = 'M'", []),
        ("sex > 'A' AND age = 3 AND age > pay", []),
        ("age > 3 AND pay < 150", ["age", "pay"]),
    ],
)
def test_ranges_are_conditions_by_numbers_joined_by_and(where, columns):
    """One per column, however many conditions bound it."""
    assert [found.column for found in ranges_of(f"SELECT avg(pay) FROM release r WHERE {where}")] == columns


def test_a_question_without_a_condition_has_no_range():
    """Nor has one that is no question at all; that is refused."""
    assert ranges_of("SELECT avg(pay) FROM release") == []
    for text in ("DROP TABLE release", "SELECT ((", ""):
        with pytest.raises(QueryError):
            ranges_of(text)


def test_a_moved_range_replaces_the_old_one_and_nothing_else(release):
    """It answers as the same question written by hand."""
    (found,) = ranges_of("SELECT count(*) AS n FROM release r WHERE r.age >= 30 AND r.sex = 'F' AND age < 40")
    moved = select(release, found.moved_sql(25, 50))
    assert moved.equals(select(release, "SELECT count(*) AS n FROM release WHERE sex = 'F' AND age BETWEEN 25 AND 50"))
    assert "BETWEEN -5 AND -1.5" in found.moved_sql(-5, -1.5)


def test_values_of_a_range_keep_open_ends_open(release):
    """30 <= age < 40 has ten values, all ages are forty."""
    (found,) = ranges_of("SELECT avg(pay) FROM release WHERE age >= 30 AND age < 40 AND sex = 'F'")
    inside = select(release, found.values_sql(inside=True)).column("value").to_pylist()
    assert sorted(inside) == list(range(30, 40))
    assert select(release, found.values_sql(inside=False)).num_rows == 40


def test_per_group_an_average_is_the_sum_it_divides():
    """Keys stay, clauses that arrange the result go."""
    asked = by_group("SELECT sex, avg(pay) AS p FROM release GROUP BY sex ORDER BY p LIMIT 3", "g")
    assert "SUM(pay) AS answer_1" in asked
    assert asked.endswith('GROUP BY sex, "g"')
