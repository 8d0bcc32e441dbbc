"""Noise at a wanted distortion."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.randomness import seeded_keys
from hedgerow.utility.measures import distortion
from studies.noise import noise_at_distortion

RNG = np.random.default_rng(0)


def test_noise_has_the_distortion_that_was_asked_for_and_is_centred():
    """Each column's distortion is exactly the wanted one, and the noise is uniform around zero."""
    table = RNG.uniform(10, 100, (5000, 2))
    noisy = noise_at_distortion(table, [0.1, 0.02], keys=seeded_keys(1))
    for column, wanted in enumerate((0.1, 0.02)):
        assert distortion(table[:, [column]], noisy[:, [column]]) == pytest.approx(wanted)
        change = noisy[:, column] - table[:, column]
        assert abs(change.mean()) < 4 * change.std() / np.sqrt(5000)
        assert np.abs(change).max() == pytest.approx(change.std() * np.sqrt(3), rel=0.05)
