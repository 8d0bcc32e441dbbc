"""A better guess than the fair shuffle: what known columns tell about hidden ones, learned from the groups' own sums.

Source     own: least squares between groups, whose slopes are not attenuated by the shuffle inside them; [Kifer 2009]
           has the adversary that learns in this way
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(n p + G p^2) once per question and resampling, for n rows, G groups and p features

A fair shuffle gives every row of a group the group's mean, which pulls every part of the people towards it. But each
group publishes the sum of its hidden values and the known columns of its rows: least squares of the sums on the sums of
features tell how a feature moves a hidden value. A row's prediction is its features' deviation from its group's mean
times the slopes, plus the group's mean, so that groups keep their sums.

Numbers are learned by their normal scores, and then dealt: the chance that a row has a value of its group falls with
the squared distance of the value's score from the row's prediction, and rows and values both add up to one: in small
groups over all ways to deal, in larger ones by Sinkhorn's iteration. So a condition on the hidden column keeps its
edge. Texts, and groups too large for such a matrix, take the predictions of the line itself. Groups are resampled for
the standard error of the slopes; what the model leaves open is dealt as a shuffle with these chances would.

Where groups were made by the hidden values themselves the slopes are wrong, and the answer says that no model helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import QueryError
from hedgerow.query.answer import Answer, Learned
from hedgerow.query.sql.question import NUMBERS, Column, Truth, columns_of
from hedgerow.randomness import seeded_keys

if TYPE_CHECKING:
    from hedgerow.query.evidence.generalized import BoxSource
    from hedgerow.query.evidence.permuted import RowSource
    from hedgerow.query.learned_boxes import HiddenParts
    from hedgerow.query.sql.question import Aggregate, Bound
    from hedgerow.release import Release

__all__ = ["learn"]

_MOST_LEVELS = 40
"""Levels of a text that get a slope of their own; the rarest share one."""

_RESAMPLINGS = 40
_DEALINGS = 12
_ROUNDS = 20
_MOST_PAIRS = 4_000_000
"""Pairs of a row and a value of its group, all groups padded to the largest, up to which values are dealt."""

_EVERY_WAY = 6
"""Groups of up to so many rows are dealt in every way."""

_KNOTS = (0.2, 0.4, 0.6, 0.8)

_WIDENED = {"sum": 1.1, "avg": 1.1, "count": 1.3}
"""Standard errors are widened by this, for what a sum of broken lines cannot follow: a condition has sharp edges."""

_WIDENED_NEAR = 1.0
_WIDENED_SUMS, _WIDENED_COUNTS = 1.15, 1.0
"""The same for values that are dealt, inside groups of near rows and inside others."""

_MOSTLY_CHANCE = 2.0
"""Shares of hits that spread at most this many times as much as chance gives belong to groups that looked at none."""

_BINS = 12
"""Ranges of the hidden value with equally many rows, whose chances are learned beside the normal scores."""

_BY_HIDDEN = 4.0
"""Groups whose means spread this many times as much as chance allows were made by the hidden values."""

_LEAST = 0.005
"""A model that explains less of the variance inside groups than this is not worth its error."""

_TOO_LITTLE = "known columns tell too little, or there are too few groups"


def learn(release: Release, bound: Bound, answer: Answer) -> Answer:
    """The answer with a learned estimate beside it, or with the reason why no model helps."""
    with np.errstate(all="ignore"):
        learned = _learn(release, bound, answer)
    if learned.standard_error is not None and not np.isfinite(float(learned.standard_error)):
        learned = _fair(answer, "its numbers are too large for one")
    return replace(answer, learned=learned)


def _learn(release: Release, bound: Bound, answer: Answer) -> Learned:
    from hedgerow.query.evidence.generalized import BoxSource
    from hedgerow.query.evidence.permuted import RowSource
    from hedgerow.query.evidence.view import source_of

    if not answer.bounded:
        return _fair(answer, "rows of this form were changed by chance, and have no groups to learn from")
    if answer.exact or answer.lower is None:
        return Learned(answer.expected, 0.0, "the answer is exact")
    source = source_of(release)
    aggregate = bound.aggregates[0]
    if aggregate.function not in ("count", "sum", "avg"):
        raise QueryError("a learned estimate is for COUNT, SUM and AVG; ask for others without it")
    if not isinstance(answer.lower, int | float):
        return _fair(answer, "averages of dates are not learned")
    if isinstance(source, BoxSource):
        return _learn_boxes(release, source, bound, aggregate, answer)
    if type(source) is not RowSource:
        return _fair(answer, "rows of this form have no known columns of their own to learn from")
    base = _base(bound, aggregate)
    if base is None:
        return _fair(answer, "a condition that mixes columns is not learned")
    return _Model(release, source, bound, aggregate, base).estimate(answer)


def _learn_boxes(release: Release, source: BoxSource, bound: Bound, aggregate: Aggregate, answer: Answer) -> Learned:
    """Rows whose known columns are boxes: learned is where in their boxes they lie."""
    from hedgerow.query.learned_boxes import boxes_of

    base, is_counted = _base(bound, aggregate), aggregate.function == "count"
    is_plain = isinstance(bound.mixed, Truth) and not bound.is_crossed
    if base is None and not (is_counted and is_plain and aggregate.column is None and bound.hidden == Truth(True)):
        return _fair(answer, "only conditions that do not mix columns, and sensitive columns, are learned over boxes")
    boxes = boxes_of(source, release.columns.quasi, bound)
    if isinstance(boxes, str):
        return _fair(answer, boxes)
    kept = np.ones(source.view.num_rows) if base is None else source.marked(base, bound.hidden).astype(np.float64)
    numbers = kept if is_counted else kept * _numbers(source.hidden_view(str(base)), bound, aggregate)
    if base is None:
        found = boxes.chances(source, bound.known)
    else:
        codes, is_ordered = source.view.codes(base).codes, source.view.columns[base].kind in NUMBERS
        found = boxes.chances(source, bound.known, base, _parts(codes.astype(np.int64), is_ordered, boxes.most_parts))
    estimate, error = found.total(numbers)
    if aggregate.function == "avg":
        count = found.total(kept)[0]
        if count <= 0:
            return _fair(answer, "it expects no row")
        # The mean is where the sum of deviations from it is nothing: its error is theirs, over the count.
        estimate, error = estimate / count, found.total(numbers - estimate / count * kept)[1] / count
    return _inside(answer, estimate, error)


def _parts(codes: Ints, is_ordered: bool, most: int) -> HiddenParts:
    """Hidden values in parts: ranges with about equally many rows, or the most frequent texts and all others."""
    from hedgerow.query.learned_boxes import HiddenParts

    if is_ordered:
        return HiddenParts(_bins(codes.astype(np.float64), most), True)
    counts = np.bincount(codes)
    place = np.full(len(counts), min(most, len(counts)) - 1)
    place[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(min(most - 1, len(counts)))
    return HiddenParts(place[codes], False)


def _inside(answer: Answer, estimate: float, error: float) -> Learned:
    """An estimate, moved to the nearer bound if it lies outside."""
    inside = min(max(estimate, answer.lower), answer.upper)
    return Learned(inside, error, "" if inside == estimate else "moved to the nearer bound")


def _numbers(hidden: Any, bound: Bound, aggregate: Aggregate) -> Floats:
    """The hidden numbers that are added up, in the order in which they are published; missing ones are 0."""
    assert isinstance(aggregate.column, Column), "sums have a column"
    hidden.derive(bound.derived)
    codes = hidden.codes(aggregate.column.name)
    domain = np.append(np.asarray(codes.domain.cast("float64", safe=False).to_numpy(zero_copy_only=False)), 0.0)
    return np.asarray(domain[codes.codes])


def _base(bound: Bound, aggregate: Aggregate) -> str | None:
    """The one hidden column of the question."""
    name = aggregate.column.name if isinstance(aggregate.column, Column) else None
    bases = {bound.bases[name]} if name is not None and name in bound.bases else set()
    bases |= columns_of(bound.hidden) & set(bound.bases.values())
    is_plain = isinstance(bound.mixed, Truth) and not bound.is_crossed and (name is None or name in bound.bases)
    return bases.pop() if is_plain and len(bases) == 1 else None


def _fair(answer: Answer, why: str) -> Learned:
    return Learned(answer.expected, answer.std, f"no model helps: {why}; this is the fair shuffle")


@dataclass(frozen=True)
class _Model:
    """One question over rows whose hidden values are shuffled inside groups."""

    release: Release
    source: RowSource
    bound: Bound
    aggregate: Aggregate
    base: str

    def estimate(self, answer: Answer) -> Learned:
        """Lay out rows and groups, and learn the aggregate."""
        view = self.source.view
        view.derive(self.bound.derived)
        hidden = self.source.hidden_view(self.base)
        groups = len(view.offsets) - 1
        hit = self.source.choose(self.bound.known).possible
        kept = self.source.marked(self.base, self.bound.hidden).astype(np.float64)
        features = _features(self.release, self.source)
        if not features.shape[1]:
            return _fair(answer, _TOO_LITTLE)
        sizes = np.bincount(view.groups, minlength=groups).astype(np.float64)
        sums = [np.bincount(view.groups, column, minlength=groups) for column in features.T]
        means: Floats = np.column_stack(sums) / sizes[:, None]
        hits = np.bincount(view.groups[hit], minlength=groups).astype(np.float64)
        shape = _Shape(hidden.groups, features, features - means[view.groups], means, sizes, hit, hits, view.groups)
        if (dealing := self._dealing(shape)) is not None:
            return self._deal(answer, dealing, shape, kept)
        if self.aggregate.function == "count":
            return self._bound_estimate(answer, *shape.total(kept))
        values = kept * _numbers(hidden, self.bound, self.aggregate)
        if self.aggregate.function == "sum":
            return self._bound_estimate(answer, *shape.total(values))
        count = shape.total(kept, resample=False)[0] if not kept.all() else float(hits.sum())
        if count <= 0:
            return _fair(answer, "it expects no row")
        mean = shape.total(values, resample=False)[0] / count
        # The mean is where the sum of deviations from it is nothing: its error is theirs, over the count.
        _, error, why = shape.total(values - mean * kept)
        return self._bound_estimate(answer, mean, error / count, why)

    def _dealing(self, shape: _Shape) -> _Dealing | None:
        """Deal the values to the rows; None for texts, gaps and groups that are too large."""
        view, largest = self.source.view, int(shape.sizes.max(initial=0))
        is_number = view.columns[self.base].kind in NUMBERS and not view.has_missing(self.base)
        if not is_number or len(shape.sizes) * largest**2 > _MOST_PAIRS:
            return None
        scores = normal_scores(view.codes(self.base).codes.astype(np.int64))
        dealing: _Dealing = view.keep(f"dealing of {self.base}", lambda: _Dealing(shape, scores, view.offsets))
        return dealing

    def _deal(self, answer: Answer, dealing: _Dealing, shape: _Shape, kept: Floats) -> Learned:
        if why := dealing.refusal:
            return _fair(answer, why)
        hits = _Hits(shape.hit, shape.deviations[shape.hit].sum(axis=0), dealing.shares(shape.hit))
        if self.aggregate.function == "count":
            return self._bound_estimate(answer, *dealing.total(kept, hits, is_counted=True), "", None)
        values = kept * _numbers(self.source.hidden_view(self.base), self.bound, self.aggregate)
        estimate, error = dealing.total(values, hits)
        if self.aggregate.function == "sum":
            return self._bound_estimate(answer, estimate, error, "", None)
        count = dealing.total(kept, hits)[0]
        if count <= 0:
            return _fair(answer, "it expects no row")
        # The mean is where the sum of deviations from it is nothing: its error is theirs, over the count.
        error = dealing.total(values - estimate / count * kept, hits)[1]
        return self._bound_estimate(answer, estimate / count, error / count, "", None)

    def _bound_estimate(
        self, answer: Answer, estimate: float, error: float, why: str, widened: Mapping[str, float] | None = _WIDENED
    ) -> Learned:
        if why:
            return _fair(answer, why)
        return _inside(answer, estimate, error if widened is None else widened[self.aggregate.function] * error)


@dataclass(frozen=True)
class _Shape:
    """Rows, groups and hits; `deviations` are the features of rows less their group's mean."""

    owner: Ints
    features: Floats
    deviations: Floats
    means: Floats
    sizes: Floats
    hit: Any
    hits: Floats
    groups: Ints

    def total(self, values: Floats, *, resample: bool = True) -> tuple[float, float, str]:
        """The learned sum of hidden values over the rows hit, its standard error, and why no model helps, if so."""
        count = len(self.sizes)
        mean = np.bincount(self.owner, values, minlength=count) / self.sizes
        spread = np.maximum(np.bincount(self.owner, values**2, minlength=count) / self.sizes - mean**2, 0.0)
        fair = float(self.hits @ mean)
        dealt = self.hits * (self.sizes - self.hits) / np.maximum(self.sizes - 1.0, 1.0)
        slopes = _slopes(self.means, mean, self.sizes)
        inside = float(self.sizes @ spread)
        predicted = self.deviations @ slopes
        explained = min(float(predicted @ predicted) / inside, 0.95) if inside else 0.0
        left = mean - mean.mean() - (self.means - self.means.mean(axis=0)) @ slopes
        chance = inside / self.sizes.sum()
        if float(self.sizes @ left**2) / count > _BY_HIDDEN * max(chance, 1e-300):
            return fair, float(np.sqrt(dealt @ spread)), "groups were made by the hidden values"
        if explained < _LEAST or count < 4 * self.means.shape[1]:
            return fair, float(np.sqrt(dealt @ spread)), _TOO_LITTLE
        lever = self.deviations[self.hit].sum(axis=0)
        if not resample:
            return fair + float(lever @ slopes), 0.0, ""
        keys = seeded_keys(0)
        again = [
            float(lever @ _slopes(self.means[pick], mean[pick], self.sizes[pick]))
            for pick in ((keys(count) % np.uint64(count)).astype(np.int64) for _ in range(_RESAMPLINGS))
        ]
        variance = float(np.var(again, ddof=1)) + (1.0 - explained) * float(dealt @ spread)
        return fair + float(lever @ slopes), float(np.sqrt(variance)), ""


