"""Sums that are linear in hidden values, and least squares: against every assignment, in fractions."""

import itertools
import math
import os
import random
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.exact import line
from hedgerow.query.aggregates import linear
from hedgerow.query.aggregates.linear import DependentColumns, Linear, Normal, coefficients, inverse
from hedgerow.query.aggregates.precise import Digits, gram, side_by_side

SEEDS = sorted({*range(int(os.environ.get("HEDGEROW_SEEDS", "50"))), 69})


def fractions_of(numbers):
    """What floats and whole numbers stand for."""
    where = line(np.asarray(numbers))
    whole = where.positions.dtype.kind == "i"
    return [(Fraction(int(n)) if whole else Fraction(float(n))) * where.unit for n in where.positions]


def column_of(rng, kind, size):
    """Random numbers of one kind."""
    draw = {
        "small": lambda: rng.randrange(5),
        "cents": lambda: round(rng.uniform(-3, 3), 2),
        "ragged": lambda: rng.gauss(0, 1),
        "large": lambda: rng.randrange(-(2**61), 2**61),
        "far": lambda: rng.gauss(0, 1) * 10.0 ** rng.randrange(-8, 8),
    }[kind]
    return np.array([draw() for _ in range(size)])


@pytest.mark.parametrize("seed", range(60))
def test_sums_of_products_are_exact(seed):
    """Whole numbers of 62 bits, decimals, floats of very different size, and their products."""
    rng = random.Random(seed)
    columns = [column_of(rng, rng.choice(["small", "cents", "ragged", "large", "far"]), 20) for _ in range(3)]
    digits, exact = [Digits.of_column(c) for c in columns], [fractions_of(c) for c in columns]
    left, right = side_by_side(digits[:2]), digits[2]
    for a, found in enumerate(gram(left, right)):
        assert found[0] * left.units[a] * right.units[0] == sum(x * y for x, y in zip(exact[a], exact[2], strict=True))
    for a, found in enumerate(gram(left.times(right), right)):
        unit = left.units[a] * right.units[0] ** 2
        assert found[0] * unit == sum(x * y * y for x, y in zip(exact[a], exact[2], strict=True))


def test_long_columns_are_summed_exactly():
    """More rows than one chunk of floats can add."""
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 2**26, 3000), rng.integers(0, 2**18, 3000)
    assert gram(Digits.of_column(left), Digits.of_column(right)) == [[int((left * right).sum())]]


class Small:
    """A tiny table: groups, rows hit, regressors, weights, and sorted outcomes."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.sizes = [rng.randrange(1, 5) for _ in range(rng.randrange(1, 4))]
        rows, kind = sum(self.sizes), rng.choice(["small", "cents", "ragged"])
        self.edges = np.concatenate(([0], np.cumsum(self.sizes)))
        hit = np.array([rng.random() < 0.8 for _ in range(rows)])
        hit[0] = True
        self.rows = np.flatnonzero(hit)
        columns = [np.ones(rows, dtype=np.int64)] + [column_of(rng, kind, rows) for _ in range(rng.randrange(3))]
        self.columns = [column[self.rows] for column in columns]
        self.weights = np.array([rng.randrange(1, 4) for _ in self.rows])
        outcome = column_of(rng, kind, rows)
        self.outcome = np.concatenate([np.sort(part) for part in np.split(outcome, self.edges[1:-1])])
        self.first = np.concatenate(([0], np.cumsum([part.sum() for part in np.split(hit, self.edges[1:-1])])))

    @property
    def linear(self):
        """As the functions under test take it."""
        columns = side_by_side([Digits.of_column(column) for column in self.columns])
        return Linear(columns, self.first, Digits.of_column(self.outcome), self.edges[:-1], self.edges[1:])

    def worlds(self):
        """The outcomes of the rows hit, in every assignment."""
        parts = np.split(np.arange(len(self.outcome)), self.edges[1:-1])
        values = fractions_of(self.outcome)
        for world in itertools.product(*(itertools.permutations(part) for part in parts)):
            every = [values[place] for part in world for place in part]
            yield [every[row] for row in self.rows]


def shares_of(small):
    """Per coefficient what each row's outcome adds, by Gaussian elimination in fractions; None where it fails."""
    columns, weights = [fractions_of(c) for c in small.columns], fractions_of(small.weights)
    size = len(columns)
    weighted = [[x * w for x, w in zip(column, weights, strict=True)] for column in columns]
    matrix = [[sum(x * y for x, y in zip(a, b, strict=True)) for b in columns] for a in weighted]
    rows = [[*matrix[a], *weighted[a]] for a in range(size)]
    for step in range(size):
        pivot = next((place for place in range(step, size) if rows[place][step]), None)
        if pivot is None:
            return None
        rows[step], rows[pivot] = rows[pivot], rows[step]
        rows[step] = [number / rows[step][step] for number in rows[step]]
        for place in range(size):
            if place != step:
                lead = rows[place][step]
                rows[place] = [a - lead * b for a, b in zip(rows[place], rows[step], strict=True)]
    return [row[size:] for row in rows]


