"""Questions to generalized releases: quasi-identifiers are boxes, the same for all rows of a group.

Source     definitions of [Li 2015], section 4.2, and of [Zhang 2008], section 2.5
Guarantee  the true answer lies inside the bounds: a row whose box lies inside a condition satisfies it, one whose box
           lies outside does not, any other may; reached where conditions name each column once
Cost       O(groups) per condition on a box, O(rows) per condition on a plain column
Deviates   conditions are decided box by box and column by column, with AND, OR and NOT; plain columns are exact. Where
           boxes are least, some row of the group has each end of an interval and each value of a set; where a column
           has gaps, some row of a group that is marked so has one

Each other row matches with probability equal to the matching fraction of its box: of intervals by length, and where
values of the group are missing, half of the time by a gap.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import QueryError
from hedgerow.query.evidence.box_functions import range_in_intervals, range_in_sets, with_gaps
from hedgerow.query.evidence.crossing import Crossing
from hedgerow.query.evidence.events import Events, Leaves, events_of_chance
from hedgerow.query.evidence.grid import Coverage, coverage_of_intervals, coverage_of_sets, property_of
from hedgerow.query.evidence.groups import Moments, Values
from hedgerow.query.evidence.permuted import RowSource, WholeRelease
from hedgerow.query.evidence.ranges import Chance, LooseCrossing, Range
from hedgerow.query.evidence.rows import Chosen, Numbers, Selection, ticks_in
from hedgerow.query.evidence.view import values, view_of
from hedgerow.query.sql.question import (
    NUMBERS,
    Aggregate,
    And,
    Bound,
    Column,
    Kind,
    Not,
    Or,
    Predicate,
    columns_of,
    conjuncts,
)
from hedgerow.release.forms.generalized import SETS, box_columns
from hedgerow.verify.made import least_boxes

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["BoxSource"]

_RARELY = 1e-12
_APART = "columns that are published as ranges cannot be compared with others; compare each with constants"
Mask = NDArray[np.bool_]
Triple = tuple[Mask, Mask, Floats]
"""Of each row: surely, possibly, with which chance."""


@dataclass(frozen=True, eq=False)
class _Boxes:
    """One column of every group: the ends of intervals or the numbers of sets, and whether values are missing.

    Where all values of a group are missing (`filled` is false), the ends are those of another group.
    """

    low: pa.Array | None
    high: pa.Array | None
    sets: Ints | None
    filled: Mask
    gaps: Mask


class BoxSource(RowSource):
    """Rows whose quasi-identifiers are boxes."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self._tables = release.tables  # the release itself would never be forgotten
        self.closed = frozenset(release.columns.quasi)
        self._names = box_columns(release.columns, release.group_column)
        self._first, self._sizes = self.view.offsets[:-1], np.diff(self.view.offsets)
        self._least = frozenset(least_boxes(release.made))

    @property
    def _leaves(self) -> Leaves:
        """Made anew each time: kept, it and the source would hold each other."""
        return Leaves(self._sizes, columns_of, self._events, _APART)

    @property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        return self._sizes

    def boxes(self, name: str) -> _Boxes:
        """The boxes of a column, one a group."""
        return self._boxes(name)

    def is_least(self, name: str) -> bool:
        """Tell whether some row of a group has each end of its interval, and each value of its set."""
        return name in self._least and not self._is_crowded(name, self._boxes(name))

    def may_miss(self, name: str) -> bool:
        """Tell whether some value of a column may be missing."""
        if name in self.closed:
            return bool(self._boxes(name).gaps.any())
        return super().may_miss(name)

    # Which rows satisfy a condition.

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which a condition is true (or false, or unknown) for sure, or possibly."""
        if not columns_of(condition) & self.closed:
            return super().choose(condition, wanted)
        parts = conjuncts(condition) if wanted else [condition]
        plain = [part for part in parts if not columns_of(part) & self.closed]
        closed = [part for part in parts if self._is_closed(part, wanted)]
        chosen = [super().choose(And(tuple(plain)))] if plain else []
        if closed:
            events = self._leaves.all(closed) if wanted else self._events(closed[0], wanted)
            chosen.append(self._choose_together(events))
        for part in parts:
            if part not in plain and part not in closed:
                sure, possible, chance = self._triple(part, wanted)
                # A single point of an interval, or a gap, has no length; what is possible still has a chance.
                chosen.append(Chosen(possible, sure, np.where(possible, np.maximum(chance, _RARELY), chance)))
        return functools.reduce(Chosen.both, chosen)

    def _is_closed(self, part: Predicate, wanted: bool | None) -> bool:
        """Tell whether the events of a group decide a condition: it is on boxes alone (and true, if on several)."""
        names = columns_of(part)
        return bool(names) and names <= self.closed and (wanted is True or len(names) == 1)

    def _choose_together(self, events: Events) -> Chosen:
        groups = self.view.groups
        possible, sure = events.high > 0, events.low == self._sizes
        return Chosen(possible[groups], sure[groups], events.one[groups], events)

    def _triple(self, node: Predicate, wanted: bool | None) -> Triple:
        names = columns_of(node)
        if not names & self.closed:
            rows = self.view.rows_that_are(wanted, node)
            return rows, rows, rows.astype(np.float64)
        if len(names) == 1:
            chosen = self._choose_together(self._events(node, wanted))
            sure, chance = chosen.odds
            return sure, chosen.possible, chance
        if wanted is None:
            return _neither(self._triple(node, True), self._triple(node, False))
        if isinstance(node, Not):
            return self._triple(node.operand, not wanted)
        if not isinstance(node, And | Or):
            raise QueryError(_APART)
        parts = [self._triple(operand, wanted) for operand in node.operands]
        return functools.reduce(_both if isinstance(node, And) == wanted else _either, parts)

    def _events(self, condition: Predicate, wanted: bool | None) -> Events:
        """How many rows of each group satisfy a condition on one column."""
        (name,) = columns_of(condition) or {min(self.closed)}
        boxes, held = self._boxes(name), self._coverage(name, condition, wanted)
        met = property_of(self.view.columns[name], condition, wanted)
        is_gap_met = bool(met(pa.nulls(1, self.view.array(name).type))[0])
        forced, number = self._count_forced(name, boxes, held, met)
        gaps = boxes.gaps & boxes.filled
        forced, number = forced + (gaps & is_gap_met), number + gaps
        everything = held.all & (~gaps | is_gap_met)
        anything = held.any | (gaps & is_gap_met)
        share = np.where(gaps, held.share / 2.0 + is_gap_met / 2.0, held.share)
        chance = np.where(everything, 1.0, np.where(anything, np.clip(share, _RARELY, 1.0 - _RARELY), 0.0))
        free = self._sizes - number
        nobody = ~boxes.filled
        return events_of_chance(
            np.where(nobody, self._sizes * is_gap_met, forced), np.where(nobody, 0, free), chance, self._sizes
        )

    def _count_forced(self, name: str, boxes: _Boxes, held: Coverage, met: Any) -> tuple[Ints, Ints]:
        """Of the values that some row of each group has for sure: how many satisfy a condition, and how many there are.

        Without least boxes, some row has a value of the box wherever there is one.
        """
        if name not in self._least or self._is_crowded(name, boxes):
            known = boxes.gaps & boxes.filled & (held.all | ~held.any)
            return (known & held.all).astype(np.int64), known.astype(np.int64)
        if boxes.low is not None and boxes.high is not None:
            two = pc.not_equal(boxes.low, boxes.high).to_numpy(zero_copy_only=False)
            return met(boxes.low).astype(np.int64) + (two & met(boxes.high)), 1 + two.astype(np.int64)
        assert boxes.sets is not None, "a column is published as intervals or as sets"
        values, sets, number = self.listed_values(name)
        size, count = np.bincount(sets, minlength=number), np.bincount(sets, met(values), minlength=number)
        return count[boxes.sets].astype(np.int64), size[boxes.sets]

    def _is_crowded(self, name: str, boxes: _Boxes) -> bool:
        """Tell whether some group is too small for what its boxes say, so that they are not what they seem."""
        if boxes.sets is not None:
            _, sets, number = self.listed_values(name)
            needed = np.bincount(sets, minlength=number)[boxes.sets]
        else:
            needed = 1 + pc.not_equal(boxes.low, boxes.high).to_numpy(zero_copy_only=False).astype(np.int64)
        return bool(np.any((needed + boxes.gaps > self._sizes) & boxes.filled))

    # What is published about one column.

    def _boxes(self, name: str) -> _Boxes:
        boxes: _Boxes = self.view.remember(f"boxes of {name}", lambda: self._read(name))
        return boxes

    def _read(self, name: str) -> _Boxes:
        names = self._names[name]
        low, high, number, missing = (self._part(part) for part in (names.low, names.high, names.set, names.missing))
        shape = low if low is not None else number
        filled = np.zeros(0, np.bool_) if shape is None else shape.is_valid().to_numpy(zero_copy_only=False)
        gaps = np.zeros(len(self._first), np.bool_)
        if missing is not None:
            gaps = missing.to_numpy(zero_copy_only=False)
        if low is None or high is None:
            return _Boxes(None, None, _whole(number), filled, gaps)
        # Ends that are there stand in for those that are not, so that all are ends of one kind.
        nothing = False if pa.types.is_boolean(low.type) else 0
        fill = pc.min(low) if filled.any() else pa.scalar(nothing, low.type)
        return _Boxes(low.fill_null(fill), high.fill_null(fill), None, filled, gaps)

    def _part(self, name: str) -> pa.Array | None:
        """A published column, one entry a group; None where there is none."""
        table = self._tables["release"]
        if name not in table.column_names:
            return None
        return pa.concat_arrays(table.column(name).chunks).take(pa.array(self._first)) if len(self._first) else None

    def listed_values(self, name: str) -> tuple[pa.Array, Ints, int]:
        """The values of all sets of a column, the set of each, and how many sets there are.

        At least one: groups without a value point to set 0, which is empty where every value is missing.
        """
        listed = self._tables[SETS]
        listed = listed.filter(pc.equal(listed.column("column"), name))
        values = pa.concat_arrays(listed.column("value").chunks) if listed.num_rows else pa.array([], pa.string())
        sets = listed.column("set").to_numpy().astype(np.int64)
        return values, sets, int(sets.max(initial=0)) + 1

    def _coverage(self, name: str, condition: Predicate, wanted: bool | None) -> Coverage:
        """What a condition on one column says about the values of every box, which are not missing."""
        boxes, column = self._boxes(name), self.view.columns[name]
        met = property_of(column, condition, wanted)
        if not boxes.filled.any():
            nothing = np.zeros(len(boxes.filled))
            return Coverage(nothing > 0, nothing > 0, nothing, (nothing, nothing))
        if boxes.low is not None and boxes.high is not None:
            held = coverage_of_intervals(column, boxes.low, boxes.high, condition, met)
        else:
            values, sets, number = self.listed_values(name)
            listed, places = coverage_of_sets(met(values), sets, number), boxes.sets
            held = Coverage(listed.all[places], listed.any[places], listed.share[places])
        return Coverage(held.all & boxes.filled, held.any & boxes.filled, held.share * boxes.filled, held.ends)

    # Which values an aggregate draws.

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and hidden values in pairs; boxes enter as ranges."""
        asked = [item.column for item in bound.aggregates if isinstance(item.column, Column)]
        nodes = [bound.hidden, bound.mixed, *bound.derived.values(), *asked]
        names = frozenset().union(*map(columns_of, nodes)) & self.closed
        sharp = super().crossing(bound, selection, chosen)
        if not names and chosen.sure is None:
            return sharp
        boxes = {name: box for name in names if (box := self._range(name)) is not None}
        closed = names - frozenset(boxes)
        computed = {
            column.name for column in asked if columns_of(bound.derived.get(column.name, column)) <= self.closed
        }
        boxes |= {name: box for name in computed if (box := self._computed_range(name)) is not None}
        return LooseCrossing(bound, self.view, sharp.hidden, selection, chosen, boxes, closed, self._decide)

    def _range(self, name: str) -> Range | None:
        """The box of a column of numbers, row by row; None where it is published as sets."""
        low, high = self._part(self._names[name].low), self._part(self._names[name].high)
        if low is None or high is None or self.view.columns[name].kind not in NUMBERS:
            return None
        missing = self._part(self._names[name].missing)
        some = np.zeros(len(low), dtype=np.bool_) if missing is None else missing.to_numpy(zero_copy_only=False)
        ends = [Range.of(end) for end in (low, high)]
        return Range(ends[0].low, ends[1].high, ends[0].sure & ~some, ends[0].sure).take(self.view.groups)

    def _computed_range(self, name: str) -> Range | None:
        """A function of one column, row by row: of each whole number, day or listed value; None for other columns."""
        expression = self.view.derived.get(name)
        if expression is None or len(columns_of(expression)) != 1:
            return None
        (base,) = columns_of(expression)
        boxes = self._boxes(base)

        def function(found: pa.Array) -> pa.Array:
            return values(expression, {base: found.cast(self.view.array(base).type)}, len(found))

        if boxes.sets is not None:
            listed, sets, number = self.listed_values(base)
            found = range_in_sets(listed, sets, number, function)
            found = None if found is None else found.take(boxes.sets)
        elif self.view.columns[base].kind in (Kind.INT, Kind.DATE) and boxes.low is not None and boxes.high is not None:
            found = range_in_intervals(boxes.low, boxes.high, function)
        else:
            return None
        if found is None:
            return None
        nothing = function(pa.nulls(1, self.view.array(base).type))
        return with_gaps(found, boxes.gaps, boxes.filled, nothing).take(self.view.groups)

    def is_ranged(self, aggregate: Aggregate, *, is_free: bool) -> bool:
        """Tell whether what is aggregated is a range in each row: a function of boxes, or they under a condition."""
        name = aggregate.column.name if isinstance(aggregate.column, Column) else ""
        if self.is_open(name) or (is_free and name in self.closed):
            return False
        return name not in self.closed or self.view.columns[name].kind in NUMBERS

    def _decide(self, condition: Predicate) -> Chance | None:
        """What boxes tell of a condition on one of their columns."""
        if len(columns_of(condition)) != 1 or not columns_of(condition) <= self.closed:
            return None
        (_, true, chance), (_, false, _), (_, unknown, _) = (self._triple(condition, w) for w in (True, False, None))
        return Chance(true, false, unknown, chance)

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column; those of boxes are their ends."""
        if self.is_open(name):
            return super().numbers(name)
        return ticks_in(self.view, name, pa.concat_arrays(self._ends(name)), self.view.columns[name].kind)

    def domain(self, name: str) -> pa.Array | None:
        """The values of a column that have ticks: of boxes their ends."""
        return super().domain(name) if self.is_open(name) else pa.concat_arrays(self._ends(name))

    def take_part(self, whole: WholeRelease) -> None:
        """Take units and places from the release of which this is a part; boxes that are doubtful are not least."""
        super().take_part(whole)
        self._least -= whole.doubtful

    def doubtful(self) -> frozenset[str]:
        """Columns whose boxes are too large for a group, and so not least."""
        return frozenset(name for name in self._least if self._is_crowded(name, self._boxes(name)))

    def _ends(self, name: str) -> tuple[pa.Array, pa.Array]:
        if name not in self._names:
            raise QueryError("expressions of a column that is published as ranges have no bound; aggregate it itself")
        boxes = self._boxes(name)
        if boxes.low is None or boxes.high is None or self.view.columns[name].kind is Kind.BOOL:
            raise QueryError(f"'{name}' is published as sets, so its aggregates have no bound; COUNT has")
        return boxes.low, boxes.high

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values; all rows of a group have the same interval of a quasi-identifier."""
        if self.is_open(name):
            return super().values(name, base, condition, aggregated=aggregated)
        if name not in self._names:
            raise QueryError("expressions of a column that is published as ranges have no bound; aggregate it itself")
        boxes, held = self._boxes(name), self._coverage(name, condition, True)
        met = property_of(self.view.columns[name], condition, True)
        if boxes.low is None or boxes.high is None or self.view.columns[name].kind is Kind.BOOL:
            return self._count_values(name, boxes, held, met)
        numbers, groups = self.numbers(name), len(self._first)
        low, high = numbers.lows[:groups], numbers.highs[groups:]
        # Ends that lie on no decimal grid are known to lie between two ticks.
        within = numbers.highs[:groups], numbers.lows[groups:]
        assert held.ends is not None, "intervals have ends"
        first, last = _enclose(*held.ends, numbers.unit)
        near, far = (np.where(held.any, np.clip(end, low, high), low) for end in (first, last))
        near, far = np.minimum(near, within[1]), np.maximum(far, within[0])
        two = pc.not_equal(boxes.low, boxes.high).fill_null(False).to_numpy(zero_copy_only=False)
        ends = (met(boxes.low) & boxes.filled, met(boxes.high) & boxes.filled & two)
        if name not in self._least or self._is_crowded(name, boxes):
            ends = (np.zeros(groups, np.bool_), np.zeros(groups, np.bool_))
            number = np.zeros(groups, dtype=np.int64)
        else:
            number = (1 + two) * boxes.filled
        is_whole = self.view.columns[name].kind is not Kind.FLOAT
        rows = _Rows(
            low, high, within, near, far, *ends, self._free(number, boxes), self._chance(held, boxes), is_whole
        )
        sure = ends[0].astype(np.int64) + ends[1] + rows.free * (held.all & ~boxes.gaps)
        return rows.values(self._sizes, sure, numbers.unit)

    def _count_values(self, name: str, boxes: _Boxes, held: Coverage, met: Any) -> Values:
        """Values that are only counted: of sets, and of truth values."""
        forced, number = self._count_forced(name, boxes, held, met)
        nothing = np.zeros(len(self._first), dtype=np.int64)
        free = self._free(number, boxes)
        counts = np.where(boxes.filled, forced + free * held.any, 0)
        sure = np.where(boxes.filled, forced + free * (held.all & ~boxes.gaps), 0)
        chance = self._chance(held, boxes)
        share = (forced * boxes.filled + free * chance) / np.maximum(self._sizes, 1)
        squares = (forced * boxes.filled + free * chance**2) / np.maximum(self._sizes, 1)
        zeros, inner = np.zeros(len(nothing)), free * chance * (1.0 - chance) / np.maximum(self._sizes, 1)
        moments = Moments(share, zeros, zeros, zeros, squares - share**2, (zeros, zeros, inner))
        ticks = np.zeros(int(counts.sum()), dtype=np.int64)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return Values(offsets, self._sizes, ticks, ticks, Fraction(1), True, sure, moments)

    def _free(self, number: Ints, boxes: _Boxes) -> Ints:
        """The rows of each group of which nothing is known but the box."""
        return np.where(boxes.filled, self._sizes - number - boxes.gaps, 0)

    def _chance(self, held: Coverage, boxes: _Boxes) -> Floats:
        """The chance that the value of a free row counts."""
        share = np.where(held.all, 1.0, np.where(held.any, np.clip(held.share, _RARELY, 1.0 - _RARELY), 0.0))
        return np.where(boxes.gaps, share / 2.0, share)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of each group, in ticks: one with either end of its box that counts, and free ones.

    The ends lie between `low` and the first of `within`, and between the second of it and `high`. A free row counts
    with a chance, and then lies anywhere between `first` and `last`.
    """

    low: Ints
    high: Ints
    within: tuple[Ints, Ints]
    first: Ints
    last: Ints
    has_low: Mask
    has_high: Mask
    free: Ints
    chance: Floats
    is_whole: bool

    def values(self, sizes: Ints, sure: Ints, unit: Fraction) -> Values:
        """The same as evidence; of a group of so many rows `sure` have a value that counts."""
        number = self._three(self.has_low, self.free * (self.chance > 0), self.has_high).astype(np.int64)
        width = (self.last - self.first).astype(np.float64)
        middle = (self.first - self.low) + width / 2.0
        spread = (width * (width + 2.0) if self.is_whole else width**2) / 12.0
        counting = self._three(1.0, self.chance, 1.0)
        weights = self._three(self.has_low, self.free, self.has_high) / np.maximum(sizes, 1)[:, None]
        places = self._three(0.0, middle, self.high - self.low)
        return Values(
            np.concatenate(([0], np.cumsum(number.sum(axis=1)))),
            sizes,
            _repeat(self._three(self.low, self.first, self.within[1]), number),
            _repeat(self._three(self.within[0], self.last, self.high), number),
            unit,
            True,
            None if np.array_equal(sure, sizes) else sure,
            _moments(self.low, weights, places, counting, self._three(0.0, spread, 0.0)),
            _repeat(self.low[:, None] + places, number),
            _repeat(counting, number),
        )

    def _three(self, low: Any, free: Any, high: Any) -> NDArray[Any]:
        """A number for the low end, the free rows and the high end of each group."""
        return np.stack(np.broadcast_arrays(low, free, high, self.low)[:3], axis=1)


def _repeat(numbers: NDArray[Any], times: Ints) -> NDArray[Any]:
    repeated: NDArray[Any] = np.repeat(numbers.reshape(-1), times.reshape(-1))
    return repeated


def _moments(low: Ints, weights: Floats, places: Floats, counting: Floats, spread: Floats) -> Moments:
    """What to expect of a row of each group: kinds of rows by weight, their places above `low`, chances to count."""
    share = (weights * counting).sum(axis=1)
    mean = np.divide((weights * counting * places).sum(axis=1), share, out=np.zeros(len(low)), where=share > 0)
    away = places - mean[:, None]
    far = counting * away
    inner = (
        (weights * (counting * (spread + away**2) - far**2)).sum(axis=1),
        (weights * far * (1.0 - counting)).sum(axis=1),
        (weights * counting * (1.0 - counting)).sum(axis=1),
    )
    both, counts = (weights * far * counting).sum(axis=1), (weights * counting**2).sum(axis=1) - share**2
    return Moments(share, low + mean, (weights * far**2).sum(axis=1), both, counts, inner)


def _enclose(first: NDArray[Any], last: NDArray[Any], unit: Fraction) -> tuple[Ints, Ints]:
    """Ends as ticks: whole ones as they are, floats between the nearest ticks outside."""
    if first.dtype.kind != "f":
        return first.astype(np.int64), last.astype(np.int64)
    steps = [side / float(unit) if unit >= 1 else side * float(1 / unit) for side in (first, last)]
    low, high = np.floor(np.nextafter(steps[0], -np.inf)), np.ceil(np.nextafter(steps[1], np.inf))
    return low.astype(np.int64), high.astype(np.int64)


def _whole(numbers: pa.Array | None) -> Ints | None:
    return None if numbers is None else numbers.fill_null(0).to_numpy().astype(np.int64)


def _both(left: Triple, right: Triple) -> Triple:
    return left[0] & right[0], left[1] & right[1], left[2] * right[2]


def _either(left: Triple, right: Triple) -> Triple:
    return left[0] | right[0], left[1] | right[1], 1.0 - (1.0 - left[2]) * (1.0 - right[2])


def _neither(true: Triple, false: Triple) -> Triple:
    chance = np.clip(1.0 - true[2] - false[2], 0.0, 1.0)
    return ~true[1] & ~false[1], ~true[0] & ~false[0], chance


source = BoxSource
"""What the form tells about questions."""
