"""The worlds inside a group: who may have which of its values, when some rows fit some values better than others.

Guarantee  exact for groups of up to 8 rows; larger ones by a chain of swaps whose stationary distribution is theirs
Cost       O(N 2^N d) for a small group of N rows and d columns, O(N d) per sweep over a larger one

A world is an assignment of a group's values to its rows; its weight is the product of the likelihoods of the rows'
columns given their values: exp of the sum of `logs[at[c] + code * classes + class of the value]` over the columns c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.kernel import kernel

__all__ = ["LARGEST_EXACT", "marginals", "swap", "tally"]

LARGEST_EXACT = 8


@kernel
def _log_likelihood(row: int, kind: int, codes: Any, logs: Any, at: Any, classes: int) -> float:
    total = 0.0
    for column in range(len(at)):
        total += logs[at[column] + codes[column, row] * classes + kind]
    return total


@kernel
def _fill_likelihoods(
    first: int, size: int, codes: Any, kinds: Any, logs: Any, at: Any, classes: int, table: Any
) -> None:
    """The likelihood of each row of a group with each of its values, the best of a row scaled to 1."""
    for i in range(size):
        best = -1e300
        for j in range(size):
            table[i, j] = _log_likelihood(first + i, kinds[first + j], codes, logs, at, classes)
            best = max(best, table[i, j])
        for j in range(size):
            # A floor keeps the weight of every world above 0, so that the chances can be divided by their sum.
            table[i, j] = np.exp(max(table[i, j] - best, -80.0))


@kernel
def _group_marginals(first: int, size: int, table: Any, forward: Any, backward: Any, chances: Any) -> None:
    """Sum the weights of all worlds over the sets of values already used: row after row, from both ends."""
    full = (1 << size) - 1
    forward[: full + 1] = 0.0
    backward[: full + 1] = 0.0
    forward[0] = backward[full] = 1.0
    for used in range(full):
        row = 0
        for j in range(size):
            row += (used >> j) & 1
        for j in range(size):
            if not (used >> j) & 1:
                forward[used | (1 << j)] += forward[used] * table[row, j]
    for step in range(full):
        used = full - 1 - step
        row = 0
        for j in range(size):
            row += (used >> j) & 1
        for j in range(size):
            if not (used >> j) & 1:
                through = table[row, j] * backward[used | (1 << j)]
                backward[used] += through
                chances[first + row, j] += forward[used] * through
    for i in range(size):
        for j in range(size):
            chances[first + i, j] /= forward[full]


@kernel
def marginals(
    offsets: Any, groups: Any, codes: Any, kinds: Any, logs: Any, at: Any, classes: int, chances: Any
) -> None:
    """Write the chance of each row of the small `groups` to have the group's j-th value into `chances[row, j]`."""
    table = np.empty((8, 8))
    forward, backward = np.empty(256), np.empty(256)
    for place in range(len(groups)):
        first, size = offsets[groups[place]], offsets[groups[place] + 1] - offsets[groups[place]]
        _fill_likelihoods(first, size, codes, kinds, logs, at, classes, table)
        for i in range(size):
            for j in range(size):
                chances[first + i, j] = 0.0
        _group_marginals(first, size, table, forward, backward, chances)


@kernel
def swap(
    offsets: Any,
    groups: Any,
    codes: Any,
    holds: Any,
    class_of: Any,
    logs: Any,
    at: Any,
    classes: int,
    picks: Any,
    coins: Any,
) -> None:
    """Sweep once over the rows of the large `groups`: each may exchange its value with another row of its group."""
    for place in range(len(groups)):
        first, size = offsets[groups[place]], offsets[groups[place] + 1] - offsets[groups[place]]
        for row in range(first, first + size):
            other = first + np.int64(picks[row] * size)
            mine, theirs = class_of[holds[row]], class_of[holds[other]]
            if mine == theirs:
                # Alike to the model: which of the two it is stays open, half and half.
                if coins[row] < 0.5:
                    holds[row], holds[other] = holds[other], holds[row]
                continue
            gain = _log_likelihood(row, theirs, codes, logs, at, classes)
            gain += _log_likelihood(other, mine, codes, logs, at, classes)
            gain -= _log_likelihood(row, mine, codes, logs, at, classes)
            gain -= _log_likelihood(other, theirs, codes, logs, at, classes)
            if coins[row] * (1.0 + np.exp(-max(min(gain, 500.0), -500.0))) < 1.0:
                holds[row], holds[other] = holds[other], holds[row]


@kernel
def tally(
    offsets: Any,
    codes: Any,
    kinds: Any,
    held: Any,
    chances: Any,
    at: Any,
    classes: int,
    largest: int,
    counts: Any,
) -> None:
    """Count how often each code goes with each class: by chances in small groups, by the present world in others."""
    for group in range(len(offsets) - 1):
        first, size = offsets[group], offsets[group + 1] - offsets[group]
        for row in range(first, first + size):
            for j in range(size if size <= largest else 1):
                kind = kinds[first + j] if size <= largest else held[row]
                weight = chances[row, j] if size <= largest else 1.0
                for column in range(len(at)):
                    counts[at[column] + codes[column, row] * classes + kind] += weight
