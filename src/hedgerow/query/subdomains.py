"""A disguised release as evidence: every group's subdomains as intervals, and what the target expects inside them.

Values are the leaves of the published trees. A condition on the sensitive column is decided on the leaves: a subdomain
satisfies it surely if all values below its node do, possibly if one does. Expectations draw a subdomain without
replacement and then a value from it by the target.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.query.evidence import Ints, Values
from hedgerow.query.numbers import Numbers, ticks_of
from hedgerow.query.predicate import evaluate
from hedgerow.query.question import Column, Kind, Predicate
from hedgerow.release import Release
from hedgerow.release.disguised import subdomain_columns

__all__ = ["Subdomains", "people"]

Floats = NDArray[np.float64]
NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.FLOAT)


def people(release: Release) -> pa.Table:
    """The rows of people, with an empty stand-in for the sensitive column that tells its kind and is never read."""
    table = release.tables["release" if "release" in release.tables else "quasi"]
    name, low = release.columns.sensitive[0], release.tables["target"].schema.field("low").type
    opened = table.select([*release.columns.quasi, *release.columns.plain, release.group_column])
    return opened.append_column(name, pa.nulls(table.num_rows, low))


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
        """The leaves as ticks."""
        return ticks_of(self._leaf_values, self.column.kind)

    @functools.cached_property
    def values(self) -> Values:
        """The subdomains of each group as intervals of ticks; those of texts and dates only count."""
        if self.column.kind not in NUMBERS:
            nothing = np.zeros(len(self.nodes), dtype=np.int64)
            return Values(self.offsets, self.sizes, nothing, nothing, Fraction(1))
        lows = self._spread(self.numbers.lows, np.minimum)[self.nodes]
        highs = self._spread(self.numbers.highs, np.maximum)[self.nodes]
        return Values(self.offsets, self.sizes, self._ascending(lows), self._ascending(highs), self.numbers.unit)

    @functools.cached_property
    def centres(self) -> tuple[Floats, Floats]:
        """Mean and variance of the value inside each subdomain, by the target, in ticks."""
        middles = (self.numbers.lows + self.numbers.highs) / 2
        origin = float(middles.mean())  # squares of small numbers keep their digits
        mean, square = self._expected(middles - origin), self._expected((middles - origin) ** 2)
        return mean[self.nodes] + origin, np.maximum(square - mean**2, 0.0)[self.nodes]

    @functools.cached_property
    def points(self) -> Values:
        """Every subdomain at its expected value."""
        ticks = self._ascending(np.rint(self.centres[0]).astype(np.int64))
        return Values(self.offsets, self.sizes, ticks, ticks, self.numbers.unit)

    def satisfying(self, predicate: Predicate) -> tuple[Ints, Ints, Floats]:
        """Per group how many subdomains satisfy a condition surely and possibly; per subdomain its chance."""
        truth = evaluate(predicate, {self.column.name: self._leaf_values}, len(self.leaves))
        is_true = truth.fill_null(False).to_numpy(zero_copy_only=False)
        surely = self._spread(is_true, np.logical_and)[self.nodes]
        possibly = self._spread(is_true, np.logical_or)[self.nodes]
        return self._per_group(surely), self._per_group(possibly), self._expected(is_true.astype(float))[self.nodes]

    def mean(self, numbers: Floats) -> Floats:
        """The mean of a number per subdomain over each group."""
        return np.bincount(self.groups, numbers, minlength=len(self.sizes)) / self.sizes

    def _per_group(self, marked: NDArray[np.bool_]) -> Ints:
        return np.bincount(self.groups, marked, minlength=len(self.sizes)).astype(np.int64)

    def _ascending(self, ticks: Ints) -> Ints:
        return ticks[np.lexsort((ticks, self.groups))]

    def _spread(self, leaves: NDArray[Any], choose: np.ufunc) -> NDArray[Any]:
        """Reduce the leaves below every node: all of them, whatever their weights, for any may be the truth."""
        result: NDArray[Any] = np.zeros(len(self._parents), leaves.dtype)
        result[self.leaves] = leaves
        started = np.zeros(len(self._parents), dtype=np.bool_)
        for node, parent in enumerate(self._parents.tolist()):  # children come before parents
            if parent >= 0:
                result[parent] = choose(result[parent], result[node]) if started[parent] else result[node]
                started[parent] = True
        return result

    def _expected(self, leaves: Floats) -> Floats:
        """The mean over the leaves below every node by the target."""
        result = np.zeros(len(self._parents))
        result[self.leaves] = leaves
        share = np.where(self._parents >= 0, self._weights / np.maximum(self._totals[self._parents], 1.0), 0.0)
        for node, parent in enumerate(self._parents.tolist()):
            if parent >= 0:
                result[parent] += share[node] * result[node]
        return result
