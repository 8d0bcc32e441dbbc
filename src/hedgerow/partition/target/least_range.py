"""Generalize values along a weighted tree so that they follow its target, with the least total range.

Source     [Zhang 2008], algorithm 3
Guarantee  every group satisfies criteria.target exactly, and no P-private generalization has a smaller sum of ranges
Cost       O(entries * depth) for all groups together; entries are distinct values, or rows
Deviates   any fan-out; zero weights; many groups with their own trees in one pass

At a node that must give m values, as many as possible go down in the ratio of the children's weights; the rest is
generalized to the node. Which row's value ends up in which subdomain is left open: the subdomains are shuffled anyway.

Generalize values along a weighted tree, letting each branch's share differ from the target's by at most s.

Source     [Zhang 2008], section 3.6
Guarantee  every group satisfies criteria.target with shift s; with s = 0 the result is that of least_range
Cost       O(nodes) per group; a node tries totals downwards from a bound that is tight up to rounding
Deviates   the printed rule sets the weights to observed ratios, which collapses everything to the root; here the
           numbers of values are chosen directly. Any fan-out: every child's share is within s. Branches of weight 0
           stay empty

Among equal totals the one closest to the target is taken: it reveals least about the source.

Weighted trees are kept as the arrays that kernels read; trees of one shape share its arrays. Ten thousand parts of a
table may each have their own target over one hierarchy: the shape is stored once, the weights ten thousand times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Ints
from hedgerow.criteria.target import read_shift
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.kernel import kernel
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import leaf_numbers

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
    bases: Ints
    weight_bases: Ints
    weights: Ints


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
        weights=np.concatenate([_cap(tree) for tree in trees]),
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


def _cap(tree: Hierarchy) -> Ints:
    return np.array([min(weight, HEAVIEST) for weight in tree.weights or ()], np.int64)


def node_sizes(tree: Hierarchy) -> Ints:
    """The number of values below each node."""
    return (tree.high - tree.low).astype(np.int64)


def node_ranges(tree: Hierarchy) -> tuple[Ints, Fraction]:
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


def node_extremes(tree: Hierarchy, ranks: Ints | None = None) -> tuple[Ints, Ints]:
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


@dataclass(frozen=True, eq=False)
class PublishedNodes:
    """Group g publishes `counts[i]` subdomains `nodes[i]` for i in `offsets[g]:offsets[g + 1]`."""

    nodes: NDArray[np.int32]
    counts: Ints
    offsets: Ints

    def values(self) -> Ints:
        """The number of subdomains of each group."""
        return np.diff(np.append(0, np.cumsum(self.counts))[self.offsets])


def least_range(counts: Ints, tree: Hierarchy, *, top: int | None = None) -> Ints:
    """How many values are generalized to each node, from the counts in leaf order; all lie below `top`, or the root."""
    leaves = np.flatnonzero(counts).astype(np.int32)
    whole = np.array([0, len(leaves)])
    tops = np.array([tree.root if top is None else top], np.int32)
    groups = least_range_groups(leaves, counts[leaves], whole, arrays_of_tree(tree), np.zeros(1, np.int32), tops=tops)
    published = np.zeros(tree.num_nodes, np.int64)
    published[groups.nodes] = groups.counts
    return published


def least_range_groups(
    leaves: NDArray[np.int32],
    counts: Ints,
    offsets: Ints,
    forest: TreeArrays,
    trees: NDArray[np.int32],
    *,
    tops: NDArray[np.int32] | None = None,
) -> PublishedNodes:
    """Generalize many groups: entries offsets[g]:offsets[g + 1] are leaf codes with counts, under tree `trees[g]`.

    `tops[g]` covers all of a group's values, and none is generalized beyond it; the root, if not given.
    """
    groups = len(offsets) - 1
    # A node that splits has values below every child of positive weight, so at most two nodes per entry are published.
    nodes = np.empty(2 * len(leaves) + groups, np.int32)
    amounts = np.empty(len(nodes), np.int64)
    ends = np.zeros(groups + 1, np.int64)
    largest = int(forest.nodes.max())
    scratch = np.zeros((3, largest), np.int64)
    shape = forest.shape
    layout = (forest.nodes, forest.bases, forest.weight_bases, forest.weights)
    shapes = (shape.parents, shape.children, shape.first, shape.fan)
    roots = forest.nodes[trees] - 1 if tops is None else tops
    _generalize((leaves, counts, offsets), (trees, roots), layout, shapes, scratch, (nodes, amounts, ends))
    return PublishedNodes(nodes[: ends[-1]].copy(), amounts[: ends[-1]].copy(), ends)


@kernel
def _units(inside: Ints, weights: Ints, children: NDArray[np.int32], most: int) -> int:
    """How often the whole ratio of weights fits into the children and into `most`."""
    total = 0
    units = most
    for child in children:
        weight = weights[child]
        total += weight
        if weight > 0 and inside[child] // weight < units:
            units = inside[child] // weight
    if total == 0:
        return 0
    return min(units, most // total)


@kernel
def _generalize(
    entries: tuple[Codes, Ints, Ints],
    groups: tuple[Codes, Codes],
    layout: tuple[Codes, Ints, Ints, Ints],
    shapes: tuple[Codes, Codes, Codes, Codes],
    scratch: Ints,
    published: tuple[Codes, Ints, Ints],
) -> None:
    """Write the published nodes of every group, with how often and where each group's end.

    `entries` are leaves, counts and where each group's begin; `groups` the tree and top of each; `layout` the trees'
    sizes, places and weights; `shapes` their parents, children, first children and numbers of children.
    """
    leaves, counts, offsets = entries
    trees, roots = groups
    sizes, bases, weight_bases, all_weights = layout
    all_parents, all_children, all_first, all_fan = shapes
    nodes, amounts, ends = published
    inside, wanted, stack = scratch[0], scratch[1], scratch[2]
    end = 0
    for group in range(len(offsets) - 1):
        tree = trees[group]
        base, weight_base, size = bases[tree], weight_bases[tree], sizes[tree]
        parents, children = all_parents[base : base + size], all_children[base : base + size]
        first, fan = all_first[base : base + size], all_fan[base : base + size]
        weights = all_weights[weight_base : weight_base + size]
        for entry in range(offsets[group], offsets[group + 1]):
            node = leaves[entry]
            while node >= 0:
                inside[node] += counts[entry]
                node = parents[node]
        root = roots[group]
        stack[0], wanted[root] = root, inside[root]
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            below = children[first[node] : first[node] + fan[node]]
            units = _units(inside, weights, below, wanted[node])
            rest = wanted[node]
            if units > 0:
                for child in below:
                    wanted[child] = units * weights[child]
                    rest -= wanted[child]
                    if wanted[child] > 0:
                        stack[depth] = child
                        depth += 1
            if rest > 0:
                nodes[end], amounts[end] = node, rest
                end += 1
        ends[group + 1] = end
        for entry in range(offsets[group], offsets[group + 1]):
            node = leaves[entry]
            while node >= 0 and inside[node] > 0:  # above a cleared node all is clear
                inside[node] = 0
                node = parents[node]


def node_counts(counts: Ints, tree: Hierarchy, *, shift: object) -> Ints:
    """How many values are generalized to each node, from the counts in leaf order."""
    s = read_shift(shift)
    if s == 0:
        return least_range(counts, tree)
    forest = arrays_of_tree(tree)
    shape, weights = forest.shape, tree.weights or ()
    prefix = np.append(0, np.cumsum(counts))
    inside = (prefix[tree.high] - prefix[tree.low]).tolist()
    published = np.zeros(tree.num_nodes, np.int64)
    stack = [(tree.root, inside[tree.root])]
    while stack:
        node, values = stack.pop()
        children = shape.children[shape.first[node] : shape.first[node] + shape.fan[node]].tolist()
        parts = spread_out([inside[child] for child in children], [weights[child] for child in children], values, s)
        published[node] = values - sum(parts)
        stack += [(child, part) for child, part in zip(children, parts, strict=True) if part]
    return published


def spread_out(counts: list[int], weights: list[int], most: int, s: Fraction) -> list[int]:
    """The most values, `most` in all and `counts` in each part, whose shares are within `s` of the weights'."""
    if len(counts) != len(weights):
        raise ParameterError("'counts' and 'weights' must have the same length.")
    total = sum(weights)
    for values in range(_bound(counts, weights, total, most, s), 0, -1):
        limits = [_limits(count, weight, total, values, s) for count, weight in zip(counts, weights, strict=True)]
        least, greatest = sum(low for low, _ in limits), sum(high for _, high in limits)
        if all(low <= high for low, high in limits) and least <= values <= greatest:
            return _closest(weights, total, values, limits)
    return [0] * len(counts)


