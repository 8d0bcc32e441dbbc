"""Error of AVG queries: random conditions on other columns, the average of one.

Source     [Xue 2011], section 5.3
Cost       O(q n) for q queries over n rows
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.randomness import Keys, system_keys

__all__ = ["AverageQuery", "average_errors", "random_average_queries"]


@dataclass(frozen=True)
class AverageQuery:
    """SELECT avg(target) WHERE every other column > its threshold AND category IN (...)."""

    target: int
    thresholds: tuple[float, ...]
    categories: NDArray[np.bool_]

    def chosen(self, table: NDArray[np.float64], categories: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The rows that satisfy the condition; the target's own threshold does not count."""
        rows = self.categories[categories]
        for column, threshold in enumerate(self.thresholds):
            if column != self.target:
                rows = rows & (table[:, column] > threshold)
        return rows

    def answer(self, table: NDArray[np.float64], categories: NDArray[np.int64]) -> float:
        """The average, or nan where no row satisfies the condition."""
        rows = self.chosen(table, categories)
        return float(table[rows, self.target].mean()) if rows.any() else float("nan")


def random_average_queries(
    table: NDArray[np.float64], categories: NDArray[np.int64], target: int, count: int, *, keys: Keys = system_keys
) -> list[AverageQuery]:
    """Draw queries that select at least one row: thresholds uniform over each domain, a random set of categories."""
    found: list[AverageQuery] = []
    lows, highs = table.min(axis=0), table.max(axis=0)
    if (np.delete(lows, target) == np.delete(highs, target)).any():
        raise ParameterError("Random conditions need columns that vary: none lies above the only value of a column.")
    kinds = int(categories.max()) + 1
    while len(found) < count:
        draws = (keys(table.shape[1] + 1 + kinds) >> np.uint64(11)).astype(float) / 2.0**53
        thresholds = tuple((lows + draws[: len(lows)] * (highs - lows)).tolist())
        size = 1 + int(draws[len(lows)] * kinds)
        wanted = np.zeros(kinds, bool)
        wanted[np.argsort(draws[-kinds:])[:size]] = True
        query = AverageQuery(target, thresholds, wanted)
        if query.chosen(table, categories).any():
            found.append(query)
    return found


def average_errors(
    queries: list[AverageQuery],
    original: NDArray[np.float64],
    published: NDArray[np.float64],
    categories: NDArray[np.int64],
    truths: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The relative error of each query; one that selects no published row has no answer and counts as an error of 1.

    An average of zero is measured against the mean size of its column, as a cell is in `distortion`.
    """
    errors = np.ones(len(queries))
    sizes = np.abs(original).mean(axis=0)
    for n, query in enumerate(queries):
        truth = query.answer(original, categories) if truths is None else float(truths[n])
        answer = query.answer(published, categories)
        if not np.isnan(answer):
            errors[n] = abs(answer - truth) / (abs(truth) or sizes[query.target] or 1.0)
    return errors
