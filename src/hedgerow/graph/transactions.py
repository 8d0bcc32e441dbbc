"""Graphs as transactions: baskets (left) of items (right), and an attacker who knows some items of a basket.

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
from dataclasses import dataclass

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.randomness import generator

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
