"""Bounds: the paper's worked answers, and every assignment of small releases."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.datasets.printed import SALARY_GROUPS
from hedgerow.exact import float_above, float_below
from hedgerow.query import ask
from tests.support.assignments import every_answer, release_of, selected_rows
from tests.support.printed import salaries_permuted

CONDITIONS = [
    "a > 1",
    "a BETWEEN 1 AND 2",
    "a IS NULL OR b = 'x'",
    "NOT (a = 2 AND b = 'x')",
    "b LIKE '_' AND a <> 3",
    "1 = 1",
]
NUMBERS = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=7),
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=7),
    st.lists(st.integers(-300, 300).map(lambda n: n / 100), min_size=1, max_size=7),
)


@st.composite
def releases(draw, missing=False):
    """Up to seven rows in groups of at most four, with ties, negatives, floats and missing quasi-identifiers."""
    values = draw(NUMBERS)
    rows = len(values)
    if missing:
        holes = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
        values = [None if hole else value for value, hole in zip(values, holes, strict=True)]
    kind = pa.float64() if any(isinstance(value, float) for value in values) else pa.int64()
    a = draw(st.lists(st.sampled_from([None, 1, 2, 3]), min_size=rows, max_size=rows))
    b = draw(st.lists(st.sampled_from([None, "x", "y"]), min_size=rows, max_size=rows))
    columns = {"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.string()), "salary": pa.array(values, kind)}
    cut = draw(st.integers(0, 3))
    return release_of(columns, [min(row // 4, 1) if cut else row % 2 for row in range(rows)], sensitive="salary")


@pytest.fixture(scope="module")
def salaries():
    """The printed permuted table."""
    table = salaries_permuted()
    columns = {name: table.column(name) for name in ("age", "zipcode", "gender", "salary")}
    return release_of(columns, SALARY_GROUPS, sensitive="salary")


def enclose(answers):
    """The least and the greatest number among answers, or None."""
    numbers = [answer for answer in answers if answer is not None]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def check(release, function, condition, hidden="", keep=lambda value: True):
    """Compare bounds with those over all assignments: equal on whole numbers, the enclosing floats otherwise."""
    argument = "*" if function == "count" else "salary"
    answer = ask(release, f"SELECT {function}({argument}) FROM release WHERE ({condition}){hidden}")
    answers = every_answer(release, function, selected_rows(release, condition), keep)
    lower, upper = enclose(answers)
    if lower is None:
        assert (answer.lower, answer.upper, answer.expected, answer.std) == (None, None, None, None)
        return
    assert answer.exact == (len(set(answers)) == 1)
    if isinstance(answer.lower, int):
        assert (answer.lower, answer.upper) == (lower, upper)
    elif function in ("min", "max"):
        assert (answer.lower, answer.upper) == (float(lower), float(upper))
    else:
        tight = Fraction(1, 10**9)
        assert float_below(lower) >= answer.lower >= lower - tight - abs(lower) * tight
        assert float_above(upper) <= answer.upper <= upper + tight + abs(upper) * tight
    assert answer.lower <= answer.expected <= answer.upper


def test_average_over_a_whole_group_is_exact(salaries):
    """Everybody over 50 is in the third group, so their average is known: 80,000."""
    answer = ask(salaries, "SELECT avg(salary) FROM release WHERE age > 50")
    assert (answer.lower, answer.upper, answer.expected, answer.std, answer.exact) == (80000, 80000, 80000, 0, True)


def test_sum_over_part_of_a_group_is_bounded(salaries):
    """Ages 35 to 55 take two of the third group's three salaries."""
    answer = ask(salaries, "SELECT sum(salary) FROM release WHERE age BETWEEN 35 AND 55")
    assert (answer.lower, answer.upper, answer.expected) == (530_000, 540_000, 535_000)
    assert isinstance(answer.lower, int)


