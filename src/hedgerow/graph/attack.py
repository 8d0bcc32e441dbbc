"""Adversaries of grouped graphs: what they know, what they infer, how often they are right.

Source     [Zhang 2008], lemma 4.4.1 (static), definition 4.2.1 and theorem 7 (learned links), section 4.5 (signatures,
           by colour refinement); own (processing order)
Guarantee  static: exact, of the assignments that fit the release this share joins two entities. Learned links: what is
           called known is so in all assignments that fit the release and the links. Processing order: if the nodes were
           grouped in the guessed order, every pair that is returned shares a neighbour. Signatures: nodes with
           different ones are matched by no isomorphism; one that a single node has finds it in any other copy
Cost       O(edges log edges); O(links x size of groups), repeated until nothing more follows; O(entities x open
           groups); O(edges) a round

Static: two entities of groups with k and l nodes and c edges between them are joined in c / (k l) of all assignments,
which in a safe grouping is at most 1 / max(k, l).

Learned links: a link between entities of two groups must be one of the edges between these groups. If there is one,
both entities are found; if there are more, each entity is one of their ends. Whoever is found is no candidate for the
others of the group. Groups of the others shrink by at most one for each link, so entities of which nothing was learned
keep hiding among k - r and l - r.

Processing order: a node passes over an open group only because it shares a neighbour with one of its members. If there
was one member, that is a certain link between two entities. Whoever groups rows as the table has them gives such pairs
away; in a secret order the guesses are as good as chance.

Signatures: a 64-bit hash of a node's own signature and those of its neighbours, in any order. Two of n nodes collide
with a chance of about n^2 / 2^65.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.attack.finding import Rate
from hedgerow.errors import InputError, ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.grouped import GroupedGraph, Side

__all__ = [
    "JoinAttack",
    "LearnedLinks",
    "StaticAttack",
    "class_sizes",
    "group_pairs",
    "join_releases",
    "learned_links",
    "processing_order",
    "score_pairs",
    "signatures",
    "static_attack",
]


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


def processing_order(groups: Sequence[int], *, k: int) -> list[tuple[int, int]]:
    """Guess pairs of entities that share a neighbour, from the groups of entities in the order of grouping."""
    members: dict[int, list[int]] = {}
    pairs = []
    for entity, group in enumerate(groups):
        for earlier, inside in members.items():
            if earlier == group:
                break
            if len(inside) == 1 and k > 1:
                pairs.append((inside[0], entity))
        members.setdefault(group, []).append(entity)
        if len(members[group]) >= k:
            del members[group]
    return pairs


def score_pairs(pairs: Sequence[tuple[int, int]], side: Adjacency, opposite: Adjacency) -> Rate:
    """Say how many of the guessed pairs share a neighbour; the baseline is at most that of pairs drawn at random."""
    near = [set(side.neighbours[side.offsets[v] : side.offsets[v + 1]].tolist()) for v in range(side.nodes)]
    hits = sum(bool(near[u] & near[v]) for u, v in pairs)
    together = float((opposite.degrees * (opposite.degrees - 1.0)).sum()) / 2
    return Rate(hits, len(pairs), min(1.0, together / max(1.0, side.nodes * (side.nodes - 1.0) / 2)))


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
