"""What a condition leaves of one side: how many entities of each group, and which nodes.

Beside it, once for a release, the pairs of groups with two or more edges between them. Between groups with one edge the
bounds of that edge follow from its own ends. In sparse graphs nearly all pairs are of that kind, so questions look at
single edges, and at the few pairs with several edges apart.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.graph.grouped import Side

Codes = NDArray[np.uint8] | NDArray[np.uint32]
_BYTE = 256


@dataclass(frozen=True, eq=False)
class Selected:
    """Entities that satisfy a condition on columns, nodes that satisfy one on degrees.

    Of the `sizes[g]` nodes of group g, `counts[g]` are selected entities; `nodes` marks those whose degree fits. In the
    paper's notation `counts` is a (b) and `sizes` is k (l).
    """

    side: Side
    entities: Bools
    nodes: Bools

    @cached_property
    def counts(self) -> Ints:
        """How many selected entities each group has."""
        # Entities stand group after group, and no group is empty.
        return np.add.reduceat(self.entities, np.cumsum(self.sizes) - self.sizes, dtype=np.int64)

    @cached_property
    def is_partly(self) -> bool:
        """Whether some group has selected entities and others, so that nodes are uncertain."""
        return bool(((self.counts > 0) & (self.counts < self.sizes)).any())

    @property
    def sizes(self) -> Ints:
        """How many nodes each group has."""
        return self.side.sizes

    @cached_property
    def chances(self) -> Floats:
        """For each node the probability that it is selected; 0 where its degree does not fit."""
        return np.where(self.nodes, (self.counts / self.sizes)[self.side.node_groups], 0.0)

    @property
    def shares(self) -> NDArray[np.int32]:
        """The different pairs of counts and sizes, a row each; the first row stands for nodes that never count."""
        return self._table[0]

    @cached_property
    def codes(self) -> Codes:
        """For each node the row of `shares` of its group, 0 if it is selected in no assignment.

        Groups have few different sizes and counts, so codes, of one byte where they fit, keep what a loop over edges
        looks up small.
        """
        kind = np.uint8 if len(self.shares) <= _BYTE else np.uint32
        of_groups = np.where(self.counts > 0, 1 + self._table[1], 0).astype(kind)
        return np.where(self.nodes, of_groups[self.side.node_groups], kind(0))

    @cached_property
    def _table(self) -> tuple[NDArray[np.int32], Ints]:
        base = int(self.sizes.max(initial=0)) + 1
        packed, rows = np.unique(self.counts * base + self.sizes, return_inverse=True)
        pairs = np.stack((packed // base, packed % base), axis=1).astype(np.int32)
        return np.append(np.zeros((1, 2), np.int32), pairs, axis=0), rows

    @cached_property
    def may(self) -> Bools:
        """Nodes that are selected in some assignment."""
        return self.nodes & _by_node(self.counts > 0, self.side)

    @cached_property
    def must(self) -> Bools:
        """Nodes that are selected in every assignment."""
        return self.nodes & _by_node(self.counts == self.sizes, self.side)


def _by_node(groups: Bools, side: Side) -> Bools:
    marks: Bools = groups[side.node_groups]
    return marks


class MultiEdgePairs(NamedTuple):
    """Edges of pairs of groups with several of them, by near and far group; `offsets` parts them by near group."""

    offsets: Ints
    nodes: NDArray[np.int32]
    ends: NDArray[np.int32]
    groups: NDArray[np.int32]


_known: weakref.WeakKeyDictionary[Side, MultiEdgePairs] = weakref.WeakKeyDictionary()


def multi_edge_pairs(near: Side, far: Side) -> MultiEdgePairs:
    """Return the pairs of groups with several edges, seen from the near side; found when first asked."""
    if near not in _known:
        _known[near] = _find(near, far)
    return _known[near]


def _find(near: Side, far: Side) -> MultiEdgePairs:
    graph = near.neighbours
    nodes = graph.ends
    pairs = near.node_groups[nodes].astype(np.int64) * far.groups + far.node_groups[graph.neighbours]
    ascending = np.sort(pairs)
    repeated = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    chosen = np.flatnonzero(np.isin(pairs, repeated))
    chosen = chosen[np.argsort(pairs[chosen], kind="stable")]
    owners = near.node_groups[nodes[chosen]]
    offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=near.groups)))
    ends = graph.neighbours[chosen]
    return MultiEdgePairs(offsets, nodes[chosen], ends, far.node_groups[ends])
