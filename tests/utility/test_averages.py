"""Averages under random conditions."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.randomness import seeded_keys
from hedgerow.utility.averages import AverageQuery, average_errors, random_average_queries

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
