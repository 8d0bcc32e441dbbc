"""Aggregates over uncertain choices, against every choice."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.graph.draws import Draws, average, exact_sum, largest, total


def _pool(seed: int, *, uncertain: bool = False) -> Draws:
    """Groups of one to four things, some with a small number, some negative."""
    random = np.random.default_rng(seed)
    population = random.integers(1, 5, size=random.integers(1, 4))
    members = random.integers(0, population + 1)
    groups = np.repeat(np.arange(len(population)), members)
    low = random.integers(-3, 6, size=len(groups))
    high = low + random.integers(0, 3, size=len(groups)) if uncertain else low
    return Draws(groups, low, high, population, random.integers(0, population + 1))


def _choices(draws: Draws) -> list[list[int]]:
    """The places of the numbers drawn, for each equally likely draw; -1 stands for a thing without a number."""
    things = []
    for group, size in enumerate(draws.population):
        places = np.flatnonzero(draws.groups == group).tolist()
        things.append(places + [-1] * (int(size) - len(places)))
    draws = [itertools.combinations(inside, int(drawn)) for inside, drawn in zip(things, draws.drawn, strict=True)]
    return [[place for part in draw for place in part if place >= 0] for draw in itertools.product(*draws)]


AGGREGATES = {
    "sum": (total, lambda values: Fraction(sum(values))),
    "avg": (average, lambda values: Fraction(sum(values), len(values))),
    "max": (largest, lambda values: Fraction(max(values))),
    "min": (lambda draws: largest(draws.negation).negation, lambda values: Fraction(min(values))),
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_bounds_are_reached_and_means_are_exact(name) -> None:
    """Over every draw that takes something the least, the greatest and the mean are as computed."""
    engine, truth = AGGREGATES[name]
    for seed in range(400):
        draws = _pool(seed)
        values = [truth([int(draws.low[place]) for place in draw]) for draw in _choices(draws) if draw]
        found = engine(draws)
        if not values:
            assert found.lower is None
            continue
        assert (found.lower, found.upper) == (min(values), max(values))
        if name != "avg" or draws.least_drawn.sum() == draws.most.sum():
            assert found.expected == pytest.approx(float(sum(values) / len(values)))


def test_counts_are_hypergeometric() -> None:
    """COUNT's bounds and mean are those of the draws."""
    for seed in range(200):
        draws = _pool(seed)
        counts = [len(draw) for draw in _choices(draws)]
        found = draws.count()
        assert (found.lower, found.upper) == (min(counts), max(counts))
        assert found.expected == pytest.approx(np.mean(counts))


@pytest.mark.parametrize("name", AGGREGATES)
def test_intervals_of_numbers_stay_inside(name) -> None:
    """Where a number is known between two others every value of every draw lies inside the bounds."""
    engine, truth = AGGREGATES[name]
    for seed in range(150):
        draws = _pool(seed, uncertain=True)
        found = engine(draws)
        for draw in _choices(draws):
            if draw:
                assert found.lower <= truth([int(draws.low[place]) for place in draw])
                assert truth([int(draws.high[place]) for place in draw]) <= found.upper


def test_sums_do_not_overflow() -> None:
    """Sums beyond 64 bits are exact."""
    assert exact_sum(np.array([2**62] * 6 + [-(2**62)])) == 5 * 2**62
