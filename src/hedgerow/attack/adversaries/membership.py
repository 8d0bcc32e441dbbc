"""The adversary who knows a person's whole record and asks whether it was among those published.

Knows      quasi-identifiers and the sensitive value of a person
Guesses    that the better half of a list, of which half were published, were: those whose record the release supports
           best
Rate       the share of the list that is put on the right side
Baseline   a coin: one half
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.beliefs import Beliefs
from hedgerow.attack.placing import Placed

__all__ = ["sides", "support"]


def support(seen: Beliefs, where: Placed, truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many published rows each record may be, on average: those that fit, times the chance of its value there."""
    found = np.zeros(len(where))
    for person in np.flatnonzero(where.is_fit & (truth >= 0)).tolist():
        groups, weights = where.groups[person], where.weights[person]
        found[person] = weights.sum() * seen.spread(groups, weights)[truth[person]]
    return found


def sides(members: NDArray[np.float64], others: NDArray[np.float64], keys: NDArray[np.uint64]) -> int:
    """Count who is put on the right side when the better supported half is said to be published; ties by coins."""
    scores = np.concatenate((members, others))
    order = np.lexsort((keys, scores))
    said = np.zeros(len(scores), bool)
    said[order[len(order) - len(members) :]] = True
    return int(said[: len(members)].sum() + (~said[len(members) :]).sum())
