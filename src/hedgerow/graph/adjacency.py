"""Who is connected to whom, seen from one side, in two flat arrays.

Source     own: compressed sparse rows, by counting sort
Cost       O(nodes + edges) time and memory
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel

__all__ = ["Adjacency", "adjacency"]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The neighbours of node v are `neighbours[offsets[v]:offsets[v + 1]]`, numbers below `opposite`."""

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    opposite: int

    @property
    def nodes(self) -> int:
        """How many nodes this side has."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.neighbours)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each node has."""
        return np.diff(self.offsets)

    @property
    def ends(self) -> NDArray[np.int32]:
        """The node of this side at each edge, in the order of `neighbours`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.degrees)

    def sums(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.int64]:
        """Add up, for each node, the values of its edges (given in the order of `neighbours`), exactly."""
        running = np.zeros(len(values) + 1, np.int64)
        np.cumsum(values, out=running[1:])
        total: NDArray[np.int64] = running[self.offsets[1:]] - running[self.offsets[:-1]]
        return total


def adjacency(ends: NDArray[np.int32], others: NDArray[np.int32], nodes: int, opposite: int) -> Adjacency:
    """Collect the neighbours of each of `nodes` nodes from edges `(ends[e], others[e])`."""
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=nodes), out=offsets[1:])
    neighbours = np.empty(len(ends), np.int32)
    _collect(ends, others, offsets[:-1].copy(), neighbours)
    return Adjacency(offsets, neighbours, opposite)


@kernel
def _collect(
    ends: NDArray[np.int32], others: NDArray[np.int32], nexts: NDArray[np.int64], neighbours: NDArray[np.int32]
) -> None:
    for edge in range(len(ends)):
        node = ends[edge]
        neighbours[nexts[node]] = others[edge]
        nexts[node] += 1