@dataclass(frozen=True)
class _Hits:
    """The rows that a question takes, the sum of their features' deviations, and their chances by value and model."""

    rows: Any
    lever: Floats
    shares: list[Floats]


class _Dealing:
    """Chances of each row to have each value of its group, from normal scores of the values and lines over features."""

    def __init__(self, shape: _Shape, scores: Floats, offsets: Ints) -> None:
        count = len(shape.sizes)
        mean = np.bincount(shape.owner, scores, minlength=count) / shape.sizes
        slopes = _slopes(shape.means, mean, shape.sizes)
        predicted = shape.deviations @ slopes
        inside, explained = float(((scores - mean[shape.groups]) ** 2).sum()), float(predicted @ predicted)
        left = mean - mean.mean() - (shape.means - shape.means.mean(axis=0)) @ slopes
        self.refusal = ""
        self._chances: list[NDArray[np.float32]] = []
        if float(shape.sizes @ left**2) / count > _BY_HIDDEN * max(inside / len(scores), 1e-300):
            self.refusal = "groups were made by the hidden values"
        elif explained < _LEAST * inside or count < 4 * shape.means.shape[1]:
            self.refusal = _TOO_LITTLE
        self._contrast = _Contrast(shape)
        places = np.arange(int(shape.sizes.max(initial=0)))
        self._real, self._sizes = places < shape.sizes[:, None], shape.sizes
        self._place = np.where(self._real, offsets[:-1, None] + places, 0)
        if self.refusal:
            return
        noise = max(inside - explained, 0.05 * inside) / max(len(scores) - count, 1)
        bins = _bins(scores)
        marks = np.eye(int(bins.max()) + 1)[bins]
        shares = np.column_stack([np.bincount(shape.owner, m, minlength=count) for m in marks.T]) / shape.sizes[:, None]
        both, pairs = np.column_stack([mean, shares]), self._real[:, :, None] & self._real[:, None, :]
        placed = scores[self._place][:, None, :]
        for pick in (np.arange(count), *_resample(count)):
            lines = _slopes(shape.means[pick], both[pick], shape.sizes[pick])
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

    def total(self, values: Floats, hits: _Hits, *, is_counted: bool = False) -> tuple[float, float]:
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

    def __init__(self, shape: _Shape) -> None:
        self._sizes, self._owner, self._groups = shape.sizes, shape.owner, shape.groups
        self._weight = shape.sizes / shape.sizes.sum()
        x = shape.means - self._weight @ shape.means
        self._x, self._gram = x, _ridge((x * shape.sizes[:, None]).T @ x)

    def total(self, values: Floats, asked: _Hits) -> tuple[float, float, bool]:
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


