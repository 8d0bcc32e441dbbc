"""What an attacker infers from links that are already known.

Source     [Zhang 2008], definition 4.2.1 and theorem 7; own: exact posteriors by enumeration
Guarantee  if `is_complete`, every certain link is counted and every probability is exact: shares of all assignments
           that fit the release and the learned links. Otherwise the counts are lower bounds
Cost       the number of ways in which the learned entities can be placed, at most `MOST_PLACES`, times the edges of
           their groups

A learned link puts its two entities on the ends of an edge between their groups. Learned links that share a group
constrain each other; those that do not are independent. So learned entities fall into components, and the placements
of each are listed by backtracking. Everybody else of a group is on one of the nodes that are left, each equally likely,
and there are as many ways for each placement, so all placements are equally likely. From these follow the probability
of a link between two learned entities, between a learned one and another, and between two others.

Groups of the others shrink by at most one for each link, so entities of which nothing was learned keep hiding among
k - r and l - r.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Ints
from hedgerow.errors import InputError
from hedgerow.graph.attack import group_pairs
from hedgerow.graph.grouped import GroupedGraph, Side

MOST_PLACES = 20_000
"""Placements of a component's entities up to which its probabilities are exact."""

_MOST_STEPS = 500_000
_MOST_ENTITIES = 200

Pair = tuple[int, int]
Entity = tuple[int, int]
"""The side, 0 or 1, and the row of an entity."""


@dataclass(frozen=True)
class LearnedLinks:
    """How many entities were found, which other links became certain, and what is left to hide in.

    `inferred` counts certain links that were not learned, between any entities. No link between two entities of which
    nothing was learned has a greater probability than `surest`; `promised` is what the release allows them. `exposed`
    is the greatest probability below 1 of any other link of an entity of which a link was learned. Where `is_complete`
    is false, `inferred` and `exposed` are at least what is said, and `surest` is at most that.
    """

    learned: int
    found_left: int
    found_right: int
    inferred: int
    surest: Fraction
    promised: Fraction
    exposed: Fraction
    is_complete: bool

    @property
    def holds(self) -> bool:
        """Whether entities of which nothing was learned are still hidden as promised."""
        return self.surest <= self.promised


def learned_links(release: GroupedGraph, links: Iterable[tuple[Any, Any]]) -> LearnedLinks:
    """Infer what follows from true links, given as pairs of a left and a right key."""
    pairs = sorted(set(_places(release, list(links))))
    candidates = _Candidates(release, pairs)
    candidates.settle()
    smallest = max(1, release.hidden_among - len(pairs))
    known = _Known(release, pairs, candidates)
    inferred, exposed, others = known.chances()
    return LearnedLinks(
        learned=len(pairs),
        found_left=known.count_found(0),
        found_right=known.count_found(1),
        inferred=inferred,
        surest=others,
        promised=Fraction(1, smallest),
        exposed=exposed,
        is_complete=known.is_complete,
    )


def _places(release: GroupedGraph, links: list[tuple[Any, Any]]) -> list[Pair]:
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


_NOT_THERE = "One of the links is not in the graph: no assignment of entities to nodes allows it."


class _Candidates:
    """For each entity of a learned link the nodes that it may be, narrowed down until nothing changes."""

    def __init__(self, release: GroupedGraph, pairs: list[Pair]) -> None:
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

    def _narrow(self, v: int, w: int) -> None:
        lefts, rights = self.nodes[0][v], self.nodes[1][w]
        lefts &= {x for y in rights for x in _neighbours(self.sides[1], y)}
        rights &= {y for x in lefts for y in _neighbours(self.sides[0], x)}
        if not lefts or not rights:
            raise InputError(_NOT_THERE)

    def _exclude(self, number: int) -> None:
        taken = {next(iter(nodes)) for nodes in self.nodes[number].values() if len(nodes) == 1}
        for nodes in self.nodes[number].values():
            if len(nodes) > 1:
                nodes -= taken

    def _total(self) -> int:
        return sum(len(nodes) for side in self.nodes for nodes in side.values())


def _nodes_of(side: Side, entity: int) -> set[int]:
    group = side.entity_groups[entity]
    return set(range(*np.searchsorted(side.node_groups, [group, group + 1]).tolist()))


def _neighbours(side: Side, node: int) -> list[int]:
    graph = side.neighbours
    found: list[int] = graph.neighbours[graph.offsets[node] : graph.offsets[node + 1]].tolist()
    return found


