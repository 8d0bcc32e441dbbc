"""The known-sample attack on cases whose answer is known."""

from __future__ import annotations

import numpy as np

from hedgerow.attack import known_sample
from hedgerow.randomness import seeded_keys

RNG = np.random.default_rng(0)
TRUE = RNG.normal(size=(400, 2)) * [1, 1000]


def test_a_known_sample_reads_a_smooth_curve_and_not_noise():
    """Between known people a monotone substitution is interpolated; independent numbers give what guessing gives."""
    column = RNG.uniform(0, 1, 2000)
    smooth = known_sample(column, column**2 + column, keys=seeded_keys(6))
    assert smooth.rate > 0.9
    blind = known_sample(column, RNG.uniform(0, 1, 2000), keys=seeded_keys(7))
    assert blind.rate < 0.1
    assert 0.005 < blind.baseline < 0.1


def test_a_table_of_two_rows_is_attacked():
    """One is known, the other is guessed."""
    assert known_sample(TRUE[:2, 0], TRUE[:2, 0], keys=seeded_keys(9)).trials == 1


def test_the_baseline_is_the_best_single_guess():
    """Of two values, three quarters and a quarter, guessing the more frequent one is right three times in four."""
    column = np.repeat([10.0, 11.0, 10.0, 10.0], 250)
    found = known_sample(column, RNG.uniform(0, 1, 1000), keys=seeded_keys(3))
    assert abs(found.baseline - 0.75) < 0.05


def test_the_median_between_two_values_is_no_guess():
    """Half of the people have either value: guessing one of them is right half of the time, the middle never."""
    column = np.repeat([10.0, 20.0], 500)
    baselines = [known_sample(column, column, keys=seeded_keys(seed)).baseline for seed in range(20)]
    assert min(baselines) > 0.4
