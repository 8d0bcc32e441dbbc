"""What personalized partitions share: wishes, groups of them, and the groups of the one-group solution.

Source     [Zhang 2008], section 5.4, case 1
Guarantee  every group satisfies criteria.target.Respect for all of its members
Cost       O(wishes * depth + nodes)
Deviates   a wish that the target gives no chance is raised until it has one; disjoint domains become groups at once

A wish is a value with the node that its owner named. Wishes that agree are interchangeable, so all partitions work on
counts of distinct wishes; which of the agreeing rows go where is decided later, at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.target import possible_node
from hedgerow.partition.target.least_range import least_range
from hedgerow.partition.target.trees import node_sizes
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["Bundle", "Wishes", "bundle_cost", "maximal_nodes", "one_group", "split_by_domain", "total_cost"]


@dataclass(frozen=True, eq=False)
class Wishes:
    """`counts[w]` people have the value `leaves[w]` and named the node `nodes[w]`, which has a chance."""

    tree: Hierarchy
    leaves: NDArray[np.int64]
    nodes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, tree: Hierarchy, leaves: Sequence[int], nodes: Sequence[int], counts: Sequence[int]) -> Wishes:
        """Collect wishes; nodes without a chance are raised."""
        raised = possible_node(tree)[np.asarray(nodes, np.int64)]
        return cls(tree, np.asarray(leaves, np.int64), raised.astype(np.int64), np.asarray(counts, np.int64))

    def only(self, keep: NDArray[np.bool_]) -> Wishes:
        """The same wishes; those outside `keep` have no people left."""
        return Wishes(self.tree, self.leaves, self.nodes, np.where(keep, self.counts, 0))


@dataclass(frozen=True)
class Bundle:
    """`times` groups alike: each takes `members` (people per wish) and publishes `published` (subdomains per node)."""

    members: dict[int, int]
    published: dict[int, int]
    times: int = 1


def total_cost(bundles: Sequence[Bundle], tree: Hierarchy) -> int:
    """The sum of the sizes of all published subdomains."""
    sizes = node_sizes(tree)
    return sum(bundle.times * bundle_cost(bundle, sizes) for bundle in bundles)


def bundle_cost(bundle: Bundle, sizes: NDArray[np.int64]) -> int:
    """The sum of the sizes of one group's subdomains."""
    return sum(int(sizes[node]) * count for node, count in bundle.published.items())


def maximal_nodes(wishes: Wishes) -> list[int]:
    """The named nodes that lie in no larger named node; they are disjoint and cover every wish."""
    tree, named = wishes.tree, np.unique(wishes.nodes[wishes.counts > 0])
    order = named[np.lexsort((-tree.high[named], tree.low[named]))]  # by start, the widest first
    maximal: list[int] = []
    for node in order.tolist():
        if not maximal or tree.low[node] >= tree.high[maximal[-1]]:
            maximal.append(node)
    return maximal


def split_by_domain(wishes: Wishes) -> Iterator[tuple[int, Wishes]]:
    """Each maximal node with the wishes inside it: problems that have nothing to do with each other."""
    for node in maximal_nodes(wishes):
        low, high = wishes.tree.leaves_under(node)
        yield node, wishes.only((wishes.leaves >= low) & (wishes.leaves < high))


def one_group(wishes: Wishes) -> list[Bundle]:
    """Put everybody together: one group per maximal node, generalized with the least cost below that node."""
    return [_whole(node, inside) for node, inside in split_by_domain(wishes)]


def _whole(node: int, wishes: Wishes) -> Bundle:
    members = {int(w): int(wishes.counts[w]) for w in np.flatnonzero(wishes.counts)}
    counts = np.bincount(wishes.leaves, wishes.counts, minlength=wishes.tree.num_leaves).astype(np.int64)
    published = least_range(counts, wishes.tree, top=node)
    return Bundle(members, {int(n): int(published[n]) for n in np.flatnonzero(published)})
