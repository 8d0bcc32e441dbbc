"""Personalized privacy: inside the node that a person names, the group tells no more than the target does.

Source     [Zhang 2008], definition 5.3.1
Guarantee  for all values t1, t2 below the person's node with a chance under P: P(t1|G) / P(t2|G) = P(t1) / P(t2)
Cost       O(nodes) big-number operations per group and node
Deviates   any target instead of the uniform one alone; decided by fractions
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.target import implied, node_probabilities
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["Respect", "is_exact", "possible_node"]


@dataclass(frozen=True, eq=False)
class Respect:
    """Groups that respect nodes of `hierarchy`, whose weights are the target."""

    hierarchy: Hierarchy

    monotone: ClassVar[bool] = True
    """Inside a node every group's probabilities are a multiple of the target's, and so is their mixture."""

    def holds(self, published: NDArray[np.int64], nodes: Iterable[int]) -> bool:
        """Tell whether the subdomains of a group respect every one of `nodes`, by the definition."""
        told, shares = implied(published, self.hierarchy), self.hierarchy.target()
        if told is None:
            return False
        return all(
            told[a] * shares[b] == told[b] * shares[a]
            for node in set(nodes)
            for a in range(*self.hierarchy.leaves_under(node))
            for b in range(a, self.hierarchy.high[node])
        )


def possible_node(hierarchy: Hierarchy) -> NDArray[np.int32]:
    """For each node the lowest node above it, itself included, that the target gives a chance."""
    chances = node_probabilities(hierarchy)
    raised = np.arange(hierarchy.num_nodes, dtype=np.int32)
    for node in range(hierarchy.num_nodes - 1, -1, -1):  # parents first
        if chances[node] == 0:
            raised[node] = raised[hierarchy.parents[node]]
    return raised


def is_exact(hierarchy: Hierarchy) -> NDArray[np.bool_]:
    """Which nodes hide nothing: the target gives a chance to one value below them, or to none."""
    chances = np.array([share > 0 for share in hierarchy.target()])
    possible = np.append(0, np.cumsum(chances))
    exact: NDArray[np.bool_] = possible[hierarchy.high] - possible[hierarchy.low] <= 1
    return exact
