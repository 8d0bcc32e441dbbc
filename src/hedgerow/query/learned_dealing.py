"""Hidden numbers dealt to the rows of their groups: the chance of each row to have each value.

Source     own: normal scores and shares of ranges, both learned between groups, dealt inside them
Guarantee  none; the estimate is computed from the release alone
Cost       O(sum over groups of kinds of rows times different values) for each of thirteen dealings, once

Numbers are learned by their normal scores, and then dealt: the chance that a row has a value of its group falls with
the squared distance of the value's score from the row's prediction, and rows and values both add up to one: in small
groups over all ways to deal, in larger ones by Sinkhorn's iteration. So a condition on the hidden column keeps its
edge. Groups are resampled for the standard error of the slopes; what the model leaves open is dealt as a shuffle with
these chances would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.query.learned_lines import KnownRows, slopes_of
from hedgerow.randomness import seeded_keys

__all__ = ["TOO_LARGE", "Dealing", "RowsHit", "normal_scores", "ranges"]

_DEALINGS = 12
_ROUNDS = 20
_MOST_PAIRS = 4_000_000
"""Pairs of a row and a value of its group up to which values are dealt."""

_EVERY_WAY = 6
"""Groups of up to so many rows are dealt in every way."""

TOO_LARGE = "groups are too large to be dealt"

_BENT = 0.3
"""The share of what is learned by which bent slopes may be off; chosen on 16 draws of each of three tables."""

_MOSTLY_CHANCE = 2.0
"""Shares of hits that spread at most this many times as much as chance gives belong to groups that looked at none."""

_BINS = 12
"""Ranges of the hidden value with equally many rows, whose chances are learned beside the normal scores."""


@dataclass(frozen=True)
class RowsHit:
    """The rows that a question takes: how many of each group, the sum of their features' deviations, and `shares`."""

    numbers: Floats
    lever: Floats
    shares: Floats
    """By dealing, the chance of each value to belong to one of them."""


