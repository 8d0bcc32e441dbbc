"""The learned estimate for boxes: where in their boxes rows lie, learned from all boxes together.

Source     own: the nonparametric maximum likelihood of a distribution that is seen through intervals and sets
           (expectation-maximization, stopped early), one column at a time
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(groups + values) for each of some twenty rounds, once per column and resampling

The fair answer takes every value of a box as equally likely. But boxes overlap each other column by column, and tell
together which values are frequent: each round deals the rows of a box to its values in proportion to what was found
before. Both ends of a least box belong to somebody. Inside a box columns are taken as independent; hidden values follow
known ones by least squares between groups, as for rows (`learned`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
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

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Axis:
    """One column: its possible values in order, and the values of each group's box, which may be a run of them."""

    values: pa.Array
    low: Ints | None
    high: Ints | None
    listed: Ints
    owner: Ints
    sets: Ints | None
    forced: Ints
    features: Floats

    def over_boxes(self, weights: Floats) -> Floats:
        """Sums of weights over the values of each group's box; one column of weights or several."""
        if self.low is not None and self.high is not None:
            before = np.concatenate((np.zeros((1, *weights.shape[1:])), np.cumsum(weights, axis=0)))
            return np.asarray(before[self.high + 1] - before[self.low])
        assert self.sets is not None
        number = int(self.owner.max(initial=-1)) + 1
        total = np.zeros((number, *weights.shape[1:]))
        np.add.at(total, self.owner, weights[self.listed])
        return np.asarray(total[self.sets])

    def over_values(self, weights: Floats) -> Floats:
        """Sums of the groups' weights over the groups whose box has a value, for each value."""
        count = len(self.values)
        if self.low is not None and self.high is not None:
            steps = np.bincount(self.low, weights, minlength=count + 1)
            return np.asarray(np.cumsum(steps - np.bincount(self.high + 1, weights, minlength=count + 1))[:count])
        assert self.sets is not None
        by_set = np.bincount(self.sets, weights, minlength=int(self.owner.max(initial=-1)) + 1)
        return np.bincount(self.listed, by_set[self.owner], minlength=count)

    def ends(self, times: Floats) -> Floats:
        """How many rows have each value for sure: the ends of intervals, or every value of a set."""
        count = len(self.values)
        if self.low is not None and self.high is not None:
            two = times * (self.high > self.low)
            found = np.bincount(self.low, times, minlength=count) + np.bincount(self.high, two, minlength=count)
            return np.asarray(found)
        return self.over_values(times)

    def frequencies(self, sizes: Floats, times: Floats) -> Floats:
        """How frequent each value is among rows of all boxes, groups counted so many times."""
        forced = self.ends(times * (self.forced > 0))
        free = times * np.maximum(sizes - self.forced, 0.0)
        found = np.full(len(self.values), 1.0 / len(self.values))
        for _ in range(_ROUNDS):
            inside = np.maximum(self.over_boxes(found), 1e-300)
            found = found * self.over_values(free / inside) + forced
            found /= found.sum()
        return found + 1e-12

    def chance(self, found: Floats, met: Mask, sizes: Floats) -> Floats:
        """The expected share of each group's rows that satisfy a condition, which `met` tells of each value."""
        share = self.over_boxes(found * met) / self.over_boxes(found)
        if not self.forced.any():
            return np.clip(share, 0.0, 1.0)
        if self.low is not None and self.high is not None:
            sure = met[self.low] + (met[self.high] & (self.high > self.low))
        else:
            sure = self.over_boxes(met.astype(np.float64))
        return np.asarray(np.clip((sure + (sizes - self.forced) * share) / sizes, 0.0, 1.0))

    def moved(self, found: Floats, met: Mask) -> Floats:
        """How far features of rows that satisfy a condition lie from those of their box, on average."""
        inside, hit = self.over_boxes(found), self.over_boxes(found * met)
        all_rows = self.over_boxes(found[:, None] * self.features) / inside[:, None]
        those = self.over_boxes((found * met)[:, None] * self.features) / np.maximum(hit, 1e-300)[:, None]
        return np.where(hit[:, None] > 0, those - all_rows, 0.0)

    def expected(self, found: Floats) -> Floats:
        """The expected features of each group's rows."""
        return self.over_boxes(found[:, None] * self.features) / self.over_boxes(found)[:, None]


