"""Trees over points that find the one closest to a box, in the sum of overhangs over all dimensions.

Source     k-d trees [Bentley 1975]; the distance is the increase of Delta of [Wong 2009], summed over attribute sets
Cost       O(C K log C) to build one on C points of K dimensions, all nodes of a level at once

Node i has the children 2i + 1 and 2i + 2; the leaves are the last level. Every node knows the box of its points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["KdTrees", "build_trees"]

_LEAF = 8
"""Points per leaf: a leaf costs about as much to scan as its parents to descend."""

_SCANNED = 14
"""Up to 2 to this many points a scan is no worse than a tree that nearly every box keeps busy."""


class KdTrees(NamedTuple):
    """Trees over the same points, one for each of several ways to see them: the first axis of all but `borders`.

    `order` lists the points leaf after leaf, `borders` where leaves begin, `leaf` the node number of each point's leaf;
    `low` and `high` are the nodes' boxes.
    """

    order: NDArray[np.int32]
    borders: NDArray[np.int64]
    leaf: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def build_trees(points: NDArray[np.int32], attributes: int) -> KdTrees:
    """A tree for each way (first axis) to see the points (second axis), which `attributes` independent facts decide.

    With fewer points than 2 to the number of facts nearly every node is as close as any other, so nothing would be
    passed by: then the trees are single leaves.
    """
    ways, count, dimensions = points.shape
    is_crowded = count >= 2 ** min(attributes, _SCANNED)
    levels = max(0, int(np.ceil(np.log2(max(count, 1) / _LEAF)))) if is_crowded else 0
    borders = count * np.arange(2**levels + 1, dtype=np.int64) // 2**levels
    order, leaf = np.empty((2, ways, count), np.int32)
    low, high = np.empty((2, ways, 2 ** (levels + 1) - 1, dimensions), np.int32)
    for way in range(ways):
        order[way] = _halve(points[way], levels, low[way], high[way])
        leaf[way, order[way]] = np.repeat(np.arange(2**levels) + 2**levels - 1, np.diff(borders))
    return KdTrees(order, borders, leaf, low, high)


def _halve(
    points: NDArray[np.int32], levels: int, low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Halve the points at the median of their widest dimension, level by level; fill in the boxes."""
    count = len(points)
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
    return order
