"""Pairs of rows and hidden values: bounds, means and deviations against all assignments of small groups."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.query.aggregates import mixed
from hedgerow.query.aggregates.mixed import (
    Pairs,
    average_of_pairs,
    count_of_pairs,
    expect_pairs,
    ratio_of_pairs,
    sum_of_pairs,
)


def ints(numbers):
    """Whole numbers as an array."""
    return np.array(numbers, dtype=np.int64)


def pairs_of(entries, cells):
    """Entries of (cell, supply, demand, matrix of (low, counts))."""
    rows, values, pairs = [0], [0], [0]
    supply, demand, low, counts = [], [], [], []
    for _, r, v, matrix in entries:
        supply += r
        demand += v
        low += [number for line in matrix for number, _ in line]
        counts += [c for line in matrix for _, c in line]
        rows.append(len(supply))
        values.append(len(demand))
        pairs.append(len(low))
    marked = np.array(counts, dtype=np.bool_)
    cell = ints([entry[0] for entry in entries])
    return Pairs(
        cells, cell, ints(rows), ints(values), ints(pairs), ints(supply), ints(demand), ints(low), ints(low),
        marked, marked,
    )  # fmt: skip


def random_entry(rng, cell, largest=3):
    """Row classes with their numbers, value classes with theirs: never more rows than values."""
    height, width = rng.randrange(1, 4), rng.randrange(1, 4)
    demand = [rng.randrange(1, largest) for _ in range(width)]
    supply: list[int] = []
    while len(supply) < height and sum(supply) < sum(demand):
        supply.append(rng.randrange(1, min(largest, sum(demand) - sum(supply) + 1)))
    size = rng.choice([1, 5, 1000])
    matrix = [[(rng.randrange(-size, size + 1), rng.random() < 0.8) for _ in demand] for _ in supply]
    return cell, supply, demand, matrix


def worlds_of(entry):
    """(sum, number) of every assignment of one entry."""
    _, supply, demand, matrix = entry
    rows = [i for i, n in enumerate(supply) for _ in range(n)]
    values = [j for j, n in enumerate(demand) for _ in range(n)]
    for world in itertools.permutations(values):
        met = [matrix[i][j] for i, j in zip(rows, world, strict=False)]
        yield sum(low for low, counts in met if counts), sum(counts for _, counts in met)


def every_world(entries, cell):
    """(sum, number) of every assignment of a cell."""
    parts = [list(worlds_of(entry)) for entry in entries if entry[0] == cell]
    for world in itertools.product(*parts):
        yield sum(s for s, _ in world), sum(n for _, n in world)


def random_entries(rng):
    """One entry of the first cell, one or two of the second."""
    first = [random_entry(rng, 0)]
    return [*first, *(random_entry(rng, 1) for _ in range(rng.randrange(1, 3)))]


@pytest.mark.parametrize("seed", range(120))
def test_bounds_of_all_assignments_are_reached(seed):
    """COUNT, SUM and AVG: least and greatest over every assignment, whole numbers and fractions alike."""
    entries = random_entries(random.Random(seed))
    pairs = pairs_of(entries, 2)
    counted, summed, averaged = count_of_pairs(pairs), sum_of_pairs(pairs), average_of_pairs(pairs)
    for cell in range(2):
        worlds = list(every_world(entries, cell))
        numbers = [n for _, n in worlds]
        assert (counted.lower[cell], counted.upper[cell]) == (min(numbers), max(numbers))
        assert counted.reached[cell]
        sums, ratios = [s for s, n in worlds if n], [Fraction(s, n) for s, n in worlds if n]
        if not sums:
            assert summed.lower[cell] is summed.upper[cell] is averaged.lower[cell] is None
            continue
        assert summed.lower[cell] <= min(sums)
        assert summed.upper[cell] >= max(sums)
        if summed.reached[cell] or min(numbers) > 0:
            assert (summed.lower[cell], summed.upper[cell]) == (min(sums), max(sums))
        assert (averaged.lower[cell], averaged.upper[cell]) == (min(ratios), max(ratios))
        assert averaged.reached[cell]


@pytest.mark.parametrize("seed", range(60))
def test_means_and_variances_of_all_assignments(seed):
    """Hoeffding's formula on counts of equal rows and values."""
    entries = random_entries(random.Random(seed))
    mean, variance = expect_pairs(pairs_of(entries, 2))
    for cell in range(2):
        sums = [s for s, _ in every_world(entries, cell)]
        middle = Fraction(sum(sums), len(sums))
        assert mean[cell] == pytest.approx(float(middle), abs=1e-9)
        assert variance[cell] == pytest.approx(float(sum((s - middle) ** 2 for s in sums) / len(sums)), abs=1e-6)


def test_variance_survives_large_offsets():
    """Two rows of four, values 10^15 + 0..3: the deviation is that of 0..3."""
    low = [10**15, 10**15 + 1, 10**15 + 2, 10**15 + 3]
    entry = (0, [2], [1, 1, 1, 1], [[(n, True) for n in low]])
    _, variance = expect_pairs(pairs_of([entry], 1))
    assert variance[0] == pytest.approx(5 / 3)