def test_minimum_comes_from_the_groups_in_reach(salaries):
    """Two women are in the second group and none in the first."""
    answer = ask(salaries, "SELECT min(salary) FROM release WHERE gender = 'F'")
    assert (answer.lower, answer.upper) == (65_000, 70_000)


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max"])
@settings(max_examples=60)
@given(release=releases(), condition=st.sampled_from(CONDITIONS))
def test_bounds_are_the_least_and_the_greatest_answer(function, release, condition):
    """No assignment gives an answer outside, and some assignment gives each end."""
    check(release, function, condition)


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max"])
@settings(max_examples=60)
@given(release=releases(), condition=st.sampled_from(CONDITIONS), limit=st.integers(-2, 2))
def test_bounds_under_a_sensitive_condition_are_tight(function, release, condition, limit):
    """The number of matching rows is uncertain; the least and the greatest answer are found all the same."""
    check(release, function, condition, f" AND salary > {limit}", lambda value: value > limit)


@pytest.mark.parametrize("function", ["sum", "avg", "min", "max"])
@settings(max_examples=60)
@given(release=releases(missing=True), condition=st.sampled_from(CONDITIONS))
def test_missing_sensitive_values_are_left_out_of_aggregates(function, release, condition):
    """An aggregate skips missing values, wherever an assignment puts them."""
    check(release, function, condition)


@settings(max_examples=60)
@given(release=releases(missing=True), condition=st.sampled_from(CONDITIONS))
def test_missing_sensitive_values_can_be_counted(release, condition):
    """IS NULL on the sensitive column is a condition like any other."""
    check(release, "count", condition, " AND salary IS NULL", lambda value: value is None)


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-100), min_size=2, max_size=6),
    st.sampled_from(["sum", "avg", "min", "max"]),
)
def test_floats_without_a_decimal_grid_are_enclosed(values, function):
    """The truth in exact rationals of the floats themselves lies inside, and not far inside."""
    values = [value / 3 for value in values]
    release = release_of({"a": list(range(len(values))), "salary": values}, [0] * len(values), sensitive="salary")
    answer = ask(release, f"SELECT {function}(salary) FROM release WHERE a < 2")
    pairs = [(Fraction(x), Fraction(y)) for i, x in enumerate(values) for y in values[:i]]
    aggregate = {"sum": sum, "avg": lambda p: sum(p) / 2, "min": min, "max": max}[function]
    lower, upper = min(map(aggregate, pairs)), max(map(aggregate, pairs))
    reach = Fraction(max(map(abs, values))) / 10**12
    assert lower - reach <= answer.lower <= lower
    assert upper <= answer.upper <= upper + reach


def test_sums_of_decimal_floats_enclose_both_readings():
    """0.1 means a tenth to a person and a binary fraction to a machine; the sums of both lie inside."""
    values = [0.1] * 10
    release = release_of({"a": list(range(10)), "salary": values}, [0] * 10, sensitive="salary")
    answer = ask(release, "SELECT sum(salary) FROM release")
    assert answer.exact
    assert answer.lower <= 1 < sum(map(Fraction, values)) <= answer.upper
    assert math.isclose(answer.lower, answer.upper, rel_tol=1e-14)


def test_totals_do_not_overflow():
    """Thousands of groups that almost fill 64 bits add up as they should."""
    rows = 4096
    big = 2**61
    release = release_of(
        {"a": [0, 1] * (rows // 2), "salary": [big] * rows}, [row // 2 for row in range(rows)], sensitive="salary"
    )
    answer = ask(release, "SELECT sum(salary) FROM release")
    assert (answer.lower, answer.upper, answer.exact) == (rows * big, rows * big, True)


def test_a_group_that_leaves_64_bits_is_answered():
    """Four times 2^61 leave 64 bits inside one group; whole numbers have as many digits as they need."""
    release = release_of({"a": [0] * 4, "salary": [2**61] * 4}, [0] * 4, sensitive="salary")
    assert ask(release, "SELECT sum(salary) FROM release").lower == 2**63
    assert ask(release, "SELECT avg(salary) FROM release").upper == 2**61
    assert ask(release, "SELECT max(salary) FROM release").upper == 2**61
