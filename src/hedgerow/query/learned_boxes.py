"""The learned estimate for boxes: where in their boxes rows lie, learned from all boxes together.

Source     own: the nonparametric maximum likelihood of a distribution that is seen through intervals and sets
           (expectation-maximization, stopped early), one column at a time
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(groups + values) for each of some thirty rounds, part of the hidden values, column and resampling, once;
           then O(groups times parts) a question

The fair answer takes every value of a box as equally likely. But boxes overlap each other column by column, and tell
together which values are frequent: each round deals the rows of a box to its values in proportion to what was found
before. Both ends of a least interval, and every value of a least set, belong to somebody: that there is one makes more
likely, but adds less than one.

The hidden values of a box are published with it. They are put into parts, ranges or texts, and the same is done for the
rows of each part, so that how a known column goes with the hidden one is learned from all boxes: whoever is in a box
with hours of 20 to 40 and is young more likely works 20. Ranges that are next to each other are smoothed in each round.
Inside a box and part columns are taken as independent.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.query.evidence.grid import property_of
from hedgerow.query.sql.question import And, columns_of, conjuncts

if TYPE_CHECKING:
    from hedgerow.query.evidence.generalized import BoxSource
    from hedgerow.query.sql.question import Bound, Predicate

__all__ = ["Boxes", "Chances", "HiddenParts", "boxes_of"]

_ROUNDS = 25
_ROUNDS_OF_PARTS = 10
_MOST_PARTS = 20
_MOST_CELLS = 4_000_000
"""Values of boxes times parts of the hidden values, up to which parts are told apart."""

_SMOOTHED = 0.5
"""The share of a range's rows that its two neighbours get in each round."""

_USUAL = 10.0
"""So many rows of each part are taken as usual, however few there are."""

_FEW = 5
"""Groups with fewer rows on average do not tell by their hidden values where in their boxes they lie."""

_MOST_VALUES = 20_000
_RESAMPLINGS = 12

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Axis:
    """One column: its possible values in order, and which of them each group's box holds.

    A box is a run of values from `low` to `high`, or the values `listed` for the group `owner`. Where boxes are least,
    somebody has each end of a run and each value of a list.
    """

    values: pa.Array
    sizes: Floats
    low: Ints | None
    high: Ints | None
    listed: Ints
    owner: Ints
    is_least: bool

    def deal(self, found: Floats) -> _Dealt:
        """How many rows of each group to expect at each value of its box, if values are so frequent."""
        groups = len(self.sizes)
        if self.low is None or self.high is None:
            share = found[self.listed]
            share = share / np.bincount(self.owner, share, minlength=groups)[self.owner]
            number = self._somebody(share, self.sizes[self.owner])
            total = np.bincount(self.owner, number, minlength=groups)
            return _Dealt(self, found, number * (self.sizes / total)[self.owner])
        before = np.append(0.0, np.cumsum(found))
        inside = before[self.high + 1] - before[self.low]
        between = np.maximum(before[self.high] - before[np.minimum(self.low + 1, self.high)], 0.0)
        ends = [self._somebody(found[end] / inside, self.sizes) for end in (self.low, self.high)]
        ends[1] = np.where(self.high > self.low, ends[1], 0.0)
        least = ends[0] + ends[1]
        # Where nothing lies between the ends, they have all rows.
        scale = np.where((between > 0) & (least < self.sizes), 1.0, self.sizes / least)
        left = np.where(between > 0, np.maximum(self.sizes - least, 0.0) / np.maximum(between, 1e-300), 0.0)
        return _Dealt(self, found, np.concatenate((ends[0] * scale, ends[1] * scale, left)))

    def _somebody(self, share: Floats, sizes: Floats) -> Floats:
        """The expected number of rows with a value of such a share, given that there is one, where that is known."""
        if not self.is_least:
            return sizes * share
        return np.asarray(sizes * share / np.maximum(-np.expm1(sizes * np.log1p(-np.minimum(share, 1 - 1e-9))), 1e-300))

    def inside(self, weights: Floats) -> Floats:
        """The sum over the values of each group's box, of each column of weights."""
        if self.low is None or self.high is None:
            found = np.zeros((len(self.sizes), weights.shape[1]))
            some = np.flatnonzero(np.asarray(weights.any(axis=1))[self.listed])
            if len(some):
                first = np.flatnonzero(np.append(True, np.diff(self.owner[some]) > 0))
                found[self.owner[some[first]]] = np.add.reduceat(weights[self.listed[some]], first, axis=0)
            return found
        before = np.concatenate((np.zeros((1, weights.shape[1])), np.cumsum(weights, axis=0)))
        return np.asarray(before[self.high + 1] - before[self.low])

    def over(self, numbers: Floats) -> Floats:
        """The sum over the groups whose boxes hold each value, of each column of numbers."""
        count = len(self.values)
        if self.low is None or self.high is None:
            columns = [np.bincount(self.listed, each[self.owner], minlength=count) for each in numbers.T]
            return np.column_stack(columns)
        steps = [
            np.bincount(self.low, each, minlength=count + 1) - np.bincount(self.high + 1, each, minlength=count + 1)
            for each in numbers.T
        ]
        return np.asarray(np.maximum(np.cumsum(np.column_stack(steps), axis=0)[:count], 0.0))

    def by_part(self, usual: Floats, numbers: Floats, *, is_ordered: bool) -> Floats:
        """How frequent each value is among the rows of each part; `numbers` are rows by group and part."""
        found = np.repeat(usual[:, None], numbers.shape[1], axis=1)
        for _ in range(_ROUNDS_OF_PARTS):
            found = found * self.over(numbers / np.maximum(self.inside(found), 1e-300)) + _USUAL * usual[:, None]
            found /= found.sum(axis=0)
            if is_ordered:
                near = np.column_stack((found[:, :1], found, found[:, -1:]))
                found = (1.0 - _SMOOTHED) * found + _SMOOTHED / 2.0 * (near[:, :-2] + near[:, 2:])
        return found

    def join(self, usual: Floats, numbers: Floats, *, is_ordered: bool) -> tuple[Floats, Floats]:
        """How frequent values are among the rows of each part and among all, and the same summed over boxes."""
        found = np.column_stack((self.by_part(usual, numbers, is_ordered=is_ordered), usual))
        return found, np.maximum(self.inside(found), 1e-300)

    def frequencies(self, times: Floats) -> Floats:
        """How frequent each value is among rows of all boxes, groups counted so many times."""
        found = np.full(len(self.values), 1.0 / len(self.values))
        for _ in range(_ROUNDS):
            found = self.deal(found).by_value(times) + 1e-9
            found /= found.sum()
        return found


