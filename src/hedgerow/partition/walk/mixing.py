"""How many independent draws a trace is worth, and whether every value has moved.

Source     Geyer, practical Markov chain Monte Carlo: initial positive sequence
Guarantee  none; an estimate of the effective sample size from one trace
Cost       O(t l) for a trace of t states whose correlations die out after l
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel

__all__ = ["effective_sizes"]


def effective_sizes(trace: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate for each column of `trace` (states x values) its number of independent draws; 0 if it never moves."""
    centred = trace - trace.mean(axis=0)
    result = np.zeros(trace.shape[1])
    _effective_sizes(np.ascontiguousarray(centred.T).ravel(), trace.shape[0], result)
    return result


@kernel
def _effective_sizes(centred: NDArray[np.float64], states: int, result: NDArray[np.float64]) -> None:
    """Add up correlations in pairs while a pair is positive: noise beyond that point would only blur the sum."""
    for column in range(len(result)):
        first = column * states
        variance = 0.0
        for n in range(states):
            variance += centred[first + n] * centred[first + n]
        if variance == 0.0:
            continue
        correlation, lag = 0.0, 0
        while lag + 1 < states:
            pair = 0.0
            for n in range(states - lag):
                pair += centred[first + n] * centred[first + n + lag]
            for n in range(states - lag - 1):
                pair += centred[first + n] * centred[first + n + lag + 1]
            if pair <= 0.0:
                break
            correlation += pair / variance
            lag += 2
        # The sum counts lag 0 once and every other lag on one side only.
        result[column] = min(states / max(2.0 * correlation - 1.0, 1.0 / states), float(states))
