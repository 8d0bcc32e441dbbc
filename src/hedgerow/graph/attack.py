"""Adversaries of grouped graphs: what they know, what they infer, how often they are right.

Source     [Zhang 2008], lemma 4.4.1 (static), section 4.5 (signatures, by colour refinement); own (degrees, edges by
           their columns, processing order). Learned links have a module of their own, `learned_links`
Guarantee  static, degrees, edges: exact, shares of the assignments that fit the release. Processing order: if the nodes
           were grouped in the guessed order, every pair that is returned shares a neighbour. Signatures: nodes with
           different ones are matched by no isomorphism; one that a single node has finds it in any other copy
Cost       O(edges log edges); O(entities x open groups); O(edges) a round

Static: two entities of groups with k and l nodes and c edges between them are joined in c / (k l) of all assignments,
which in a safe grouping is at most 1 / max(k, l).

Hubs: one that was set aside with d published links is linked with each of the n entities of the other side with a
probability of d / n.

Degrees: the number of neighbours of an entity is one of those of its group's nodes; the guess is the most frequent.

Edges by their columns: an attacker has another list of edges, with times and prices but without names, and searches for
each in the release (`unique`); or knows the columns of one edge of a named entity, and searches the nodes of its group
that have such an edge (`found`).

Processing order: a node passes over an open group only because it shares a neighbour with one of its members. If there
was one member, that is a certain link between two entities. Grouping rows in the order of the table reveals such pairs;
with a secret order the guesses are no better than chance.

Signatures: a 64-bit hash of a node's own signature and those of its neighbours, in any order. Two of n nodes collide
with a probability of about n^2 / 2^65.

Items: the graph as transactions, baskets (left) of items (right), and an attacker who knows some items of a basket.

Source     [Terrovitis 2008] (k^m-anonymity of set-valued data); own: what the same knowledge finds in a grouped graph
Guarantee  `km_violations` counts every combination of up to m items of some basket that fewer than k baskets have;
           `item_attack` counts nodes exactly for the baskets that it tries
Cost       the number of combinations of up to m items of a basket, at most `MOST_COMBINATIONS`

A table of transactions is k^m-anonymous if an attacker who knows up to m items of a basket finds at least k baskets
that have them. A safe grouping does not promise that, but it also hides items. An attacker who knows that a person's
basket holds items w1, ..., wm knows their groups; candidates are the nodes with edges into these groups and, if the
attacker knows the person, those of the person's group.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.randomness import generator
from hedgerow.verify.graph import count_ends, count_known, edge_classes


@dataclass(frozen=True)
class StaticAttack:
    """The most certain guess of any link, the mean over left entities of their most certain link, and two references.

    `promised` is what the release allows, `baseline` the probability of a link between two entities drawn at random.
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
        promised=Fraction(1, release.hidden_among),
        baseline=release.left.neighbours.edges / cells,
    )


@dataclass(frozen=True)
class HubAttack:
    """The entity with the most links of those of a side that are listed apart: so many of the `others` are its own."""

    side: str
    links: int
    others: int

    @property
    def share(self) -> float:
        """The probability that an entity of the other side is linked with it."""
        return self.links / self.others


def hub_attack(release: GroupedGraph) -> list[HubAttack]:
    """Guess links of entities that were set aside from their published numbers of links; no group hides these."""
    found = []
    tables = release.tables
    for number, (side, other) in enumerate((("left", "right"), ("right", "left"))):
        if (hubs := tables.get(f"{side}_hubs")) is not None and hubs.num_rows:
            known = {*tables[side].column_names} - {release.group_columns[number]}
            links = next(name for name in hubs.column_names if name not in known)
            aside = tables[f"{other}_hubs"].num_rows if f"{other}_hubs" in tables else 0
            most = int(hubs.column(links).to_numpy().max())
            found.append(HubAttack(side, most, tables[other].num_rows + aside))
    return found


@dataclass(frozen=True)
class DegreeAttack:
    """How well the number of neighbours of an entity is known: for how many certainly, and the mean of the best guess.

    `baseline` is the share of the most frequent number of the whole side: the guess without groups.
    """

    side: str
    certain: int
    entities: int
    mean: float
    baseline: float

    @property
    def share(self) -> float:
        """The share of the entities whose number of neighbours is certain."""
        return self.certain / self.entities


