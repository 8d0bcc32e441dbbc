"""Estimate p by drawing possible worlds, for groups that are too large to add them all up.

Source     own: own: own: sequential importance sampling of weighted permanents
Guarantee  an interval that holds p with the stated confidence (normal approximation, wide); where too few draws carry
           the weight the interval opens up to the bound that needs no worlds
Cost       O(samples N D) for N rows and D distinct values
Deviates   not in the paper, which adds up all worlds; a promise is never based on a sample
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.bounds import pair_bound
from hedgerow.inference.full import balance
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["Sampled", "sample_posteriors"]

_DEVIATIONS = 4.0
_FEWEST = 64.0
"""With an effective sample below this the normal approximation means nothing."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Estimates of p for each row and value with an interval of four standard deviations, inside the sound bound."""

    p: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def sample_posteriors(
    weights: NDArray[np.float64], counts: NDArray[np.int64], *, samples: int = 4096, keys: Keys = system_keys
) -> Sampled:
    """p for each row and value: `weights[i, y]` is f for row i, `counts[y]` of the group's values are y."""
    weights = np.ascontiguousarray(weights, np.float64)
    balanced = balance(weights, np.ones(len(weights), np.int64), counts)
    uniform = (keys(samples * len(weights)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    logs, drawn = draw_worlds(balanced, counts, uniform.reshape(samples, -1))
    bound = pair_bound(weights, counts)
    if not np.isfinite(logs).any():
        return Sampled(bound, np.zeros_like(bound), np.ones_like(bound))
    return _estimate(np.exp(logs - logs.max()), drawn, bound)


def _estimate(mass: NDArray[np.float64], drawn: NDArray[np.int32], bound: NDArray[np.float64]) -> Sampled:
    p, spread = np.empty_like(bound), np.empty_like(bound)
    for y in range(bound.shape[1]):
        has = drawn == y
        p[:, y] = mass @ has / mass.sum()
        # The linearized variance of a ratio of sums; half a draw's worth keeps a share of 0 or 1 from looking certain.
        spread[:, y] = np.sqrt((mass**2) @ (has - p[:, y]) ** 2) / mass.sum() + 0.5 * mass.max() / mass.sum()
    if mass.sum() ** 2 / (mass**2).sum() < _FEWEST:
        return Sampled(np.minimum(p, bound), np.zeros_like(p), bound)
    low, high = np.maximum(p - _DEVIATIONS * spread, 0.0), np.minimum(p + _DEVIATIONS * spread, bound)
    return Sampled(np.clip(p, low, np.maximum(low, high)), low, np.maximum(low, high))


@kernel
def draw_worlds(
    weights: NDArray[np.float64], counts: NDArray[np.int64], uniform: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Deal the values row after row; return the log of each world's weight over its chance, and the worlds."""
    samples, rows = uniform.shape
    values = len(counts)
    logs, drawn = np.zeros(samples), np.zeros((samples, rows), np.int32)
    left = np.empty(values, np.float64)
    for m in range(samples):
        left[:] = counts
        for i in range(rows):
            total = 0.0
            for y in range(values):
                total += weights[i, y] * left[y]
            if total <= 0.0:
                logs[m] = -np.inf
                break
            mark, chosen = uniform[m, i] * total, -1
            for y in range(values):
                if weights[i, y] * left[y] > 0.0:
                    chosen = y
                    mark -= weights[i, y] * left[y]
                    if mark < 0.0:
                        break
            logs[m] += np.log(total)
            drawn[m, i] = chosen
            left[chosen] -= 1.0
    return logs, drawn