@dataclass(frozen=True, eq=False)
class _Dealt:
    """Expected numbers of rows: for lists one a value, for runs those at both ends, and by frequency between them."""

    axis: _Axis
    found: Floats
    numbers: Floats

    def by_value(self, times: Floats) -> Floats:
        """Rows with each value, over all groups."""
        axis, count = self.axis, len(self.axis.values)
        if axis.low is None or axis.high is None:
            return np.asarray(np.bincount(axis.listed, self.numbers * times[axis.owner], minlength=count), np.float64)
        low, high, left = (part * times for part in np.split(self.numbers, 3))
        steps = np.bincount(np.minimum(axis.low + 1, axis.high), left, minlength=count + 1)
        steps -= np.bincount(axis.high, left, minlength=count + 1)
        ends = np.bincount(axis.low, low, minlength=count) + np.bincount(axis.high, high, minlength=count)
        return np.asarray(ends + self.found * np.cumsum(steps)[:count])

    def sums(self, weights: Floats) -> Floats:
        """Over the rows of each group, the sum of weights of their values."""
        axis = self.axis
        if axis.low is None or axis.high is None:
            return np.asarray(np.bincount(axis.owner, self.numbers * weights[axis.listed], minlength=len(axis.sizes)))
        low, high, left = np.split(self.numbers, 3)
        before = np.append(0.0, np.cumsum(self.found * weights))
        between = before[axis.high] - before[np.minimum(axis.low + 1, axis.high)]
        return np.asarray(low * weights[axis.low] + high * weights[axis.high] + left * between)


