"""Questions to generalized releases: quasi-identifiers are boxes, the same for all rows of a group.

Source     definitions of [Li 2015], section 4.2, and of [Zhang 2008], section 2.5
Guarantee  the true answer lies inside the bounds: a row whose box lies inside a condition satisfies it, one whose box
           lies outside does not, any other may; reached where conditions name each column once
Cost       O(groups) per condition on a box, O(rows) per condition on a plain column
Deviates   conditions are decided box by box and column by column, with AND, OR and NOT; plain columns are exact

To expect is the share of the box that satisfies the condition, each row by itself: of intervals by length.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.crossing import Crossing
from hedgerow.query.evidence import Floats, Values
from hedgerow.query.grid import Held, held_by_intervals, held_by_sets, property_of
from hedgerow.query.kinds import NUMBERS
from hedgerow.query.loose import LooseCrossing
from hedgerow.query.numbers import Numbers, ticks_of
from hedgerow.query.question import And, Kind, Not, Or, Predicate, columns_of
from hedgerow.query.ranges import Chance, Range
from hedgerow.query.row_source import RowSource
from hedgerow.query.rows import Chosen, Selection
from hedgerow.query.statement import Bound
from hedgerow.query.view import view_of
from hedgerow.release.forms.generalized import SETS, box_columns

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["BoxSource"]

_RARELY = 1e-12
Triple = tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]
"""Of each row: surely, possibly, with which chance."""


class BoxSource(RowSource):
    """Rows whose quasi-identifiers are boxes."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self._release = release
        self._boxed = frozenset(release.columns.quasi)
        self._names = box_columns(release.columns, release.group_column)
        self._first = self.view.offsets[:-1]

    def is_open(self, name: str) -> bool:
        """Only plain columns are published as they are; what is derived from a box is not."""
        expression = self.view.derived.get(name)
        return name not in self._boxed and (expression is None or not columns_of(expression) & self._boxed)

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which a condition is true (or false, or unknown) for sure, or possibly."""
        if not columns_of(condition) & self._boxed:
            return super().choose(condition, wanted)
        sure, possible, chance = self._triple(condition, wanted)
        # A single point of an interval, or a gap, has no length; what is possible still has a chance.
        return Chosen(possible, sure, np.where(possible, np.maximum(chance, _RARELY), chance))

    def _triple(self, node: Predicate, wanted: bool | None) -> Triple:
        names = columns_of(node)
        if not names & self._boxed:
            rows = self.view.rows_that_are(wanted, node)
            return rows, rows, rows.astype(np.float64)
        if len(names) == 1:
            held = self._held(min(names), node, wanted)
            return held.all[self.view.groups], held.any[self.view.groups], held.share[self.view.groups]
        if wanted is None:
            return _neither(self._triple(node, True), self._triple(node, False))
        if isinstance(node, Not):
            return self._triple(node.operand, not wanted)
        if not isinstance(node, And | Or):
            raise QueryError(
                "columns that are published as ranges cannot be compared with others; compare each with constants"
            )
        parts = [self._triple(operand, wanted) for operand in node.operands]
        return functools.reduce(_both if isinstance(node, And) == wanted else _either, parts)

    def _held(self, name: str, condition: Predicate, wanted: bool | None) -> Held:
        """What a condition on one column says about every group."""
        met = property_of(self.view.columns[name], condition, wanted)
        held = self._by_intervals(name, condition, met) or self._by_sets(name, met)
        return self._with_missing(name, held, bool(met(pa.nulls(1, self.view.array(name).type))[0]))

    def _part(self, name: str) -> pa.Array | None:
        """A published column, one entry a group; None where there is none."""
        table = self._release.tables["release"]
        if name not in table.column_names:
            return None
        return pa.concat_arrays(table.column(name).chunks).take(pa.array(self._first)) if len(self._first) else None

    def _by_intervals(self, name: str, condition: Predicate, met: object) -> Held | None:
        low, high = self._part(self._names[name].low), self._part(self._names[name].high)
        if low is None or high is None:
            return None
        filled = low.is_valid().to_numpy(zero_copy_only=False)
        found = _nothing(len(filled))
        if filled.any():
            column = self.view.columns[name]
            inner = held_by_intervals(column, low.drop_null(), high.drop_null(), condition, met)  # type: ignore[arg-type]
            found.all[filled], found.any[filled], found.share[filled] = inner.all, inner.any, inner.share
        return found

    def _by_sets(self, name: str, met: object) -> Held:
        number = self._part(self._names[name].set)
        if number is None:
            return _nothing(len(self._first))
        listed = self._release.tables[SETS]
        listed = listed.filter(pc.equal(listed.column("column"), name))
        values = pa.concat_arrays(listed.column("value").chunks) if listed.num_rows else pa.array([], pa.string())
        sets = listed.column("set").to_numpy().astype(np.int64)
        held = held_by_sets(met(values), sets, int(sets.max(initial=-1)) + 2)  # type: ignore[operator]
        places = number.fill_null(int(sets.max(initial=-1)) + 1).to_numpy().astype(np.int64)
        return Held(held.all[places], held.any[places], held.share[places])

    def _with_missing(self, name: str, held: Held, is_met: bool) -> Held:
        """Where values of a group are missing, missing is one more value that its rows may have."""
        missing = self._part(self._names[name].missing)
        if missing is None:
            return held
        some = missing.to_numpy(zero_copy_only=False)
        only = some & ~self._has_values(name)
        everything = np.where(only, is_met, held.all & (~some | is_met))
        anything = np.where(only, is_met, held.any | (some & is_met))
        return Held(everything, anything, np.where(only, float(is_met), held.share))

    def _has_values(self, name: str) -> NDArray[np.bool_]:
        number, low = self._part(self._names[name].set), self._part(self._names[name].low)
        part = low if low is not None else number
        assert part is not None, "a column is published as intervals or as sets"
        valid: NDArray[np.bool_] = part.is_valid().to_numpy(zero_copy_only=False)
        return valid

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and hidden values in pairs; boxes enter as ranges."""
        nodes = [bound.hidden, bound.mixed, *bound.derived.values()]
        names = frozenset().union(*map(columns_of, nodes)) & self._boxed
        sharp = super().crossing(bound, selection, chosen)
        if not names and chosen.sure is None:
            return sharp
        boxes = {name: box for name in names if (box := self._range(name)) is not None}
        closed = names - frozenset(boxes)
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

    def _decide(self, condition: Predicate) -> Chance | None:
        """What boxes tell of a condition on one of their columns."""
        if len(columns_of(condition)) != 1 or not columns_of(condition) <= self._boxed:
            return None
        (_, true, chance), (_, false, _), (_, unknown, _) = (self._triple(condition, w) for w in (True, False, None))
        return Chance(true, false, unknown, chance)

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column; those of boxes are their ends."""
        if self.is_open(name):
            return super().numbers(name)
        low, high = self._ends(name)
        return ticks_of(pa.concat_arrays([low, high]), self.view.columns[name].kind)

    def _ends(self, name: str) -> tuple[pa.Array, pa.Array]:
        if name not in self._names:
            raise QueryError("expressions of a column that is published as ranges have no bound; aggregate it itself")
        low, high = self._part(self._names[name].low), self._part(self._names[name].high)
        is_gapless = self._part(self._names[name].missing) is None
        if low is None or high is None or not is_gapless or self.view.columns[name].kind is Kind.BOOL:
            raise QueryError(
                f"'{name}' is published as sets or has missing values, so its aggregates have no bound; COUNT(*) has"
            )
        return low, high

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values; all rows of a group have the same interval of a quasi-identifier."""
        if self.is_open(name):
            return super().values(name, base, condition, aggregated=aggregated)
        numbers = self.numbers(name)
        groups, sizes = len(self._first), np.diff(self.view.offsets)
        lows, highs = (np.repeat(ticks, sizes) for ticks in (numbers.lows[:groups], numbers.highs[groups:]))
        return Values(self.view.offsets, sizes, lows, highs, numbers.unit, ranged=True)


def _both(left: Triple, right: Triple) -> Triple:
    return left[0] & right[0], left[1] & right[1], left[2] * right[2]


def _either(left: Triple, right: Triple) -> Triple:
    return left[0] | right[0], left[1] | right[1], 1.0 - (1.0 - left[2]) * (1.0 - right[2])


def _neither(true: Triple, false: Triple) -> Triple:
    chance = np.clip(1.0 - true[2] - false[2], 0.0, 1.0)
    return ~true[1] & ~false[1], ~true[0] & ~false[0], chance


def _nothing(groups: int) -> Held:
    return Held(np.zeros(groups, dtype=np.bool_), np.zeros(groups, dtype=np.bool_), np.zeros(groups))
