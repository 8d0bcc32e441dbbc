"""Clustering error on clouds."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.randomness import seeded_keys
from hedgerow.utility.clustering import clustering_error, k_means

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