def _bins(scores: Floats, most: int = _BINS) -> Ints:
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


def _slopes(features: Floats, mean: Floats, sizes: Floats) -> Floats:
    """Least squares of the groups' means on the means of their features, groups weighed by their rows."""
    weight = sizes / sizes.sum()
    x = features - weight @ features
    gram = (x * sizes[:, None]).T @ x
    solved: Floats = np.linalg.solve(_ridge(gram), (x * sizes[:, None]).T @ (mean - weight @ mean))
    return solved


def _ridge(gram: Floats) -> Floats:
    return np.asarray(gram + (1e-3 * np.trace(gram) / max(len(gram), 1) + 1e-12) * np.eye(len(gram)))


def _features(release: Release, source: RowSource) -> Floats:
    """Known columns as numbers: broken lines with a bend at each fifth of the rows, or a mark for each level."""
    view, columns = source.view, []
    for name in (*release.columns.quasi, *release.columns.plain):
        codes = view.codes(name)
        counts = np.bincount(codes.codes, minlength=len(codes.domain) + 1)
        if view.column(name).kind in NUMBERS:
            domain = np.append(
                np.asarray(codes.domain.cast("float64", safe=False).to_numpy(zero_copy_only=False)), np.nan
            )
            numbers = domain[codes.codes]
            numbers = np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
            # Divided first: squares of the largest floats would overflow.
            numbers = numbers / max(float(np.abs(numbers).max(initial=0.0)), 1e-300)
            if (spread := numbers.std()) > 0:
                scaled = (numbers - numbers.mean()) / spread
                knots = np.unique(np.quantile(scaled, _KNOTS))
                columns += [scaled, *(np.maximum(scaled - knot, 0.0) for knot in knots)]
            continue
        frequent = [level for level in np.argsort(-counts, kind="stable")[:_MOST_LEVELS] if counts[level]]
        columns += [(codes.codes == level).astype(np.float64) for level in frequent[1:]]
    return np.column_stack(columns) if columns else np.zeros((view.num_rows, 0))
