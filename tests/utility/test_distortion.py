"""Distortion on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.utility.measures import distortion


def test_distortion_is_the_mean_relative_change():
    """Two cells change by a tenth and by nothing; zeros are measured against the column's mean size."""
    assert distortion(np.array([[10.0], [-20.0]]), np.array([[11.0], [-20.0]])) == pytest.approx(0.05)
    assert distortion(np.array([[0.0], [4.0]]), np.array([[1.0], [4.0]])) == pytest.approx(0.25)
    assert distortion(np.zeros((2, 1)), np.zeros((2, 1))) == 0
    assert distortion(np.zeros((2, 1)), np.ones((2, 1))) == np.inf
