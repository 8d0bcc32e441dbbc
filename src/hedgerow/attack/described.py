"""People in the order of each column, so that those whom a description fits are found without asking everybody.

Guarantee  counts exactly the people whom every part of a description holds for (`SeenColumn.holds`)
Cost       a sort of the people per column that is asked for; a description then looks at the people whom its most
           telling part leaves
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.attack.candidates import SET, People, SeenColumn

__all__ = ["Crowd"]

Spans = list[tuple[int, int]]
"""Ranges of places in the order of a column."""


class Crowd:
    """`people` as published rows of `columns` describe them."""

    def __init__(self, columns: tuple[SeenColumn, ...], people: People) -> None:
        self.columns, self.people = columns, people
        self._sorted = cache(self._sort)

    def count(self, columns: Sequence[int], rows: Sequence[int]) -> int:
        """Count the people whom the rows `rows[i]` fit in the columns `columns[i]`, all at once."""
        spans = [self._spans(column, row) for column, row in zip(columns, rows, strict=True)]
        lengths = [sum(last - first for first, last in one) for one in spans]
        least = int(np.argmin(lengths))
        order = self._sorted(columns[least])[0]
        left = np.concatenate([order[first:last] for first, last in spans[least]])
        for place, (column, row) in enumerate(zip(columns, rows, strict=True)):
            if place != least:
                left = left[self.columns[column].holds(row, self.people[column][left])]
        return len(left)

    def _sort(self, column: int) -> tuple[Ints, NDArray[np.float64], int]:
        """People in the order of a column, their values, and where the missing ones begin."""
        values = self.people[column]
        order = np.argsort(values, kind="stable")
        return order, values[order], len(values) - int(np.isnan(values).sum())

    def _spans(self, column: int, row: int) -> Spans:
        """Where in the order of a column those are whom a published row allows; missing values come last."""
        seen = self.columns[column]
        _, values, known = self._sorted(column)
        gaps = [(known, len(values))] if seen.gaps[row] else []
        if np.isnan(seen.low[row]):
            return [(known, known), *gaps]
        if seen.kind != SET or seen.members is None:
            return [self._between(values[:known], seen.low[row], seen.high[row]), *gaps]
        codes: list[int] = np.flatnonzero(seen.members[int(seen.low[row])]).tolist() if seen.low[row] >= 0 else []
        return [(known, known), *(self._between(values[:known], code, code) for code in codes), *gaps]

    @staticmethod
    def _between(values: NDArray[np.float64], low: float, high: float) -> tuple[int, int]:
        return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))
