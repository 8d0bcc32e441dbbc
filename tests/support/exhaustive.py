"""Every partition of a tiny table, tried one by one: a third opinion that shares no code with any search.

Rows are exact numbers, and equal rows are interchangeable. Eight rows take milliseconds.
"""

from __future__ import annotations

import itertools
import operator
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

Exact = int | Fraction

Group = tuple[Exact, ...]
"""The rows of a group, ascending."""

Partition = tuple[Group, ...]


def set_partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    """Every partition of a few different rows into groups."""
    if not rows:
        yield []
        return
    for smaller in set_partitions(rows[1:]):
        yield [[rows[0]], *smaller]
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [rows[0], *group], *smaller[i + 1 :]]


def partitions(rows: Iterable[float | Fraction], accept: Callable[[Group], bool]) -> Iterator[Partition]:
    """Every partition of the rows into accepted groups, each once although equal rows are interchangeable."""
    tally = sorted(Counter(row if isinstance(row, int) else Fraction(row) for row in rows).items())
    groups = []
    for taken in itertools.product(*(range(count, -1, -1) for _, count in tally)):
        group = tuple(value for (value, _), count in zip(tally, taken, strict=True) for _ in range(count))
        if group and accept(group):
            groups.append((taken, group))
    return _divide(tuple(count for _, count in tally), groups)


def ke_partitions(rows: Iterable[float | Fraction], k: int, e: float | Fraction) -> Iterator[Partition]:
    """Every partition into groups with at least k distinct values and a range of at least e, floats as they are."""
    least = Fraction(e)
    return partitions(rows, lambda group: len(group) >= k <= len(set(group)) and group[-1] - group[0] >= least)


def total_range(partition: Partition) -> Exact:
    """The sum of the groups' ranges."""
    return sum(group[-1] - group[0] for group in partition)


def largest_range(partition: Partition) -> Exact:
    """The largest of the groups' ranges."""
    return max(group[-1] - group[0] for group in partition)


def is_apart(partition: Partition) -> bool:
    """Whether no two ranges overlap by more than an end that they share."""
    ordered = sorted(partition, key=lambda group: (group[0], group[-1]))
    return all(before[-1] <= after[0] for before, after in itertools.pairwise(ordered))


def _divide(left: tuple[int, ...], groups: Sequence[tuple[tuple[int, ...], Group]]) -> Iterator[Partition]:
    """Divide the rows that are left among the groups, which come in descending order of what they take.

    A group may be followed by itself or by later ones only, so each partition comes in one order.
    """
    if not any(left):
        yield ()
    fitting = [group for group in groups if all(map(operator.le, group[0], left))]
    for place, (taken, group) in enumerate(fitting):
        for others in _divide(tuple(map(operator.sub, left, taken)), fitting[place:]):
            yield (group, *others)
