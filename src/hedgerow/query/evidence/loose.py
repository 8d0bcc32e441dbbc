"""Mixed expressions where a release shows ranges: boxes of known columns, or subdomains of hidden values.

Source     own
Guarantee  the true answer lies inside; every pair of a row and a hidden value adds between the ends of its range, and
           the assignment of `mixed` is taken over these ends. Bounds are called reached only where ranges are points
Cost       different rows times different values of each group
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from hedgerow.query.answer import Estimate
from hedgerow.query.evidence.crossing import Crossing, Terms, classes_of
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.ranges import Chance, Range, RangeReader
from hedgerow.query.evidence.rows import Chosen
from hedgerow.query.sql.question import Aggregate, Expression, Predicate, columns_of

__all__ = ["LooseCrossing", "float_ends"]

_DIGITS = 15


@dataclass(frozen=True, eq=False)
class LooseCrossing(Crossing):
    """Rows that are selected for sure or perhaps, with `boxes` of some columns, one per row.

    `closed` columns are published as sets; of conditions on one of them `decide` tells. `values` are hidden values as
    ranges, with the group of each.
    """

    chosen: Chosen
    boxes: Mapping[str, Range] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    decide: Callable[[Predicate], Chance | None] = lambda _: None
    values: tuple[Ints, Range] | None = None

    def estimate(self, item: Aggregate) -> Estimate:
        """Bound one aggregate: always by pairs."""
        self._check(item)
        return self._by_pairs(item.function, self._expression(item))

    def _row_classes(self, names: list[str]) -> tuple[Ints, Ints]:
        boxed = self.closed | frozenset(self.boxes)
        keys = [self.view.codes(name).codes for name in names if name not in boxed]
        if boxed & frozenset(names):
            keys.append(self.view.groups)
        if self.chosen.sure is not None and self.chosen.chance is not None:
            chance = np.unique(self.chosen.chance, return_inverse=True)[1]
            keys += [self.chosen.sure.astype(np.int64), chance]
        return classes_of(keys, self.selection.index)

    def _value_classes(self, names: list[str]) -> tuple[Ints, Ints, Ints]:
        if self.values is None:
            return super()._value_classes(names)
        groups, ranges = self.values
        ends = [np.unique(end, return_inverse=True)[1] for end in (ranges.low, ranges.high)] if names else []
        return groups, *classes_of(ends, np.arange(len(groups)))

    def _terms(self, expression: Expression | None, condition: Predicate, rows: Ints, places: Ints) -> Terms:
        names = columns_of(condition) | (frozenset() if expression is None else columns_of(expression))
        ranges = {name: box.take(rows) for name, box in self.boxes.items() if name in names}
        if self.values is not None:
            ranges |= {name: self.values[1].take(places) for name in names & self._sensitive}
        plain = names - frozenset(ranges) - self.closed
        known = {
            name: self.hidden.array(name).take(pa.array(places))
            if name in self._sensitive
            else self.view.array(name).take(pa.array(rows))
            for name in plain
        }
        reader = RangeReader(known, ranges, len(rows), self.closed, lambda node: _at(self.decide(node), rows))
        met = reader.truth(condition)
        chosen, chance = self.chosen.sure, self.chosen.chance
        sure, possible, share = met.certain, met.true, met.chance
        if chosen is not None and chance is not None:
            sure, share = sure & chosen[rows], share * chance[rows]
        if expression is None:
            nothing = np.zeros(len(rows), dtype=np.int64)
            return Terms(
                nothing, nothing, sure, possible, chance=np.where(possible, share, 0.0), middle=np.zeros(len(rows))
            )
        found = reader.value(expression)
        low, high, unit = _enclosed(found.low, found.high)
        sure, possible = sure & found.sure, possible & found.possible
        share = np.where(possible, np.where(found.sure, share, share / 2), 0.0)
        return Terms(low, high, sure, possible, unit, middle=low / 2.0 + high / 2.0, chance=share)


def _at(one: Chance | None, rows: Ints) -> Chance | None:
    return None if one is None else Chance(one.true[rows], one.false[rows], one.unknown[rows], one.chance[rows])


def float_ends(ticks: Ints, unit: Fraction) -> tuple[Floats, Floats]:
    """Floats below and above whole multiples of a unit, equal where these are whole numbers that floats hold."""
    if unit == 1 and int(np.abs(ticks).max(initial=0)) < 2**53:
        return ticks.astype(np.float64), ticks.astype(np.float64)
    near = ticks * float(unit) if unit >= 1 else ticks / float(1 / unit)
    # Three roundings at most: two floats further on either side.
    return tuple(np.nextafter(np.nextafter(near, end), end) for end in (-np.inf, np.inf))  # type: ignore[return-value]


def _enclosed(low: Floats, high: Floats) -> tuple[Ints, Ints, Fraction]:
    """Whole units around ranges of floats: exactly, where they are whole numbers, else 15 digits of the largest."""
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    if largest < 2.0**53 and np.array_equal(low, np.rint(low)) and np.array_equal(high, np.rint(high)):
        ends = low.astype(np.int64), high.astype(np.int64)
        return ends[0], ends[0] if np.array_equal(*ends) else ends[1], Fraction(1)
    places = _DIGITS - 1 - math.floor(math.log10(largest))
    scale = 10.0**places
    # The product errs by less than half a unit, so one unit on either side encloses it.
    below, above = np.floor(low * scale - 0.5).astype(np.int64), np.ceil(high * scale + 0.5).astype(np.int64)
    return below, above, Fraction(10) ** -places
