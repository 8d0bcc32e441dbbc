"""Pairs of groups with two or more edges between them: the only ones where a bound depends on the pair.

Cost       a sort of the edges, once for a release

Between groups with one edge nothing runs out and nothing is forced that the edge's own ends do not say. In sparse
graphs nearly all pairs are of that kind, so questions look at single edges, and at the few crowded pairs apart.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.grouped import Side

__all__ = ["Crowded", "crowded"]


@dataclass(frozen=True, eq=False)
class Crowded:
    """Edges of crowded pairs, sorted by near and far group; those of near group g are `offsets[g]:offsets[g + 1]`."""

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    ends: NDArray[np.int32]
    groups: NDArray[np.int32]


_known: weakref.WeakKeyDictionary[Side, Crowded] = weakref.WeakKeyDictionary()


def crowded(near: Side, far: Side) -> Crowded:
    """Return the crowded pairs seen from the near side, finding them when first asked."""
    if near not in _known:
        _known[near] = _find(near, far)
    return _known[near]


def _find(near: Side, far: Side) -> Crowded:
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
    return Crowded(offsets, nodes[chosen], ends, far.node_groups[ends])
