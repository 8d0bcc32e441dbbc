"""Every possible world of a small group, one by one: a third opinion on what an adversary who knows the odds infers.

A world hands the group's published values to its rows. Its weight is the product of the probabilities that the
adversary's knowledge gives to each row's value. Everything is a fraction; eight rows take milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from hedgerow.testing.posterior_worlds import worlds

Odds = Mapping[int, Fraction]
"""The probability of each value for one row, as the adversary knows it."""


def posteriors(known: Sequence[Odds], values: Sequence[int]) -> list[dict[int, Fraction]]:
    """For each row the probability of each value, by adding up the weights of all worlds.

    Where every world has weight zero the knowledge contradicts the group; then ZeroDivisionError is raised.
    """
    total = Fraction(0)
    sums: list[dict[int, Fraction]] = [dict.fromkeys(values, Fraction(0)) for _ in known]
    for world in worlds(values):
        weight = Fraction(1)
        for odds, value in zip(known, world, strict=True):
            weight *= odds[value]
        total += weight
        for row, value in enumerate(world):
            sums[row][value] += weight
    return [{value: share / total for value, share in row.items()} for row in sums]
