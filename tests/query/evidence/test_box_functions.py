"""Functions of columns that are published as ranges: the truth is inside, engines agree, ends are values."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hedgerow.query import connect
from hedgerow.query.evidence.box_functions import range_in_intervals, range_in_sets
from tests.support.agreement import answered, difference
from tests.support.assignments import release_of
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.form_worlds import as_generalized
from tests.support.truth import contradiction_of, original_of

ITEMS = (
    "sum(abs(age))", "sum(age * 2 + 1)", "avg(age * age - 30 * age)", "sum(CASE WHEN age > 40 THEN 1 ELSE 0 END)",
    "min(abs(age - 40))", "max(year(born))", "avg(length(town))", "sum(coalesce(age, 7))", "count(abs(age))",
    "median(age // 10)", "stddev(age * 2)", "sum(rate * 2)", "sum(age * fee)", "max(sqrt(age))", "sum(age + rate)",
    "sum(age) FILTER (WHERE length(s::VARCHAR) > 2)", "sum(month(born)) FILTER (WHERE age > 40)",
    "sum(CASE WHEN town = 'Bern' THEN age ELSE 0 END)",
)  # fmt: skip


@pytest.mark.parametrize("form", [form for form in EVERY_FORM if form.startswith("generalized")])
def test_the_truth_lies_inside_and_engines_agree(form):
    """Whole numbers, floats, dates and texts; with gaps, under conditions on other columns."""
    sample = sample_of(form, random.Random(form), rows=25)
    arrays, database = connect(sample.release), connect(sample.release, "duckdb")
    with original_of(sample.table) as original:
        for item in ITEMS:
            text = f"SELECT {item} AS x FROM release"
            found = answered(arrays, text)
            assert not isinstance(found, str), found
            assert contradiction_of(found, original, text) is None, text
            assert difference(found, answered(database, text)) is None, text


def test_a_function_is_computed_over_all_values_of_a_box():
    """Interval arithmetic would say -9 to 16 of a parabola that lies between -2 and 4."""
    release = as_generalized(release_of({"a": [-1, 4], "s": [1, 2]}, [0, 0], sensitive="s"))
    answer = connect(release).ask("SELECT max(a * a - 3 * a) AS x FROM release")
    assert (answer.lower, answer.upper) == (-2, 4)
    assert connect(release).ask("SELECT avg(a // 10) AS x FROM release").upper == 0


@pytest.mark.parametrize("seed", range(20))
def test_extremes_of_runs_and_sets(seed):
    """By definition: the least and the greatest value of the function in each interval, and in each set."""
    rng = random.Random(seed)
    low = [rng.randrange(-9, 30) for _ in range(12)]
    high = [end + rng.randrange(20) for end in low]

    def function(values):
        squares = pc.subtract(pc.multiply(values, values), pc.multiply(values, 13))
        return pc.if_else(pc.equal(pc.bit_wise_and(values, 3), 0), pa.scalar(None, pa.int64()), squares)

    found = range_in_intervals(pa.array(low), pa.array(high), function)
    for place, (a, b) in enumerate(zip(low, high, strict=True)):
        numbers = [n * n - 13 * n for n in range(a, b + 1) if n % 4]
        assert found.possible[place] == bool(numbers)
        assert found.sure[place] == (len(numbers) == b - a + 1)
        assert not numbers or (found.low[place], found.high[place]) == (min(numbers), max(numbers))
    sets = np.array([rng.randrange(3) for _ in range(12)])
    listed = range_in_sets(pa.array(low), sets, 3, function)
    for number in range(3):
        members = [n for n, own in zip(low, sets.tolist(), strict=True) if own == number]
        numbers = [n * n - 13 * n for n in members if n % 4]
        assert listed.possible[number] == bool(numbers)
        assert not numbers or (listed.low[number], listed.high[number]) == (min(numbers), max(numbers))