def degree_attack(release: GroupedGraph) -> tuple[DegreeAttack, DegreeAttack]:
    """Guess how many neighbours each entity of the left and of the right side has, from its group alone."""
    left, right = (_guess_degrees(side) for side in (release.left, release.right))
    return left, right


def _guess_degrees(side: Side) -> DegreeAttack:
    groups, degrees = side.node_groups.astype(np.int64), side.degrees
    cells, counts = np.unique(groups * (int(degrees.max(initial=0)) + 1) + degrees, return_counts=True)
    best = np.zeros(side.groups, np.int64)
    np.maximum.at(best, cells // (int(degrees.max(initial=0)) + 1), counts)
    return DegreeAttack(
        side=side.name,
        certain=count_known(groups, degrees),
        entities=len(groups),
        mean=float(best.sum() / len(groups)),
        baseline=float(np.bincount(degrees).max() / len(groups)),
    )


@dataclass(frozen=True)
class EdgeAttack:
    """What the columns of edges give away.

    `unique` of the `edges` have a combination of values that no other pair of nodes has. `found` holds, for each side,
    the mean probability to guess the node of an entity, given the values of one of its edges; `baseline` without them.
    """

    edges: int
    unique: int
    found: tuple[float, float]
    baseline: tuple[float, float]

    @property
    def share(self) -> float:
        """The share of unique edges."""
        return self.unique / self.edges if self.edges else 0.0


def edge_attack(release: GroupedGraph) -> EdgeAttack | None:
    """Look for edges by their columns and by how often they are repeated; None where edges have neither."""
    if "edge_k" not in release.guarantee.parameters or not release.edges:
        return None
    table, ends = release.tables["edges"], [end.astype(np.int64) for end in release.ends]
    pairs = ends[0] * (int(ends[1].max()) + 1) + ends[1]
    _, owners, repeats = np.unique(pairs, return_inverse=True, return_counts=True)
    columns = [table.column(name) for name in release.edge_columns]
    classes = edge_classes([*columns, pa.chunked_array([pa.array(repeats[owners])])], len(pairs))
    alike = count_ends(classes, owners.astype(np.int64))[classes]
    chances = [_chances(side, end, classes) for side, end in zip((release.left, release.right), ends, strict=True)]
    return EdgeAttack(
        edges=len(pairs),
        unique=int((alike == 1).sum()),
        found=(chances[0][0], chances[1][0]),
        baseline=(chances[0][1], chances[1][1]),
    )


def _chances(side: Side, ends: Ints, classes: Ints) -> tuple[float, float]:
    """The mean over edges of 1 / (nodes of the group with an edge of this class), and of 1 / (nodes of the group)."""
    groups = side.node_groups[ends].astype(np.int64)
    cells = np.unique(groups * (int(classes.max()) + 1) + classes, return_inverse=True)[1].astype(np.int64)
    return float((1.0 / count_ends(cells, ends)[cells]).mean()), float((1.0 / side.sizes[groups]).mean())


def group_pairs(release: GroupedGraph) -> tuple[Ints, Ints, Ints]:
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


Hashes = NDArray[np.uint64]


def signatures(left: Adjacency, right: Adjacency, *, rounds: int) -> tuple[Hashes, Hashes]:
    """Return the signatures of both sides after some rounds; before the first a node shows only its side."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 0:
        raise ParameterError("'rounds' must be a whole number of at least 0.")
    first, second = np.full(left.nodes, 1, np.uint64), np.full(right.nodes, 2, np.uint64)
    for _ in range(rounds):
        first, second = _refine(first, second, left), _refine(second, first, right)
    return first, second


def class_sizes(signs: Hashes) -> Ints:
    """For each node, how many nodes have its signature."""
    _, inverse, counts = np.unique(signs, return_inverse=True, return_counts=True)
    sizes: Ints = counts[inverse]
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
        """The share of all links that are known certainly."""
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


def _refine(own: Hashes, other: Hashes, graph: Adjacency) -> Hashes:
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


MOST_COMBINATIONS = 5_000_000


@dataclass(frozen=True)
class KmViolations:
    """How many combinations of up to m items too few baskets have, how many there are, and the fewest baskets."""

    k: int
    m: int
    violations: int
    combinations: int
    fewest: int

    @property
    def holds(self) -> bool:
        """Whether the graph is k^m-anonymous."""
        return self.violations == 0


def km_violations(graph: BipartiteGraph, *, k: int, m: int) -> KmViolations:
    """Check k^m-anonymity of the plain graph: every up to m items of a basket are in at least k baskets."""
    _check(k=k, m=m)
    baskets = _baskets(graph.by_left)
    wanted = sum(math.comb(len(basket), size) for basket in baskets for size in range(1, m + 1))
    if wanted > MOST_COMBINATIONS:
        raise ParameterError(
            f"'m' = {m} means {wanted:,} combinations of items, more than {MOST_COMBINATIONS:,}; take a smaller one."
        )
    counts = Counter(
        combination
        for basket in baskets
        for size in range(1, m + 1)
        for combination in itertools.combinations(basket, size)
    )
    few = sum(count < k for count in counts.values())
    return KmViolations(k, m, few, len(counts), min(counts.values(), default=0))


def _baskets(graph: Adjacency) -> list[list[int]]:
    return [
        sorted(graph.neighbours[first:last].tolist())
        for first, last in zip(graph.offsets[:-1].tolist(), graph.offsets[1:].tolist(), strict=True)
    ]


@dataclass(frozen=True)
class ItemAttack:
    """What an attacker who knows m items of a basket finds in a release, over the `tried` baskets.

    `unique` of them have a combination that no other basket has, in the plain graph: the person is found there.
    `found` are found in the release by somebody who knows whose basket it is, `found_blind` by somebody who does not;
    `chance` and `chance_blind` are the mean probabilities of a guess among the candidates.
    """

    m: int
    tried: int
    unique: int
    found: int
    found_blind: int
    chance: float
    chance_blind: float


def item_attack(release: GroupedGraph, *, m: int, targets: int = 1_000, seed: int = 0) -> ItemAttack:
    """Take m items of each of some baskets at random, and count the nodes that fit."""
    _check(k=1, m=m)
    left, right = release.left, release.right
    baskets = np.flatnonzero(left.degrees >= m)
    random = generator(seed)
    if len(baskets) > targets:
        baskets = random.choice(baskets, targets, replace=False)
    sizes, chances, blind, unique = [], [], [], 0
    for node in baskets.tolist():
        mine = left.neighbours.neighbours[left.neighbours.offsets[node] : left.neighbours.offsets[node + 1]]
        items = random.choice(mine, m, replace=False)
        unique += len(set.intersection(*(_having(right.neighbours, [item]) for item in items.tolist()))) == 1
        nodes = _candidates(release, right.node_groups[items].tolist())
        own = nodes[left.node_groups[nodes] == left.node_groups[node]]
        sizes.append((len(own), len(nodes)))
        chances.append(1 / len(own))
        blind.append(1 / len(nodes))
    found = [sum(size[number] == 1 for size in sizes) for number in (0, 1)]
    means = [float(np.mean(one)) if one else 0.0 for one in (chances, blind)]
    return ItemAttack(m, len(sizes), int(unique), found[0], found[1], means[0], means[1])


def _having(side: Adjacency, items: list[int]) -> set[int]:
    return {v for item in items for v in side.neighbours[side.offsets[item] : side.offsets[item + 1]].tolist()}


def _candidates(release: GroupedGraph, groups: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Left nodes with enough edges into each of these groups of items.

    A node has at most one neighbour in a group of a safe grouping, so items of one group are never of one basket.
    """
    right = release.right
    counts: Counter[int] = Counter()
    for group in set(groups):
        first, last = np.searchsorted(right.node_groups, [group, group + 1]).tolist()
        counts.update(_having(right.neighbours, list(range(first, last))))
    return np.array(sorted(node for node, count in counts.items() if count == len(set(groups))), np.int64)


def _check(**sizes: int) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ParameterError(f"'{name}' must be a whole number of at least 1.")
