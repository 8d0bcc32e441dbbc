"""Safe groupings: groups of at least k nodes, and no two nodes of a group share a neighbour.

Source     [Zhang 2008], definitions 4.4.1 and 4.4.3
Guarantee  between two groups of sizes k and l of a safe grouping there are at most min(k, l) edges, so a pair of
           entities is joined in at most one of max(k, l) of the assignments that the release allows
Cost       O(nodes + edges)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.kernel import kernel

__all__ = ["check_size", "count_unsafe", "largest_possible"]


def check_size(name: str, size: object) -> int:
    """Check k or l at the door."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        got = size if isinstance(size, int | float) else type(size).__name__
        raise ParameterError(f"'{name}' must be a whole number of at least 1; got {got}. 1 leaves this side as it is.")
    return int(size)


def count_unsafe(groups: NDArray[np.int32], seen_from: Adjacency) -> int:
    """Count the edges that break safety: a node of the other side has an earlier edge into the same group.

    `groups` holds the group of each node; `seen_from` lists, for each node of the other side, the nodes it touches.
    """
    last = np.full(int(groups.max(initial=-1)) + 1, -1, np.int32)
    return int(_count(seen_from.offsets, seen_from.neighbours, groups, last))


def largest_possible(seen_from: Adjacency) -> int:
    """No k above this has a safe grouping: the neighbours of one node lie in as many groups as there are of them."""
    busiest = int(seen_from.degrees.max(initial=0))
    return seen_from.opposite // busiest if busiest else seen_from.opposite


@kernel
def _count(
    offsets: NDArray[np.int64], neighbours: NDArray[np.int32], groups: NDArray[np.int32], last: NDArray[np.int32]
) -> int:
    unsafe = 0
    for node in range(len(offsets) - 1):
        for edge in range(offsets[node], offsets[node + 1]):
            group = groups[neighbours[edge]]
            if last[group] == node:
                unsafe += 1
            last[group] = node
    return unsafe
