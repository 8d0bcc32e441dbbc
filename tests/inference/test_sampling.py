"""Sampled probabilities hold the exact ones in their intervals."""

import numpy as np
import pytest

from hedgerow.inference.full import full_posteriors
from hedgerow.inference.robust import _estimate, draw_worlds, sample_posteriors
from hedgerow.randomness import seeded_keys


def test_intervals_hold_the_exact_value() -> None:
    """Of forty groups with known p none lies outside its interval, and the intervals are narrow."""
    rng, widths = np.random.default_rng(6), []
    for seed in range(40):
        size, values = int(rng.integers(3, 9)), int(rng.integers(2, 4))
        f = rng.random((size, values)) + 0.05
        _, counts = np.unique(
            np.append(np.arange(values), rng.integers(0, values, size - values))[:size], return_counts=True
        )
        f = np.ascontiguousarray(f[:, : len(counts)])
        exact = full_posteriors(f, np.ones(size, np.int64), counts)
        found = sample_posteriors(f, counts, samples=2000, keys=seeded_keys(seed))
        assert (found.low <= exact + 1e-12).all()
        assert (exact <= found.high + 1e-12).all()
        widths.append((found.high - found.low).mean())
    assert np.mean(widths) < 0.12


def test_every_world_hands_out_all_values() -> None:
    """A drawn world uses each value as often as the group has it."""
    weights, counts = np.random.default_rng(0).random((6, 3)) + 0.1, np.array([3, 1, 2])
    uniform = np.random.default_rng(1).random((50, 6))
    _, drawn = draw_worlds.plain(weights, counts, uniform)
    assert all(np.bincount(world, minlength=3).tolist() == [3, 1, 2] for world in drawn)


def test_few_effective_draws_open_the_interval() -> None:
    """Where the weight sits on a handful of draws the interval is everything up to the sound bound."""
    f = np.where(np.eye(30) > 0, 1.0, 1e-9) + np.eye(30, k=1) * 0.9
    found = sample_posteriors(f, np.ones(30, np.int64), samples=40, keys=seeded_keys(3))
    assert found.low.max() == 0.0
    assert found.high.max() == pytest.approx(1.0, abs=1e-6)


def test_a_share_of_nothing_is_as_certain_as_its_draws() -> None:
    """A value that no draw gave is at most four half draws likely: no wider, or bounds would say nothing."""
    f = np.array([[1.0, 1e-9], [1e-9, 1.0]])
    found = _estimate(np.ones(200), np.tile(np.array([0, 1], np.int32), (200, 1)), np.ones((2, 2)))
    assert found.high[0, 1] == pytest.approx(4 * 0.5 / 200)
    assert found.low[0, 0] == pytest.approx(1 - 4 * 0.5 / 200)
    assert sample_posteriors(f, np.ones(2, np.int64), samples=400, keys=seeded_keys(1)).high[0, 1] < 0.01
