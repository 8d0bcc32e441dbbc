"""Worlds inside a group: marginals by enumeration, walks by their stationary distribution."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.attack.worlds import LARGEST_EXACT, marginals, swap, tally

AT = np.array([0, 12])
"""Two columns of four codes, three classes."""


def _weights(codes, kinds, logs):
    return np.exp(
        [[sum(logs[at + c * 3 + kind] for at, c in zip(AT, row, strict=True)) for kind in kinds] for row in codes.T]
    )


def _enumerated(table):
    size = len(table)
    chances = np.zeros((size, size))
    for world in permutations(range(size)):
        chances[range(size), world] += np.prod(table[range(size), world])
    return chances / chances.sum(axis=1, keepdims=True)


def _marginals(run, codes, kinds, logs, offsets):
    chances = np.zeros((len(kinds), LARGEST_EXACT))
    run(offsets, np.arange(len(offsets) - 1), codes, kinds, (logs, AT, 3), chances)
    return chances


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_marginals_are_those_of_all_assignments(size, seed):
    """For up to six rows: the share of each (row, value) in the weight of all worlds, equal values included."""
    rng = np.random.default_rng(seed)
    codes, kinds, logs = rng.integers(0, 4, (2, size)), rng.integers(0, 3, size), rng.normal(0, 2, 24)
    found = _marginals(marginals.plain, codes, kinds, logs, np.array([0, size]))
    assert found[:, :size] == pytest.approx(_enumerated(_weights(codes, kinds, logs)), abs=1e-9)


def test_the_compiled_marginals_agree():
    """Several groups of one to eight rows, the plain loop and the compiled one."""
    rng = np.random.default_rng(2)
    offsets = np.append(0, np.cumsum([1, 8, 3, 5, 2]))
    codes, kinds, logs = rng.integers(0, 4, (2, 19)), rng.integers(0, 3, 19), rng.normal(0, 2, 24)
    plain, fast = (_marginals(run, codes, kinds, logs, offsets) for run in (marginals.plain, marginals.compiled))
    assert fast == pytest.approx(plain)


def test_unlikely_worlds_do_not_divide_by_zero():
    """Rows that fit none of the values still have chances that add up to 1."""
    codes, kinds = np.array([[0, 1], [0, 1]]), np.array([0, 1])
    logs = np.full(24, -1e6)
    found = _marginals(marginals.plain, codes, kinds, logs, np.array([0, 2]))
    assert found[:, :2].sum(axis=1) == pytest.approx([1, 1])


def test_the_walk_visits_worlds_as_often_as_they_weigh():
    """Swaps in a group of four: the visits come near the enumerated marginals, and no value is lost."""
    rng = np.random.default_rng(4)
    codes, values, logs = rng.integers(0, 4, (2, 4)), np.array([0, 1, 2, 2]), rng.normal(0, 0.8, 24)
    expected = _enumerated(_weights(codes, values, logs))
    by_value = np.stack([expected[:, 0], expected[:, 1], expected[:, 2] + expected[:, 3]], axis=1)
    holds, seen = values.copy(), np.zeros((4, 3))
    for _ in range(6000):
        units = rng.random((2, 4))
        swap.plain(np.array([0, 4]), np.array([0]), codes, holds, np.arange(3), (logs, AT, 3), (units[0], units[1]))
        assert sorted(holds) == [0, 1, 2, 2]
        seen[np.arange(4), holds] += 1
    assert seen / 6000 == pytest.approx(by_value, abs=0.04)


def test_tallies_add_chances_and_worlds():
    """A small group counts by chances, a large one by the world that the walk is in."""
    offsets, codes = np.array([0, 2, 5]), np.array([[0, 1, 2, 3, 0], [1, 1, 0, 0, 0]])
    kinds, held = np.array([0, 1, 2, 2, 0]), np.array([9, 9, 2, 0, 2])
    chances = np.zeros((5, 8))
    chances[0, :2], chances[1, :2] = (0.25, 0.75), (0.75, 0.25)
    counts = np.zeros(24)
    tally.plain(offsets, codes, kinds, held, chances, (AT, 3, 2), counts)
    first = counts[:12].reshape(4, 3)
    assert first.tolist() == [[0.25, 0.75, 1], [0.75, 0.25, 0], [0, 0, 1], [1, 0, 0]]
    assert counts[12:].sum() == pytest.approx(5)
