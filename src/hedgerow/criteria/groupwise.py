"""Criteria on groups: what a search may ask of a criterion, and the counts of rows and sensitive values it is given.

A criterion on groups is a frozen value with four facts about itself, which a search asks for instead of its type:

    monotone    the union of two groups that satisfy it satisfies it, so a search that splits only checks the parts
    absorbing   a good group stays good whatever rows join it, so merging never leaves more rows in bad groups
    relative    it compares groups with the whole column, so rows may not be suppressed afterwards
    limits      least rows, least distinct values and greatest shares, which a compiled search can check row by row, and
                whether these limits are the whole criterion or only a necessary condition

`holds` looks at many groups at once, in time linear in the (group, value) pairs that occur.

k-anonymity: a group holds at least k rows.

Source     [Sweeney 2002]; [Samarati 2001]
Guarantee  every row has the same published quasi-identifiers as at least k - 1 others
Cost       O(1) per group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.errors import Infeasible, ParameterError, counted
from hedgerow.parameters import read_whole


@dataclass(frozen=True, eq=False)
class Groups:
    """Histograms of many groups: group g holds `counts[i]` rows of value `values[i]` for i in starts[g]:starts[g+1].

    Values ascend inside a group and occur in it; no group is empty. `overall` counts each value in the whole column.
    """

    sizes: Counts
    starts: Counts
    values: NDArray[np.int32]
    counts: Counts
    overall: Counts

    @property
    def owners(self) -> Counts:
        """The group of each (group, value) pair."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts, append=len(self.values)))

    @property
    def distinct(self) -> Counts:
        """How many values occur in each group."""
        return np.diff(self.starts, append=len(self.values))


