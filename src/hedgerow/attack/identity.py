"""The adversary who knows a person's true numbers and looks for the published row that comes closest.

Knows      the true values of a target in the attacked columns, and the spread of each column
Guesses    the published row at the least distance, each column in units of its spread; ties at random
Rate       the share of targets whose own row is picked
Baseline   a row at random
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.adversaries.aligned import count_links, pick_rows
from hedgerow.attack.rate import Rate
from hedgerow.randomness import Keys, system_keys

__all__ = ["identity"]


def identity(
    original: NDArray[np.float64], published: NDArray[np.float64], *, targets: int = 1000, keys: Keys = system_keys
) -> Rate:
    """Attack aligned tables (rows x columns): row i of both belongs to the same person."""
    chosen = pick_rows(len(original), targets, keys=keys)
    return Rate(count_links(original, published, chosen, keys=keys), len(chosen), 1 / len(original))