@dataclass(frozen=True, eq=False)
class _Component:
    """Learned entities that constrain each other, and all their placements: a row each, a column an entity."""

    entities: tuple[Entity, ...]
    places: Ints

    @cached_property
    def columns(self) -> dict[Entity, Ints]:
        return {entity: self.places[:, number] for number, entity in enumerate(self.entities)}


class _Known:
    """Placements of all learned entities, and the probabilities that follow."""

    def __init__(self, release: GroupedGraph, pairs: list[Pair], candidates: _Candidates) -> None:
        self.release, self.pairs = release, set(pairs)
        self.sides = release.left, release.right
        self.candidates = candidates.nodes
        self.is_complete = True
        self.of: dict[Entity, _Component] = {}
        for entities, links in _components(self.sides, pairs):
            found = _placements(self.sides, entities, links, candidates.nodes)
            if found is None:
                self.is_complete = False
                continue
            component = _Component(entities, np.array(found, np.int64).reshape(len(found), len(entities)))
            self.of |= dict.fromkeys(entities, component)
        self.learned: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
        for number in (0, 1):
            for entity in {pair[number] for pair in pairs}:
                self.learned[number].setdefault(int(self.sides[number].entity_groups[entity]), []).append(entity)

    def count_found(self, number: int) -> int:
        """How many learned entities of a side have one place in all placements."""
        return sum(len(self._marginal((number, entity))) == 1 for entity in self.candidates[number])

    def _marginal(self, entity: Entity) -> set[int]:
        if entity in self.of:
            return set(np.unique(self.of[entity].columns[entity]).tolist())
        return self.candidates[entity[0]][entity[1]]

    def chances(self) -> tuple[int, Fraction, Fraction]:
        """How many links are certain and were not learned, the surest other link of a learned entity, and of others."""
        if not self.is_complete:
            return self._at_least()
        inferred, exposed, others = 0, Fraction(0), self._surest_unlearned()
        for (i, j), edges in self._learned_pairs():
            lefts, rights = self.learned[0].get(i, []), self.learned[1].get(j, [])
            free = int(self.sides[0].sizes[i]) - len(lefts), int(self.sides[1].sizes[j]) - len(rights)
            for v in [*lefts, None]:
                for w in [*rights, None]:
                    ways = (free[0] if v is None else 1) * (free[1] if w is None else 1)
                    if not ways or (v, w) in self.pairs:
                        continue
                    chance = sum((self._chance(x, v, y, w) for x, y in edges), Fraction(0)) / ways
                    inferred += ways if chance == 1 else 0
                    if v is None and w is None:
                        others = max(others, chance)
                    elif chance < 1:
                        exposed = max(exposed, chance)
        return inferred, exposed, others

    def _learned_pairs(self) -> Iterator[tuple[Pair, list[Pair]]]:
        """Pairs of groups one of which has a learned entity, with the edges between them."""
        ends = self.release.pairs
        groups = [side.node_groups[end] for side, end in zip(self.sides, ends, strict=True)]
        touched = np.isin(groups[0], list(self.learned[0])) | np.isin(groups[1], list(self.learned[1]))
        rows = zip(*(array[touched].tolist() for array in (*groups, *ends)), strict=True)
        between: dict[Pair, list[Pair]] = {}
        for i, j, x, y in rows:
            between.setdefault((i, j), []).append((x, y))
        yield from between.items()

    def _chance(self, x: int, v: int | None, y: int, w: int | None) -> Fraction:
        """The probability that v is on node x and w on node y; None is somebody of whom nothing was learned.

        Components are independent, so their shares of placements multiply.
        """
        marks: dict[int, Bools] = {}
        for number, node, entity in ((0, x, v), (1, y, w)):
            group = int(self.sides[number].node_groups[node])
            for other in self.learned[number].get(group, []) if entity is None else [entity]:
                component = self.of[(number, other)]
                here = (component.columns[(number, other)] == node) ^ (entity is None)
                before = marks.get(id(component))
                marks[id(component)] = here if before is None else before & here
        chance = Fraction(1)
        for here in marks.values():
            chance *= Fraction(int(here.sum()), len(here))
        return chance

    def _surest_unlearned(self) -> Fraction:
        """The surest link between groups of which nothing was learned."""
        left, right, edges = group_pairs(self.release)
        untouched = ~(np.isin(left, list(self.learned[0])) | np.isin(right, list(self.learned[1])))
        sizes = self.sides[0].sizes[left], self.sides[1].sizes[right]
        rows = np.unique(np.stack((edges, *sizes))[:, untouched], axis=1).T.tolist()
        return max((Fraction(row[0], row[1] * row[2]) for row in rows), default=Fraction(0))

    def _at_least(self) -> tuple[int, Fraction, Fraction]:
        """What follows from places that are known, and a limit for the others."""
        places = [
            {entity: min(nodes) for entity in self.candidates[n] if len(nodes := self._marginal((n, entity))) == 1}
            for n in (0, 1)
        ]
        certain = set()
        exposed = Fraction(0)
        for v, x in places[0].items():
            ends = set(_neighbours(self.sides[0], x))
            certain |= {(v, w) for w, y in places[1].items() if y in ends}
            for y in ends - set(places[1].values()):
                j = int(self.sides[1].node_groups[y])
                exposed = max(exposed, Fraction(1, int(self.sides[1].sizes[j])))
        return len(certain - self.pairs), exposed, self._limit()

    def _limit(self) -> Fraction:
        """Bound the probability of a link once learned entities are out of their groups, wherever they are.

        Given where they are, the others of two groups with k and l nodes left are joined by at most min(c, k, l) edges;
        an average over the places that are possible is no greater than the greatest of them.
        """
        first, second, edges = group_pairs(self.release)
        gone = [np.zeros(side.groups, np.int64) for side in self.sides]
        for number in (0, 1):
            for group, entities in self.learned[number].items():
                gone[number][group] = len(entities)
        near, far = (self.sides[0].sizes - gone[0])[first], (self.sides[1].sizes - gone[1])[second]
        hidden = (near > 0) & (far > 0)
        rows = np.unique(np.stack((edges, near, far))[:, hidden], axis=1).T.tolist()
        return max((Fraction(min(numbers), numbers[1] * numbers[2]) for numbers in rows), default=Fraction(0))


