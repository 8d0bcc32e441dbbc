"""The exhaustive optimum of personalized privacy, for up to a dozen people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from hedgerow.criteria.target import Respect, possible_node
from hedgerow.schema.hierarchy import Hierarchy
from tests.support.targets import generalizations

__all__ = ["cheapest_group", "cheapest_grouping"]

MOST = 12


def cheapest_grouping(tree: Hierarchy, leaves: Sequence[int], nodes: Sequence[int]) -> int:
    """The least total size of published subdomains over all partitions of the people into groups."""
    if len(leaves) > MOST:
        raise ValueError(f"an exhaustive search takes at most {MOST} people")
    raised = possible_node(tree)[np.array(nodes, int)].tolist()

    @cache
    def alone(people: int) -> int:
        chosen = [i for i in range(len(leaves)) if people >> i & 1]
        return _one_group(tree, [leaves[i] for i in chosen], [raised[i] for i in chosen])

    @cache
    def best(people: int) -> int:
        if people == 0:
            return 0
        first = people & -people
        rest, others = people ^ first, people ^ first
        found = alone(people)
        while True:  # every group that holds the first person
            found = min(found, alone(first | others) + best(rest ^ others))
            if others == 0:
                return found
            others = (others - 1) & rest

    return best((1 << len(leaves)) - 1)


def cheapest_group(tree: Hierarchy, leaves: Sequence[int], nodes: Sequence[int]) -> int:
    """The least cost of one group by the definition alone: every generalization of every row is tried."""
    counts = np.bincount(np.array(leaves, int), minlength=tree.num_leaves)
    sizes = tree.high - tree.low
    criterion, raised = Respect(tree), possible_node(tree)[np.array(nodes, int)].tolist()
    return min(int(sizes @ p) for p in generalizations(counts, tree) if criterion.holds(p, raised))


def _one_group(tree: Hierarchy, leaves: Sequence[int], nodes: Sequence[int]) -> int:
    """The cost of one group: below each widest node the target must hold exactly; nothing else binds."""
    spans = {tree.leaves_under(node): node for node in sorted(nodes)}
    cost = 0
    for (low, high), node in spans.items():
        if not any(a <= low and high <= b and (a, b) != (low, high) for a, b in spans):
            inside = [leaf for leaf in leaves if low <= leaf < high]
            cost += _follow(tree, inside, node, len(inside))
    return cost


def _follow(tree: Hierarchy, leaves: Sequence[int], node: int, values: int) -> int:
    children, weights = tree.children(node).tolist(), tree.weights or ()
    total = sum(weights[c] for c in children)
    if total == 0:
        return values * int(tree.high[node] - tree.low[node])
    inside = {c: [leaf for leaf in leaves if tree.low[c] <= leaf < tree.high[c]] for c in children}
    units = min([values // total, *(len(inside[c]) // weights[c] for c in children if weights[c])])
    rest = (values - units * total) * int(tree.high[node] - tree.low[node])
    return int(rest) + sum(_follow(tree, inside[c], c, units * weights[c]) for c in children if weights[c] and units)
