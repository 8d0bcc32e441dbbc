"""Every partition of a tiny table, tried one by one: a third opinion that shares no code with any search.

Values are rows, equal values are interchangeable, and everything is a fraction. Nine rows take milliseconds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

__all__ = [
    "Group",
    "Partition",
    "is_apart",
    "ke_partitions",
    "largest_range",
    "partitions",
    "total_range",
]

Group = tuple[Fraction, ...]
"""The rows of a group, ascending."""

Partition = tuple[Group, ...]


def partitions(rows: Iterable[float | Fraction], accept: Callable[[Group], bool]) -> Iterator[Partition]:
    """Every partition of the rows into accepted groups, each once although equal rows are interchangeable."""
    tally = Counter(Fraction(row) for row in rows)
    values = sorted(tally)
    yield from _continue(values, tuple(tally[value] for value in values), None, accept)


def ke_partitions(rows: Iterable[float | Fraction], k: int, e: float | Fraction) -> Iterator[Partition]:
    """Every partition into groups with at least k distinct values and a range of at least e."""
    least = Fraction(e)
    return partitions(rows, lambda group: len(set(group)) >= k and group[-1] - group[0] >= least)


def total_range(partition: Partition) -> Fraction:
    """The sum of the groups' ranges."""
    return sum((group[-1] - group[0] for group in partition), Fraction(0))


def largest_range(partition: Partition) -> Fraction:
    """The largest of the groups' ranges."""
    return max(group[-1] - group[0] for group in partition)


def is_apart(partition: Partition) -> bool:
    """Whether no two ranges overlap by more than an end that they share."""
    ordered = sorted(partition, key=lambda group: (group[0], group[-1]))
    return all(before[-1] <= after[0] for before, after in itertools.pairwise(ordered))


def _continue(
    values: Sequence[Fraction], left: tuple[int, ...], bound: tuple[int, ...] | None, accept: Callable[[Group], bool]
) -> Iterator[Partition]:
    """Split the rows that are left into groups none above `bound`: each partition comes in one order of groups."""
    if not any(left):
        yield ()
        return
    lowest = next(place for place, count in enumerate(left) if count)
    for taken in itertools.product(*(range(count + 1) for count in left)):
        # The highest group in the order takes a row of the lowest value: any group without one would come later.
        if taken[lowest] == 0 or (bound is not None and taken > bound):
            continue
        group = tuple(value for value, count in zip(values, taken, strict=True) for _ in range(count))
        if accept(group):
            rest = tuple(a - b for a, b in zip(left, taken, strict=True))
            for tail in _continue(values, rest, taken, accept):
                yield (group, *tail)
