"""Personalized privacy from the bottom: extract the group with the largest average saving, again and again.

Source     [Zhang 2008], algorithm 8
Guarantee  every group satisfies criteria.target.Respect; no bound on the cost is known, see docs/methods/personal.md
Cost       O(groups that differ * named nodes * nodes^2) in the worst case
Deviates   the printed search for a group is not given; here it starts at the finest frontier and moves single nodes of
           the frontier up as long as the average saving |R| - |D| grows. Identical groups are taken at once

Personalized privacy from the top: serve the widest wishes first, each time with the finest group there is.

Source     [Zhang 2008], algorithm 9
Guarantee  every group satisfies criteria.target.Respect; no bound on the cost is known
Cost       O(groups that differ * nodes)
Deviates   identical groups are taken at once; any weights

Merge groups of a personalized partition as long as two of them together cost less than apart.

Source     own: the searches of [Zhang 2008] never look back at groups that they have taken
Guarantee  every group satisfies criteria.target.Respect; the cost never rises
Cost       O(groups that differ squared) evaluations of one group; more than MOST kinds of groups are left as they are

The smallest group that follows the target down to a given frontier of a tree.

Source     [Zhang 2008], section 5.4 (the pruned tree and its leaf level)
Guarantee  a group that takes `needs` values from the frontier's nodes follows the target below its top
Cost       O(nodes below the top) per frontier
Deviates   any weights: the printed groups take one value from each node of the frontier, which is right for equal
           sizes alone

A frontier is a set of nodes below a top that cuts every path from the top to a value with positive probability.

What personalized partitions share: wishes, groups of them, and the groups of the one-group solution.

Source     [Zhang 2008], section 5.4, case 1
Guarantee  every group satisfies criteria.target.Respect for all of its members
Cost       O(wishes * depth + nodes)
Deviates   a wish that the target gives probability 0 is raised until it has one; disjoint domains become groups at once

A wish is a value with the node that its owner named. Wishes that agree are interchangeable, so all partitions work on
counts of distinct wishes; which of the agreeing rows go where is decided later, at random.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.arrays import Bools, Ints
from hedgerow.criteria.target import possible_node
from hedgerow.partition.target.least_range import arrays_of_tree, least_range_groups, node_sizes
from hedgerow.schema.hierarchy import Hierarchy

Found = tuple[Fraction, dict[int, int], "Supply"]


def personal_bottom_up(wishes: Wishes) -> list[Bundle]:
    """Group wishes: the best group under any named node first, until nobody is left."""
    tops = Tops(wishes.tree)
    left = wishes.counts.copy()
    bundles: list[Bundle] = []
    known: dict[int, Found] = {}
    while (left > 0).any():
        for top in set(wishes.nodes[left > 0].tolist()) - known.keys():
            known[top] = _best_group(Supply(tops, top, wishes, left.copy()))
        _, wanted, supply = max(known.values(), key=lambda found: found[0])
        bundle = take(supply, wanted)
        for wish, people in bundle.members.items():
            left[wish] -= people * bundle.times
        bundles.append(bundle)
        _forget(known, tops, supply.top, wishes, left)
    return bundles


def _forget(known: dict[int, Found], tops: Tops, taken: int, wishes: Wishes, left: Ints) -> None:
    """Drop what the last group changed: nodes that overlap its top, and nodes that nobody names any more."""
    named = set(wishes.nodes[left > 0].tolist())
    for top in list(known):
        overlaps = tops.low[top] < tops.high[taken] and tops.low[taken] < tops.high[top]
        if overlaps or top not in named:
            del known[top]


def _best_group(supply: Supply) -> Found:
    """Climb from the finest frontier: move up the one node that helps most, until none does."""
    frontier = finest(supply)
    best = savings(supply, frontier)
    while True:
        steps = [collapse(supply.tops, frontier, node) for node in _above(supply, frontier)]
        rated = [(found, step) for step in steps if (found := savings(supply, step)) is not None]
        if not rated or (best is not None and max(r[0][0] for r in rated) <= best[0]):
            break
        best, frontier = max(rated, key=lambda r: r[0][0])
    if best is None:
        raise AssertionError("the finest frontier always has enough people")
    return best[0], best[1], supply


def _above(supply: Supply, frontier: set[int]) -> list[int]:
    """Every node between the frontier and the top."""
    found: set[int] = set()
    for node in frontier:
        while node != supply.top:
            node = supply.tops.parents[node]
            if node in found:
                break
            found.add(node)
    return sorted(found)


def personal_top_down(wishes: Wishes) -> list[Bundle]:
    """Group wishes: while somebody names a node, take the finest group below it; then go on to smaller nodes."""
    tops = Tops(wishes.tree)
    left = wishes.counts.copy()
    bundles: list[Bundle] = []
    for top in sorted(set(wishes.nodes.tolist()), key=lambda node: -tops.sizes[node]):
        while (left[wishes.nodes == top] > 0).any():
            supply = Supply(tops, top, wishes, left.copy())
            bundle = take(supply, needs(tops, top, finest(supply)))
            for wish, people in bundle.members.items():
                left[wish] -= people * bundle.times
            bundles.append(bundle)
    return bundles


MOST = 80
"""Kinds of groups up to which all pairs are tried: a few seconds."""

Gains = dict[tuple[int, int], tuple[int, list["Bundle"]]]


def merge_groups(bundles: Sequence[Bundle], wishes: Wishes) -> list[Bundle]:
    """Merge the pair of groups that saves most, again and again."""
    if len(bundles) > MOST:
        return list(bundles)
    pool = list(bundles)
    gains = _gains(pool, wishes, combinations_with_replacement(range(len(pool)), 2))
    while gains:
        one, other = max(gains, key=lambda pair: gains[pair][0])
        _, together = gains[one, other]
        times = pool[one].times // 2 if one == other else min(pool[one].times, pool[other].times)
        for index in (one, other):
            pool[index] = Bundle(pool[index].members, pool[index].published, pool[index].times - times)
        pool += [Bundle(bundle.members, bundle.published, times) for bundle in together]
        new = range(len(pool) - len(together), len(pool))
        gains |= _gains(pool, wishes, ((i, j) for j in new for i in range(j + 1)))
        gains = {pair: gain for pair, gain in gains.items() if _is_there(pool, *pair)}
    return [bundle for bundle in pool if bundle.times]


def _is_there(pool: Sequence[Bundle], one: int, other: int) -> bool:
    return pool[one].times >= 2 if one == other else min(pool[one].times, pool[other].times) >= 1


def _gains(pool: Sequence[Bundle], wishes: Wishes, pairs: Iterable[tuple[int, int]]) -> Gains:
    """What each pair that is there saves when merged, if anything."""
    sizes = node_sizes(wishes.tree).tolist()
    there = [pair for pair in pairs if _is_there(pool, *pair)]
    members = [dict(Counter(pool[one].members) + Counter(pool[other].members)) for one, other in there]
    found: Gains = {}
    for (one, other), together in zip(there, one_groups(wishes, members), strict=True):
        apart = bundle_cost(pool[one], sizes) + bundle_cost(pool[other], sizes)
        saved = apart - sum(bundle_cost(bundle, sizes) for bundle in together)
        if saved > 0:
            found[one, other] = saved, together
    return found


class Tops:
    """A tree with its weights in the lists that the search walks over."""

    def __init__(self, tree: Hierarchy) -> None:
        self.tree = tree
        self.weights = tree.weights or ()
        self.sizes: list[int] = node_sizes(tree).tolist()
        self.size_array = node_sizes(tree)
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
    left: Ints

    @cached_property
    def eligible(self) -> Ints:
        """Wishes below the top, those that ask for most first."""
        nodes, low, high = self.wishes.nodes, self.tops.low[self.top], self.tops.high[self.top]
        tree = self.wishes.tree
        inside = np.flatnonzero((self.left > 0) & (tree.low[nodes] >= low) & (tree.high[nodes] <= high))
        asked = self.tops.size_array[nodes[inside]]
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


@dataclass(frozen=True, eq=False)
class Wishes:
    """`counts[w]` people have the value `leaves[w]` and named the node `nodes[w]`, whose probability is positive."""

    tree: Hierarchy
    leaves: Ints
    nodes: Ints
    counts: Ints

    @classmethod
    def of(cls, tree: Hierarchy, leaves: Sequence[int], nodes: Sequence[int], counts: Sequence[int]) -> Wishes:
        """Collect wishes; nodes of probability 0 are raised."""
        raised = possible_node(tree)[np.asarray(nodes, np.int64)]
        return cls(tree, np.asarray(leaves, np.int64), raised.astype(np.int64), np.asarray(counts, np.int64))

    def only(self, keep: Bools) -> Wishes:
        """The same wishes; those outside `keep` have no people left."""
        return Wishes(self.tree, self.leaves, self.nodes, np.where(keep, self.counts, 0))


@dataclass(frozen=True)
class Bundle:
    """`times` groups alike: each takes `members` (people per wish) and publishes `published` (subdomains per node)."""

    members: dict[int, int]
    published: dict[int, int]
    times: int = 1


def total_cost(bundles: Sequence[Bundle], tree: Hierarchy) -> int:
    """The sum of the sizes of all published subdomains."""
    sizes = node_sizes(tree).tolist()
    return sum(bundle.times * bundle_cost(bundle, sizes) for bundle in bundles)


def bundle_cost(bundle: Bundle, sizes: Sequence[int]) -> int:
    """The sum of the sizes of one group's subdomains."""
    return sum(sizes[node] * count for node, count in bundle.published.items())


