"""The adversary who looks for values that are far more frequent in a person's group than in the whole table.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the sensitive value whose share in the person's group exceeds its share in the table by the largest factor
Rate       exact, not sampled: the share of people for whom the guess is right, on average over the shuffle
Baseline   the share of the same value in the whole table, which is known without the person's group
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.beliefs import Beliefs

__all__ = ["Skewness", "skewness"]


@dataclass(frozen=True, eq=False)
class Skewness:
    """How often the guess is right, what the table alone gives, and the largest factor between the two.

    `usual` are the shares in the table of the values guessed in each group, `sizes` the people of the groups.
    """

    rate: float
    baseline: float
    factor: float
    usual: NDArray[np.float64]
    sizes: NDArray[np.int64]


def skewness(seen: Beliefs) -> Skewness:
    """Attack with what each group tells; of several values that grow alike the more frequent one is guessed."""
    usual = seen.overall[seen.values]
    order = np.lexsort((seen.shares, seen.shares / usual, seen.owners))
    picked = order[seen.starts[1:] - 1]
    people = seen.sizes.sum()
    return Skewness(
        rate=float(seen.shares[picked] @ seen.sizes / people),
        baseline=float(usual[picked] @ seen.sizes / people),
        factor=float((seen.shares[picked] / usual[picked]).max()),
        usual=usual[picked],
        sizes=seen.sizes,
    )