class Dealing:
    """Chances of each row to have each value of its group, from normal scores of the values and lines over features.

    Rows of a group that are alike have the same chances, and so have equal values: in groups too large to be dealt in
    every way they are dealt together. Groups of nearly the same size share a matrix.
    """

    def __init__(self, shape: KnownRows, kinds: Ints, ranks: Ints) -> None:
        scores, count = normal_scores(ranks), len(shape.sizes)
        mean = np.bincount(shape.owner, scores, minlength=count) / shape.sizes
        slopes = slopes_of(shape.means, mean, shape.sizes)
        predicted = shape.deviations @ slopes
        inside, explained = float(((scores - mean[shape.groups]) ** 2).sum()), float(predicted @ predicted)
        self.refusal = shape.refusal(mean, slopes, inside, explained)
        self._owner, self._sizes, self._means = shape.owner, shape.sizes, shape.means
        self._rows, self._values = (
            _Alike.of(owner, codes, shape.sizes) for owner, codes in ((shape.groups, kinds), (shape.owner, ranks))
        )
        self._blocks = [_DealtBlock(self._rows.pick(those), self._values.pick(those)) for those in self._by_size()]
        self.refusal = self.refusal or (TOO_LARGE if sum(block.pairs for block in self._blocks) > _MOST_PAIRS else "")
        if self.refusal:
            return
        noise = max(inside - explained, 0.05 * inside) / max(len(scores) - count, 1)
        bins = ranges(scores)
        marks = np.eye(int(bins.max()) + 1)[bins]
        usual = marks.mean(axis=0)
        shares = np.column_stack([np.bincount(shape.owner, m, minlength=count) for m in marks.T]) / shape.sizes[:, None]
        both, rows = np.column_stack([mean, shares]), self._rows.first
        deviations, apart = shape.deviations[rows], shape.features[rows] - shape.features.mean(axis=0)
        scores, bins = scores[self._values.first], bins[self._values.first]
        for pick in (np.arange(count), *_resample(count)):
            lines = slopes_of(shape.means[pick], both[pick], shape.sizes[pick])
            expected = mean[shape.groups[rows]] + deviations @ lines[:, 0]
            likely = np.maximum(usual + apart @ lines[:, 1:], 0.02 * usual)
            for block in self._blocks:
                block.deal((scores, expected, noise), (bins, likely))

    def _by_size(self) -> list[Ints]:
        """Groups that have nearly as many kinds of rows and nearly as many values, up to half as many again."""
        found = [np.log(np.maximum(each.counts / _EVERY_WAY, 1.0)) for each in (self._rows, self._values)]
        steps = [np.ceil(each / np.log(1.5) - 1e-9).astype(np.int64) for each in found]
        # Groups that are dealt in every way are apart from larger ones of few kinds.
        both = (steps[0] * 1000 + steps[1]) * 2 + (self._sizes <= _EVERY_WAY)
        return [np.flatnonzero(both == step) for step in np.unique(both)]

    def shares(self, hit: Any) -> Floats:
        """Chances of values to belong to a row hit, half of what two models differ by, chances by resampled groups."""
        hits = np.bincount(self._rows.of_each[hit], minlength=len(self._rows.first)).astype(np.float32)
        found = np.zeros((_DEALINGS + 2, len(self._values.first)))
        for block in self._blocks:
            block.add_up(hits, found)
        return found[:, self._values.of_each]

    def total(self, values: Floats, hits: RowsHit) -> tuple[float, float]:
        """The learned sum over the rows hit, and its standard error."""
        found, count, size = hits.shares @ values, len(self._sizes), self._sizes
        likely = np.clip(hits.shares[0], 0.0, 1.0)
        weight = likely * (1.0 - likely)
        weights, sums = (np.bincount(self._owner, each, minlength=count) for each in (weight, weight * values))
        off = values - (sums / np.maximum(weights, 1e-300))[self._owner]
        # So many rows of a group are hit, whoever has which value; equal chances give the fair shuffle's variance.
        dealt = float((weight * off**2) @ (size / np.maximum(size - 1.0, 1.0))[self._owner])
        variance = dealt + float(np.square(found[1]) + np.var(found[2:], ddof=1))
        return float(found[0]), float(np.sqrt(variance + self._misfit(values, hits, float(found[0]))))

    def _misfit(self, values: Floats, asked: RowsHit, dealt: float) -> float:
        """The square of what the model of the values may miss, which neither resampling nor two models show.

        Groups of near people: the line through the groups' means is a third model, and this its part of their variance.
        Groups that took no account of who is hit do so of hidden values, which they keep apart: slopes between them are
        bent, those of sums more than those of scores, and with them all that is learned.
        """
        mean = np.bincount(self._owner, values, minlength=len(self._sizes)) / self._sizes
        fair, share = float(asked.numbers @ mean), float(asked.numbers.sum() / self._sizes.sum())
        uneven = float(self._sizes @ np.square(asked.numbers / self._sizes - share))
        if uneven <= _MOSTLY_CHANCE * len(self._sizes) * share * (1.0 - share):
            return float(np.square(_BENT * (dealt - fair)))
        line = fair + float(asked.lever @ slopes_of(self._means, mean, self._sizes))
        return float(np.square(line - dealt)) / 2.0


@dataclass(frozen=True, eq=False)
class _Alike:
    """Rows (or values) of each group that are alike: which each of them belongs to, the first and how many they are.

    Those of a group follow each other, `counts` of them from `starts` on.
    """

    of_each: Ints
    first: Ints
    times: Floats
    starts: Ints
    counts: Ints

    @classmethod
    def of(cls, owner: Ints, codes: Ints, sizes: Floats) -> _Alike:
        """Tell the rows of each group apart by their codes; all rows of groups that are dealt in every way."""
        alone = np.arange(len(owner))
        told = np.where(sizes[owner] <= _EVERY_WAY, alone, codes)
        most = max(int(codes.max(initial=0)), len(owner)) + 1
        _, first, of_each, times = np.unique(
            owner.astype(np.int64) * most + told, return_index=True, return_inverse=True, return_counts=True
        )
        counts = np.bincount(owner[first], minlength=len(sizes))
        return cls(of_each, first, times.astype(np.float64), np.cumsum(counts) - counts, counts)

    def pick(self, groups: Ints) -> _PaddedGroups:
        """The places of some groups' rows, each group padded to the largest."""
        places = np.arange(int(self.counts[groups].max()))
        real = places < self.counts[groups, None]
        place = np.where(real, self.starts[groups, None] + places, 0)
        return _PaddedGroups(real, place, real * self.times[place])


@dataclass(frozen=True, eq=False)
class _PaddedGroups:
    """Which places of a matrix are real, what stands there, and how many rows it stands for."""

    real: NDArray[np.bool_]
    place: Ints
    times: Floats


