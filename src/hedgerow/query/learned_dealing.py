"""Hidden numbers dealt to the rows of their groups: the chance of each row to have each value.

Source     own: normal scores and shares of ranges, both learned between groups, dealt inside them
Guarantee  none; the estimate is computed from the release alone
Cost       O(sum of squared group sizes) for each of thirteen dealings, once

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
from hedgerow.query.learned_lines import BY_HIDDEN, LEAST, TOO_LITTLE, KnownRows, ridge, slopes_of
from hedgerow.randomness import seeded_keys

__all__ = ["MOST_PAIRS", "Dealing", "RowsHit", "normal_scores", "ranges"]

_DEALINGS = 12
_ROUNDS = 20
MOST_PAIRS = 4_000_000
"""Pairs of a row and a value of its group, all groups padded to the largest, up to which values are dealt."""

_EVERY_WAY = 6
"""Groups of up to so many rows are dealt in every way."""

_WIDENED_NEAR = 1.0
_WIDENED_SUMS, _WIDENED_COUNTS = 1.15, 1.0
"""The same for values that are dealt, inside groups of near rows and inside others."""

_MOSTLY_CHANCE = 2.0
"""Shares of hits that spread at most this many times as much as chance gives belong to groups that looked at none."""

_BINS = 12
"""Ranges of the hidden value with equally many rows, whose chances are learned beside the normal scores."""


@dataclass(frozen=True)
class RowsHit:
    """The rows that a question takes, the sum of their features' deviations, and their chances by value and model."""

    rows: Any
    lever: Floats
    shares: list[Floats]


class Dealing:
    """Chances of each row to have each value of its group, from normal scores of the values and lines over features."""

    def __init__(self, shape: KnownRows, scores: Floats, offsets: Ints) -> None:
        count = len(shape.sizes)
        mean = np.bincount(shape.owner, scores, minlength=count) / shape.sizes
        slopes = slopes_of(shape.means, mean, shape.sizes)
        predicted = shape.deviations @ slopes
        inside, explained = float(((scores - mean[shape.groups]) ** 2).sum()), float(predicted @ predicted)
        left = mean - mean.mean() - (shape.means - shape.means.mean(axis=0)) @ slopes
        self.refusal = ""
        self._chances: list[NDArray[np.float32]] = []
        if float(shape.sizes @ left**2) / count > BY_HIDDEN * max(inside / len(scores), 1e-300):
            self.refusal = "groups were made by the hidden values"
        elif explained < LEAST * inside or count < 4 * shape.means.shape[1]:
            self.refusal = TOO_LITTLE
        self._contrast = _Contrast(shape)
        places = np.arange(int(shape.sizes.max(initial=0)))
        self._real, self._sizes = places < shape.sizes[:, None], shape.sizes
        self._place = np.where(self._real, offsets[:-1, None] + places, 0)
        if self.refusal:
            return
        noise = max(inside - explained, 0.05 * inside) / max(len(scores) - count, 1)
        bins = ranges(scores)
        marks = np.eye(int(bins.max()) + 1)[bins]
        shares = np.column_stack([np.bincount(shape.owner, m, minlength=count) for m in marks.T]) / shape.sizes[:, None]
        both, pairs = np.column_stack([mean, shares]), self._real[:, :, None] & self._real[:, None, :]
        placed = scores[self._place][:, None, :]
        for pick in (np.arange(count), *_resample(count)):
            lines = slopes_of(shape.means[pick], both[pick], shape.sizes[pick])
            expected = mean[shape.groups] + shape.deviations @ lines[:, 0]
            near = -((placed - expected[self._place][:, :, None]) ** 2) / (2.0 * noise)
            near = np.exp(np.maximum(near - near.max(axis=2, keepdims=True), -60.0))
            usual = marks.mean(axis=0)
            likely = usual + (shape.features - shape.features.mean(axis=0)) @ lines[:, 1:]
            likely = np.maximum(likely, 0.02 * usual)
            binned = np.take_along_axis(
                likely[self._place], np.broadcast_to(bins[self._place][:, None, :], pairs.shape), 2
            )
            two = _fit(near * pairs, self._real), _fit(binned * pairs, self._real)
            self._chances.append(np.asarray((two[0] + two[1]) / 2, np.float32))
            # What the two models differ by is an error of the model, which resampling does not show.
            if len(self._chances) == 1:
                self._chances.append(np.asarray((two[0] - two[1]) / 2, np.float32))

    def shares(self, hit: Any) -> list[Floats]:
        """Chances of values to belong to a row hit, half of what two models differ by, chances by resampled groups."""
        rows = (hit[self._place] & self._real).astype(np.float32)
        return [np.einsum("gij,gi->gj", each, rows).astype(np.float64) for each in self._chances]

    def total(self, values: Floats, hits: RowsHit, *, is_counted: bool = False) -> tuple[float, float]:
        """The learned sum over the rows hit, and its standard error."""
        shares, padded = hits.shares, values[self._place] * self._real
        found = [float((share * padded).sum()) for share in shares]
        likely = np.clip(shares[0], 0.0, 1.0)
        weight = likely * (1.0 - likely) * self._real
        size = self._sizes
        middle = (weight * padded).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
        # So many rows of a group are hit, whoever has which value; equal chances give the fair shuffle's variance.
        dealt = (weight * (padded - middle[:, None]) ** 2).sum(axis=1) * size / np.maximum(size - 1.0, 1.0)
        variance = float(dealt.sum() + np.square(found[1]) + np.var(found[2:], ddof=1))
        other, noise, is_blind = self._contrast.total(values, hits)
        if not is_blind:
            return found[0], _WIDENED_NEAR * float(np.sqrt(variance))
        apart = other - found[0]
        misfit = max(np.square(apart) - noise, 0.0)
        return found[0], (_WIDENED_COUNTS if is_counted else _WIDENED_SUMS) * float(np.sqrt(variance + misfit))


