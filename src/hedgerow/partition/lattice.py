"""The lattice of full-domain generalizations: one level per quasi-identifier, ordered by "no finer anywhere".

A node is a tuple of levels. Facts about nodes are arrays with one axis per quasi-identifier, so that everything below
a node is one slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["MOST_NODES", "Ladder", "Lattice", "Node", "ladder_of", "plain_ladder"]

MOST_NODES = 1 << 22
"""Beyond this many combinations of levels an optimal search is refused."""

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one quasi-identifier: the class of each code, and the loss in [0, 1] of publishing it instead."""

    classes: tuple[NDArray[np.int32], ...]
    losses: tuple[NDArray[np.float64], ...]

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.classes) - 1


def ladder_of(hierarchy: Hierarchy, leaves: NDArray[np.int32], *, missing: bool = False) -> Ladder:
    """The levels of a hierarchy for a column whose codes are the given leaves.

    A class loses the share of the hierarchy's values that it covers, and nothing if it covers one. Missing is its own
    class below the root and joins the others there.
    """
    top = hierarchy.height
    classes, losses = [], []
    for level in range(top + 1):
        nodes = hierarchy.recode(level)[leaves]
        covered = (hierarchy.high - hierarchy.low)[nodes]
        lost = np.where(covered > 1, covered / hierarchy.num_leaves, 0.0)
        own = hierarchy.root if level == top else hierarchy.num_nodes
        classes.append(np.append(nodes, np.full(int(missing), own, np.int32)))
        losses.append(np.append(lost, np.full(int(missing), float(level == top))))
    return Ladder(tuple(classes), tuple(losses))


def plain_ladder(size: int) -> Ladder:
    """Two levels for a column without a hierarchy: every value as it is, or none told apart."""
    own, same = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    return Ladder((own, same), (np.zeros(size), np.full(size, float(size > 1))))


class Lattice:
    """Nodes with their loss before anything is held back, in ascending order of it."""

    def __init__(self, ladders: Sequence[Ladder], counts: Sequence[NDArray[np.int64]]) -> None:
        self.shape = tuple(len(ladder.classes) for ladder in ladders)
        if math.prod(self.shape) > MOST_NODES:
            raise ParameterError(
                f"{len(ladders)} quasi-identifiers have {float(math.prod(self.shape)):.3g} combinations of levels; a "
                f"search takes up to {MOST_NODES:,}. Give fewer quasi-identifiers or levels, or use Mondrian."
            )
        self.loss = np.zeros(self.shape)
        self.steps = [
            np.array([float(lost @ count) for lost in ladder.losses])
            for ladder, count in zip(ladders, counts, strict=True)
        ]
        for axis, step in enumerate(self.steps):
            self.loss += step.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        self.hopeless = np.zeros(self.shape, np.bool_)
        self.possible = np.zeros(self.shape, np.bool_)

    def ascending(self) -> Iterator[Node]:
        """Every node, least loss first."""
        for flat in np.argsort(self.loss, axis=None, kind="stable"):
            yield tuple(int(level) for level in np.unravel_index(flat, self.shape))

    def give_up_below(self, node: Node) -> None:
        """Mark a node and everything finer as hopeless."""
        self.hopeless[tuple(slice(0, level + 1) for level in node)] = True

    def admit_above(self, node: Node) -> None:
        """Mark a node and everything coarser as possible."""
        self.possible[tuple(slice(level, None) for level in node)] = True

    def path_up(self, node: Node) -> list[Node]:
        """One way from a node to the top: each step raises the quasi-identifier that loses least by it."""
        path = [node]
        while path[-1] != tuple(length - 1 for length in self.shape):
            path.append(self._cheapest_step(path[-1]))
        return path

    def _cheapest_step(self, node: Node) -> Node:
        above = [
            (*node[:axis], level + 1, *node[axis + 1 :])
            for axis, level in enumerate(node)
            if level + 1 < self.shape[axis]
        ]
        return min(above, key=lambda step: (float(self.loss[step]), step))
