"""The learned estimate for boxes: where in their boxes rows lie, learned from all boxes together.

Source     own: the nonparametric maximum likelihood of a distribution that is seen through intervals and sets
           (expectation-maximization, stopped early), one column at a time
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(groups + values) for each of some twenty rounds, once per column and resampling

The fair answer takes every value of a box as equally likely. But boxes overlap each other column by column, and tell
together which values are frequent: each round deals the rows of a box to its values in proportion to what was found
before. Both ends of a least interval, and every value of a least set, belong to somebody: that there is one makes more
likely, but adds less than one. Inside a box columns are taken as independent; hidden values follow known ones by least
squares between groups, as for rows (`learned`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.query.evidence.grid import property_of
from hedgerow.query.sql.question import NUMBERS, And, columns_of, conjuncts

if TYPE_CHECKING:
    from hedgerow.query.evidence.generalized import BoxSource
    from hedgerow.query.sql.question import Bound, Predicate

__all__ = ["Boxes", "boxes_of"]

_ROUNDS = 25
_MOST_VALUES = 20_000
_RESAMPLINGS = 12
_MOST_LEVELS = 40

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
    features: Floats

    def dealt(self, found: Floats) -> _Dealt:
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

    def frequencies(self, times: Floats) -> Floats:
        """How frequent each value is among rows of all boxes, groups counted so many times."""
        found = np.full(len(self.values), 1.0 / len(self.values))
        for _ in range(_ROUNDS):
            found = self.dealt(found).by_value(times) + 1e-9
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
        """Over the rows of each group, the sum of weights of their values; one column of weights or several."""
        axis, groups = self.axis, len(self.axis.sizes)
        table = weights.reshape(len(weights), -1)
        if axis.low is None or axis.high is None:
            columns = [np.bincount(axis.owner, self.numbers * w[axis.listed], minlength=groups) for w in table.T]
            total = np.column_stack(columns) if columns else np.zeros((groups, 0))
        else:
            low, high, left = (part[:, None] for part in np.split(self.numbers, 3))
            before = np.concatenate((np.zeros((1, table.shape[1])), np.cumsum(self.found[:, None] * table, axis=0)))
            between = before[axis.high] - before[np.minimum(axis.low + 1, axis.high)]
            total = low * table[axis.low] + high * table[axis.high] + left * between
        return np.asarray(total.reshape(groups, *weights.shape[1:]))


class Boxes:
    """What boxes of all columns tell about the rows inside them."""

    def __init__(self, axes: dict[str, _Axis], sizes: Floats) -> None:
        self._axes, self._sizes = axes, sizes

    @functools.cached_property
    def _worlds(self) -> list[tuple[Floats, dict[str, _Dealt]]]:
        """How often each group counts, and where its rows then are: all groups once, and resampled ones."""
        from hedgerow.randomness import seeded_keys

        count, keys = len(self._sizes), seeded_keys(0)
        picks = ((keys(count) % np.uint64(count)).astype(np.int64) for _ in range(_RESAMPLINGS))
        times = [np.ones(count), *(np.bincount(pick, minlength=count).astype(np.float64) for pick in picks)]
        return [
            (each, {name: axis.dealt(axis.frequencies(each)) for name, axis in self._axes.items()}) for each in times
        ]

    def shares(self, source: BoxSource, condition: Predicate) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
        """By world: times of groups, share of rows hit, features of groups, and how far those of rows hit are off."""
        parts: dict[str, list[Predicate]] = {}
        for part in conjuncts(condition):
            for name in columns_of(part):
                parts.setdefault(name, []).append(part)
        met = {
            name: property_of(source.view.columns[name], And(tuple(those)), True)(self._axes[name].values)
            for name, those in parts.items()
        }
        sizes = self._sizes[:, None]
        for times, dealt in self._worlds:
            chance, means, moved = np.ones(len(self._sizes)), [], []
            for name, axis in self._axes.items():
                means.append(dealt[name].sums(axis.features) / sizes)
                if name not in met:
                    moved.append(np.zeros_like(means[-1]))
                    continue
                hit = met[name].astype(np.float64)
                hits = dealt[name].sums(hit)
                chance = chance * np.clip(hits / self._sizes, 0.0, 1.0)
                those = dealt[name].sums(hit[:, None] * axis.features) / np.maximum(hits, 1e-300)[:, None]
                moved.append(np.where(hits[:, None] > 0, those - means[-1], 0.0))
            yield times, chance, np.hstack(means), np.hstack(moved)


def boxes_of(source: BoxSource, names: tuple[str, ...], bound: Bound) -> Boxes | str:
    """Read the boxes of all columns, or say why they cannot be learned from."""
    for part in conjuncts(bound.known):
        if len(columns_of(part)) > 1 or not columns_of(part) <= frozenset(names):
            return "conditions must be on one column each that is published as ranges or sets"
    boxes: Boxes | str = source.view.remember("learned boxes", lambda: _read(source, names))
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
        values, sets, number = source.listed(name)
        codes = values.dictionary_encode()
        if len(codes.dictionary) > _MOST_VALUES:
            return None
        order = np.argsort(sets, kind="stable")
        listed = codes.indices.to_numpy().astype(np.int64)[order]
        count = np.bincount(sets, minlength=number)
        first = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(sizes)), count[boxes.sets])
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count[boxes.sets]) - count[boxes.sets], count[boxes.sets])
        marks = np.eye(len(codes.dictionary))[:, :_MOST_LEVELS]
        places = listed[first[boxes.sets][owner] + within]
        return _Axis(codes.dictionary, sizes, None, None, places, owner, source.is_least(name), marks)
    values = _values(boxes.low, boxes.high)
    if values is None:
        return None
    low, high = (pc.index_in(end, values).to_numpy().astype(np.int64) for end in (boxes.low, boxes.high))
    features = _features(values) if source.view.columns[name].kind in NUMBERS else np.zeros((len(values), 0))
    return _Axis(values, sizes, low, high, nothing, nothing, source.is_least(name), features)


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


def _features(values: pa.Array) -> Floats:
    """Broken lines over the values of a column of numbers."""
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    numbers = numbers / max(float(np.abs(numbers).max(initial=0.0)), 1e-300)
    spread = numbers.std()
    scaled = (numbers - numbers.mean()) / spread if spread > 0 else np.zeros(len(numbers))
    return np.column_stack(
        [scaled, *(np.maximum(scaled - knot, 0.0) for knot in np.quantile(scaled, (0.25, 0.5, 0.75)))]
    )
