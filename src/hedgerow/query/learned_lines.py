"""Lines between groups: what known columns tell about hidden values, from the sums of groups alone.

Source     own: least squares between groups, whose slopes are not attenuated by the shuffle inside them; [Kifer 2009]
           has the adversary that learns in this way
Guarantee  none; the estimate is computed from the release alone
Cost       O(n p + G p^2) once per question and resampling, for n rows, G groups and p features

Each group publishes the sum of its hidden values and the known columns of its rows: least squares of the sums on the
sums of features tell how a feature moves a hidden value. A row's prediction is its features' deviation from its group's
mean times the slopes, plus the group's mean, so that groups keep their sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.query.sql.question import NUMBERS
from hedgerow.randomness import seeded_keys

if TYPE_CHECKING:
    from hedgerow.query.evidence.permuted import RowSource
    from hedgerow.release import Release

__all__ = ["TOO_LITTLE", "KnownRows", "features_of", "rows_alike", "slopes_of"]

_MOST_LEVELS = 40
"""Levels of a text that get a slope of their own; the rarest share one."""

_RESAMPLINGS = 40

_KNOTS = (0.2, 0.4, 0.6, 0.8)

_BY_HIDDEN = 4.0
_BESIDE = 0.5
"""Groups were made by the hidden values if their means spread so many times as much as chance allows, and by so much
of what the values inside of them do: what lines miss spreads the means of large groups beyond chance, too, but less."""

_LEAST = 0.005
"""A model that explains less of the variance inside groups than this is not worth its error."""

TOO_LITTLE = "known columns tell too little, or there are too few groups"


@dataclass(frozen=True)
class KnownRows:
    """Rows, groups and hits; `deviations` are the features of rows less their group's mean."""

    owner: Ints
    features: Floats
    deviations: Floats
    means: Floats
    sizes: Floats
    hit: Any
    hits: Floats
    groups: Ints

    def refusal(self, mean: Floats, slopes: Floats, inside: float, explained: float) -> str:
        """Why these slopes tell nothing: sums of squares inside groups, and what of them is explained."""
        left = mean - mean.mean() - (self.means - self.means.mean(axis=0)) @ slopes
        between, count = float(self.sizes @ left**2), len(self.sizes)
        if between > max(_BY_HIDDEN * count / self.sizes.sum(), _BESIDE) * max(inside, 1e-300):
            return "groups were made by the hidden values"
        return TOO_LITTLE if explained < _LEAST * inside or count < 4 * self.means.shape[1] else ""

    def total(self, values: Floats, *, resample: bool = True) -> tuple[float, float, str]:
        """The learned sum of hidden values over the rows hit, its standard error, and why no model helps, if so."""
        count = len(self.sizes)
        mean = np.bincount(self.owner, values, minlength=count) / self.sizes
        spread = np.maximum(np.bincount(self.owner, values**2, minlength=count) / self.sizes - mean**2, 0.0)
        fair = float(self.hits @ mean)
        dealt = self.hits * (self.sizes - self.hits) / np.maximum(self.sizes - 1.0, 1.0)
        slopes = slopes_of(self.means, mean, self.sizes)
        inside = float(self.sizes @ spread)
        predicted = self.deviations @ slopes
        explained = min(float(predicted @ predicted) / inside, 0.95) if inside else 0.0
        if why := self.refusal(mean, slopes, inside, explained * inside):
            return fair, float(np.sqrt(dealt @ spread)), why
        lever = self.deviations[self.hit].sum(axis=0)
        if not resample:
            return fair + float(lever @ slopes), 0.0, ""
        keys = seeded_keys(0)
        again = [
            float(lever @ slopes_of(self.means[pick], mean[pick], self.sizes[pick]))
            for pick in ((keys(count) % np.uint64(count)).astype(np.int64) for _ in range(_RESAMPLINGS))
        ]
        variance = float(np.var(again, ddof=1)) + (1.0 - explained) * float(dealt @ spread)
        return fair + float(lever @ slopes), float(np.sqrt(variance)), ""


def slopes_of(features: Floats, mean: Floats, sizes: Floats) -> Floats:
    """Least squares of the groups' means on the means of their features, groups weighed by their rows."""
    weight = sizes / sizes.sum()
    x = features - weight @ features
    gram = (x * sizes[:, None]).T @ x
    solved: Floats = np.linalg.solve(_ridge(gram), (x * sizes[:, None]).T @ (mean - weight @ mean))
    return solved


def _ridge(gram: Floats) -> Floats:
    """A matrix of products that can be solved, whatever columns it lacks."""
    return np.asarray(gram + (1e-3 * np.trace(gram) / max(len(gram), 1) + 1e-12) * np.eye(len(gram)))


def features_of(release: Release, source: RowSource) -> Floats:
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


def rows_alike(release: Release, source: RowSource) -> Ints:
    """Numbers of rows that are equal in all known columns."""
    found = np.zeros(source.view.num_rows, np.int64)
    for name in (*release.columns.quasi, *release.columns.plain):
        codes = source.view.codes(name)
        found = np.unique(found * (len(codes.domain) + 1) + codes.codes, return_inverse=True)[1]
    return found
