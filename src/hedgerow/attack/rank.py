"""The adversary who knows where a person stands in the order of each column.

Knows      the rank of a target among all people in each attacked column, say from another list of the same people
Guesses    the published row whose ranks come closest; ties at random
Rate       the share of targets whose own row is picked
Baseline   a row at random
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.adversaries.aligned import count_links, pick_rows
from hedgerow.attack.rate import Rate
from hedgerow.randomness import Keys, system_keys

__all__ = ["rank"]


def rank(
    original: NDArray[np.float64], published: NDArray[np.float64], *, targets: int = 1000, keys: Keys = system_keys
) -> Rate:
    """Attack aligned tables (rows x columns): row i of both belongs to the same person."""
    chosen = pick_rows(len(original), targets, keys=keys)
    known, seen = (np.column_stack([_middle_ranks(column) for column in table.T]) for table in (original, published))
    return Rate(count_links(known, seen, chosen, keys=keys), len(chosen), 1 / len(original))


def _middle_ranks(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share the middle of theirs."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts + 1) / 2
    ranks: NDArray[np.float64] = middles[codes]
    return ranks
