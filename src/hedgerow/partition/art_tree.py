"""A tree over points that finds the one closest to a box, in the sum of overhangs over all dimensions.

Source     k-d trees; the distance is the paper's increase of Delta, summed over attribute sets
Cost       O(C K log C) to build on C points of K dimensions, all nodes of a level at once

Node i has the children 2i + 1 and 2i + 2; the leaves are the last level. Every node knows the box of its points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tree", "build_tree"]

_LEAF = 8
"""Points per leaf: a leaf costs about as much to scan as its parents to descend."""


@dataclass(frozen=True, eq=False)
class Tree:
    """`order` lists the points leaf after leaf, `borders` where leaves begin; `low` and `high` are the nodes' boxes."""

    order: NDArray[np.int32]
    borders: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def leaves(self) -> int:
        """The number of leaves, a power of two."""
        return len(self.borders) - 1

    def leaf_of(self) -> NDArray[np.int32]:
        """The node number of each point's leaf."""
        where = np.empty(len(self.order), np.int32)
        where[self.order] = np.repeat(np.arange(self.leaves) + self.leaves - 1, np.diff(self.borders))
        return where


def build_tree(points: NDArray[np.int32]) -> Tree:
    """Halve the points at the median of their widest dimension until few are left in each part."""
    count, dimensions = points.shape
    levels = max(0, int(np.ceil(np.log2(max(count, 1) / _LEAF))))
    low, high = np.empty((2, 2 ** (levels + 1) - 1, dimensions), np.int32)
    order = np.arange(count, dtype=np.int32)
    for level in range(levels + 1):
        borders = count * np.arange(2**level + 1, dtype=np.int64) // 2**level
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        sorted_points = points[order]
        low[nodes] = np.minimum.reduceat(sorted_points, borders[:-1])
        high[nodes] = np.maximum.reduceat(sorted_points, borders[:-1])
        if level < levels:
            node = np.repeat(np.arange(2**level), np.diff(borders))
            widest = np.argmax(high[nodes] - low[nodes], axis=1)
            order = order[np.lexsort((sorted_points[np.arange(count), widest[node]], node))]
    return Tree(order, borders, low, high)
