"""Identity and rank attacks, which share their linking, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.attack import identity, rank
from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys

RNG = np.random.default_rng(0)
TRUE = RNG.normal(size=(400, 2)) * [1, 1000]


@pytest.mark.parametrize("attack", [identity, rank])
def test_an_unchanged_table_is_read_completely(attack):
    """Whoever knows the numbers of distinct people finds all of them."""
    found = attack(TRUE, TRUE, targets=100, keys=seeded_keys(1))
    assert (found.hits, found.trials, found.baseline) == (100, 100, 1 / 400)


@pytest.mark.parametrize("attack", [identity, rank])
def test_a_constant_table_gives_what_guessing_gives(attack):
    """Among equal rows the pick is random."""
    found = attack(TRUE, np.zeros_like(TRUE), targets=400, keys=seeded_keys(2))
    assert found.hits <= 8


def test_ties_are_broken_evenly():
    """Among two equal rows each is picked half of the time."""
    true = np.repeat(np.arange(500.0), 2)[:, None]
    found = identity(true, true, targets=1000, keys=seeded_keys(3))
    assert abs(found.rate - 0.5) < 4 * np.sqrt(0.25 / 1000)


def test_a_wide_column_does_not_drown_a_narrow_one():
    """Each column counts in units of its spread: destroying the narrow one makes half of the knowledge useless."""
    half = TRUE.copy()
    half[:, 0] = RNG.permutation(half[:, 0])
    assert identity(TRUE, half, targets=200, keys=seeded_keys(5)).rate < 0.5


def test_a_table_of_one_row_is_refused():
    """There is nobody to be told apart from."""
    with pytest.raises(ParameterError, match="at least 2 rows"):
        identity(TRUE[:1], TRUE[:1], keys=seeded_keys(8))
