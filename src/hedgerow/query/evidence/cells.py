"""Reduce entries of (cell, group) to one number per cell, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints

__all__ = ["Celled", "best", "deviation", "means", "runs_of", "totals", "unrolled"]

_HALF = np.int64(2**32 - 1)


class Celled(Protocol):
    """Entries sorted by their cell, each with a group (or whatever a reduction looks up)."""

    @property
    def cells(self) -> int:
        """The number of cells."""

    @property
    def cell(self) -> Ints:
        """The cell of each entry, ascending."""

    @property
    def group(self) -> Ints:
        """The group of each entry."""


def totals(where: Celled, entries: Ints) -> list[int]:
    """Sum 64-bit integers per cell without overflow: high and low halves apart, joined as Python integers."""
    if len(entries) == 0:
        return [0] * where.cells
    high, low = _sums(where, entries >> 32), _sums(where, entries & _HALF)
    return [(int(upper) << 32) + int(lower) for upper, lower in zip(high, low, strict=True)]


def _sums(where: Celled, entries: Ints) -> Ints:
    if where.cells == 1:
        return np.array([entries.sum()])
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(entries)))
    edges = np.searchsorted(where.cell, np.arange(where.cells + 1))
    return np.diff(running[edges])


def means(where: Celled, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum floats per cell; for expectations, where the last digit does not matter."""
    if where.cells == 1:
        return np.array([entries.sum()])
    return np.bincount(where.cell, weights=entries, minlength=where.cells).astype(np.float64)


def best(choose: Any, where: Celled, among: NDArray[np.bool_], value: Callable[[Ints], Ints]) -> list[int | None]:
    """Minimum or maximum per cell of the entries marked by `among`; None where there is none."""
    cell, group = where.cell[among], where.group[among]
    result: list[int | None] = [None] * where.cells
    if len(cell) == 0:
        return result
    starts = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
    for index, bound in zip(cell[starts], choose.reduceat(value(group), starts), strict=True):
        result[index] = int(bound)
    return result


def unrolled(numbers: Ints) -> tuple[Ints, Ints]:
    """List each entry `numbers` times: its index, and 0, 1, 2, ... inside it."""
    owner = np.repeat(np.arange(len(numbers)), numbers)
    starts = np.cumsum(numbers) - numbers
    return owner, np.arange(len(owner)) - starts[owner]


def runs_of(group: Ints, first: Ints) -> tuple[Ints, Ints]:
    """For every entry all runs of its group, which are `first[g]:first[g+1]`: the entries repeated, and the runs."""
    owner, order = unrolled(first[group + 1] - first[group])
    return owner, first[group][owner] + order


def deviation(variance: Floats) -> Floats:
    """Square root of variances; rounding may have left one slightly below zero."""
    result: Floats = np.sqrt(np.maximum(variance, 0.0))
    return result