class _Contrast:
    """The sum over the rows hit from groups alone: how their means go with features and with their share of hits.

    It makes no assumption about values, so that what it differs by from the dealt sum, beyond its own noise, is what
    the model of the values misses. For one question it is noisier.
    """

    def __init__(self, shape: KnownRows) -> None:
        self._sizes, self._owner, self._groups = shape.sizes, shape.owner, shape.groups
        self._weight = shape.sizes / shape.sizes.sum()
        x = shape.means - self._weight @ shape.means
        self._x, self._gram = x, ridge((x * shape.sizes[:, None]).T @ x)

    def total(self, values: Floats, asked: RowsHit) -> tuple[float, float, bool]:
        """The sum, the variance of what hits add to it, and whether groups were made without looking at hits."""
        x, sizes, count, lever = self._x, self._sizes, len(self._sizes), asked.lever
        mean = np.bincount(self._owner, values, minlength=count) / sizes
        hits = np.bincount(self._groups[asked.rows], minlength=count).astype(np.float64)
        both = np.column_stack((mean, hits / sizes))
        both = both - self._weight @ both
        slopes = np.linalg.solve(self._gram, (x * sizes[:, None]).T @ both)
        left, own = (both - x @ slopes).T
        scale = float(sizes @ own**2) + 1e-12 * float(sizes.sum())
        steep = float((sizes * own) @ left) / scale
        noise = float(np.square(sizes * own) @ np.square(left - steep * own)) / scale**2
        share = float(hits.sum() / sizes.sum())
        reach = float(hits @ (1.0 - hits / sizes) - lever @ slopes[:, 1])
        is_blind = float(sizes @ both[:, 1] ** 2) <= _MOSTLY_CHANCE * count * share * (1.0 - share)
        return float(hits @ mean + lever @ slopes[:, 0] + steep * reach), noise * reach**2, is_blind


def _resample(count: int) -> Iterator[Ints]:
    """Groups that are drawn with replacement."""
    keys = seeded_keys(0)
    for _ in range(_DEALINGS):
        yield (keys(count) % np.uint64(count)).astype(np.int64)


def ranges(scores: Floats, most: int = _BINS) -> Ints:
    """The range of each value, of ranges that hold about equally many rows."""
    found = np.searchsorted(np.unique(np.quantile(scores, np.arange(1, most) / most)), scores)
    return np.asarray(np.unique(found, return_inverse=True)[1])


def _fit(likely: Floats, real: Any) -> NDArray[np.float32]:
    """Chances of rows to have values, per group: rows add up to one, and so do values.

    Small groups are dealt in every way, each as likely as the product of its chances; of larger ones chances are scaled
    (Sinkhorn), which tells rows less apart.
    """
    if real.shape[1] <= _EVERY_WAY:
        return _dealt_in_every_way(likely, real)
    row, value = np.ones(real.shape), np.ones(real.shape)
    for _ in range(_ROUNDS):
        row = real / np.maximum(np.einsum("gij,gj->gi", likely, value), 1e-300)
        value = real / np.maximum(np.einsum("gij,gi->gj", likely, row), 1e-300)
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
