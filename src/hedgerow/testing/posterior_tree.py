"""The target distribution as a release publishes it: the chance of each value, and the parts that people may name."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

__all__ = ["TargetTree"]


@dataclass(frozen=True)
class TargetTree:
    """The nodes of one published target: the node above each, its label, its weight; leaves by their value."""

    parents: dict[int, int | None]
    labels: dict[int, str]
    weights: dict[int, int]
    leaves: dict[Any, int]

    @classmethod
    def of(cls, target: pa.Table) -> TargetTree:
        """Read the table `target` of a release; of several targets, the first."""
        nodes = [node for node in target.to_pylist() if node["target"] == 0]
        above = {node["parent"] for node in nodes}
        return cls(
            {node["node"]: node["parent"] for node in nodes},
            {node["node"]: node["label"] for node in nodes},
            {node["node"]: node["weight"] for node in nodes},
            {node["low"]: node["node"] for node in nodes if node["node"] not in above},
        )

    def chance(self, value: Any) -> Fraction:
        """How likely the target makes a value."""
        node, found = self.leaves[value], Fraction(1)
        while (parent := self.parents[node]) is not None:
            siblings = [one for one, up in self.parents.items() if up == parent]
            found *= Fraction(self.weights[node], sum(self.weights[one] for one in siblings))
            node = parent
        return found

    def named(self, value: Any, wish: int | str) -> list[Any]:
        """The values of the part that somebody with this value named, by a level or by a label."""
        path = self._path(self.leaves[value])
        top = path[wish] if isinstance(wish, int) else next(n for n in reversed(path) if self.labels[n] == wish)
        return [leaf for leaf, node in self.leaves.items() if top in self._path(node)]

    def _path(self, node: int) -> list[int]:
        path = [node]
        while (parent := self.parents[path[-1]]) is not None:
            path.append(parent)
        return path
