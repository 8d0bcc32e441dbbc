"""Mean and standard deviation against every assignment, each with the same weight."""

import itertools
import math
import random
import statistics
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.query import ask, select
from tests.support.assignments import every_answer, release_of, selected_rows


@st.composite
def releases(draw):
    """Up to eight rows in two groups of at most four, with ties and negatives."""
    values = draw(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
    a = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    return release_of({"a": a, "salary": values}, [row // 4 for row in range(len(values))], sensitive="salary")


def check(release, function, condition, hidden="", keep=lambda value: True):
    """Compare mean and deviation with those over all assignments that give a number."""
    argument = "*" if function == "count" else "salary"
    answer = ask(release, f"SELECT {function}({argument}) FROM release WHERE {condition}{hidden}")
    answers = every_answer(release, function, selected_rows(release, condition), keep)
    numbers = [number for number in answers if number is not None]
    if not numbers:
        assert answer.expected is None
        return
    mean = sum(numbers) / Fraction(len(numbers))
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    assert answer.expected == pytest.approx(float(mean), rel=1e-9, abs=1e-9)
    assert answer.std == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max"])
@settings(max_examples=50)
@given(release=releases(), limit=st.integers(0, 3))
def test_mean_and_deviation_are_those_of_a_random_assignment(function, release, limit):
    """The formulas give what averaging over all assignments gives."""
    check(release, function, f"a < {limit}")


@pytest.mark.parametrize("function", ["count", "sum", "min", "max"])
@settings(max_examples=50)
@given(release=releases(), limit=st.integers(1, 3), least=st.integers(-4, 4))
def test_mean_and_deviation_under_a_sensitive_condition(function, release, limit, least):
    """Assignments that leave nothing to aggregate are left out of mean and deviation."""
    check(release, function, f"a < {limit}", f" AND salary >= {least}", lambda value: value >= least)


@settings(max_examples=50)
@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=4), hits=st.integers(1, 4), least=st.integers(-4, 4))
def test_the_mean_of_an_average_over_an_uncertain_number_is_exact_in_one_group(values, hits, least):
    """Whatever number of rows matches, their mean is that of the matching values."""
    release = release_of({"a": list(range(len(values))), "salary": values}, [0] * len(values), sensitive="salary")
    answer = ask(release, f"SELECT avg(salary) FROM release WHERE a < {hits} AND salary >= {least}")
    matching = [value for value in values if value >= least]
    assert (answer.expected is None) == (not matching)
    if matching:
        assert answer.expected == pytest.approx(sum(matching) / len(matching))


def test_many_cells_agree_with_one_question_each():
    """GROUP BY gives in each row what a question about that row alone gives."""
    rows = 600
    columns = {
        "sex": pa.array([None if row % 11 == 0 else "FM"[row * 7 % 2] for row in range(rows)]),
        "age": [row * 31 % 5 for row in range(rows)],
        "salary": [row * 7919 % 1009 - 500 for row in range(rows)],
    }
    release = release_of(columns, [row // 6 for row in range(rows)], sensitive="salary")
    items = "sum(salary) AS s, avg(salary) AS a, min(salary) AS l, max(salary) AS h, count(*) AS n"
    table = select(release, f"SELECT sex, age, {items} FROM release WHERE age <> 3 GROUP BY sex, age")
    assert table.num_rows == 12
    for row in table.to_pylist():
        sex = "sex IS NULL" if row["sex"] is None else f"sex = '{row['sex']}'"
        alone = select(release, f"SELECT {items} FROM release WHERE {sex} AND age = {row['age']}").to_pylist()[0]
        for name, number in alone.items():
            assert row[name] == (pytest.approx(number) if isinstance(number, float) else number)


def test_values_beyond_the_horizon_do_not_matter(monkeypatch):
    """With many groups only the nearest values are walked; walking all of them gives the same mean and deviation."""
    rows = 20_000
    salaries = [row * 7919 % 100_003 for row in range(rows)]
    release = release_of(
        {"a": [row * 31 % 7 for row in range(rows)], "salary": salaries},
        [row // 4 for row in range(rows)],
        sensitive="salary",
    )
    text = "SELECT min(salary) AS l, max(salary) AS h FROM release WHERE a < 3"
    near = select(release, text).to_pylist()[0]
    monkeypatch.setattr("hedgerow.query.aggregates.extremes._NEAREST", 10**9)
    assert near == pytest.approx(select(release, text).to_pylist()[0], rel=1e-12)
    assert near["l_std"] > 0


EXACT = {
    "var_pop(salary)": statistics.pvariance,
    "var_samp(salary)": statistics.variance,
    "count(DISTINCT salary)": lambda numbers: len(set(numbers)),
}


@pytest.mark.parametrize("item", EXACT)
@settings(max_examples=30, deadline=None)
@given(release=releases(), limit=st.integers(1, 3))
def test_means_of_variance_and_different_values_are_exact(item, release, limit):
    """Over all assignments; the deviation of COUNT(DISTINCT) is an upper limit."""
    rows = selected_rows(release, f"a < {limit}")
    if len(rows) < 2:
        return
    answers = [float(EXACT[item](numbers)) for numbers in shuffles(release, rows, 0)]
    answer = ask(release, f"SELECT {item} FROM release WHERE a < {limit}")
    assert answer.expected == pytest.approx(statistics.fmean(answers), abs=1e-6)
    if "DISTINCT" in item:
        assert answer.std >= statistics.pstdev(answers) - 1e-6


def shuffles(release, rows, number):
    """The sensitive values of some rows under every assignment, or under a number of random ones."""
    table = release.tables["release"]
    values, groups = table["salary"].to_pylist(), table["group"].to_pylist()
    parts = [[values[r] for r in found] for _, found in itertools.groupby(range(len(groups)), groups.__getitem__)]
    if not number:
        for world in itertools.product(*(itertools.permutations(part) for part in parts)):
            flat = [value for part in world for value in part]
            yield [flat[row] for row in rows]
    rng = random.Random(number)
    for _ in range(number):
        flat = [value for part in parts for value in rng.sample(part, len(part))]
        yield [flat[row] for row in rows]


@pytest.mark.parametrize(("rows", "size", "width"), [(60, 5, 30), (200, 4, 1000), (40, 8, 10)])
@pytest.mark.parametrize(
    ("item", "function"),
    [
        ("median(salary)", statistics.median),
        ("var_pop(salary)", statistics.pvariance),
        ("stddev_pop(salary)", statistics.pstdev),
    ],
)
def test_approximate_means_and_deviations_are_near_simulated_ones(rows, size, width, item, function):
    """The mean within a quarter of a deviation, the deviation within a quarter of itself."""
    rng = random.Random(rows)
    columns = {
        "a": [rng.randrange(3) for _ in range(rows)],
        "salary": [rng.randrange(-width, width) for _ in range(rows)],
    }
    release = release_of(columns, [row // size for row in range(rows)], sensitive="salary")
    answer = ask(release, f"SELECT {item} FROM release WHERE a < 2")
    answers = [float(function(numbers)) for numbers in shuffles(release, selected_rows(release, "a < 2"), 600)]
    deviation = statistics.pstdev(answers)
    assert abs(answer.expected - statistics.fmean(answers)) <= 0.25 * deviation
    assert answer.std == pytest.approx(deviation, rel=0.25)


def test_rounding_below_zero_is_no_deviation():
    """A variance that rounding left slightly negative is a deviation of zero, not a warning."""
    import numpy as np

    from hedgerow.query.evidence.groups import deviation

    assert deviation(np.array([-1e-18, 4.0])).tolist() == [0.0, 2.0]
