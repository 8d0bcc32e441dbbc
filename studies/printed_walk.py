"""The walk as the paper prints it, and with the whole chord: what hedgerow's own walk is measured against.

Source     [Xue 2011], section 4
Cost       O(m n) per step for m properties of n values: every property sees every value

Nothing is published from here. With `half` the step goes forward only, as printed; else anywhere on the chord, which is
hit-and-run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.randomness import Keys

__all__ = ["printed_walk"]


def printed_walk(
    coefficients: NDArray[np.float64],
    bounds: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    steps: int,
    half: bool,
    keys: Keys,
    states: int = 256,
) -> NDArray[np.float64]:
    """Walk `steps` steps in random directions inside coefficients @ x <= bounds; return states at equal distances."""
    ways = _normal(keys, steps * len(start)).reshape(steps, len(start))
    lengths = _uniform(keys, steps)
    trace = np.empty((min(states, steps), len(start)))
    slacks = bounds - coefficients @ start
    _printed_walk.compiled(np.ascontiguousarray(coefficients), slacks, start.copy(), ways, lengths, half, trace)
    return trace


def _uniform(keys: Keys, count: int) -> NDArray[np.float64]:
    return (keys(count) >> np.uint64(11)).astype(float) / 2.0**53


def _normal(keys: Keys, count: int) -> NDArray[np.float64]:
    """Normal numbers by Box and Muller."""
    radius = np.sqrt(-2.0 * np.log1p(-_uniform(keys, count)))
    numbers: NDArray[np.float64] = radius * np.cos(2.0 * np.pi * _uniform(keys, count))
    return numbers


@kernel
def _printed_walk(
    coefficients: NDArray[np.float64],
    slacks: NDArray[np.float64],
    point: NDArray[np.float64],
    ways: NDArray[np.float64],
    lengths: NDArray[np.float64],
    half: bool,
    trace: NDArray[np.float64],
) -> None:
    rows, size = coefficients.shape
    steps = len(lengths)
    rates = np.zeros(rows)
    kept = 0
    for step in range(steps):
        back, forth = np.inf, np.inf
        for row in range(rows):
            rate = 0.0
            for n in range(size):
                rate += coefficients[row, n] * ways[step, n]
            rates[row] = rate
            if rate > 0.0:
                forth = min(forth, max(slacks[row], 0.0) / rate)
            elif rate < 0.0:
                back = min(back, max(slacks[row], 0.0) / -rate)
        length = forth * lengths[step] if half else (back + forth) * lengths[step] - back
        for n in range(size):
            point[n] += length * ways[step, n]
        for row in range(rows):
            slacks[row] -= length * rates[row]
        while kept < len(trace) and (kept + 1) * steps <= (step + 1) * len(trace):
            trace[kept] = point
            kept += 1