class Boxes:
    """What boxes of all columns tell about the rows inside them."""

    def __init__(self, axes: dict[str, _Axis], sizes: Floats) -> None:
        self._axes, self._sizes = axes, sizes

    @functools.cached_property
    def _worlds(self) -> list[tuple[Floats, dict[str, Floats]]]:
        """How often each group counts, and how frequent values then are: all groups once, and resampled ones."""
        from hedgerow.randomness import seeded_keys

        count, keys = len(self._sizes), seeded_keys(0)
        picks = ((keys(count) % np.uint64(count)).astype(np.int64) for _ in range(_RESAMPLINGS))
        times = [np.ones(count), *(np.bincount(pick, minlength=count).astype(np.float64) for pick in picks)]
        return [(each, {n: axis.frequencies(self._sizes, each) for n, axis in self._axes.items()}) for each in times]

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
        for times, found in self._worlds:
            chance, moved = np.ones(len(self._sizes)), []
            for name, axis in self._axes.items():
                if name in met:
                    chance = chance * axis.chance(found[name], met[name], self._sizes)
                    moved.append(axis.moved(found[name], met[name]))
                else:
                    moved.append(np.zeros((len(self._sizes), axis.features.shape[1])))
            features = np.hstack([axis.expected(found[name]) for name, axis in self._axes.items()])
            yield times, chance, features, np.hstack(moved)


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
    boxes, nothing = source.boxes(name), np.zeros(0, np.int64)
    if boxes.gaps.any() or not boxes.filled.all() or not len(source.sizes):
        return None
    if boxes.sets is not None:
        values, sets, _ = source.listed(name)
        distinct = values.unique()
        if len(distinct) > _MOST_VALUES:
            return None
        codes = values.dictionary_encode()
        listed = codes.indices.to_numpy().astype(np.int64)
        size = np.bincount(sets)[boxes.sets]
        forced = size * source.is_least(name)
        marks = np.eye(len(codes.dictionary))[:, : min(len(codes.dictionary), 40)]
        return _Axis(codes.dictionary, None, None, listed, sets.astype(np.int64), boxes.sets, forced, marks)
    values = _values(boxes.low, boxes.high)
    if values is None:
        return None
    low, high = (pa.compute.index_in(end, values).to_numpy().astype(np.int64) for end in (boxes.low, boxes.high))
    forced = (1 + (high > low)) * source.is_least(name)
    features = _features(values) if source.view.columns[name].kind in NUMBERS else np.zeros((len(values), 0))
    return _Axis(values, low, high, nothing, nothing, None, forced.astype(np.int64), features)


def _values(low: Any, high: Any) -> pa.Array | None:
    """All whole numbers between the ends, or the ends and a number between each two; ends alone of other kinds."""
    ends = pa.concat_arrays([low, high]).unique()
    if pa.types.is_integer(ends.type):
        least, most = (int(pa.compute.min_max(ends)[side].as_py()) for side in ("min", "max"))
        return pa.array(np.arange(least, most + 1)).cast(ends.type) if most - least < _MOST_VALUES else None
    if len(ends) > _MOST_VALUES // 2:
        return None
    if pa.types.is_floating(ends.type):
        numbers = np.sort(ends.to_numpy(zero_copy_only=False))
        return pa.array(np.unique(np.concatenate((numbers, numbers[:-1] / 2 + numbers[1:] / 2))), ends.type)
    return ends.take(pa.compute.sort_indices(ends))


def _features(values: pa.Array) -> Floats:
    """Broken lines over the values of a column of numbers."""
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    spread = numbers.std()
    scaled = (numbers - numbers.mean()) / spread if spread > 0 else np.zeros(len(numbers))
    return np.column_stack(
        [scaled, *(np.maximum(scaled - knot, 0.0) for knot in np.quantile(scaled, (0.25, 0.5, 0.75)))]
    )
