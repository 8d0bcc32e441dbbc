"""Choose the subdomains of many groups: exactly by the target, with fake values, or within a shift.

Source     [Zhang 2008], sections 3.4 to 3.6
Guarantee  every group satisfies criteria.target for its tree
Cost       one pass over the entries without fakes and shift; otherwise one program per group
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.partition.target.fake_values import fake_values, least_block
from hedgerow.partition.target.least_range import PublishedNodes, least_range, least_range_groups, shifted
from hedgerow.partition.target.trees import arrays_of_trees, node_ranges
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["PATIENCE", "disguise", "with_fakes"]

PATIENCE = 20_000_000_000
"""Steps of the fake-value program, about a billion a second, that one group may take before fakes come in blocks."""

Chooser = Callable[[NDArray[np.int64], Hierarchy], NDArray[np.int64]]


def disguise(
    leaves: NDArray[np.int32],
    offsets: NDArray[np.int64],
    trees: Sequence[Hierarchy],
    which: NDArray[np.int32],
    *,
    fakes: Fraction = Fraction(0),
    shift: Fraction = Fraction(0),
) -> PublishedNodes:
    """Generalize groups of leaf codes, one per row; `which[g]` is the tree of group g."""
    if fakes and shift:
        raise ParameterError("fake values and a shift factor exclude each other; give one of them.")
    if fakes:
        return _one_by_one(leaves, offsets, trees, which, lambda counts, tree: with_fakes(counts, tree, fakes))
    if shift:
        return _one_by_one(leaves, offsets, trees, which, lambda counts, tree: shifted(counts, tree, shift=shift))
    return least_range_groups(*_entries(leaves, offsets, trees), arrays_of_trees(trees), which)


def with_fakes(counts: NDArray[np.int64], tree: Hierarchy, share: Fraction) -> NDArray[np.int64]:
    """Publish the values with the best fakes, at most `share` of their number; in blocks where that would take long."""
    most = int(share * int(counts.sum()))
    if most == 0:
        return least_range(counts, tree)
    block = least_block(counts, tree, most=most, patience=PATIENCE)
    best = fake_values(counts, tree, node_ranges(tree)[0], most=most, block=block)
    return least_range(counts + best.counts, tree)


def _entries(
    leaves: NDArray[np.int32], offsets: NDArray[np.int64], trees: Sequence[Hierarchy]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Rows as entries; counted where a group has many more rows than there are values."""
    groups, width = len(offsets) - 1, max(tree.num_leaves for tree in trees)
    if groups * width > len(leaves):
        return leaves, np.ones(len(leaves), np.int64), offsets
    counts = np.stack([np.bincount(leaves[a:b], minlength=width) for a, b in pairwise(offsets.tolist())])
    owner, values = np.nonzero(counts)
    return values.astype(np.int32), counts[owner, values], np.searchsorted(owner, np.arange(groups + 1))


def _one_by_one(
    leaves: NDArray[np.int32],
    offsets: NDArray[np.int64],
    trees: Sequence[Hierarchy],
    which: NDArray[np.int32],
    choose: Chooser,
) -> PublishedNodes:
    nodes, counts, ends = [], [], [0]
    for group, tree_number in enumerate(which.tolist()):
        tree = trees[tree_number]
        published = choose(np.bincount(leaves[offsets[group] : offsets[group + 1]], minlength=tree.num_leaves), tree)
        found = np.flatnonzero(published)
        nodes.append(found.astype(np.int32))
        counts.append(published[found])
        ends.append(ends[-1] + len(found))
    return PublishedNodes(np.concatenate(nodes), np.concatenate(counts), np.array(ends))
