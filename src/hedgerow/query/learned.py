"""A better guess than the fair shuffle: what known columns tell about hidden ones, learned from the groups' own sums.

Source     own: least squares between groups, whose slopes are not attenuated by the shuffle inside them; [Kifer 2009]
           has the adversary that learns in this way
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(n p + G p^2) once per question and resampling, for n rows, G groups and p features

A fair shuffle gives every row of a group the group's mean, which pulls every part of the people towards it. But each
group publishes the sum of its hidden values and the known columns of its rows: least squares of the sums on the sums of
features tell how a feature moves a hidden value. A row's prediction is its features' deviation from its group's mean
times the slopes, plus the group's mean, so that groups keep their sums.

Numbers are dealt to the rows of their group by such predictions (`learned_dealing`); texts, and numbers of groups too
large for that, take the predictions of the line itself (`learned_lines`). Of boxes is learned where in them rows lie
(`learned_boxes`). Groups are resampled for the standard error.

Where groups were made by the hidden values themselves the slopes are wrong, and the answer says that no model helps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import QueryError
from hedgerow.query.answer import Answer, Learned
from hedgerow.query.learned_dealing import TOO_LARGE, Dealing, RowsHit, ranges
from hedgerow.query.learned_lines import TOO_LITTLE, KnownRows, features_of, rows_alike
from hedgerow.query.sql.question import NUMBERS, Column, Truth, columns_of

if TYPE_CHECKING:
    from hedgerow.query.evidence.generalized import BoxSource
    from hedgerow.query.evidence.permuted import RowSource
    from hedgerow.query.learned_boxes import HiddenParts
    from hedgerow.query.sql.question import Aggregate, Bound
    from hedgerow.release import Release

__all__ = ["learn"]

_WIDENED = {"sum": 1.1, "avg": 1.1, "count": 1.3}
"""Standard errors are widened by this, for what a sum of broken lines cannot follow: a condition has sharp edges."""


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
        return HiddenParts(ranges(codes.astype(np.float64), most), True)
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
        features = features_of(self.release, self.source)
        if not features.shape[1]:
            return _fair(answer, TOO_LITTLE)
        sizes = np.bincount(view.groups, minlength=groups).astype(np.float64)
        sums = [np.bincount(view.groups, column, minlength=groups) for column in features.T]
        means: Floats = np.column_stack(sums) / sizes[:, None]
        hits = np.bincount(view.groups[hit], minlength=groups).astype(np.float64)
        shape = KnownRows(hidden.groups, features, features - means[view.groups], means, sizes, hit, hits, view.groups)
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

    def _dealing(self, shape: KnownRows) -> Dealing | None:
        """Deal the values to the rows; None for texts, gaps and groups that are too large."""
        view = self.source.view
        if view.columns[self.base].kind not in NUMBERS or view.has_missing(self.base):
            return None
        ranks = view.codes(self.base).codes.astype(np.int64)
        dealing: Dealing = view.keep(
            f"dealing of {self.base}", lambda: Dealing(shape, rows_alike(self.release, self.source), ranks)
        )
        return None if dealing.refusal == TOO_LARGE else dealing

    def _deal(self, answer: Answer, dealing: Dealing, shape: KnownRows, kept: Floats) -> Learned:
        if why := dealing.refusal:
            return _fair(answer, why)
        hits = RowsHit(shape.hits, shape.deviations[shape.hit].sum(axis=0), dealing.shares(shape.hit))
        if self.aggregate.function == "count":
            return self._bound_estimate(answer, *dealing.total(kept, hits), "", None)
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
