"""Questions to disguised releases: known rows per group, subdomains instead of values, perhaps more than rows.

Source     [Zhang 2008], section 3.3.3
Guarantee  the true answer lies inside the bounds; without a condition on the sensitive column, and for COUNT, they are
           reached. Under such a condition a subdomain may satisfy it surely or perhaps; which of the two the rows must
           take is relaxed, so that bounds of other aggregates may be wider than the best
Cost       one sort of the subdomains when first asked, then that of the permuted form
Deviates   fake values: h rows draw h of a group's subdomains, so bounds are over all of them

The means of MIN, MAX and quantiles take every subdomain at what the target expects of it.

Values are the leaves of the published trees. A condition on the sensitive column is decided on the leaves: a subdomain
satisfies it surely if all values below its node do, possibly if one does. Expectations draw a subdomain without
replacement and then a value from it by the target.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.aggregates.total import expected_total
from hedgerow.query.answer import Estimate
from hedgerow.query.engines.help import exact_column, is_decimal_unit, sum_columns
from hedgerow.query.evidence.crossing import Crossing
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Ints, Moments, Values
from hedgerow.query.evidence.permuted import RowSource
from hedgerow.query.evidence.ranges import LooseCrossing, Range, float_ends
from hedgerow.query.evidence.rows import Chosen, Numbers, Selection, ticks_of
from hedgerow.query.evidence.view import Codes, View, evaluate, view_of
from hedgerow.query.sql.question import NUMBERS, Bound, Column, Kind, Predicate, Truth
from hedgerow.release import Release
from hedgerow.release.forms.disguised import subdomain_columns

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = [
    "DisguisedSource",
    "Subdomains",
    "bounds_by_hits",
    "help_of_subdomains",
    "subdomain_estimate",
    "subdomains_of",
]

_FAR = 2**62
_ENDS = ((np.minimum, np.inf), (np.maximum, -np.inf))


class Subdomains:
    """The trees and the subdomains of one release."""

    def __init__(self, release: Release, column: Column) -> None:
        self.column = column
        target = release.tables["target"].combine_chunks()
        self._parents: Ints = target.column("parent").fill_null(-1).to_numpy().astype(np.int64)
        self._weights: Floats = target.column("weight").to_numpy().astype(np.float64)
        below = self._parents >= 0
        self._totals = np.bincount(self._parents[below], self._weights[below], minlength=len(self._parents))
        is_leaf = np.ones(len(self._parents), dtype=np.bool_)
        is_leaf[self._parents[below]] = False
        self.leaves: Ints = np.flatnonzero(is_leaf)
        self._leaf_values = pa.concat_arrays(target.column("low").chunks).take(pa.array(self.leaves))
        values = release.tables["release" if "release" in release.tables else "sensitive"]
        self.groups: Ints = values.column(release.group_column).to_numpy().astype(np.int64)
        self.nodes: Ints = values.column(subdomain_columns(release.columns, release.group_column)[2]).to_numpy()
        self.offsets: Ints = np.concatenate(([0], np.cumsum(np.bincount(self.groups, minlength=release.groups))))

    @property
    def sizes(self) -> Ints:
        """The number of subdomains of each group."""
        return np.diff(self.offsets)

    @functools.cached_property
    def numbers(self) -> Numbers:
        """The leaves as ticks; texts are ordered as SQL orders them, whatever their order in the trees."""
        if self.column.kind is not Kind.TEXT:
            return ticks_of(self._leaf_values, self.column.kind)
        codes = Codes(self._leaf_values)
        places = codes.codes.astype(np.int64)
        return Numbers(places, places, Fraction(1), Kind.TEXT, codes.domain)

    def values(self, condition: Predicate) -> Values:
        """The subdomains of each group as intervals of the values below them that satisfy a condition."""
        truth = evaluate(condition, {self.column.name: self._leaf_values}, len(self.leaves))
        met: NDArray[np.bool_] = truth.fill_null(False).to_numpy(zero_copy_only=False)
        sure, possible = (self._spread(met, choose)[self.nodes] for choose in (np.logical_and, np.logical_or))
        numbers = self.numbers
        lows = self._spread(np.where(met, numbers.lows, _FAR), np.minimum)[self.nodes]
        highs = self._spread(np.where(met, numbers.highs, -_FAR), np.maximum)[self.nodes]
        counts = self._per_group(possible)
        means = self._means(met)
        middles, chances = self._typical(met, possible, means)
        return Values(
            np.concatenate(([0], np.cumsum(counts))),
            self.sizes,
            self._ascending(lows, possible),
            self._ascending(highs, possible),
            numbers.unit,
            ranged=True,
            sure=None if met.all() else self._per_group(sure),
            expectation=self._moments(means),
            middles=middles,
            chances=chances,
        )

    @functools.cached_property
    def _levels(self) -> list[Ints]:
        """The nodes below the roots, from the deepest level up: the children of a node are on one level."""
        numbers = np.arange(len(self._parents))
        # Children come first, so that no path is endless, in whatever tree.
        parents = np.where(self._parents > numbers, self._parents, -1)
        depths, above = np.zeros_like(numbers), parents
        while (below := above >= 0).any():
            depths += below
            above = np.where(below, parents[above], -1)
        order = np.argsort(-depths, kind="stable")
        levels = np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)
        return levels[:-1]

    def _typical(self, met: NDArray[np.bool_], possible: NDArray[np.bool_], means: _Means) -> tuple[Floats, Floats]:
        """The means of the subdomains that may count, ascending, and the chance of each to count."""
        middles, chances = self._middles(met, means)[possible], means.chances[self.nodes][possible]
        order = np.lexsort((chances, middles, self.groups[possible]))
        return middles[order], chances[order]

    def _middles(self, met: NDArray[np.bool_], means: _Means) -> Floats:
        """The mean value of each subdomain, if it counts; between its ends where the target gives it no weight."""
        points: Floats = self.numbers.lows / 2.0 + self.numbers.highs / 2.0
        low, high = (self._spread(np.where(met, points, limit), choose) for choose, limit in _ENDS)
        has_chance = means.chances > 0
        mean = np.divide(means.distances, means.chances, out=np.zeros(len(low)), where=has_chance) + means.origins
        result: Floats = np.clip(np.where(has_chance, mean, low), low, high)[self.nodes]
        return result

    def _moments(self, means: _Means) -> Moments:
        """What to expect of a subdomain: does it count, and how far from the mean of those that count is it."""
        counts, origins = means.chances[self.nodes], means.origins[self.nodes]
        least = np.minimum.reduceat(np.where(counts > 0, origins, _FAR), self.offsets[:-1])
        least = np.where(least < _FAR, least, 0)
        shift = (origins - least[self.groups]) * 1.0
        sums = means.distances[self.nodes] + counts * shift
        share = self.mean(counts)
        mean = np.divide(self.mean(sums), share, out=np.zeros(len(share)), where=share > 0)
        far = sums - counts * mean[self.groups]
        spread, both, doubt = (part[self.nodes] for part in means.covariances)
        at = mean[self.groups] - shift
        inner = (np.maximum(spread - 2.0 * at * both + at**2 * doubt, 0.0), both - at * doubt, doubt)
        return Moments(
            share,
            mean + least,
            self.mean(far**2),
            self.mean(far * counts),
            self.mean(counts**2) - share**2,
            tuple(self.mean(part) for part in inner),  # type: ignore[arg-type]
        )

    def mean(self, numbers: Floats) -> Floats:
        """The mean of a number per subdomain over each group."""
        return np.bincount(self.groups, numbers, minlength=len(self.sizes)) / self.sizes

    def _per_group(self, marked: NDArray[np.bool_]) -> Ints:
        return np.bincount(self.groups, marked, minlength=len(self.sizes)).astype(np.int64)

    def _ascending(self, ticks: NDArray[Any], chosen: NDArray[np.bool_]) -> NDArray[Any]:
        return ticks[chosen][np.lexsort((ticks[chosen], self.groups[chosen]))]

    def _spread(self, leaves: NDArray[Any], choose: np.ufunc) -> NDArray[Any]:
        """Reduce the leaves below every node: all of them, whatever their weights, for any may be the truth."""
        result: NDArray[Any] = np.zeros(len(self._parents), leaves.dtype)
        result[self.leaves] = leaves
        for nodes in self._levels:
            parents = self._parents[nodes]
            result[parents] = result[nodes]  # one of the children, to begin with
            choose.at(result, parents, result[nodes])
        return result

    def _means(self, met: NDArray[np.bool_]) -> _Means:
        """What the target expects below every node, from the leaves up.

        Covariances come from the deviations of the children: a mean of squares less the square of a mean loses the
        digits that tell.
        """
        chances, distances, spread, both, doubt = np.zeros((5, len(self._parents)))
        origins = np.full(len(self._parents), _FAR)
        origins[self.leaves] = np.where(met, self.numbers.lows, 0)
        chances[self.leaves] = met
        distances[self.leaves] = np.where(met, (self.numbers.highs - self.numbers.lows) / 2.0, 0.0)
        for nodes in self._levels:
            parents = self._parents[nodes]
            share = self._weights[nodes] / np.maximum(self._totals[parents], 1.0)
            counted = nodes[share * chances[nodes] > 0]
            np.minimum.at(origins, self._parents[counted], origins[counted])
            origins[parents] = np.where(origins[parents] < _FAR, origins[parents], 0)
            shift = (origins[nodes] - origins[parents]) * 1.0
            moved = distances[nodes] + chances[nodes] * shift  # as the parent measures
            np.add.at(chances, parents, share * chances[nodes])
            np.add.at(distances, parents, share * moved)
            far, more = moved - distances[parents], chances[nodes] - chances[parents]
            own = spread[nodes] + shift * (2.0 * both[nodes] + shift * doubt[nodes])
            np.add.at(spread, parents, share * (own + far**2))
            np.add.at(both, parents, share * (both[nodes] + shift * doubt[nodes] + far * more))
            np.add.at(doubt, parents, share * (doubt[nodes] + more**2))
        return _Means(origins, chances, distances, (spread, both, doubt))


@dataclass(frozen=True)
class _Means:
    """What the target expects of a value below every node.

    It counts with chance `chances`, and is `distances` above the node's origin on average, zero if it does not count.
    `covariances` are the variance of that distance, its covariance with "counts", and the variance of "counts". The
    origin is the least number that may count: measured from one far away, numbers would lose the digits that tell.
    """

    origins: Ints
    chances: Floats
    distances: Floats
    covariances: tuple[Floats, Floats, Floats]


def subdomains_of(release: Release) -> Subdomains:
    """The subdomains of a release; they are read once and live as long as its view."""
    view, name = view_of(release), release.columns.sensitive[0]
    found: Subdomains = view.remember("subdomains", lambda: Subdomains(release, view.columns[name]))
    return found


class DisguisedSource(RowSource):
    """Rows whose hidden values are subdomains."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self._name = release.columns.sensitive[0]
        self.closed = frozenset([self._name])
        self._subdomains = subdomains_of(release)

    def domain(self, name: str) -> pa.Array | None:
        """The values of a column that have ticks; those of the sensitive one are in a table that all parts share."""
        return None if name == self._name else super().domain(name)

    def hidden_view(self, name: str) -> View:
        """Values are not published one by one."""
        raise QueryError(f"'{name}' is published as ranges of values, over which this question has no bounds")

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and subdomains in pairs: the values of a group in order lie between their ends in order."""
        if self._subdomains.column.kind not in NUMBERS:
            raise QueryError(f"'{self._name}' is published as ranges of values, over which this question has no bounds")
        values, unit = self.values(self._name, self._name, Truth(True), aggregated=True), self._subdomains.numbers.unit
        low, high = (float_ends(end, unit) for end in (values.lows, values.highs))
        sure = np.ones(len(low[0]), dtype=np.bool_)
        groups = np.repeat(np.arange(len(values.counts)), values.counts)
        hidden = Range(low[0], high[1], sure, sure)
        return LooseCrossing(bound, self.view, self.view, selection, chosen, values=(groups, hidden))

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column; those of the sensitive one are its possible values."""
        return self._subdomains.numbers if name == self._name else super().numbers(name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's subdomains."""
        if name != base:
            raise QueryError("over subdomains expressions of the sensitive column have no bound; aggregate it itself")
        values: Values = self.view.remember(f"subdomains {condition}", lambda: self._subdomains.values(condition))
        return values

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Values are not published one by one."""
        raise QueryError(
            "over subdomains GROUP BY of the sensitive column has no bound; ask COUNT with a condition on it"
        )


def subdomain_estimate(release: Release, function: str, hits: Hits) -> Estimate:
    """Bounds and expectation of sum, avg, min or max of the sensitive column over the rows hit."""
    numbers = subdomains_of(release).numbers
    values = DisguisedSource(release).values("", "", Truth(True), aggregated=True)
    return AGGREGATES[function].estimate(Evidence.of(hits, values), numbers.rounding(function), numbers.slack)


def help_of_subdomains(release: Release) -> pa.Table:
    """The help table: for every group and number of hits the bounds of each aggregate; `size` counts subdomains."""
    view, subdomains = view_of(release), subdomains_of(release)
    sizes, rows = subdomains.sizes, np.diff(view.offsets)
    group = np.repeat(np.arange(len(rows)), rows)
    hits = np.arange(view.num_rows) - view.offsets[group] + 1
    columns = {"group": pa.array(group.astype(np.int32)), "hits": pa.array(hits), "size": pa.array(sizes[group])}
    if subdomains.column.kind in NUMBERS:
        columns |= bounds_by_hits(subdomains.values(Truth(True)), subdomains.offsets, group, hits)
    return pa.table(columns)


def bounds_by_hits(values: Values, offsets: Ints, group: Ints, hits: Ints) -> dict[str, pa.Array]:
    """The columns of a help table for rows that draw from perhaps more values than rows; none without decimals."""
    if not is_decimal_unit(values.unit):
        return {}
    start, end = offsets[group], offsets[group + 1]
    exact: dict[str, Ints] = {
        "min_lower": values.lows[start],
        "min_upper": values.highs[end - hits],
        "max_lower": values.lows[start + hits - 1],
        "max_upper": values.highs[end - 1],
    }
    spread = expected_total(Evidence.of(Hits.exactly(len(hits), np.arange(len(hits)), group, hits), values))
    scale = float(values.unit)
    return {
        **sum_columns(values, group, hits),
        **{name: exact_column(ticks, values.unit) for name, ticks in exact.items()},
        "sum_expected": pa.array(spread.mean * scale),
        "sum_variance": pa.array((spread.std * scale) ** 2),
    }


source = DisguisedSource
"""What the form tells about questions."""
