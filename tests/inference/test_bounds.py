"""Bounds: the printed one where it is right, counterexamples where it is not, and two that always hold."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.inference.full import binary_posteriors
from hedgerow.inference.robust import least_suppressed, pair_bound
from studies.robust_measures import delta_max
from tests.support import possible_worlds as worlds
from tests.support.robust_bounds import printed_bound_holds, rate_bound


@pytest.mark.parametrize(
    ("rows", "r", "f", "printed"),
    [(3, 2, 0.1, 0.0474), (3, 2, 0.3, 0.1235), (3, 2, 0.5, 0.1667), (6, 2, 0.3, 0.2211), (6, 3, 0.3, 0.1537)],
)
def test_printed_table_7(rows: int, r: int, f: float, printed: float) -> None:
    """The widest spread is what the paper prints."""
    assert float(delta_max(rows, r, f)) == pytest.approx(printed, abs=5e-5)


def test_delta_max_is_exact_for_fractions() -> None:
    """Fractions in, fraction out; nothing is allowed at f = 1."""
    assert delta_max(3, 2, Fraction(1, 10)) == Fraction(9, 190)
    assert delta_max(5, 2, Fraction(1)) == 0


def _random_f(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.random() * 0.8 + rng.random(rows) * rng.random() * 0.19


def test_printed_bound_is_right_for_one_occurrence_and_with_c_times_r() -> None:
    """In two thousand binary groups that satisfy it, with c*r for c occurrences, nobody stands out."""
    rng, satisfied = np.random.default_rng(8), 0
    for _ in range(2000):
        rows, c, r = int(rng.integers(2, 12)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
        f = _random_f(rng, rows)
        if printed_bound_holds(f, r, occurrences=c):
            satisfied += 1
            p = binary_posteriors(f / (1 - f), np.array([0, rows]), np.array([c]))
            assert p.max() * r <= 1 + 1e-12
    assert satisfied > 200


def test_printed_bound_fails_for_two_occurrences_without_c() -> None:
    """With r itself, two occurrences break the promise."""
    f = np.full(4, 0.3)
    assert printed_bound_holds(f, 3)
    assert binary_posteriors(f / (1 - f), np.array([0, 4]), np.array([2])).max() * 3 > 1


def test_printed_bound_fails_for_many_values() -> None:
    """Delta is 0 for x, and yet the first row has it with .998."""
    known = [{0: Fraction(1, 4), 1: Fraction(1, 1000)}, {0: Fraction(1, 4), 1: Fraction(1, 2)}]
    assert float(worlds.posteriors(known, [0, 1])[0][0]) == pytest.approx(0.998, abs=5e-4)
    assert printed_bound_holds(np.array([0.25, 0.25]), 2)


def test_sound_bounds_hold_on_thousands_of_groups() -> None:
    """In two thousand groups no exact p exceeds either bound, and the bound by pairs is never the looser one."""
    rng = np.random.default_rng(21)
    for _ in range(2000):
        size, values = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        weights = rng.integers(1, 12, (size, values + 1))
        f = weights / weights.sum(axis=1, keepdims=True)
        drawn = rng.integers(0, values, size)
        distinct, counts = np.unique(drawn, return_counts=True)
        known = [{int(y): Fraction(int(row[y]), int(row.sum())) for y in distinct} for row in weights]
        exact = np.array([[float(p[int(y)]) for y in distinct] for p in worlds.posteriors(known, drawn.tolist())])
        pairs = pair_bound(f[:, distinct], counts)
        assert (exact <= pairs * (1 + 1e-12)).all()
        assert (exact <= rate_bound(f[:, distinct], counts) * (1 + 1e-12)).all()
        assert (pairs <= rate_bound(f[:, distinct], counts) * (1 + 1e-12)).all()


def test_impossible_values_promise_nothing() -> None:
    """A probability of zero leaves no bound below 1."""
    assert (pair_bound(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([1, 1])) == 1).all()


def test_least_suppressed_is_what_trying_every_number_finds() -> None:
    """The least number of rows to hold back so that no value fills more than 1/r of the rest, by trying them all."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        counts = rng.integers(0, 9, int(rng.integers(1, 6)))
        rows, r = int(counts.sum() + rng.integers(0, 6)), Fraction(int(rng.integers(11, 60)), 10)
        possible = [
            held for held in range(rows + 1) if sum(max(0, int(c) - (rows - held) // r) for c in counts) <= held
        ]
        assert least_suppressed(counts, rows, r, most=rows).sum() == possible[0]
        assert least_suppressed(counts, rows, r, most=0).sum() == 0 or possible[0] > 0
