"""Recognize nodes by the shape of their surroundings.

Source     [Zhang 2008], section 4.5; colour refinement
Guarantee  nodes with different signatures are matched by no isomorphism; a signature that one node alone has finds it
           in any other copy of the graph
Cost       O(edges) a round

A signature is a 64-bit hash of a node's own signature and those of its neighbours, in any order. Two of n nodes collide
with a chance of about n^2 / 2^65.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.grouped import GroupedGraph

__all__ = ["JoinAttack", "class_sizes", "join_releases", "signatures"]

Hashes = NDArray[np.uint64]


def signatures(left: Adjacency, right: Adjacency, *, rounds: int) -> tuple[Hashes, Hashes]:
    """Return the signatures of both sides after some rounds; before the first a node shows only its side."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 0:
        raise ParameterError("'rounds' must be a whole number of at least 0.")
    first, second = np.full(left.nodes, 1, np.uint64), np.full(right.nodes, 2, np.uint64)
    for _ in range(rounds):
        first, second = _refined(first, second, left), _refined(second, first, right)
    return first, second


def class_sizes(signs: Hashes) -> NDArray[np.int64]:
    """For each node, how many nodes have its signature."""
    _, inverse, counts = np.unique(signs, return_inverse=True, return_counts=True)
    sizes: NDArray[np.int64] = counts[inverse]
    return sizes


@dataclass(frozen=True)
class JoinAttack:
    """What two releases of one graph give away together: links that become certain, and entities that are found."""

    links: int
    certain: int
    found_left: float
    found_right: float

    @property
    def rate(self) -> float:
        """The share of all links that are known for sure."""
        return self.certain / self.links if self.links else 0.0


def join_releases(left_named: GroupedGraph, right_named: GroupedGraph, *, rounds: int = 4) -> JoinAttack:
    """Join a (1, l)- with a (k, 1)-grouping of the same graph by signatures that only one node has.

    In the first every left node has its name; a right node that is recognized in the second gets its name there.
    """
    if left_named.k != 1 or right_named.l != 1:
        raise ParameterError("'left_named' must be a (1, l)-grouping and 'right_named' a (k, 1)-grouping.")
    lefts, rights = signatures(left_named.left.neighbours, left_named.right.neighbours, rounds=rounds)
    others = signatures(right_named.left.neighbours, right_named.right.neighbours, rounds=rounds)
    if not np.array_equal(np.sort(rights), np.sort(others[1])):
        raise ParameterError("'left_named' and 'right_named' must be groupings of the same graph.")
    is_found = class_sizes(rights) == 1
    near = left_named.left.neighbours
    return JoinAttack(
        links=left_named.edges,
        certain=int(is_found[near.neighbours].sum()),
        found_left=float((class_sizes(lefts) == 1).mean()),
        found_right=float(is_found.mean()),
    )


def _refined(own: Hashes, other: Hashes, graph: Adjacency) -> Hashes:
    """Hash each node's signature together with the sum of its neighbours' ones: order does not matter."""
    seen = other[graph.neighbours]
    sums = np.zeros(graph.nodes, np.uint64)
    has_any = graph.degrees > 0
    if has_any.any():
        sums[has_any] = np.add.reduceat(seen, graph.offsets[:-1][has_any])
    return _scatter(_scatter(own) + np.uint64(3) * sums + graph.degrees.astype(np.uint64))


def _scatter(numbers: Hashes) -> Hashes:
    """Mix the bits (the finalizer of splitmix64), modulo 2^64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
