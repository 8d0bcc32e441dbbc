"""Exhaustive answers for target distributions on tiny tables: what the fast programs are judged by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.target import Target
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["cheapest_fakes", "cheapest_generalization", "generalizations"]


def generalizations(counts: NDArray[np.int64], tree: Hierarchy) -> Iterator[NDArray[np.int64]]:
    """Every multiset of subdomains that some row-by-row generalization of the values gives, once each."""
    rows = np.repeat(np.arange(len(counts)), counts).tolist()
    seen = {tuple(sorted(nodes)) for nodes in product(*(_ancestors(tree, row) for row in rows))}
    for nodes in seen:
        yield np.bincount(np.array(nodes, np.int64), minlength=tree.num_nodes)


def cheapest_generalization(
    counts: NDArray[np.int64], tree: Hierarchy, costs: NDArray[np.int64], *, shift: object = 0
) -> int:
    """The least total cost of a generalization that keeps the target."""
    criterion = Target(tree, shift)
    return min(int(costs @ published) for published in generalizations(counts, tree) if criterion.holds(published))


def cheapest_fakes(counts: NDArray[np.int64], tree: Hierarchy, costs: NDArray[np.int64], most: int) -> list[int]:
    """For each number of fakes up to `most` the least total cost, by trying every multiset of fake values."""
    return [min(_with_fakes(counts, tree, costs, number)) for number in range(most + 1)]


def _with_fakes(counts: NDArray[np.int64], tree: Hierarchy, costs: NDArray[np.int64], number: int) -> Iterator[int]:
    for fakes in combinations_with_replacement(range(tree.num_leaves), number):
        enlarged = counts + np.bincount(np.array(fakes, np.int64), minlength=tree.num_leaves)
        yield _cost(enlarged, tree, costs, tree.root, int(enlarged.sum()))


def _cost(counts: NDArray[np.int64], tree: Hierarchy, costs: NDArray[np.int64], node: int, values: int) -> int:
    """The cost of `values` values below a node, by the rule of the largest allocation, written without arrays."""
    children, weights = tree.children(node).tolist(), tree.weights or ()
    total = sum(weights[child] for child in children)
    if total == 0:
        return int(costs[node]) * values
    sizes = {child: int(counts[slice(*tree.leaves_under(child))].sum()) for child in children}
    units = min([values // total, *(sizes[child] // weights[child] for child in children if weights[child])])
    deeper = sum(_cost(counts, tree, costs, child, units * weights[child]) for child in children if weights[child])
    return int(deeper + int(costs[node]) * (values - units * total))


def _ancestors(tree: Hierarchy, leaf: int) -> list[int]:
    nodes = [leaf]
    while nodes[-1] != tree.root:
        nodes.append(tree.parent(nodes[-1]))
    return nodes
