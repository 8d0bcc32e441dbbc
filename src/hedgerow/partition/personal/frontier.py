"""The smallest group that follows the target down to a given frontier of a tree.

Source     [Zhang 2008], section 5.4 (the pruned tree and its leaf level)
Guarantee  a group that takes `needs` values from the frontier's nodes follows the target below its top
Cost       O(nodes below the top) per frontier
Deviates   any weights: the printed groups take one value from each node of the frontier, which is right for equal
           sizes alone

A frontier is a set of nodes below a top that cuts every path from the top to a value with a chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.partition.personal.wishes import Bundle, Wishes
from hedgerow.partition.target.trees import node_sizes
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["Supply", "Tops", "finest", "needs", "savings", "take"]


class Tops:
    """A tree with its weights in the lists that the search walks over."""

    def __init__(self, tree: Hierarchy) -> None:
        self.tree = tree
        self.weights = tree.weights or ()
        self.sizes: list[int] = node_sizes(tree).tolist()
        self.low, self.high = tree.low.tolist(), tree.high.tolist()
        self.parents = tree.parents.tolist()
        # Branches of weight 0 take no part in any group.
        self.children = [[c for c in tree.children(n).tolist() if self.weights[c]] for n in range(tree.num_nodes)]
        self.known_needs: dict[tuple[int, frozenset[int]], dict[int, int]] = {}


@dataclass(frozen=True, eq=False)
class Supply:
    """The people whose wishes lie below a top: what groups under that top may take."""

    tops: Tops
    top: int
    wishes: Wishes
    left: NDArray[np.int64]

    @cached_property
    def eligible(self) -> NDArray[np.int64]:
        """Wishes below the top, those that ask for most first."""
        tops, nodes, low, high = self.tops, self.wishes.nodes, self.tops.low[self.top], self.tops.high[self.top]
        tree = self.wishes.tree
        inside = np.flatnonzero((self.left > 0) & (tree.low[nodes] >= low) & (tree.high[nodes] <= high))
        asked = np.array(tops.sizes)[nodes[inside]]
        return inside[np.lexsort((-self.left[inside], -asked))]

    @cached_property
    def before(self) -> list[int]:
        """People with a value of a code below i."""
        counts = np.bincount(
            self.wishes.leaves[self.eligible], self.left[self.eligible], minlength=self.wishes.tree.num_leaves
        )
        return [0, *map(int, np.cumsum(counts))]

    def inside(self, node: int) -> int:
        """People whose value lies below a node."""
        people: int = self.before[self.tops.high[node]] - self.before[self.tops.low[node]]
        return people

    @cached_property
    def _below(self) -> dict[int, list[tuple[int, int]]]:
        """Wishes below each node that was asked for, with the people left, those that ask for most first."""
        return {}

    def asking_most(self, node: int, number: int) -> dict[int, int]:
        """The `number` people below a node that ask for most, per wish."""
        if node not in self._below:
            leaves = self.wishes.leaves[self.eligible]
            inside = self.eligible[(leaves >= self.tops.low[node]) & (leaves < self.tops.high[node])]
            self._below[node] = list(zip(inside.tolist(), self.left[inside].tolist(), strict=True))
        members: dict[int, int] = {}
        for wish, people in self._below[node]:
            members[wish] = min(number, people)
            number -= members[wish]
            if number == 0:
                break
        return members


def needs(tops: Tops, top: int, frontier: set[int]) -> dict[int, int]:
    """How many values the smallest group takes from each node of the frontier; the same frontiers come again."""
    key = top, frozenset(frontier)
    if key not in tops.known_needs:
        tops.known_needs[key] = _needs(tops, top, frontier)
    return tops.known_needs[key]


def _needs(tops: Tops, top: int, frontier: set[int]) -> dict[int, int]:
    units: dict[int, int] = {}
    for node in _postorder(tops, top, frontier):
        below = [] if node in frontier else tops.children[node]
        times = math.lcm(*(units[c] // math.gcd(units[c], tops.weights[c]) for c in below))
        units[node] = times * sum(tops.weights[c] for c in below) if below else 1
    wanted = {top: units[top]}
    for node in reversed(list(units)):
        if node not in frontier and tops.children[node]:
            values = wanted.pop(node)
            total = sum(tops.weights[c] for c in tops.children[node])
            wanted |= {c: values * tops.weights[c] // total for c in tops.children[node]}
    return wanted


def _postorder(tops: Tops, top: int, frontier: set[int]) -> list[int]:
    order, stack = [], [top]
    while stack:
        node = stack.pop()
        order.append(node)
        if node not in frontier:
            stack += tops.children[node]
    return order[::-1]


def finest(supply: Supply) -> set[int]:
    """The frontier that remains when nodes with too few people are pruned, from the values upwards."""
    tops, top = supply.tops, supply.top
    frontier = {top} if not tops.children[top] else set()
    stack = [top]
    while stack:  # a node goes on to its children only where each of them has somebody
        node = stack.pop()
        if node != top and not tops.children[node]:
            frontier.add(node)
        elif all(supply.inside(c) for c in tops.children[node]):
            stack += tops.children[node]
        else:
            frontier.add(node)
    while poor := [n for n, number in needs(tops, top, frontier).items() if number > supply.inside(n)]:
        for node in poor:
            frontier = collapse(tops, frontier, tops.parents[node]) if node != top else {top}
    return frontier


def collapse(tops: Tops, frontier: set[int], node: int) -> set[int]:
    """The frontier that stops at `node` instead of below it."""
    low, high = tops.low[node], tops.high[node]
    return {n for n in frontier if not (low <= tops.low[n] and tops.high[n] <= high)} | {node}


def savings(supply: Supply, frontier: set[int]) -> tuple[Fraction, dict[int, int]] | None:
    """The average saving of a group on this frontier and what it takes; None where there are too few people."""
    wanted = needs(supply.tops, supply.top, frontier)
    if any(number > supply.inside(node) for node, number in wanted.items()):
        return None
    sizes, nodes = supply.tops.sizes, supply.wishes.nodes
    saved = 0
    for node, number in wanted.items():
        chosen = supply.asking_most(node, number)
        saved += sum(sizes[nodes[wish]] * people for wish, people in chosen.items()) - number * sizes[node]
    return Fraction(saved, sum(wanted.values())), wanted


def take(supply: Supply, wanted: dict[int, int]) -> Bundle:
    """Take the group as often as the same wishes can serve it; by halves where others wait, to keep a balance."""
    members: dict[int, int] = {}
    for node, number in wanted.items():
        members |= supply.asking_most(node, number)
    times = min(int(supply.left[wish]) // people for wish, people in members.items())
    is_tied = len(supply.eligible) > len(members)
    return Bundle(members, dict(wanted), (times + 1) // 2 if is_tied else times)
