"""How many rows of a group have a property, where it is not known which: bounds and chances, and their algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import QueryError
from hedgerow.query.sql.question import And, Not, Or, Predicate

__all__ = ["Events", "Leaves", "events_of_chance", "events_of_number"]


@dataclass(frozen=True, eq=False)
class Events:
    """Per group: the least and the most rows with a property, the chance of a row, and that of two rows to have it."""

    low: Ints
    high: Ints
    one: Floats
    two: Floats

    def negate(self, size: Ints) -> Events:
        """The rows without it."""
        return Events(size - self.high, size - self.low, 1.0 - self.one, 1.0 - 2.0 * self.one + self.two)

    def join(self, other: Events, size: Ints) -> Events:
        """The rows with both properties, which belong to different columns."""
        low = np.maximum(self.low + other.low - size, 0)
        return Events(low, np.minimum(self.high, other.high), self.one * other.one, self.two * other.two)

    def at(self, groups: Ints) -> Events:
        """The same for a list of groups."""
        return Events(self.low[groups], self.high[groups], self.one[groups], self.two[groups])

    def moments(self, number: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of how many of so many rows of each group have the property."""
        mean = number * self.one
        return mean, np.maximum(mean + number * (number - 1) * self.two - mean**2, 0.0)


def events_of_number(number: Ints, size: Ints) -> Events:
    """A property of which it is known how many rows of each group have it."""
    return events_of_chance(number, np.zeros(len(size), dtype=np.int64), np.zeros(len(size)), size)


def events_of_chance(sure: Ints, free: Ints, chance: Floats, size: Ints) -> Events:
    """A property that `sure` rows have, and each of `free` others independently with a chance; nothing is known apart.

    The least and the most are those of rows that have it for sure, and of all that may.
    """
    rows = np.maximum(size, 1)
    pairs = np.maximum(size * (size - 1), 1)
    two = (sure * (sure - 1) + 2.0 * sure * free * chance + free * (free - 1) * chance**2) / pairs
    low, high = sure + np.where(chance >= 1.0, free, 0), sure + np.where(chance > 0.0, free, 0)
    return Events(low, high, (sure + free * chance) / rows, two)


@dataclass(frozen=True)
class Leaves:
    """How conditions become events: `units` names what a condition depends on, `decide` answers those of one unit.

    Units are assigned to rows independently of each other: columns that are shuffled apart, or published as ranges.
    """

    size: Ints
    units: Callable[[Predicate], frozenset[str]]
    decide: Callable[[Predicate, bool], Events]
    advice: str

    def all(self, parts: Sequence[Predicate]) -> Events:
        """The rows that satisfy every condition."""
        events = events_of_number(self.size, self.size)
        for part in self.merge(parts):
            events = events.join(self.events(part, True), self.size)
        return events

    def events(self, node: Predicate, wanted: bool) -> Events:
        """Rows for which a condition is true (or false rather than unknown)."""
        if len(self.units(node)) <= 1:
            return self.decide(node, wanted)
        if isinstance(node, Not):
            return self.events(node.operand, not wanted)
        if not isinstance(node, And | Or):
            raise QueryError(self.advice)
        # "All are true" is a joint event; "one is true" is the negation of "none is".
        is_joint = isinstance(node, And) == wanted
        joint = events_of_number(self.size, self.size)
        for operand in self.merge(node.operands, type(node)):
            events = self.events(operand, wanted)
            joint = joint.join(events if is_joint else events.negate(self.size), self.size)
        return joint if is_joint else joint.negate(self.size)

    def merge(self, parts: Sequence[Predicate], join: type[And] | type[Or] = And) -> list[Predicate]:
        """Put conditions on one unit together."""
        single: dict[frozenset[str], list[Predicate]] = {}
        others: list[Predicate] = []
        for part in parts:
            units = self.units(part)
            if len(units) <= 1:
                single.setdefault(units, []).append(part)
            else:
                others.append(part)
        return [*(own[0] if len(own) == 1 else join(tuple(own)) for own in single.values()), *others]
