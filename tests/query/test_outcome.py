"""HAVING, ORDER BY, LIMIT and arithmetic between results, against DuckDB over the full result and over all tables."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import QueryError
from hedgerow.query import ask, connect, select
from tests.support.agreement import answered
from tests.support.assignments import release_of
from tests.support.form_worlds import possible_answers
from tests.support.truth import database_of

ITEMS = "a, count(*) AS n, sum(s) AS t, avg(s) AS m, min(s) AS l"
HAVING = ["n > 1", "t >= 0", "m BETWEEN -1 AND 1", "n = 2 OR a = 1", "NOT t < 0", "n * 2 > t", "l IS NOT NULL", "a < 2"]
ORDER = ["n", "n DESC", "t DESC, n", "m", "m DESC, l, a DESC", "a DESC", "l - t", "3 DESC, 1", "m NULLS FIRST, a"]
CUTS = ["", " LIMIT 0", " LIMIT 1", " LIMIT 2 OFFSET 1", " OFFSET 3", " LIMIT 100"]


@st.composite
def releases(draw, most=24):
    """Rows in groups of three, with negatives and ties."""
    rows = draw(st.integers(1, most))
    columns = {
        "a": draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)),
        "s": draw(st.lists(st.integers(-3, 3), min_size=rows, max_size=rows)),
    }
    return release_of(columns, [row // 3 for row in range(rows)], sensitive="s")


@settings(max_examples=80, deadline=None)
@given(whole=releases(), having=st.sampled_from(HAVING), order=st.sampled_from(ORDER), cut=st.sampled_from(CUTS))
def test_having_order_and_limit_are_those_of_sql_over_expected_values(whole, having, order, cut):
    """The rows are those which DuckDB keeps of the unrestricted result, in its order."""
    full = select(whole, f"SELECT {ITEMS} FROM release GROUP BY a")
    with database_of(r=full) as database:
        place = order.replace("3 DESC, 1", "t DESC, a")
        wanted = database.execute(f"SELECT * FROM r WHERE {having} ORDER BY {place}, a{cut}").fetchall()
    found = select(whole, f"SELECT {ITEMS} FROM release GROUP BY a HAVING {having} ORDER BY {order}, a{cut}")
    assert [tuple(row.values()) for row in found.to_pylist()] == wanted


@settings(max_examples=60, deadline=None)
@given(whole=releases(), least=st.integers(-4, 9))
def test_having_may_name_aggregates_that_are_not_shown(whole, least):
    """They are computed and left out, and so are those of ORDER BY."""
    text = f"SELECT a, count(*) AS n FROM release GROUP BY a HAVING sum(s) >= {least} ORDER BY max(s) DESC, a"
    full = select(whole, "SELECT a, sum(s) AS t, max(s) AS h FROM release GROUP BY a").to_pylist()
    kept = sorted((row for row in full if row["t"] >= least), key=lambda row: (-row["h"], row["a"]))
    found = select(whole, text)
    assert found.column_names == ["a", "n", "n_lower", "n_upper", "n_std"]
    assert found["a"].to_pylist() == [row["a"] for row in kept]


ARITHMETIC = [
    "sum(s) + count(*)",
    "max(s) - min(s)",
    "(max(s) + min(s)) / 2",
    "sum(s) * 100 / count(*)",
    "sum(s) / count(s)",
    "avg(s) * avg(a)",
    "-min(s)",
    "sum(s) * sum(s)",
    "sum(s) / (count(*) + 1)",
    "sum(s) / min(s)",
    "1.5 * max(s) - 0.25",
    "max(s) / 3 * 3",
]


@pytest.mark.parametrize("item", ARITHMETIC)
@settings(max_examples=15, deadline=None)
@given(whole=releases(most=6), condition=st.sampled_from(["1 = 1", "a > 1", "a < 2 AND s > 0", "s <> 0"]))
def test_arithmetic_encloses_every_possible_answer(item, whole, condition):
    """Every answer of every table that is a number lies inside; it is refused where each divides by zero."""
    found = [number for number in possible_answers(whole, "permuted", item, condition) if number is not None]
    result = answered(connect(whole), f"SELECT {item} AS x FROM release WHERE {condition}")
    if isinstance(result, str):
        assert "divides by zero" in result
        assert not any(map(math.isfinite, found))
        return
    answer = result.estimates["x"].answers[0]
    for number in filter(math.isfinite, found):
        assert answer.lower - 1e-9 <= number <= answer.upper + 1e-9


@settings(max_examples=40, deadline=None)
@given(whole=releases(most=6), item=st.sampled_from(["sum(s) + 3", "2 * max(s)", "sum(s) / count(s)", "-min(s)"]))
def test_arithmetic_is_reached_where_no_operand_is_doubtful_twice(whole, item):
    """One doubtful operand: the ends are those of some table."""
    answer = ask(whole, f"SELECT {item} FROM release WHERE a > 0")
    answers = [number for number in possible_answers(whole, "permuted", item, "a > 0") if number is not None]
    if answers:
        assert (answer.lower, answer.upper) == pytest.approx((min(answers), max(answers)), abs=1e-9)
    else:
        assert answer.lower is None


def test_a_divisor_that_may_be_zero():
    """Whole divisors next to zero give the ends; of others none is next, so there are no bounds."""
    whole = release_of({"a": [1, 2], "s": [0, 4]}, [0, 0], sensitive="s")
    answer = ask(whole, "SELECT sum(s) / min(s) FROM release WHERE a = 1")
    assert (answer.lower, answer.upper) == (0, 4)
    assert ask(whole, "SELECT sum(s) / avg(s) FROM release WHERE a = 1").lower is None
    assert ask(whole, "SELECT sum(s) / (min(s) + 1) FROM release WHERE a = 1").upper == 4


BIG = 2**53


@pytest.mark.parametrize("item", ["sum(x)", "max(x)", "x"])
@pytest.mark.parametrize("way", ["", " DESC"])
def test_whole_numbers_beyond_floats_are_sorted_exactly(item, way):
    """2^53 and 2^53 + 1 are one float; each number is of one row, so that sum and max are it."""
    numbers = [BIG + n for n in (3, 0, 2, 1)]
    whole = release_of({"x": numbers, "s": [1, 2, 3, 4]}, [0, 0, 1, 1], sensitive="s")
    found = select(
        whole, f"SELECT x, {'count(*)' if item == 'x' else item} AS t FROM release GROUP BY x ORDER BY {item}{way}"
    )
    assert found.column("x").to_pylist() == sorted(numbers, reverse=bool(way))


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT a, count(*) AS n FROM release GROUP BY a HAVING sum(x) > {BIG}",
        f"SELECT a, max(x) AS m FROM release GROUP BY a HAVING m = {BIG + 1}",
        f"SELECT count(*) FROM (SELECT a, sum(x) AS m FROM release GROUP BY a) WHERE m > {BIG}",
    ],
)
def test_conditions_on_results_beyond_floats_are_refused(text):
    """They would be compared as floats, which do not tell such numbers apart; smaller ones are answered."""
    columns = {"a": [1, 2, 1, 2], "x": [BIG + n for n in range(4)], "s": [1, 2, 3, 4]}
    whole = release_of(columns, [0, 0, 1, 1], sensitive="s")
    with pytest.raises(QueryError, match=r"up to 2\^53"):
        select(whole, text)
    assert select(whole, text.replace("(x)", "(s)")) is not None
