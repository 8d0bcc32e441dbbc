"""Reconstruction error."""

import numpy as np
import pytest

from hedgerow.utility.measures import rce


def _by_definition(labels, sensitive, presence):
    total = 0.0
    for row, group in enumerate(labels):
        mine = [sensitive[other] for other in range(len(labels)) if labels[other] == group]
        for value in set(mine):
            share = presence[row] * mine.count(value) / len(mine)
            total += (share - (value == sensitive[row])) ** 2
    return total


def test_definition():
    """The sum equals the definition, person by person and value by value."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        labels = np.sort(rng.integers(0, 4, 25))
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        sensitive = rng.integers(0, 5, 25).astype(np.int32)
        presence = rng.random(25)
        assert rce(labels, sensitive, presence=presence) == pytest.approx(_by_definition(labels, sensitive, presence))
        assert rce(labels, sensitive) == pytest.approx(_by_definition(labels, sensitive, np.ones(25)))


def test_bound_is_met_by_groups_of_l_different_values():
    """Groups of l rows with l values reach the bound; whole tables may pass below it."""
    labels, sensitive = np.repeat(np.arange(5), 4).astype(np.int32), np.tile(np.arange(4), 5).astype(np.int32)
    assert rce(labels, sensitive) == pytest.approx(20 * (1 - 1 / 4))
