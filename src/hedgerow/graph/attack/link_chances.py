"""The chance that an adversary who knows nothing else gives to a link between two entities.

Source     [Zhang 2008], lemma 4.4.1
Guarantee  exact: of the assignments that fit the release this share joins them
Cost       O(edges log edges)

The static adversary has the release alone. Two entities of groups with k and l nodes and c edges between them are
joined in c / (k l) of all assignments, which in a safe grouping is at most 1 / max(k, l).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.graph.grouped import GroupedGraph

__all__ = ["StaticAttack", "group_pairs", "static_attack"]


@dataclass(frozen=True)
class StaticAttack:
    """The surest guess of a link anywhere, the mean over left entities of their surest link, and two yardsticks.

    `promised` is what the release allows, `baseline` the chance of a link between two entities drawn at random.
    """

    surest: Fraction
    mean: float
    promised: Fraction
    baseline: float

    @property
    def holds(self) -> bool:
        """Whether no guess is surer than promised."""
        return self.surest <= self.promised


def static_attack(release: GroupedGraph) -> StaticAttack:
    """Guess links from a release alone."""
    left, right, edges = group_pairs(release)
    sizes = release.left.sizes[left], release.right.sizes[right]
    chances = edges / (sizes[0] * sizes[1])
    best = np.zeros(release.left.groups)
    np.maximum.at(best, left, chances)
    cells = len(release.left.node_groups) * len(release.right.node_groups)
    # Chances that look equal as floats are compared as fractions; c, k and l are small, so there are few of them.
    nearly = chances >= chances.max(initial=0.0) - 1e-12
    rows = np.unique(np.stack((edges, *sizes))[:, nearly], axis=1).T.tolist()
    return StaticAttack(
        surest=max((Fraction(row[0], row[1] * row[2]) for row in rows), default=Fraction(0)),
        mean=float((best * release.left.sizes).sum() / release.left.sizes.sum()),
        promised=Fraction(1, max(release.k, release.l)),
        baseline=release.edges / cells,
    )


def group_pairs(release: GroupedGraph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs of groups with edges between them: left group, right group, how many edges."""
    near = release.left.neighbours
    left = release.left.node_groups[near.ends].astype(np.int64)
    packed = left * release.right.groups + release.right.node_groups[near.neighbours]
    pairs, counts = np.unique(packed, return_counts=True)
    return pairs // release.right.groups, pairs % release.right.groups, counts
