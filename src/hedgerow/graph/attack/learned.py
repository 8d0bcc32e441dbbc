"""What follows from links that an adversary has learned.

Source     [Zhang 2008], definition 4.2.1 and theorem 7
Guarantee  every inference is sound: what is called known is so in all assignments that fit the release and the links
Cost       O(links x size of groups), repeated until nothing more follows

A learned link between entities of two groups must be one of the edges between these groups. If there is one, both
entities are found; if there are more, each entity is one of their ends. Whoever is found is no candidate for the others
of the group. Groups of the others shrink by at most one for each link, so entities of which nothing was learned keep
hiding among k - r and l - r.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.graph.attack.link_chances import group_pairs
from hedgerow.graph.grouped import GroupedGraph, Side

__all__ = ["LearnedLinks", "learned_links"]


@dataclass(frozen=True)
class LearnedLinks:
    """How many entities were found, which other links became certain, and what is left to hide in.

    `inferred` counts certain links that were not learned; each joins two entities that were found. No
    link between two entities of which nothing was learned has a greater chance than `surest`; `promised` is what the
    release allows.
    """

    learned: int
    found_left: int
    found_right: int
    inferred: int
    surest: Fraction
    promised: Fraction

    @property
    def holds(self) -> bool:
        """Whether entities of which nothing was learned are still hidden as promised."""
        return self.surest <= self.promised


def learned_links(release: GroupedGraph, links: Iterable[tuple[Any, Any]]) -> LearnedLinks:
    """Infer what follows from true links, given as pairs of a left and a right key."""
    pairs = sorted(set(_places(release, list(links))))
    candidates = _Candidates(release, pairs)
    candidates.settle()
    left, right = (candidates.found(number) for number in (0, 1))
    edges = _edge_set(release)
    certain = {(v, w) for v, x in left.items() for w, y in right.items() if (x, y) in edges}
    smallest = max(1, max(release.k, release.l) - len(pairs))
    return LearnedLinks(
        learned=len(pairs),
        found_left=len(left),
        found_right=len(right),
        inferred=len(certain - set(pairs)),
        surest=_surest(release, pairs),
        promised=Fraction(1, smallest),
    )


def _places(release: GroupedGraph, links: list[tuple[Any, Any]]) -> list[tuple[int, int]]:
    """Turn keys into row numbers of the published entities."""
    import pyarrow.compute as pc

    ends = []
    for number, side in enumerate((release.left, release.right)):
        column = side.entities.column(side.key).combine_chunks()
        rows = pc.index_in(_keys([link[number] for link in links], column.type, side.name), value_set=column)
        if rows.null_count:
            raise InputError(f"{rows.null_count} of the links name an entity that the release does not have.")
        ends.append(rows.to_pylist())
    return list(zip(*ends, strict=True))


def _keys(ends: list[Any], kind: pa.DataType, side: str) -> pa.Array:
    try:
        return pa.array(ends, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"The {side} ends of the links are no keys of the release: these are {kind}.") from None


class _Candidates:
    """For each entity of a learned link the nodes that it may be, narrowed down until nothing changes."""

    def __init__(self, release: GroupedGraph, pairs: list[tuple[int, int]]) -> None:
        self.sides = release.left, release.right
        self.pairs = pairs
        self.nodes: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
        for pair in pairs:
            for number, entity in enumerate(pair):
                self.nodes[number].setdefault(entity, _nodes_of(self.sides[number], entity))

    def settle(self) -> None:
        """Narrow down by links and by who else is found, until nothing changes."""
        before = None
        while before != (before := self._total()):
            for v, w in self.pairs:
                self._narrow(v, w)
            for number in (0, 1):
                self._exclude(number)

    def found(self, number: int) -> dict[int, int]:
        """Entities whose node is known."""
        return {entity: next(iter(nodes)) for entity, nodes in self.nodes[number].items() if len(nodes) == 1}

    def _narrow(self, v: int, w: int) -> None:
        lefts, rights = self.nodes[0][v], self.nodes[1][w]
        if not lefts or not rights:
            return
        near, far = (side.neighbours for side in self.sides)
        lefts &= {x for y in rights for x in far.neighbours[far.offsets[y] : far.offsets[y + 1]].tolist()}
        rights &= {y for x in lefts for y in near.neighbours[near.offsets[x] : near.offsets[x + 1]].tolist()}
        if not lefts or not rights:
            raise InputError("One of the links is not in the graph: no assignment of entities to nodes allows it.")

    def _exclude(self, number: int) -> None:
        taken = set(self.found(number).values())
        for nodes in self.nodes[number].values():
            if len(nodes) > 1:
                nodes -= taken

    def _total(self) -> int:
        return sum(len(nodes) for side in self.nodes for nodes in side.values())


def _nodes_of(side: Side, entity: int) -> set[int]:
    group = side.entity_groups[entity]
    return set(range(*np.searchsorted(side.node_groups, [group, group + 1]).tolist()))


def _edge_set(release: GroupedGraph) -> set[tuple[int, int]]:
    near = release.left.neighbours
    return set(zip(near.ends.tolist(), near.neighbours.tolist(), strict=True))


def _surest(release: GroupedGraph, pairs: list[tuple[int, int]]) -> Fraction:
    """Bound the chance of a link once the entities of learned links are out of their groups, wherever they are.

    Given where they are, the others of two groups with k and l nodes left are joined by at most min(c, k, l) edges; an
    average over the places that are possible is no greater than the greatest of them.
    """
    first, second, edges = group_pairs(release)
    gone = [np.zeros(side.groups, np.int64) for side in (release.left, release.right)]
    for number, side in enumerate((release.left, release.right)):
        np.add.at(gone[number], side.entity_groups[sorted({pair[number] for pair in pairs})], 1)
    near, far = (release.left.sizes - gone[0])[first], (release.right.sizes - gone[1])[second]
    hidden = (near > 0) & (far > 0)
    rows = np.unique(np.stack((edges, near, far))[:, hidden], axis=1).T.tolist()
    return max((Fraction(min(numbers), numbers[1] * numbers[2]) for numbers in rows), default=Fraction(0))