@pytest.mark.parametrize("seed", range(30))
def test_compiled_and_plain_loops_agree_with_scipy(seed):
    """Assignments of one row to one value, as SciPy solves them."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(seed)
    height, width = sorted(rng.integers(1, 30, 2))
    cost = rng.integers(-1000, 1000, (height, width))
    row, column = optimize.linear_sum_assignment(cost)
    arguments = (
        ints([[0, height], [0, width], [0, height * width]]), np.ones(height, np.int64), np.ones(width, np.int64),
        cost.ravel(), np.zeros(height * width, np.int64), mixed.LARGEST_WORK,
    )  # fmt: skip
    for solve in (mixed._least_cost.plain, mixed._least_cost.compiled):
        total, _, exact = solve(*arguments)
        assert total[0] == cost[row, column].sum()
        assert exact[0]


@pytest.mark.parametrize("seed", range(30))
def test_entries_too_large_get_bounds_that_hold(seed, monkeypatch):
    """Row and column minima: wider, never narrower, and marked."""
    monkeypatch.setattr(mixed, "LARGEST_WORK", 0)
    entries = random_entries(random.Random(seed))
    pairs = pairs_of(entries, 2)
    for function in (count_of_pairs, sum_of_pairs, average_of_pairs):
        bounds = function(pairs)
        for cell in range(2):
            worlds = list(every_world(entries, cell))
            answers = {
                count_of_pairs: [Fraction(n) for _, n in worlds],
                sum_of_pairs: [Fraction(s) for s, n in worlds if n],
                average_of_pairs: [Fraction(s, n) for s, n in worlds if n],
            }[function]
            if answers:
                assert bounds.lower[cell] <= min(answers) <= max(answers) <= bounds.upper[cell]
                assert not bounds.reached[cell]


@pytest.mark.parametrize("seed", range(20))
def test_numbers_near_64_bits_round_outwards(seed):
    """Sums that the solver cannot hold are bounded from outside."""
    rng = random.Random(seed)
    matrix = [[(rng.randrange(-(2**60), 2**60), True) for _ in range(3)] for _ in range(3)]
    entry = (0, [1, 1, 1], [1, 1, 1], matrix)
    bounds = sum_of_pairs(pairs_of([entry], 1))
    sums = [s for s, _ in worlds_of(entry)]
    assert bounds.lower[0] <= min(sums) <= max(sums) <= bounds.upper[0]
    assert min(sums) - bounds.lower[0] < 2**12
    assert not bounds.reached[0]


@pytest.mark.parametrize("seed", range(40))
def test_uncertain_pairs_are_enclosed(seed):
    """Pairs that count perhaps, and add a number between two: any choice lies inside."""
    rng = random.Random(seed)
    entries = random_entries(rng)
    sharp = pairs_of(entries, 2)
    possible = sharp.possible | (np.array([rng.random() < 0.3 for _ in sharp.low]))
    loose = mixed.replace(
        sharp, possible=possible, low=sharp.low - ints([rng.randrange(3) for _ in sharp.low]),
        high=sharp.low + ints([rng.randrange(3) for _ in sharp.low]),
    )  # fmt: skip
    for function in (count_of_pairs, sum_of_pairs, average_of_pairs):
        inner, outer = function(sharp), function(loose)
        for cell in range(2):
            if inner.lower[cell] is not None and inner.reached[cell]:
                assert outer.lower[cell] <= inner.lower[cell] <= inner.upper[cell] <= outer.upper[cell]


@pytest.mark.parametrize("seed", range(80))
def test_ratios_of_two_totals(seed):
    """The best ratios over every assignment in which the lower total is not zero."""
    rng = random.Random(seed)
    entries = random_entries(rng)
    pairs = pairs_of(entries, 2)
    by = np.where(pairs.possible, ints([rng.randrange(3) for _ in pairs.low]), 0)
    found, start = ratio_of_pairs(pairs, by), 0
    worlds: dict[int, list] = {0: [(0, 0)], 1: [(0, 0)]}
    for entry in entries:
        cell, supply, demand, _ = entry
        lower = [[(int(by[start + i * len(demand) + j]), True) for j in range(len(demand))] for i in range(len(supply))]
        start += len(supply) * len(demand)
        both = zip(worlds_of(entry), worlds_of((cell, supply, demand, lower)), strict=True)
        own = [(top, bottom) for (top, _), (bottom, _) in both]
        worlds[cell] = [(a + c, b + d) for a, b in worlds[cell] for c, d in set(own)]
    for cell, every in worlds.items():
        ratios = [Fraction(top, bottom) for top, bottom in every if bottom]
        if not ratios:
            assert found.lower[cell] is found.upper[cell] is None
            continue
        assert found.lower[cell] <= min(ratios)
        assert found.upper[cell] >= max(ratios)
        if all(bottom for _, bottom in every) or found.reached[cell]:
            assert (found.lower[cell], found.upper[cell]) == (min(ratios), max(ratios))


@pytest.mark.parametrize("number", [2, 5])
def test_entries_are_solved_alike_on_any_number_of_cores(number, monkeypatch):
    """The results of every entry come in the order of the entries."""
    rng = random.Random(8)
    pairs = pairs_of([random_entry(rng, n // 30) for n in range(60)], 2)
    wanted = sum_of_pairs(pairs), average_of_pairs(pairs)
    monkeypatch.setattr(mixed, "_FEW", 0)
    monkeypatch.setattr(mixed, "cores", lambda: number)
    monkeypatch.setattr("hedgerow.cores.cores", lambda: number)
    monkeypatch.setattr("hedgerow.cores.FEW", 0)
    assert (sum_of_pairs(pairs), average_of_pairs(pairs)) == wanted
