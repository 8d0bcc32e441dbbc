"""Check a personalized release: below the node that covers a group, its subdomains follow the target exactly.

Source     [Zhang 2008], definition 5.3.1
Guarantee  passes exactly the releases each of whose groups respects the lowest node that covers all of its subdomains,
           and with it every node below; how many people are published exactly is as declared
Cost       O(values log values) plus O(distinct subdomains per group * depth)

Which node a person named is not published: it would tell where the value lies. That every member's node lies below the
node that covers the group is checked before the release leaves the owner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import BrokenPromise
from hedgerow.verify.subdomains import Counts, Trees, check_subdomains, counts_of, trees_of
from hedgerow.verify.target import check_ratios
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_personal", "covering_nodes", "spans"]


def check_personal(release: PublishedRelease) -> str:
    """Every group respects the node that covers it; people published exactly are as many as consented."""
    rows, values = check_subdomains(release)
    if rows != values:
        raise BrokenPromise("A personalized release has one subdomain for each row.")
    counts, trees = counts_of(release), trees_of(release)
    tops = covering_nodes(counts, trees, release.groups)
    check_ratios(counts, trees, tops)
    exact = int(counts.counts[_choices(trees)[tops[counts.groups]] <= 1].sum())
    if exact != int(release.guarantee.parameters["exact"]):
        raise BrokenPromise("The number of people whose value is published exactly is not the one declared.")
    return (
        f"each of {release.groups:,} groups follows the target below the node that covers it; {exact:,} of {rows:,} "
        "people are published exactly, by consent; of the others the release tells the node that covers their group"
    )


def covering_nodes(counts: Counts, trees: Trees, groups: int) -> Ints:
    """The lowest node above all subdomains of each group."""
    first, last = spans(trees)
    low, high = np.full(groups, len(first)), np.zeros(groups, np.int64)
    np.minimum.at(low, counts.groups, first[counts.nodes])
    np.maximum.at(high, counts.groups, last[counts.nodes])
    tops = np.zeros(groups, np.int64)
    deepest_first = np.argsort(-trees.depths[counts.nodes], kind="stable")
    tops[counts.groups[deepest_first]] = counts.nodes[deepest_first]  # the last assignment stays: the highest node
    while (short := (first[tops] > low) | (last[tops] < high)).any():
        if (trees.parents[tops[short]] < 0).any():
            raise BrokenPromise("A group mixes subdomains of different targets.")
        tops[short] = trees.parents[tops[short]]
    return tops


def _choices(trees: Trees) -> Ints:
    """How many values below each node the target gives a chance."""
    below = trees.parents >= 0
    is_leaf = ~np.isin(np.arange(len(below)), trees.parents[below])
    choices = is_leaf.astype(np.int64)
    for node in np.flatnonzero(below).tolist():  # children come before parents
        if trees.weights[node] > 0:
            choices[trees.parents[node]] += choices[node]
    return choices


def spans(trees: Trees, among: NDArray[np.bool_] | None = None) -> tuple[Ints, Ints]:
    """The half-open range of leaves below each node, leaves numbered in order; by branches `among` these alone."""
    size = len(trees.parents)
    below = trees.parents >= 0
    is_leaf = ~np.isin(np.arange(size), trees.parents[below])
    first = np.where(is_leaf, np.cumsum(is_leaf) - 1, size)
    last = np.where(is_leaf, first + 1, 0)
    for node in np.flatnonzero(below if among is None else below & among).tolist():
        parent = trees.parents[node]
        first[parent], last[parent] = min(first[parent], first[node]), max(last[parent], last[node])
    return first, last
