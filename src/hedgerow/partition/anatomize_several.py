"""Group rows so that no value of any of several sensitive columns fills more than 1/l of a group.

Source     hedgerow's own; Anatomy for one column
Guarantee  frequency l-diversity for every column; feasible exactly when the whole table as one group satisfies it.
           Looks at nothing but the sensitive values
Cost       O(n w l) time for w groups that are open at once, typically O(n)

Rows come in secret order and join the first open group that has none of their values; a group of l rows is closed.
What is left at the end joins closed groups, in secret order, until it is diverse: the criterion is monotone, so merging
never breaks it, and all rows in one group are diverse if anything is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["anatomize_several"]

_OPEN = 256


def anatomize_several(
    sensitive: Sequence[NDArray[np.int32]],
    *,
    l: int,  # noqa: E741
    keys: Keys = system_keys,
) -> NDArray[np.int32]:
    """Return a group number per row, from 0 without gaps."""
    criterion = FrequencyDiversity(l)
    require([criterion] * len(sensitive), [np.bincount(codes) for codes in sensitive])
    rows = len(sensitive[0])
    order = np.argsort(keys(rows)).astype(np.int32)
    values = np.ascontiguousarray(np.stack(sensitive, axis=1))
    labels = np.empty(rows, np.int32)
    members = np.empty((_OPEN, criterion.l), np.int32)
    closed = _fill(order, values, criterion.l, members, labels)
    _absorb(labels, values, closed, criterion.l, keys)
    return labels


def _absorb(labels: NDArray[np.int32], values: NDArray[np.int32], closed: int, l: int, keys: Keys) -> None:  # noqa: E741
    """Merge the rows that are left, labelled -1, with closed groups until they are diverse; renumber without gaps."""
    left = np.flatnonzero(labels < 0)
    if not len(left):
        return
    order = np.argsort(keys(closed))
    by_group = np.argsort(labels, kind="stable")[len(left) :].reshape(closed, l)
    counts = [np.bincount(values[left, c], minlength=int(values[:, c].max()) + 1) for c in range(values.shape[1])]
    size, taken = len(left), 0
    while any(l * int(count.max()) > size for count in counts):
        # As many again as before: a logarithmic number of checks, at most twice the groups that it takes.
        more = by_group[order[taken : 2 * taken + 1]].ravel()
        for column, count in enumerate(counts):
            np.add.at(count, values[more, column], 1)
        size, taken = size + len(more), taken + len(more) // l
    merged = np.ones(closed, np.bool_)
    merged[order[:taken]] = False
    numbers = np.append(np.where(merged, np.cumsum(merged) - 1, merged.sum()), merged.sum())
    labels[:] = numbers[labels]


@kernel
def _fill(
    order: NDArray[np.int32],
    values: NDArray[np.int32],
    l: int,  # noqa: E741
    members: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> int:
    """Fill open groups; rows of those that stay open, and rows that fit none, are labelled -1."""
    filled = np.zeros(len(members), np.int64)
    closed, used = 0, 0
    for n in range(len(order)):
        row = order[n]
        labels[row] = -1
        for g in range(min(used + 1, len(members))):
            fits = True
            for other in range(filled[g]):
                for column in range(values.shape[1]):
                    if values[members[g, other], column] == values[row, column]:
                        fits = False
            if not fits:
                continue
            members[g, filled[g]] = row
            filled[g] += 1
            used = max(used, g + 1)
            if filled[g] == l:
                for other in range(l):
                    labels[members[g, other]] = closed
                closed += 1
                filled[g] = 0
            break
    return closed
