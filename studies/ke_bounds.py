"""Relative width of the bounds of AVG, (upper - lower) / truth, from permuted, generalized and swapped tables.

Source     [Zhang 2008], section 2.7.1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.query.aggregates.average import average
from hedgerow.query.evidence.groups import Evidence, Hits, Values
from studies.ke_tables import Table

__all__ = ["Grouped", "Swapped", "from_boxes", "from_groups", "from_nothing", "from_ranks"]

Rows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A table in groups."""

    table: Table
    labels: NDArray[np.int32]

    @cached_property
    def values(self) -> Values:
        """The losses of each group, ascending."""
        order = np.lexsort((self.table.losses, self.labels))
        sizes = np.bincount(self.labels)
        losses = self.table.losses[order]
        return Values(np.append(0, np.cumsum(sizes)), sizes, losses, losses, self.table.unit)

    @cached_property
    def ages(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The least and the greatest age of each group."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.flatnonzero(np.diff(self.labels[order], prepend=-1))
        ages = self.table.ages[order]
        return np.minimum.reduceat(ages, starts), np.maximum.reduceat(ages, starts)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.values.sizes)


@dataclass(frozen=True, eq=False)
class Swapped:
    """A table whose losses changed places within a window of ranks; `losses` are the published ones."""

    table: Table
    losses: NDArray[np.int64]
    window: int


def from_groups(grouped: Grouped, rows: Rows) -> float:
    """From the permuted table: it tells how many rows of each group are asked for."""
    hits = np.bincount(grouped.labels[rows], minlength=grouped.groups)
    return _width(grouped, hits, hits, rows)


def from_nothing(grouped: Grouped, rows: Rows) -> float:
    """From the generalized table and a condition that it cannot decide: any rows of any group."""
    sizes = grouped.values.sizes
    return _width(grouped, np.zeros_like(sizes), sizes, rows)


def from_boxes(grouped: Grouped, rows: Rows, low: int, high: int) -> float:
    """From the generalized table and a range of ages: whole groups inside, any rows of groups that overlap."""
    least, greatest = grouped.ages
    sizes = grouped.values.sizes
    inside, touched = (least >= low) & (greatest <= high), (least <= high) & (greatest >= low)
    return _width(grouped, np.where(inside, sizes, 0), np.where(touched, sizes, 0), rows)


def from_ranks(swapped: Swapped, rows: Rows) -> float:
    """From a swapped table: each value stands for one within a window of ranks, no two rows for the same one.

    The least sum gives the rows, by ascending rank, the lowest ranks that are still free.
    """
    ascending = np.sort(swapped.table.losses)
    chosen = np.sort(swapped.losses[rows])
    truth = float(swapped.table.losses[rows].mean())
    least = _lowest(ascending, chosen, swapped.window)
    greatest = -_lowest(-ascending[::-1], -chosen[::-1], swapped.window)
    return (greatest - least) / len(chosen) / truth


def _lowest(ascending: NDArray[np.int64], chosen: NDArray[np.int64], window: int) -> float:
    ranks = np.searchsorted(ascending, chosen)
    earliest = np.maximum(ranks - window, 0)
    order = np.arange(len(chosen))
    free = order + np.maximum.accumulate(earliest - order)
    return float(ascending[np.minimum(free, len(ascending) - 1)].sum())


def _width(grouped: Grouped, lower: NDArray[np.int64], upper: NDArray[np.int64], rows: NDArray[np.bool_]) -> float:
    touched = np.flatnonzero(upper)
    zeros = np.zeros(len(touched), np.int64)
    hits = Hits(1, zeros, touched, lower[touched], upper[touched], upper[touched])
    bounds = average(Evidence.of(hits, grouped.values))
    truth = float(grouped.table.losses[rows].mean())
    return float((bounds.upper[0] - bounds.lower[0]) / truth)