def _bound(counts: list[int], weights: list[int], total: int, most: int, s: Fraction) -> int:
    """A number of values that is never too small: what would be possible if values could be cut."""
    if total == 0:
        return 0
    reachable = sum(count for count, weight in zip(counts, weights, strict=True) if weight)
    bound = Fraction(min(most, reachable))
    shares = [(count, Fraction(weight, total)) for count, weight in zip(counts, weights, strict=True) if weight]
    for count, share in shares:
        if share > s:
            bound = min(bound, count / (share - s))
    # Counts that are scarce for their greatest share fix the total: the others must make up the difference.
    while (room := sum((min(Fraction(count), bound * (share + s)) for count, share in shares), Fraction(0))) < bound:
        bound = Fraction(int(room))
    return int(bound)


def _limits(count: int, weight: int, total: int, values: int, s: Fraction) -> tuple[int, int]:
    """The least and greatest number of `values` that a part may have."""
    if weight == 0:
        return 0, 0
    share = Fraction(weight, total)
    return max(0, -int(-(values * (share - s)) // 1)), min(count, int(values * (share + s) // 1))


def _closest(weights: list[int], total: int, values: int, limits: list[tuple[int, int]]) -> list[int]:
    """Whole parts within their limits that add up to `values`, as near to the weights' ratio as can be."""
    parts = [min(max(values * weight // total, low), high) for weight, (low, high) in zip(weights, limits, strict=True)]
    while (missing := values - sum(parts)) != 0:
        step = 1 if missing > 0 else -1
        free = [i for i, (low, high) in enumerate(limits) if low <= parts[i] + step <= high]
        chosen = max(free, key=lambda i: step * (values * weights[i] - parts[i] * total))
        low, high = limits[chosen]
        room = high - parts[chosen] if step > 0 else parts[chosen] - low
        # An even share of what is missing to the part that is furthest behind: a million values need few rounds.
        parts[chosen] += step * min(room, max(1, abs(missing) // len(free)))
    return parts
