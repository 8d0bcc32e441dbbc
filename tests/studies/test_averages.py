"""Averages under random conditions."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys
from studies.averages import AverageQuery, average_errors, random_average_queries

RNG = np.random.default_rng(0)


def test_average_queries_select_and_average():
    """A query averages its target where the other columns exceed their thresholds and the category is listed."""
    table, kinds = np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 1.0]]), np.array([0, 1, 0])
    assert AverageQuery(0, (100.0, 2.0), np.array([True, True])).answer(table, kinds) == 2
    assert AverageQuery(0, (100.0, 2.0), np.array([True, False])).answer(table, kinds) == 1
    assert np.isnan(AverageQuery(0, (0.0, 9.0), np.array([True, True])).answer(table, kinds))


def test_random_queries_select_something_and_errors_are_relative():
    """Every query has a true answer; doubling the target doubles the answer, an empty answer counts as one."""
    table, kinds = RNG.uniform(1, 9, (300, 3)), RNG.integers(0, 4, 300)
    queries = random_average_queries(table, kinds, 1, 50, keys=seeded_keys(6))
    assert all(query.chosen(table, kinds).any() for query in queries)
    assert average_errors(queries, table, table, kinds).max() == 0
    assert average_errors(queries, table, table * [1, 2, 1], kinds) == pytest.approx(np.ones(50))
    assert (average_errors(queries, table, table * [0, 1, 0], kinds) == 1).all()


def test_an_average_of_zero_is_measured_against_its_column():
    """Where the truth is zero the error is in units of the column's mean size, and not infinite."""
    table, kinds = np.array([[0.0, 5.0], [0.0, 5.0], [6.0, 1.0]]), np.zeros(3, np.int64)
    query = AverageQuery(0, (0.0, 2.0), np.array([True]))
    assert average_errors([query], table, table + np.array([1.0, 0.0]), kinds) == pytest.approx([0.5])


def test_a_constant_column_is_refused():
    """Nothing lies above the only value of a column, so no query could ever be drawn."""
    table = np.column_stack([np.arange(9.0), np.ones(9)])
    with pytest.raises(ParameterError, match="columns that vary"):
        random_average_queries(table, np.zeros(9, np.int64), 0, 5, keys=seeded_keys(1))
    assert len(random_average_queries(table, np.zeros(9, np.int64), 1, 5, keys=seeded_keys(1))) == 5
