"""The adversary who undoes a generalization from the fact that it is as narrow as it can be.

Source     Cohen, Attacks on deidentification's defenses, 2022
Knows      that an interval ends where somebody's value is: the box of a group is the least that covers it
Guesses    an end of the interval as the value of a person in the group, in a column that was widened
Rate       the share of guesses that are right
Baseline   a value of the interval at random, as if it did not matter where it ends
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.candidates import ORDERED, People, SeenColumn

__all__ = ["Downcoding", "downcoding"]


@dataclass(frozen=True)
class Downcoding:
    """`hits` of `trials` ends were the person's value; `baseline` is the mean share of one value in its interval."""

    hits: int
    trials: int
    baseline: float


def downcoding(
    columns: tuple[SeenColumn, ...], rows: NDArray[np.int64], people: People, coins: NDArray[np.bool_]
) -> Downcoding:
    """Guess the values of people who are in the boxes `rows`, by the end that `coins` say."""
    hits, trials, blind = 0, 0, 0.0
    for column, values in zip(columns, people, strict=True):
        if column.kind != ORDERED:
            continue
        low, high = column.low[rows], column.high[rows]
        wide = (low < high) & ~np.isnan(values)
        guess = np.where(coins, low, high)
        hits += int((guess == values)[wide].sum())
        trials += int(wide.sum())
        blind += float((1 / _values_inside(column, values, low[wide], high[wide])).sum())
    return Downcoding(hits, trials, blind / trials if trials else 0.0)


def _values_inside(
    column: SeenColumn, values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How many values an interval has: whole numbers and days by its length, others as far as they are known."""
    known = np.unique(np.concatenate((column.low, column.high, values)))
    known = known[~np.isnan(known)]
    if np.array_equal(known, np.floor(known)):
        return high - low + 1
    return np.asarray(np.searchsorted(known, high, side="right") - np.searchsorted(known, low), np.float64)
