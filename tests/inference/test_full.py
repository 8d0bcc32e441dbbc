"""Permanents by a program over used counts, against the enumeration of possible worlds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.inference.full import full_by_group, full_posteriors, states
from tests.support import possible_worlds as worlds


def _draw(rng: np.random.Generator, most: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    size, values, kinds = rng.integers(2, most + 1), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    weights = rng.integers(1, 25, (kinds, values + 1))
    return weights, rng.integers(0, kinds, size), rng.integers(0, values, size)


def _by_worlds(weights: np.ndarray, signatures: np.ndarray, values: np.ndarray) -> list[dict[int, Fraction]]:
    totals = weights.sum(axis=1)
    known = [{y: Fraction(int(weights[s, y]), int(totals[s])) for y in set(values.tolist())} for s in signatures]
    return worlds.posteriors(known, values.tolist())


def test_three_rows_three_values() -> None:
    """Rows (35,28,10)/73, (20,29,14)/63, (21,30,14)/65: p(t0:0) = 28910/57072."""
    rows = [[35, 28, 10], [20, 29, 14], [21, 30, 14]]
    weights = np.array(rows) / np.array([[73], [63], [65]])
    ones = np.ones(3, np.int64)
    assert full_posteriors(weights, ones, ones)[0, 0] == pytest.approx(28910 / 57072, rel=1e-14)
    known = [{y: Fraction(w, sum(row)) for y, w in enumerate(row)} for row in rows]
    assert worlds.posteriors(known, [0, 1, 2])[0][0] == Fraction(28910, 57072)


def test_equals_enumeration_on_thousands_of_groups() -> None:
    """Two thousand random groups of up to six rows agree with the sum over all possible worlds."""
    rng = np.random.default_rng(11)
    for _ in range(2000):
        weights, signatures, values = _draw(rng)
        kinds, where, rows = np.unique(signatures, return_inverse=True, return_counts=True)
        distinct, counts = np.unique(values, return_counts=True)
        f = weights[np.ix_(kinds, distinct)] / weights[kinds].sum(axis=1, keepdims=True)
        p = full_posteriors(f, rows, counts)[where]
        expected = [[float(row[int(y)]) for y in distinct] for row in _by_worlds(weights, signatures, values)]
        np.testing.assert_allclose(p, expected, rtol=1e-11)


def test_many_groups_at_once_equal_enumeration() -> None:
    """The pass over groups adds up the values of a protected set, plain and compiled."""
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 25, (4, 5))
    sizes = rng.integers(1, 6, 40)
    offsets = np.append(0, np.cumsum(sizes))
    signatures = rng.integers(0, 4, offsets[-1]).astype(np.int32)
    values = rng.integers(0, 4, offsets[-1]).astype(np.int32)
    member = np.array([[True, False, True, False, False], [False, True, False, False, False]])
    f = weights / weights.sum(axis=1, keepdims=True)
    p, too_large = full_by_group(f, signatures, values, offsets, member)
    assert not too_large.any()
    for first, last in itertools.pairwise(offsets):
        for row, shares in enumerate(_by_worlds(weights, signatures[first:last], values[first:last])):
            expected = [float(shares.get(0, 0) + shares.get(2, 0)), float(shares.get(1, 0))]
            np.testing.assert_allclose(p[first + row], expected, atol=1e-12)


def test_sixty_rows_of_few_signatures() -> None:
    """Sixty different values over four signatures are within reach, and every row has exactly one value."""
    rng = np.random.default_rng(4)
    rows = np.full(4, 15)
    p = full_posteriors(rng.random((4, 60)) + 0.05, rows, np.ones(60, np.int64))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(rows @ p, 1.0, rtol=1e-10)
    assert states(rows) == 16**4


def test_groups_beyond_the_states_say_so() -> None:
    """A group that is too large for the program is flagged, and its p is 1 until somebody samples."""
    f = np.array([[0.6, 0.4], [0.3, 0.7]])
    signatures, values = np.array([0, 1, 0, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    p, too_large = full_by_group(f, signatures, values, np.array([0, 4]), np.eye(2, dtype=bool), 3)
    assert too_large.all()
    assert (p == 1).all()


def test_contradiction_promises_nothing() -> None:
    """Where no world is possible p is 1."""
    p = full_posteriors(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 1]), np.array([1, 1]))
    assert p == pytest.approx(np.full((2, 2), 0.5))  # nobody could have it, nobody more than another
    p = full_posteriors(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), np.array([2, 1]), np.array([1, 1, 1]))
    assert (p == 1).all()
