"""Workloads: what they select, and how wide bounds come out."""

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.query import ask
from hedgerow.randomness import seeded_keys
from hedgerow.utility import arbitrary_queries, range_columns, range_queries, relative_error, typical_widths
from tests.support.assignments import release_of, selected_rows


@pytest.fixture(scope="module")
def release():
    """Three hundred rows in groups of six similar values."""
    rows = 300
    columns = {
        "age": [None if row % 50 == 0 else row * 37 % 71 for row in range(rows)],
        "town": ["AB"[row % 2] for row in range(rows)],
        "salary": [1000 + row for row in range(rows)],
    }
    return release_of(columns, [row // 6 for row in range(rows)], sensitive="salary")


def test_arbitrary_queries_select_as_many_rows_as_asked(release):
    """Every row is as likely as any other: over many draws each is selected about as often."""
    queries = arbitrary_queries(release, rows=30, count=400, keys=seeded_keys(1))
    assert all(query.rows.sum() == 30 for query in queries)
    often = np.sum([query.rows for query in queries], axis=0)
    # 400 draws of one in ten: mean 40, deviation 6; five deviations hold for 300 rows with near certainty.
    assert 10 <= often.min() <= often.max() <= 70


def test_range_queries_say_what_they_select(release):
    """The printed condition selects the same rows elsewhere."""
    for query in range_queries(release, "age", count=20, keys=seeded_keys(2)):
        assert np.flatnonzero(query.rows).tolist() == selected_rows(release, query.condition)
        assert query.rows.any()


def test_relative_error_is_the_width_over_the_answer(release):
    """It equals what asking the same question gives; the truth may stand in for the expected answer."""
    queries = range_queries(release, "age", count=10, keys=seeded_keys(3))
    for function in ("sum", "avg", "min", "max"):
        errors = relative_error(release, queries, function=function)
        truths = relative_error(release, queries, function=function, truth=[2.0] * len(queries))
        for query, error, against_two in zip(queries, errors, truths, strict=True):
            answer = ask(release, f"SELECT {function}(salary) FROM release WHERE {query.condition}")
            assert error == pytest.approx((answer.upper - answer.lower) / answer.expected)
            assert against_two == pytest.approx((answer.upper - answer.lower) / 2)


def test_larger_questions_have_narrower_bounds(release):
    """The more rows are selected, the more groups are selected whole: none is left at all rows."""
    errors = [
        relative_error(release, arbitrary_queries(release, rows=rows, keys=seeded_keys(4))).mean()
        for rows in (10, 150, 290, 300)
    ]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] == pytest.approx(0, abs=1e-12)


def test_empty_questions_have_no_error():
    """A question that selects nothing has no answer, and zero has no relative error."""
    empty = release_of({"age": [1, 2], "salary": [-1, 1]}, [0, 0], sensitive="salary")
    (query,) = range_queries(empty, "age", count=1, keys=seeded_keys(1))
    nothing = type(query)(np.zeros(2, dtype=np.bool_))
    everything = type(query)(np.ones(2, dtype=np.bool_))
    assert np.isnan(relative_error(empty, [nothing, everything], function="sum")).all()


def test_parameters_are_checked(release):
    """Each refusal names the parameter."""
    assert range_columns(release) == ("age",)
    with pytest.raises(ParameterError, match="'column'"):
        range_queries(release, "town")
    with pytest.raises(ParameterError, match="'rows'"):
        arbitrary_queries(release, rows=301)
    with pytest.raises(ParameterError, match="'count'"):
        arbitrary_queries(release, rows=3, count=0)
    with pytest.raises(ParameterError, match="'function'"):
        relative_error(release, [], function="median")
    with pytest.raises(ParameterError, match="'truth'"):
        relative_error(release, [], truth=[1.0])
    with pytest.raises(ParameterError, match="'column'"):
        relative_error(release, [], column="age")


def test_typical_widths_are_medians_over_both_workloads(release):
    """Similar values in a group make narrow bounds; a text column has none."""
    widths = dict(typical_widths(release, keys=seeded_keys(5)))
    assert list(widths) == ["AVG(salary) over a random tenth of the rows", "AVG(salary) over a range of age"]
    # Groups span 5 of about 1,150: with one hit per group half the width is at most 2.5 in 1,150.
    assert all(0 < width < 2.6 / 1000 for width in widths.values())
    texts = release_of({"age": [1, 2], "disease": ["a", "b"]}, [0, 0], sensitive="disease")
    assert typical_widths(texts) == []