@dataclass(frozen=True, eq=False)
class HiddenParts:
    """The part of each row's hidden value; parts of numbers are ranges in order."""

    of: Ints
    is_ordered: bool


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely rows of each group and part satisfy a condition.

    The first are learned from all groups, with what parts tell about groups as a whole, the second without that (the
    other way round where groups are small); the others from resampled groups.
    """

    cell: Ints
    by_world: list[Floats]
    numbers: Floats
    sizes: Floats

    def total(self, values: Floats) -> tuple[float, float]:
        """The learned sum over the rows that satisfy it, and its standard error."""
        sums, squares = (
            np.bincount(self.cell, each, minlength=self.by_world[0].size) for each in (values, np.square(values))
        )
        found = [float(chance.ravel() @ sums) for chance in self.by_world]
        likely = self.by_world[0].ravel()
        dealt = float((likely * (1.0 - likely)) @ squares)
        # What models differ by is an error of the model, which resampling does not show.
        apart = max(np.square(found[0] - found[1]), self._contrast(np.asarray(sums, np.float64), found[0]) / 4.0)
        return found[0], float(np.sqrt(dealt + apart + np.var(found[2:], ddof=1)))

    def _contrast(self, sums: Floats, found: float) -> float:
        """How far a line through the groups' means by their shares of hits is off, squared, beyond its own noise."""
        groups, hits = self.sizes, (self.by_world[0] * self.numbers).sum(axis=1)
        share, total = hits / groups, sums.reshape(self.numbers.shape).sum(axis=1)
        weight = groups / groups.sum()
        own, left = share - weight @ share, total / groups - weight @ (total / groups)
        scale = float(groups @ np.square(own))
        if scale <= 1e-12 * float(groups.sum()):
            return 0.0
        steep = float((groups * own) @ left) / scale
        noise = float(np.square(groups * own) @ np.square(left - steep * own)) / scale**2
        reach = float(hits @ (1.0 - share))
        off = float(share @ total) + steep * reach - found
        return max(float(np.square(off) - noise * np.square(reach)), 0.0)