@dataclass(frozen=True, eq=False)
class Limits:
    """A criterion in numbers: least rows and distinct values of a group, and a cap on each value's share of it.

    Value v may fill `numerators[v] / denominators[v]` of a group, of which both are at most the number of rows, so that
    `count * denominator <= numerator * rows` is decided by 64-bit integers. Not `whole`: a good group keeps the limits,
    but a group that keeps them may be bad.
    """

    rows: int
    distinct: int
    numerators: Counts
    denominators: Counts
    whole: bool = True

    @classmethod
    def of(cls, overall: Counts, *, rows: int = 1, distinct: int = 1, whole: bool = True) -> Limits:
        """Limits on rows and distinct values alone."""
        ones = np.ones(len(overall), np.int64)
        return cls(rows, distinct, ones, ones, whole)

    def __and__(self, other: Limits) -> Limits:
        """The limits that both criteria imply together."""
        mine = self.numerators * other.denominators <= other.numerators * self.denominators
        return Limits(
            max(self.rows, other.rows),
            max(self.distinct, other.distinct),
            np.where(mine, self.numerators, other.numerators),
            np.where(mine, self.denominators, other.denominators),
            self.whole and other.whole,
        )

    def hold(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it keeps the limits."""
        rows = groups.sizes[groups.owners]
        over = groups.counts * self.denominators[groups.values] > self.numerators[groups.values] * rows
        kept: NDArray[np.bool_] = group_sums(groups, over) == 0
        return kept & (groups.sizes >= self.rows) & (groups.distinct >= self.distinct)


class Criterion(Protocol):
    """What a group must satisfy: the protocol that searches use."""

    @property
    def monotone(self) -> bool:
        """Whether unions of good groups are good."""
        ...

    @property
    def absorbing(self) -> bool:
        """Whether a good group stays good whatever joins it."""
        ...

    @property
    def relative(self) -> bool:
        """Whether groups are compared with the whole column."""
        ...

    def limits(self, overall: Counts) -> Limits:
        """Return what numbers can say of the criterion."""
        ...

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies the criterion."""
        ...

    def nearest(self, overall: Counts) -> str:
        """Say, for a column that cannot satisfy the criterion, what it could."""
        ...


class Limited:
    """A criterion that is fully described by its limits."""

    monotone: ClassVar[bool] = True
    """A share of a union lies between the shares of its parts; rows and distinct values only grow."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = False

    def limits(self, overall: Counts) -> Limits:
        """Return the criterion in numbers."""
        raise NotImplementedError

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies the criterion."""
        return self.limits(groups.overall).hold(groups)


@dataclass(frozen=True, init=False)
class All:
    """Several criteria at once."""

    criteria: tuple[Criterion, ...]

    def __init__(self, *criteria: Criterion) -> None:
        if not criteria:
            raise ParameterError("'criteria' must hold at least one criterion; got none.")
        object.__setattr__(self, "criteria", criteria)

    @property
    def monotone(self) -> bool:
        """Whether unions of good groups are good, which they are if every criterion says so."""
        return all(criterion.monotone for criterion in self.criteria)

    @property
    def absorbing(self) -> bool:
        """Whether every criterion is absorbing."""
        return all(criterion.absorbing for criterion in self.criteria)

    @property
    def relative(self) -> bool:
        """Whether any criterion compares groups with the whole column."""
        return any(criterion.relative for criterion in self.criteria)

    def limits(self, overall: Counts) -> Limits:
        """Return the strictest limits of all criteria."""
        total = Limits.of(overall)
        for criterion in self.criteria:
            total &= criterion.limits(overall)
        return total

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies every criterion."""
        held = np.ones(len(groups.sizes), np.bool_)
        for criterion in self.criteria:
            held &= criterion.holds(groups)
        return held

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead of the first criterion that fails."""
        whole = one_group(overall)
        return next((c.nearest(overall) for c in self.criteria if not c.holds(whole)[0]), "")


@dataclass(frozen=True, eq=False)
class AgainstWhole:
    """A criterion for groups of some of a column's rows, which are compared with all of them.

    Searches that see a part of the table count that part; what they counted is replaced by `overall`.
    """

    criterion: Criterion
    overall: Counts

    @property
    def monotone(self) -> bool:
        """Whether unions of good groups are good."""
        return self.criterion.monotone

    @property
    def absorbing(self) -> bool:
        """Whether a good group stays good whatever joins it."""
        return self.criterion.absorbing

    @property
    def relative(self) -> bool:
        """Whether groups are compared with the whole column."""
        return self.criterion.relative

    def limits(self, overall: Counts) -> Limits:
        """Return what numbers can say of the criterion."""
        return self.criterion.limits(self.overall)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it satisfies the criterion."""
        return self.criterion.holds(replace(groups, overall=self.overall))

    def nearest(self, overall: Counts) -> str:
        """Say, for a column that cannot satisfy the criterion, what it could."""
        return self.criterion.nearest(self.overall)


def groups_of(labels: NDArray[np.int32], codes: NDArray[np.int32], overall: Counts) -> Groups:
    """Count the codes of each group; `labels` run from 0 without gaps."""
    sizes = np.bincount(labels)
    width = len(overall)
    keys = labels.astype(np.int64) * width + codes
    if len(sizes) * width <= 4 * len(codes):
        table = np.bincount(keys, minlength=len(sizes) * width)
        pairs = np.flatnonzero(table)
        return _from_pairs(pairs, table[pairs], sizes, overall)
    pairs, counts = np.unique(keys, return_counts=True)
    return _from_pairs(pairs, counts, sizes, overall)


def weighted_groups(labels: NDArray[Any], codes: NDArray[np.int32], counts: Counts, overall: Counts) -> Groups:
    """Count the codes of each group, if entry i stands for `counts[i]` rows."""
    keys, places = np.unique(labels.astype(np.int64) * len(overall) + codes, return_inverse=True)
    # Sums of whole numbers stay exact in floats up to 2^53, more rows than any table has.
    sizes = np.bincount(labels, weights=counts).astype(np.int64)
    return _from_pairs(keys, np.bincount(places, weights=counts).astype(np.int64), sizes, overall)


def merge_values(groups: Groups, classes: NDArray[np.int32]) -> Groups:
    """Replace values by classes in all groups and renumber them from 0; `classes` holds the class of each value."""
    names, codes = np.unique(classes, return_inverse=True)
    overall = np.bincount(codes, weights=groups.overall, minlength=len(names)).astype(np.int64)
    return weighted_groups(groups.owners, codes[groups.values].astype(np.int32), groups.counts, overall)


def _from_pairs(keys: Counts, counts: Counts, sizes: Counts, overall: Counts) -> Groups:
    """Read ascending keys `group * values + value` as groups."""
    starts = np.searchsorted(keys, np.arange(len(sizes)) * len(overall))
    return Groups(sizes, starts, (keys % len(overall)).astype(np.int32), counts, overall)


def one_group(counts: Counts, overall: Counts | None = None) -> Groups:
    """One group with these counts of values; `overall` are the counts of the whole column, by default the same."""
    values = np.flatnonzero(counts)
    whole = counts if overall is None else overall
    return Groups(np.array([counts.sum()]), np.array([0]), values.astype(np.int32), counts[values], whole)


def group_sums(groups: Groups, numbers: NDArray[np.int64] | NDArray[np.bool_]) -> Counts:
    """Add up a number per (group, value) pair inside each group."""
    sums: Counts = np.add.reduceat(numbers.astype(np.int64, copy=False), groups.starts)
    return sums


def require(criteria: Sequence[Criterion], overall: Sequence[Counts], names: Sequence[str] | None = None) -> None:
    """Raise Infeasible if the whole column as one group fails: no partition can then satisfy a monotone criterion."""
    if reason := lacking(criteria, overall, names):
        raise Infeasible(reason)


def lacking(criteria: Sequence[Criterion], overall: Sequence[Counts], names: Sequence[str] | None = None) -> str:
    """Why the whole column as one group fails, and the nearest feasible parameter; empty if it does not fail."""
    for place, (criterion, counts) in enumerate(zip(criteria, overall, strict=True)):
        if not criterion.holds(one_group(counts))[0]:
            column = f" of '{names[place]}'" if names is not None else ""
            return f"All rows{column} in one group would not be enough: {criterion.nearest(counts)}"
    return ""


@dataclass(frozen=True)
class KAnonymity(Limited):
    """At least `k` rows."""

    k: int

    absorbing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", read_whole("k", self.k, least=2, why="A group of one hides nobody."))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """At least k rows."""
        return Limits.of(overall, rows=self.k)

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Describe what the column could satisfy instead."""
        return (
            f"{self.k:,}-anonymity needs {counted(self.k, 'row')}; there "
            f"{'is' if overall.sum() == 1 else 'are'} {int(overall.sum()):,}."
        )
