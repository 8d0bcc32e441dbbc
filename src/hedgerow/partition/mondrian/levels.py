"""Mondrian under criteria that a compiled loop cannot decide: all nodes of a level are cut, then checked at once.

Source     as `mondrian`
Guarantee  the same groups as one node after the other, because what happens to a node depends on its rows alone
Cost       O(n d) per round, about as many rounds as the tree has levels and a node has quasi-identifiers
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Criterion, groups_of
from hedgerow.kernel import SMALL
from hedgerow.partition.mondrian.grow import LEAF, Records, Rules, Scratch, apply_cuts, propose

__all__ = ["grow_by_levels"]

Nodes = NDArray[np.int64]


def grow_by_levels(
    records: Records,
    rules: Rules,
    scratch: Scratch,
    criteria: Sequence[Criterion],
    overall: Sequence[NDArray[np.int64]],
    runs: NDArray[np.int64],
) -> None:
    """Split runs of so many rows each until none splits; the limits in `rules` sort out cuts before criteria do."""
    rows = len(records.numbers)
    compiled = rows > SMALL
    cut_all = propose.compiled if compiled else propose.plain
    apply_all = apply_cuts.compiled if compiled else apply_cuts.plain
    nodes = np.stack([np.cumsum(runs) - runs, np.cumsum(runs)], axis=1)
    tried = np.zeros((len(nodes), len(rules.firsts)), np.bool_)
    sides = np.zeros(rows, np.int8)
    while len(nodes):
        cuts = np.empty((len(nodes), 3), np.int64)
        cut_all(records, rules, scratch, nodes, tried, cuts, sides)
        is_leaf = cuts[:, 0] == LEAF
        records.starts[nodes[is_leaf, 0]] = True
        nodes, tried, cuts = nodes[~is_leaf], tried[~is_leaf], cuts[~is_leaf]
        good = _good(records, nodes, sides, len(rules.firsts), criteria, overall)
        middles = np.empty(int(good.sum()), np.int64)
        apply_all(records, nodes[good], cuts[good], middles)
        nodes, tried = _next_level(nodes, tried, good, middles)


def _good(
    records: Records,
    nodes: Nodes,
    sides: NDArray[np.int8],
    first: int,
    criteria: Sequence[Criterion],
    overall: Sequence[NDArray[np.int64]],
) -> NDArray[np.bool_]:
    """Tell for each cut node whether both sides satisfy every criterion."""
    good = np.ones(len(nodes), np.bool_)
    if not len(nodes):
        return good
    sizes = nodes[:, 1] - nodes[:, 0]
    rows = np.arange(int(sizes.sum())) + np.repeat(nodes[:, 0] - (np.cumsum(sizes) - sizes), sizes)
    labels = np.repeat(np.arange(len(nodes), dtype=np.int32) * 2, sizes) + sides[rows]
    for place, (criterion, counts) in enumerate(zip(criteria, overall, strict=True)):
        codes = records.fields[rows, first + place].astype(np.int32)
        good &= criterion.holds(groups_of(labels, codes, counts)).reshape(-1, 2).all(axis=1)
    return good


def _next_level(
    nodes: Nodes, tried: NDArray[np.bool_], good: NDArray[np.bool_], middles: Nodes
) -> tuple[Nodes, NDArray[np.bool_]]:
    """Put the parts of split nodes, for which nothing is tried yet, beside the nodes that have columns left."""
    left = np.stack([nodes[good, 0], middles], axis=1)
    right = np.stack([middles, nodes[good, 1]], axis=1)
    fresh = np.zeros((2 * len(middles), tried.shape[1]), np.bool_)
    return np.concatenate([nodes[~good], left, right]), np.concatenate([tried[~good], fresh])
