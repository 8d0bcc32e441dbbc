"""Distortion, noise, clustering error and errors of averages on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.randomness import seeded_keys
from hedgerow.utility.averages import AverageQuery, average_errors, random_average_queries
from hedgerow.utility.clustering import clustering_error, k_means
from hedgerow.utility.distortion import distortion
from hedgerow.utility.noise import noise_at_distortion

RNG = np.random.default_rng(0)


def test_distortion_is_the_mean_relative_change():
    """Two cells change by a tenth and by nothing; zeros are measured against the column's mean size."""
    assert distortion(np.array([[10.0], [-20.0]]), np.array([[11.0], [-20.0]])) == pytest.approx(0.05)
    assert distortion(np.array([[0.0], [4.0]]), np.array([[1.0], [4.0]])) == pytest.approx(0.25)
    assert distortion(np.zeros((2, 1)), np.zeros((2, 1))) == 0
    assert distortion(np.zeros((2, 1)), np.ones((2, 1))) == np.inf


def test_noise_has_the_distortion_that_was_asked_for_and_is_centred():
    """Each column's distortion is exactly the wanted one, and the noise is uniform around zero."""
    table = RNG.uniform(10, 100, (5000, 2))
    noisy = noise_at_distortion(table, [0.1, 0.02], keys=seeded_keys(1))
    for column, wanted in enumerate((0.1, 0.02)):
        assert distortion(table[:, [column]], noisy[:, [column]]) == pytest.approx(wanted)
        change = noisy[:, column] - table[:, column]
        assert abs(change.mean()) < 4 * change.std() / np.sqrt(5000)
        assert np.abs(change).max() == pytest.approx(change.std() * np.sqrt(3), rel=0.05)


def _clouds(rows=900):
    centres = np.array([[0, 0], [10, 0], [0, 500]])
    labels = np.arange(rows) % 3
    return centres[labels] + RNG.normal(size=(rows, 2)) * [1, 50], labels


def test_k_means_finds_clouds_and_an_equal_table_has_no_error():
    """Clouds far apart are found; clusters are matched whatever their numbers."""
    points, labels = _clouds()
    found = k_means(points / points.std(axis=0), k=3, keys=seeded_keys(2))
    assert len(set(zip(found.tolist(), labels.tolist(), strict=True))) == 3
    assert clustering_error(points, points, k=3, keys=seeded_keys(3)) == 0


def test_clustering_error_is_the_share_of_misplaced_rows():
    """Moving a tenth of the rows into another cloud gives an error of about a tenth, shuffling about two thirds."""
    points, labels = _clouds()
    moved = points.copy()
    first = np.flatnonzero(labels == 0)[:90]
    moved[first] += [10, 0]
    assert clustering_error(points, moved, k=3, keys=seeded_keys(4)) == pytest.approx(0.1, abs=0.02)
    shuffled = RNG.permutation(points)
    assert clustering_error(points, shuffled, k=3, keys=seeded_keys(5)) > 0.5


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
