"""Generalize values along a weighted tree so that they follow its target, with the least total range.

Source     dissertation on permutation-based microdata protection, algorithm 3
Guarantee  every group satisfies criteria.target exactly, and no P-private generalization has a smaller sum of ranges
Cost       O(entries * depth) for all groups together; entries are distinct values, or rows
Deviates   any fan-out; zero weights; many groups with their own trees in one pass

At a node that must give m values, as many as possible go down in the ratio of the children's weights; the rest is
generalized to the node. Which row's value ends up in which subdomain is left open: the subdomains are shuffled anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.partition.target.trees import Forest, planted
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["Published", "allocate", "least_range", "least_range_groups"]


@dataclass(frozen=True, eq=False)
class Published:
    """Group g publishes `counts[i]` subdomains `nodes[i]` for i in `offsets[g]:offsets[g + 1]`."""

    nodes: NDArray[np.int32]
    counts: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def values(self) -> NDArray[np.int64]:
        """The number of subdomains of each group."""
        return np.diff(np.append(0, np.cumsum(self.counts))[self.offsets])

    def expanded(self) -> NDArray[np.int32]:
        """The node of every subdomain, group after group."""
        return np.repeat(self.nodes, self.counts)


def least_range(counts: NDArray[np.int64], tree: Hierarchy, *, top: int | None = None) -> NDArray[np.int64]:
    """How many values are generalized to each node, from the counts in leaf order; all lie below `top`, or the root."""
    leaves = np.flatnonzero(counts).astype(np.int32)
    whole = np.array([0, len(leaves)])
    tops = np.array([tree.root if top is None else top], np.int32)
    groups = least_range_groups(leaves, counts[leaves], whole, planted(tree), np.zeros(1, np.int32), tops=tops)
    published = np.zeros(tree.num_nodes, np.int64)
    published[groups.nodes] = groups.counts
    return published


def least_range_groups(
    leaves: NDArray[np.int32],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    forest: Forest,
    trees: NDArray[np.int32],
    *,
    tops: NDArray[np.int32] | None = None,
) -> Published:
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
    tree = (shape.parents, shape.children, shape.first, shape.fan)
    roots = forest.nodes[trees] - 1 if tops is None else tops
    _generalize(leaves, counts, offsets, trees, roots, *layout, *tree, scratch, nodes, amounts, ends)
    return Published(nodes[: ends[-1]].copy(), amounts[: ends[-1]].copy(), ends)


def allocate(counts: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The largest allocation in the ratio of `weights` with at most `counts` each and `most` in all."""
    whole = _units(counts, weights, np.arange(len(counts), dtype=np.int32), most)
    return whole * weights


@kernel
def _units(inside: NDArray[np.int64], weights: NDArray[np.int64], children: NDArray[np.int32], most: int) -> int:
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
    leaves: NDArray[np.int32],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    trees: NDArray[np.int32],
    roots: NDArray[np.int32],
    sizes: NDArray[np.int32],
    bases: NDArray[np.int64],
    weight_bases: NDArray[np.int64],
    all_weights: NDArray[np.int64],
    all_parents: NDArray[np.int32],
    all_children: NDArray[np.int32],
    all_first: NDArray[np.int32],
    all_fan: NDArray[np.int32],
    scratch: NDArray[np.int64],
    nodes: NDArray[np.int32],
    amounts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
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
