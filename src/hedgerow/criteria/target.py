"""P-privacy: a published subdomain drawn at random, then a value from it by the target P, follows exactly P.

Source     [Zhang 2008], definition 3.3.1 and section 3.6
Guarantee  an attacker who knows a person's group and P learns nothing about that person beyond P; with a shift factor s
           the share of each branch among its siblings lies within s of P's
Cost       O(nodes) big-number operations per group
Deviates   decided by fractions alone; zero weights are allowed, and a shift never makes an impossible value possible

A group is given by `published`: how many of its values are generalized to each node of the hierarchy.

Personalized privacy: inside the node that a person names, the group reveals no more than the target does.

Source     [Zhang 2008], definition 5.3.1
Guarantee  for all values t1, t2 below the person's node that are possible under P: P(t1|G) / P(t2|G) = P(t1) / P(t2)
Cost       O(nodes) big-number operations per group and node
Deviates   any target instead of the uniform one alone; decided by fractions
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.exact import as_fraction
from hedgerow.schema.hierarchy import Hierarchy


@dataclass(frozen=True, init=False, eq=False)
class Target:
    """Values that look like `hierarchy`'s target, up to `shift` in the share of each branch among its siblings."""

    hierarchy: Hierarchy
    shift: Fraction

    monotone: ClassVar[bool] = True
    """A mixture of groups that follow P follows P, and shares of a union lie between the shares of its parts."""

    def __init__(self, hierarchy: Hierarchy, shift: object = 0) -> None:
        hierarchy.target()
        object.__setattr__(self, "hierarchy", hierarchy)
        object.__setattr__(self, "shift", read_shift(shift))

    def holds(self, published: NDArray[np.int64]) -> bool:
        """Return whether a group's published subdomains keep the promise, by the definition."""
        if self.shift == 0:
            return implied_distribution(published, self.hierarchy) == self.hierarchy.target()
        return all(self._is_near(node, below(published, self.hierarchy)) for node in _inner(self.hierarchy))

    def _is_near(self, node: int, inside: NDArray[np.int64]) -> bool:
        weights = _weights(self.hierarchy)
        children = self.hierarchy.children(node).tolist()
        values, parts = sum(int(inside[child]) for child in children), sum(weights[child] for child in children)
        if any(inside[child] and not weights[child] for child in children):
            return False
        return values == 0 or all(
            abs(Fraction(int(inside[child]), values) - Fraction(weights[child], parts)) <= self.shift
            for child in children
        )


def implied_distribution(published: NDArray[np.int64], hierarchy: Hierarchy) -> tuple[Fraction, ...] | None:
    """The distribution that a group's subdomains imply under P; None if P gives a published subdomain probability 0."""
    shares, inside = hierarchy.target(), node_probabilities(hierarchy)
    nodes = np.flatnonzero(published).tolist()
    if any(inside[node] == 0 for node in nodes):
        return None
    total = int(published.sum())
    result = [Fraction(0)] * hierarchy.num_leaves
    for node in nodes:
        factor = Fraction(int(published[node]), total) / inside[node]
        for leaf in range(*hierarchy.leaves_under(node)):
            result[leaf] += factor * shares[leaf]
    return tuple(result)


def implied_weights(published: NDArray[np.int64], hierarchy: Hierarchy) -> Hierarchy:
    """The target that a shifted group follows exactly: the group's own ratios where it splits a node, else P's."""
    inside = below(published, hierarchy)
    weights: list[Any] = list(_weights(hierarchy))
    for node in _inner(hierarchy):
        children = hierarchy.children(node).tolist()
        if any(inside[child] for child in children):
            for child in children:
                weights[child] = int(inside[child])
    return hierarchy.with_weights(weights[:-1])


def below(published: NDArray[np.int64], hierarchy: Hierarchy) -> NDArray[np.int64]:
    """How many subdomains lie in each node's subtree, the node included."""
    inside = published.astype(np.int64)
    for node in range(hierarchy.root):
        inside[hierarchy.parents[node]] += inside[node]  # children come before parents
    return inside


def node_probabilities(hierarchy: Hierarchy) -> list[Fraction]:
    """The probability of each node under the target."""
    sums = [Fraction(0)]
    for share in hierarchy.target():
        sums.append(sums[-1] + share)
    return [sums[high] - sums[low] for low, high in zip(hierarchy.low.tolist(), hierarchy.high.tolist(), strict=True)]


def read_shift(shift: object) -> Fraction:
    """Read a shift factor exactly."""
    try:
        exact = Fraction(shift) if isinstance(shift, str) and "/" in shift else as_fraction(shift)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(-1)
    if not 0 <= exact <= 1:
        raise ParameterError("'shift' must be a number from 0 to 1: how far a branch's share may be from the target's.")
    return exact


def _inner(hierarchy: Hierarchy) -> range:
    return range(hierarchy.num_leaves, hierarchy.num_nodes)


def _weights(hierarchy: Hierarchy) -> Sequence[int]:
    return hierarchy.weights or ()


@dataclass(frozen=True, eq=False)
class Respect:
    """Groups that respect nodes of `hierarchy`, whose weights are the target."""

    hierarchy: Hierarchy

    monotone: ClassVar[bool] = True
    """Inside a node every group's probabilities are a multiple of the target's, and so is their mixture."""

    def holds(self, published: NDArray[np.int64], nodes: Iterable[int]) -> bool:
        """Return whether the subdomains of a group respect every one of `nodes`, by the definition."""
        told, shares = implied_distribution(published, self.hierarchy), self.hierarchy.target()
        if told is None:
            return False
        return all(
            told[a] * shares[b] == told[b] * shares[a]
            for node in set(nodes)
            for a in range(*self.hierarchy.leaves_under(node))
            for b in range(a, self.hierarchy.high[node])
        )


def possible_node(hierarchy: Hierarchy) -> NDArray[np.int32]:
    """For each node the lowest node above it, itself included, that the target gives a positive probability."""
    chances = node_probabilities(hierarchy)
    raised = np.arange(hierarchy.num_nodes, dtype=np.int32)
    for node in range(hierarchy.num_nodes - 1, -1, -1):  # parents first
        if chances[node] == 0:
            raised[node] = raised[hierarchy.parents[node]]
    return raised


def is_exact(hierarchy: Hierarchy) -> NDArray[np.bool_]:
    """Which nodes hide nothing: the target gives a positive probability to one value below them, or to none."""
    chances = np.array([share > 0 for share in hierarchy.target()])
    possible = np.append(0, np.cumsum(chances))
    exact: NDArray[np.bool_] = possible[hierarchy.high] - possible[hierarchy.low] <= 1
    return exact