def fitted(rows, weights):
    """The coefficients of rows in one piece."""
    normal = Normal.of(rows, weights)
    shares = [[normal.linear.share(row, normal.linear.sizes)] for row in inverse(normal.sums)]
    return coefficients(shares, normal.regressors.units)


@pytest.mark.parametrize("seed", SEEDS)
def test_coefficients_of_all_assignments(seed):
    """Bounds enclose and meet the extremes of every assignment; mean, deviation and "exact" are those of all."""
    small = Small(seed)
    shares = shares_of(small)
    if shares is None:
        with pytest.raises(DependentColumns):
            fitted(small.linear, Digits.of_column(small.weights))
        return
    found = fitted(small.linear, Digits.of_column(small.weights))
    worlds = list(small.worlds())
    for share, bounds in zip(shares, found, strict=True):
        every = [sum(s * y for s, y in zip(share, world, strict=True)) for world in worlds]
        low, high = min(every), max(every)
        assert bounds.lower <= low <= high <= bounds.upper
        room = max(abs(low), abs(high), 1) * Fraction(1, 10**9)
        assert low - bounds.lower <= room
        assert bounds.upper - high <= room
        assert bounds.exact == (low == high)
        mean = sum(every) / len(every)
        assert bounds.expected == pytest.approx(float(mean), rel=1e-6, abs=1e-7)
        deviation = math.sqrt(sum((b - mean) ** 2 for b in every) / len(every))
        assert bounds.std == pytest.approx(deviation, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_weighted_totals_meet_all_assignments(seed):
    """One column of weights that floats hold: bounds are reached to the last digit."""
    small = Small(seed)
    weights = np.array([random.Random(seed).randrange(-3, 4) for _ in small.rows])
    one = Linear(
        Digits.of_column(weights), small.first, Digits.of_column(small.outcome), small.edges[:-1], small.edges[1:]
    )
    every = [sum(int(w) * y for w, y in zip(weights, world, strict=True)) for world in small.worlds()]
    bounds = one.bounds([Fraction(1)])
    assert (bounds.lower, bounds.upper) == (min(every), max(every))


def test_compiled_and_plain_arrangements_agree():
    """Ties are taken in any order, so sums are compared."""
    rng = np.random.default_rng(0)
    edges = np.array([0, 5, 6, 14])
    key, values = rng.integers(-2, 3, 10).astype(float), np.sort(rng.integers(0, 9, 14))
    first = np.array([0, 4, 5, 10])
    for plain, fast in zip(
        linear._arrange.plain(key, first, edges[:-1], edges[1:]),
        linear._arrange.compiled(key, first, edges[:-1], edges[1:]),
        strict=True,
    ):
        assert (key * values[plain]).sum() == (key * values[fast]).sum()
        assert len(set(plain)) == len(set(fast)) == 10


def test_inverse_names_dependent_columns():
    """Column 3 is twice column 0 less column 2; column 1 has no part in it."""
    rng = np.random.default_rng(0)
    table = rng.integers(-5, 6, (12, 4))
    table[:, 3] = 2 * table[:, 0] - table[:, 2]
    matrix = (table.T @ table).tolist()
    with pytest.raises(DependentColumns) as found:
        inverse(matrix)
    assert found.value.places == [0, 2, 3]
    good = [line[:3] for line in matrix[:3]]
    product = [
        [sum(a * b for a, b in zip(line, column, strict=True)) for column in zip(*inverse(good), strict=True)]
        for line in good
    ]
    assert product == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
