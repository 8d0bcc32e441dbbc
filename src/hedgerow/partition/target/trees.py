"""Weighted trees as the arrays that kernels read; trees of one shape share its arrays.

Ten thousand parts of a table may each have their own target over one hierarchy: the shape is stored once, the weights
ten thousand times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import leaf_numbers

__all__ = [
    "HEAVIEST",
    "Shape",
    "TreeArrays",
    "arrays_of_tree",
    "arrays_of_trees",
    "node_extremes",
    "node_ranges",
    "node_sizes",
]

HEAVIEST = 2**40
"""No table has as many rows, so a weight of this size or more keeps everything at its parent."""

_STEPS = 2**32


@dataclass(frozen=True, eq=False)
class Shape:
    """Trees without weights: node v of the tree that starts at `base` is row `base + v`; children are local numbers."""

    parents: NDArray[np.int32]
    children: NDArray[np.int32]
    first: NDArray[np.int32]
    fan: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Tree t has `nodes[t]` nodes; its shape starts at `bases[t]`, its weights at `weight_bases[t]`."""

    shape: Shape
    nodes: NDArray[np.int32]
    bases: NDArray[np.int64]
    weight_bases: NDArray[np.int64]
    weights: NDArray[np.int64]


def arrays_of_trees(trees: Sequence[Hierarchy]) -> TreeArrays:
    """Lay out weighted hierarchies; those made from one another share their shape."""
    for tree in trees:
        if tree.weights is None:
            raise ParameterError("a target must be a hierarchy with weights; add them by 'with_target'.")
    shapes: dict[int, tuple[int, Hierarchy]] = {}
    start = 0
    for tree in trees:
        if id(tree.parents) not in shapes:
            shapes[id(tree.parents)] = (start, tree)
            start += tree.num_nodes
    nodes = np.array([tree.num_nodes for tree in trees], np.int32)
    return TreeArrays(
        shape=_laid_out([tree for _, tree in shapes.values()]),
        nodes=nodes,
        bases=np.array([shapes[id(tree.parents)][0] for tree in trees], np.int64),
        weight_bases=np.cumsum(nodes, dtype=np.int64) - nodes,
        weights=np.concatenate([_capped(tree) for tree in trees]),
    )


@functools.lru_cache(maxsize=256)
def arrays_of_tree(tree: Hierarchy) -> TreeArrays:
    """One tree laid out; remembered, because groups by the thousand share it."""
    return arrays_of_trees([tree])


def _laid_out(trees: Sequence[Hierarchy]) -> Shape:
    columns = [_columns(tree) for tree in trees]
    parents, children, first, fan = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return Shape(parents, children, first, fan)


def _columns(tree: Hierarchy) -> tuple[NDArray[np.int32], ...]:
    # Sorted by (parent, leaf order) the root, whose parent is -1, comes first; every node's children are a run.
    children = np.lexsort((tree.low, tree.parents)).astype(np.int32)
    sorted_parents, numbers = tree.parents[children], np.arange(tree.num_nodes)
    first = np.searchsorted(sorted_parents, numbers).astype(np.int32)
    fan = (np.searchsorted(sorted_parents, numbers, side="right") - first).astype(np.int32)
    return tree.parents, children, first, fan


def _capped(tree: Hierarchy) -> NDArray[np.int64]:
    return np.array([min(weight, HEAVIEST) for weight in tree.weights or ()], np.int64)


def node_sizes(tree: Hierarchy) -> NDArray[np.int64]:
    """The number of values below each node."""
    return (tree.high - tree.low).astype(np.int64)


def node_ranges(tree: Hierarchy) -> tuple[NDArray[np.int64], Fraction]:
    """The range of each node in whole units, and the unit; categories count their values instead.

    Ranges are costs, so values that span more than 2^32 of their finest step are rounded to that many steps.
    """
    try:
        numbers = leaf_numbers(tree)
    except SchemaError:
        return node_sizes(tree) - 1, Fraction(1)
    least = min(numbers)
    unit = max(Fraction(1, math.lcm(*(number.denominator for number in numbers))), (max(numbers) - least) / _STEPS)
    positions = np.array([int((number - least) / unit) for number in numbers], np.int64)
    lows, highs = node_extremes(tree, positions)
    return positions[highs] - positions[lows], unit


def node_extremes(
    tree: Hierarchy, ranks: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The leaf codes of the least and the greatest value below each node, by `ranks` or in leaf order."""
    lows = np.arange(tree.num_nodes, dtype=np.int64)
    lows[tree.num_leaves :] = -1
    highs = lows.copy()
    order = np.arange(tree.num_leaves) if ranks is None else ranks
    for node, parent in enumerate(tree.parents[:-1].tolist()):
        if lows[parent] < 0 or order[lows[node]] < order[lows[parent]]:
            lows[parent] = lows[node]
        if highs[parent] < 0 or order[highs[node]] > order[highs[parent]]:
            highs[parent] = highs[node]
    return lows, highs
