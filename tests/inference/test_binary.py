"""Odds of x against not x, against the enumeration of possible worlds and the papers' numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.inference.full import at_most, binary_posteriors, by_group, relative_error
from tests.support import possible_worlds as worlds

HAS, HAS_NOT = 0, 1


def _by_worlds(odds: list[Fraction], c: int) -> list[Fraction]:
    known = [{HAS: o / (1 + o), HAS_NOT: 1 / (1 + o)} for o in odds]
    values = [HAS] * c + [HAS_NOT] * (len(odds) - c)
    return [row.get(HAS, Fraction(0)) for row in worlds.posteriors(known, values)]


def _one(odds: list[float], c: int) -> np.ndarray:
    return by_group.plain(np.array(odds, float), np.array([0, len(odds)]), np.array([c]))


def test_example_4() -> None:
    """Four rows with f .5, .5, .2, .2 and two occurrences: the first has x with 8/11."""
    assert _one([1, 1, 0.25, 0.25], 2)[0] == pytest.approx(8 / 11, rel=1e-15)
    assert _by_worlds([Fraction(1), Fraction(1), Fraction(1, 4), Fraction(1, 4)], 2)[0] == Fraction(8, 11)


def test_alex_and_bob() -> None:
    """f .1 against .003 leaves 0.97363 against 0.02637."""
    f = np.array([0.1, 0.003])
    assert _one((f / (1 - f)).tolist(), 1) == pytest.approx([0.97363, 0.02637], abs=5e-6)


def test_equals_enumeration_on_thousands_of_groups() -> None:
    """Three thousand random groups of up to seven rows agree with the sum over all possible worlds."""
    rng = np.random.default_rng(5)
    for _ in range(3000):
        size = int(rng.integers(1, 8))
        odds = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 30, (size, 2))]
        c = int(rng.integers(0, size + 1))
        expected = [float(p) for p in _by_worlds(odds, c)]
        assert _one([float(o) for o in odds], c) == pytest.approx(expected, rel=1e-13, abs=1e-300)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=7), st.data())
def test_the_threshold_is_exact(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """`at_most` agrees with fractions, above all where p equals 1/r."""
    c = data.draw(st.integers(1, len(pairs)))
    worst = max(_by_worlds([Fraction(*pair) for pair in pairs], c))
    yes, no = [a for a, _ in pairs], [b for _, b in pairs]
    assert at_most(yes, no, c, 1 / worst)
    assert not at_most(yes, no, c, 1 / worst + Fraction(1, 10**30))


def test_large_groups_neither_vanish_nor_overflow() -> None:
    """Two thousand rows with odds around a millionth and 300 occurrences keep their digits."""
    rng = np.random.default_rng(1)
    odds = rng.integers(1, 50, 2000).astype(float)
    near = binary_posteriors(odds * 1e-6, np.array([0, 2000]), np.array([300]))
    far = binary_posteriors(odds * 1e6, np.array([0, 2000]), np.array([300]))
    assert near == pytest.approx(far, rel=1e-10)
    assert near.sum() == pytest.approx(300, rel=1e-12)
    assert not at_most([int(o) for o in odds[:40]], [10**6] * 40, 7, Fraction(40, 7))


def test_compiled_equals_plain() -> None:
    """The compiled kernel and the plain function give the same probabilities."""
    rng = np.random.default_rng(2)
    odds, offsets = rng.random(60), np.array([0, 10, 25, 60])
    counts = np.array([1, 6, 0])
    plain = by_group.plain(odds, offsets, counts)
    assert by_group.compiled(odds, offsets, counts) == pytest.approx(plain, rel=1e-14)
    assert relative_error(60) < 1e-12


@pytest.mark.parametrize(
    ("odds", "c", "expected"),
    [
        ([0.0, 1.0, 2.0], 2, [0, 1, 1]),
        ([np.inf, 1.0, 2.0], 1, [1, 0, 0]),
        ([np.inf, np.inf, 2.0], 1, [1, 1, 1]),
        ([0.0, 0.0, 2.0], 2, [1, 1, 1]),
        ([0.0, 0.0], 1, [0.5, 0.5]),
        ([np.inf, 1.0, 1.0, 0.0], 2, [1, 0.5, 0.5, 0]),
    ],
)
def test_certainty_and_contradiction(odds: list[float], c: int, expected: list[float]) -> None:
    """Impossible and certain rows are decided; knowledge that contradicts the group promises nothing."""
    assert _one(odds, c).tolist() == expected