class Boxes:
    """What boxes of all columns tell about the rows inside them."""

    def __init__(self, axes: dict[str, _Axis], sizes: Floats) -> None:
        self._axes, self._sizes = axes, sizes
        self._by_part: dict[str, list[dict[str, tuple[Floats, Floats]]]] = {}
        cells = max(len(sizes) + len(axis.listed) for axis in axes.values())
        self.most_parts = max(1, min(_MOST_PARTS, _MOST_CELLS // cells))

    @functools.cached_property
    def _worlds(self) -> list[tuple[Floats, dict[str, _Dealt]]]:
        """How often each group counts, and where its rows then are: all groups once, and resampled ones."""
        from hedgerow.randomness import seeded_keys

        count, keys = len(self._sizes), seeded_keys(0)
        picks = ((keys(count) % np.uint64(count)).astype(np.int64) for _ in range(_RESAMPLINGS))
        times = [np.ones(count), *(np.bincount(pick, minlength=count).astype(np.float64) for pick in picks)]
        return [
            (each, {name: axis.deal(axis.frequencies(each)) for name, axis in self._axes.items()}) for each in times
        ]

    def _learn(self, base: str, numbers: Floats, parts: HiddenParts) -> list[dict[str, tuple[Floats, Floats]]]:
        """By world and column: how frequent its values are among the rows of each part, and what boxes hold of that.

        The last of each is that among all rows.
        """
        if base not in self._by_part:
            self._by_part[base] = [
                {
                    name: axis.join(dealt[name].found, numbers * times[:, None], is_ordered=parts.is_ordered)
                    for name, axis in self._axes.items()
                }
                for times, dealt in self._worlds
            ]
        return self._by_part[base]

    def chances(
        self, source: BoxSource, condition: Predicate, base: str | None = None, parts: HiddenParts | None = None
    ) -> Chances:
        """How likely rows satisfy a condition on known columns, by their group and the part of their hidden value."""
        conditions: dict[str, list[Predicate]] = {}
        for part in conjuncts(condition):
            for name in columns_of(part):
                conditions.setdefault(name, []).append(part)
        met = {
            name: property_of(source.view.columns[name], And(tuple(those)), True)(self._axes[name].values)
            for name, those in conditions.items()
        }
        owner, groups = source.view.groups, len(self._sizes)
        if base is None or parts is None:
            plain = [self._product(dealt, met)[:, None] for _, dealt in self._worlds]
            return Chances(owner, [plain[0], *plain], self._sizes[:, None], self._sizes)
        count = int(parts.of.max()) + 1
        cell = owner.astype(np.int64) * count + parts.of
        numbers = np.bincount(cell, minlength=groups * count).reshape(groups, count).astype(np.float64)
        # The hidden values of two or three rows say too little about where the group as a whole lies in its box.
        is_told = len(owner) >= _FEW * groups
        found: list[Floats] = []
        for (_, dealt), frequent in zip(self._worlds, self._learn(base, numbers, parts), strict=True):
            for is_own in (is_told, not is_told) if not found else (is_told,):
                chance = np.ones((groups, count))
                for name, those in met.items():
                    chance *= self._by_parts(dealt[name], frequent[name], those.astype(np.float64), numbers, is_own)
                found.append(chance)
        return Chances(cell, found, numbers, self._sizes)

    def _product(self, dealt: dict[str, _Dealt], met: dict[str, Mask]) -> Floats:
        """The share of each group's rows that satisfies all conditions."""
        chance = np.ones(len(self._sizes))
        for name, those in met.items():
            chance *= np.clip(dealt[name].sums(those.astype(np.float64)) / self._sizes, 0.0, 1.0)
        return chance

    def _by_parts(
        self, dealt: _Dealt, frequent: tuple[Floats, Floats], hit: Floats, numbers: Floats, is_own: bool
    ) -> Floats:
        """The share by part: as the part differs from all rows or, not `is_own`, from the group's other rows."""
        whole = np.clip(dealt.sums(hit) / self._sizes, 0.0, 1.0)[:, None]
        shares = dealt.axis.inside(hit[:, None] * frequent[0]) / frequent[1]
        part, usual = shares[:, :-1], shares[:, -1:]
        other = usual if is_own else (numbers * part).sum(axis=1, keepdims=True) / self._sizes[:, None]
        odds = _odds(whole) * _odds(part) / _odds(other)
        return np.asarray(np.where((whole <= 0) | (whole >= 1), whole, odds / (1.0 + odds)))


def _odds(share: Floats) -> Floats:
    kept = np.clip(share, 1e-9, 1.0 - 1e-9)
    return np.asarray(kept / (1.0 - kept))


def boxes_of(source: BoxSource, names: tuple[str, ...], bound: Bound) -> Boxes | str:
    """Read the boxes of all columns, or say why they cannot be learned from."""
    for part in conjuncts(bound.known):
        if len(columns_of(part)) > 1 or not columns_of(part) <= frozenset(names):
            return "conditions must be on one column each that is published as ranges or sets"
    boxes: Boxes | str = source.view.keep("learned boxes", lambda: _read(source, names))
    return boxes


def _read(source: BoxSource, names: tuple[str, ...]) -> Boxes | str:
    axes = {}
    for name in names:
        axis = _axis(source, name)
        if axis is None:
            return "a column has gaps, or more values than can be looked at"
        axes[name] = axis
    return Boxes(axes, source.sizes.astype(np.float64))


def _axis(source: BoxSource, name: str) -> _Axis | None:
    boxes, nothing, sizes = source.boxes(name), np.zeros(0, np.int64), source.sizes.astype(np.float64)
    if boxes.gaps.any() or not boxes.filled.all() or not len(sizes):
        return None
    if boxes.sets is not None:
        values, sets, number = source.listed_values(name)
        codes = values.dictionary_encode()
        if len(codes.dictionary) > _MOST_VALUES:
            return None
        order = np.argsort(sets, kind="stable")
        listed = codes.indices.to_numpy().astype(np.int64)[order]
        count = np.bincount(sets, minlength=number)
        first = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(sizes)), count[boxes.sets])
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count[boxes.sets]) - count[boxes.sets], count[boxes.sets])
        places = listed[first[boxes.sets][owner] + within]
        return _Axis(codes.dictionary, sizes, None, None, places, owner, source.is_least(name))
    values = _values(boxes.low, boxes.high)
    if values is None:
        return None
    low, high = (pc.index_in(end, values).to_numpy().astype(np.int64) for end in (boxes.low, boxes.high))
    return _Axis(values, sizes, low, high, nothing, nothing, source.is_least(name))


def _values(low: Any, high: Any) -> pa.Array | None:
    """All whole numbers between the ends, or the ends and a number between each two; ends alone of other kinds."""
    ends = pa.concat_arrays([low, high]).unique()
    if pa.types.is_integer(ends.type):
        least, most = (int(pc.min_max(ends)[side].as_py()) for side in ("min", "max"))
        return pa.array(np.arange(least, most + 1)).cast(ends.type) if most - least < _MOST_VALUES else None
    if len(ends) > _MOST_VALUES // 2:
        return None
    if pa.types.is_floating(ends.type):
        numbers = np.sort(ends.to_numpy(zero_copy_only=False))
        return pa.array(np.unique(np.concatenate((numbers, numbers[:-1] / 2 + numbers[1:] / 2))), ends.type)
    return ends.take(pc.sort_indices(ends))
