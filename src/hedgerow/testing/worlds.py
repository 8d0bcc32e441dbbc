"""Every possible world of a small group, one by one: a third opinion on what an adversary who knows the odds infers.

A world hands the group's published values to its rows. Its weight is the product of the probabilities that the
adversary's knowledge gives to each row's value. Everything is a fraction; eight rows take milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

__all__ = ["posteriors", "robust_partitions", "worlds"]

Odds = Mapping[int, Fraction]
"""The probability of each value for one row, as the adversary knows it."""


def worlds(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every distinct way to hand the values, repeated ones included, to as many rows."""
    yield from _deal(Counter(values), len(values))


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


def robust_partitions(known: Sequence[Odds], values: Sequence[int], r: Fraction) -> Iterator[list[list[int]]]:
    """Every partition of the rows into groups in which no row has any value with a probability above 1/r."""
    for partition in _partitions(list(range(len(values)))):
        if all(_is_robust([known[i] for i in group], [values[i] for i in group], r) for group in partition):
            yield partition


def _is_robust(known: Sequence[Odds], values: Sequence[int], r: Fraction) -> bool:
    return all(share * r <= 1 for row in posteriors(known, values) for share in row.values())


def _deal(left: Counter[int], rows: int) -> Iterator[tuple[int, ...]]:
    if rows == 0:
        yield ()
        return
    for value in sorted(left):
        if left[value]:
            left[value] -= 1
            for rest in _deal(left, rows - 1):
                yield (value, *rest)
            left[value] += 1


def _partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for smaller in _partitions(rest):
        yield [[first], *smaller]
        for place in range(len(smaller)):
            yield [*smaller[:place], [first, *smaller[place]], *smaller[place + 1 :]]
