"""Clustering error on clouds."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.randomness import seeded_keys
from studies.clustering import _lloyd, clustering_error, k_means

RNG = np.random.default_rng(0)


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


def test_bounds_spare_distances_and_change_nothing():
    """Lloyd's algorithm with every distance computed, in a few lines, ends with the same clusters and tightness."""
    points = np.random.default_rng(8).normal(size=(5000, 3))
    centres = points[:7].copy()
    clusters, tightness = _lloyd(points, centres)
    for _ in range(100):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        centres = np.array([points[distances.argmin(axis=1) == cluster].mean(axis=0) for cluster in range(7)])
    assert clusters.tolist() == distances.argmin(axis=1).tolist()
    assert tightness == pytest.approx(distances.min(axis=1).sum(), rel=1e-9)


def test_a_cluster_that_loses_its_rows_keeps_its_centre():
    """A first centre far from everybody gets no row, and nothing divides by its size."""
    points = np.array([[0.0], [1.0], [10.0]])
    clusters, tightness = _lloyd(points, np.array([[0.0], [99.0], [10.0]]))
    assert clusters.tolist() == [0, 0, 2]
    assert tightness == pytest.approx(0.5)