class _DealtBlock:
    """Groups that are dealt together: kinds of rows by different values."""

    def __init__(self, rows: _PaddedGroups, values: _PaddedGroups) -> None:
        self._rows, self._values = rows, values
        self._chances: list[NDArray[np.float32]] = []
        self.pairs = rows.real.size * values.real.shape[1]

    def deal(self, scored: tuple[Floats, Floats, float], binned: tuple[Ints, Floats]) -> None:
        """Deal once more: by normal scores, those expected and their noise, and by ranges and their chances."""
        rows, values = self._rows.place, self._values.place
        pairs = self._rows.real[:, :, None] & self._values.real[:, None, :]
        scores, expected, noise = scored
        near = -((scores[values][:, None, :] - expected[rows][:, :, None]) ** 2) / (2.0 * noise)
        near = np.exp(np.maximum(near - near.max(axis=2, keepdims=True), -60.0))
        bins, likely = binned
        ranged = np.take_along_axis(likely[rows], np.broadcast_to(bins[values][:, None, :], pairs.shape), 2)
        two = [_fit(each * pairs, self._rows.times, self._values.times) for each in (near, ranged)]
        self._chances.append(np.asarray((two[0] + two[1]) / 2, np.float32))
        # What the two models differ by is an error of the model, which resampling does not show.
        if len(self._chances) == 1:
            self._chances.append(np.asarray((two[0] - two[1]) / 2, np.float32))

    def add_up(self, hits: NDArray[np.float32], found: Floats) -> None:
        """Of each dealing, the chances of values to belong to a row hit, put in their places."""
        rows, real = hits[self._rows.place] * self._rows.real, self._values.real
        for to, each in zip(found, self._chances, strict=True):
            to[self._values.place[real]] = np.einsum("gij,gi->gj", each, rows)[real]


def _resample(count: int) -> Iterator[Ints]:
    """Groups that are drawn with replacement."""
    keys = seeded_keys(0)
    for _ in range(_DEALINGS):
        yield (keys(count) % np.uint64(count)).astype(np.int64)


def ranges(scores: Floats, most: int = _BINS) -> Ints:
    """The range of each value, of ranges that hold about equally many rows."""
    found = np.searchsorted(np.unique(np.quantile(scores, np.arange(1, most) / most)), scores)
    return np.asarray(np.unique(found, return_inverse=True)[1])


def _fit(likely: Floats, rows: Floats, values: Floats) -> NDArray[np.float32]:
    """Chances of a row of each kind to have one of each value, per group: rows add up to one, and so do values.

    `rows` and `values` are how many there are of each. Small groups, in which all are told apart, are dealt in every
    way, each as likely as the product of its chances; of larger ones chances are scaled (Sinkhorn), which tells rows
    less apart.
    """
    if rows.sum(axis=1).max() <= _EVERY_WAY:
        return _dealt_in_every_way(likely, rows > 0)
    row, value = np.ones(rows.shape), np.ones(values.shape)
    for _ in range(_ROUNDS):
        row = (rows > 0) / np.maximum(np.einsum("gij,gj->gi", likely, value * values), 1e-300)
        value = (values > 0) / np.maximum(np.einsum("gij,gi->gj", likely, row * rows), 1e-300)
    chances: NDArray[np.float32] = (likely * row[:, :, None] * value[:, None, :]).astype(np.float32)
    return chances


def _dealt_in_every_way(likely: Floats, real: Any) -> NDArray[np.float32]:
    """How likely each row has each value if the first rows have the values of some set, whatever the set is."""
    largest = real.shape[1]
    places = np.arange(largest)
    likely[:, places, places] += ~real
    sets = range(1 << largest)
    inside = [[place for place in places if each >> place & 1] for each in sets]
    before, after = np.ones((2, len(sets), len(likely)))
    for each in sets[1:]:
        row = len(inside[each]) - 1
        before[each] = sum(likely[:, row, place] * before[each ^ 1 << place] for place in inside[each])
    chances = np.zeros_like(likely)
    for each in sets[-2::-1]:
        row, left = len(inside[each]), [place for place in places if not each >> place & 1]
        after[each] = sum(likely[:, row, place] * after[each | 1 << place] for place in left)
        for place in left:
            chances[:, row, place] += before[each] * after[each | 1 << place]
    chances *= likely / np.maximum(before[-1], 1e-300)[:, None, None]
    return np.asarray(chances * real[:, None, :] * real[:, :, None], np.float32)


def normal_scores(ranks: Ints) -> Floats:
    """Ranks as the quantiles of a normal distribution that they take; equal ones share theirs."""
    counts = np.bincount(ranks)
    middle = (np.cumsum(counts) - counts / 2.0) / len(ranks)
    quantile = NormalDist().inv_cdf
    scores = np.array([quantile(float(share)) if count else 0.0 for share, count in zip(middle, counts, strict=True)])
    return np.asarray(scores[ranks])
