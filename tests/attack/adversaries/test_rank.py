"""The rank attack on cases whose answer is known."""

from __future__ import annotations

import numpy as np

from hedgerow.attack import identity, rank
from hedgerow.randomness import seeded_keys

RNG = np.random.default_rng(0)
TRUE = RNG.normal(size=(400, 2)) * [1, 1000]


def test_ranks_survive_a_monotone_change_and_values_do_not():
    """Cubing every value leaves ranks as they are."""
    cubed = TRUE**3
    assert rank(TRUE, cubed, targets=100, keys=seeded_keys(4)).rate == 1
    assert identity(TRUE, cubed, targets=100, keys=seeded_keys(4)).rate < 0.5
