"""Link each target to the published row that lies nearest; the step that identity and rank attacks share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.randomness import Keys

__all__ = ["count_links", "pick_rows"]

_AT_ONCE = 1 << 21


def count_links(
    known: NDArray[np.float64], published: NDArray[np.float64], targets: NDArray[np.int64], *, keys: Keys
) -> int:
    """How many targets' nearest published row (Euclid; ties at random) is their own. Row i of both is one person."""
    scale = known.std(axis=0)
    weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    here, there = known * weights, published * weights
    hits, step = 0, max(1, _AT_ONCE // len(published))
    for first in range(0, len(targets), step):
        rows = targets[first : first + step]
        distances = sum((here[rows, None, c] - there[None, :, c]) ** 2 for c in range(here.shape[1]))
        hits += int((_nearest(np.asarray(distances), keys) == rows).sum())
    return hits


def pick_rows(rows: int, wanted: int, *, keys: Keys) -> NDArray[np.int64]:
    """A uniformly random choice of at most `wanted` rows."""
    if rows < 2:
        raise ParameterError(f"An attack needs at least 2 rows to tell apart; got {rows}.")
    return np.argsort(keys(rows))[:wanted]


def _nearest(distances: NDArray[np.float64], keys: Keys) -> NDArray[np.int64]:
    """The place of each row's minimum; among equal minima a random one."""
    is_least = distances == distances.min(axis=1, keepdims=True)
    order = np.cumsum(is_least, axis=1)
    ties = order[:, -1]
    wanted = (keys(len(ties)) >> np.uint64(11)).astype(float) / 2.0**53 * ties
    places: NDArray[np.int64] = np.argmax(order > wanted[:, None], axis=1)
    return places