def maximal_nodes(wishes: Wishes) -> list[int]:
    """The named nodes that lie in no larger named node; they are disjoint and cover every wish."""
    named = set(wishes.nodes[wishes.counts > 0].tolist())
    return _maximal(named, wishes.tree.low.tolist(), wishes.tree.high.tolist())


def split_by_domain(wishes: Wishes) -> Iterator[tuple[int, Wishes]]:
    """Each maximal node with the wishes inside it: problems that have nothing to do with each other."""
    for node in maximal_nodes(wishes):
        low, high = wishes.tree.leaves_under(node)
        yield node, wishes.only((wishes.leaves >= low) & (wishes.leaves < high))


def one_group(wishes: Wishes) -> list[Bundle]:
    """Put everybody together: one group per maximal node, generalized with the least cost below that node."""
    return one_groups(wishes, [{int(w): int(wishes.counts[w]) for w in np.flatnonzero(wishes.counts)}])[0]


def one_groups(wishes: Wishes, sets: Sequence[dict[int, int]]) -> list[list[Bundle]]:
    """The same for many sets of people, given as people per wish: all of them are generalized in one pass."""
    tree = wishes.tree
    low, high = tree.low.tolist(), tree.high.tolist()
    leaves, nodes = wishes.leaves.tolist(), wishes.nodes.tolist()
    parts: list[tuple[int, int, dict[int, int]]] = []
    for number, people in enumerate(sets):
        maximal = _maximal({nodes[wish] for wish in people}, low, high)
        starts = [low[node] for node in maximal]
        inside: list[dict[int, int]] = [{} for _ in maximal]
        for wish, count in people.items():
            inside[bisect_right(starts, leaves[wish]) - 1][wish] = count
        parts += [(number, node, members) for node, members in zip(maximal, inside, strict=True)]
    offsets = np.cumsum([0, *(len(members) for _, _, members in parts)])
    published = least_range_groups(
        np.array([leaves[wish] for _, _, members in parts for wish in members], np.int32),
        np.array([count for _, _, members in parts for count in members.values()], np.int64),
        offsets,
        arrays_of_tree(tree),
        np.zeros(len(parts), np.int32),
        tops=np.array([node for _, node, _ in parts], np.int32),
    )
    ends, named, counts = published.offsets.tolist(), published.nodes.tolist(), published.counts.tolist()
    found: list[list[Bundle]] = [[] for _ in sets]
    for place, (number, _, members) in enumerate(parts):
        span = slice(ends[place], ends[place + 1])
        found[number].append(Bundle(members, dict(zip(named[span], counts[span], strict=True))))
    return found


def _maximal(named: set[int], low: list[int], high: list[int]) -> list[int]:
    """Those of the nodes that lie in no other of them."""
    maximal: list[int] = []
    for node in sorted(named, key=lambda node: (low[node], -high[node])):  # by start, the widest first
        if not maximal or low[node] >= high[maximal[-1]]:
            maximal.append(node)
    return maximal