def _components(sides: tuple[Side, Side], pairs: list[Pair]) -> Iterator[tuple[tuple[Entity, ...], list[Pair]]]:
    """Part learned links by the groups that they share."""
    parent: dict[Entity, Entity] = {}

    def root(item: Entity) -> Entity:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    def groups(pair: Pair) -> tuple[Entity, Entity]:
        return (0, int(sides[0].entity_groups[pair[0]])), (1, int(sides[1].entity_groups[pair[1]]))

    for pair in pairs:
        left, right = groups(pair)
        parent[root(left)] = root(right)
    parts: dict[Entity, list[Pair]] = {}
    for pair in pairs:
        parts.setdefault(root(groups(pair)[0]), []).append(pair)
    for links in parts.values():
        entities = dict.fromkeys((number, pair[number]) for pair in links for number in (0, 1))
        yield tuple(entities), links


def _placements(
    sides: tuple[Side, Side], entities: tuple[Entity, ...], links: list[Pair], nodes: tuple[dict[int, set[int]], ...]
) -> list[tuple[int, ...]] | None:
    """List the ways to place these entities so that all links are edges; None where there are too many."""
    linked: dict[Entity, list[Entity]] = {entity: [] for entity in entities}
    for v, w in links:
        linked[(0, v)].append((1, w))
        linked[(1, w)].append((0, v))
    found: list[tuple[int, ...]] = []
    placed: dict[Entity, int] = {}
    steps = 0

    def extend(number: int) -> bool:
        nonlocal steps
        if number == len(entities):
            found.append(tuple(placed[entity] for entity in entities))
            return len(found) <= MOST_PLACES
        entity = entities[number]
        taken = {node for other, node in placed.items() if other[0] == entity[0]}
        allowed = nodes[entity[0]][entity[1]] - taken
        for other in linked[entity]:
            if other in placed:
                allowed = allowed & set(_neighbours(sides[other[0]], placed[other]))
        for node in sorted(allowed):
            steps += 1
            if steps > _MOST_STEPS:
                return False
            placed[entity] = node
            if not extend(number + 1):
                return False
            del placed[entity]
        return True

    if len(entities) > _MOST_ENTITIES or not extend(0):
        return None
    if not found:
        raise InputError(_NOT_THERE)
    return found
