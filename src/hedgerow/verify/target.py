"""Check that every group of a disguised release follows its target, exactly or within the declared shift.

Source     [Zhang 2008], definition 3.3.1 and section 3.6
Guarantee  passes exactly the releases whose groups are P-private (or within the shift) for the published trees
Cost       O(values log values) plus O(distinct subdomains per group * depth)

A group is P-private if and only if, below each node that it splits, the numbers of values per child are in the ratio of
the weights. Ratios of whole numbers are compared by cross-multiplication: that is how fractions are equal.

Trees are read back from the table `target`, and how often each group publishes each node. A personalized release
([Zhang 2008], definition 5.3.1) passes exactly if each of its groups respects the lowest node that covers all of its
subdomains, and with it every node below, and if as many people are published exactly as declared; that costs
O(values log values) plus O(distinct subdomains per group * depth). Which node a person named is not published: it would
tell where the value lies. That every member's node lies below the node that covers the group is checked before the
release leaves the owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from weakref import ref

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.errors import BrokenPromise, counted
from hedgerow.verify.names import subdomain_columns
from hedgerow.verify.structure import group_starts
from hedgerow.verify.values import PublishedRelease, is_end, total

__all__ = [
    "Counts",
    "Trees",
    "check_personal",
    "check_ratios",
    "check_subdomains",
    "check_target",
    "climb",
    "counts_of",
    "covering_nodes",
    "spans",
    "still_tells",
    "trees_of",
]


_DEEPEST = 200
"""Levels of a tree: each group climbs all of them."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Nodes of all trees: parent (-1 at a root), weight of the edge above, sum of the weights below, depth, root."""

    parents: Ints
    weights: Ints
    totals: Ints
    depths: Ints
    roots: Ints

    @cached_property
    def choices(self) -> Ints:
        """How many values below each node the target gives a chance."""
        below = self.parents >= 0
        choices = _is_leaf(self.parents).astype(np.int64)
        for node in np.flatnonzero(below).tolist():  # children come before parents
            if self.weights[node] > 0:
                choices[self.parents[node]] += choices[node]
        return choices


@dataclass(frozen=True, eq=False)
class Counts:
    """Group `groups[i]` publishes node `nodes[i]` `counts[i]` times; sorted, each pair once."""

    groups: Ints
    nodes: Ints
    counts: Ints


_latest: list[tuple[ref[pa.Table], Trees]] = []


def trees_of(release: PublishedRelease) -> Trees:
    """Read the trees; raise unless they are trees, values first in each, with usable weights.

    The same table again, which all parts of a bundle share, has the same trees.
    """
    table = release.tables["target"]
    for known, trees in _latest:
        if known() is table:
            return trees
    trees = _read(table)
    _latest[:] = [(ref(table, lambda _: _latest.clear()), trees)]
    return trees


def _read(table: pa.Table) -> Trees:
    if not table.num_rows:
        raise BrokenPromise("The table 'target' does not list trees with weights.")
    if any(table.column(name).null_count for name in table.column_names if name != "parent"):
        raise BrokenPromise("The table 'target' has gaps.")
    numbers = table.column("node").to_numpy()
    parents = table.column("parent").fill_null(-1).to_numpy().astype(np.int64)
    weights = table.column("weight").to_numpy().astype(np.int64)
    inner = np.asarray(table.column("parent").is_valid())  # only a gap marks a root, never a negative number
    in_order = np.array_equal(numbers, np.arange(len(numbers))) and (parents[inner] > np.flatnonzero(inner)).all()
    if not in_order or (parents >= len(numbers)).any() or (weights < 0).any() or weights.max() >= 2**62:
        raise BrokenPromise("The table 'target' does not list trees with weights.")
    totals = np.zeros(len(parents), np.int64)
    np.add.at(totals, parents[inner], weights[inner])
    if np.bincount(parents[inner], weights[inner].astype(float), minlength=len(parents)).max() >= 2**62:
        raise BrokenPromise("The weights of the table 'target' are too large to be compared.")
    depths, roots = _climb(parents)
    if depths.max() > _DEEPEST:
        raise BrokenPromise(f"A tree of the table 'target' is deeper than {_DEEPEST} levels.")
    _check_nodes(table, parents, roots)
    return Trees(parents, weights, totals, depths, roots)


def _check_nodes(table: pa.Table, parents: Ints, roots: Ints) -> None:
    """Trees are numbered one after the other; a value is one value, and a node has the ends of what lies below it."""
    trees: Ints = np.cumsum(parents < 0) - (parents < 0)  # children come before parents, so a root ends its tree
    if not np.array_equal(table.column("target").to_numpy(), trees) or not np.array_equal(trees, trees[roots]):
        raise BrokenPromise("The table 'target' does not number its trees one after the other.")
    is_leaf, values = _is_leaf(parents), table.column("low").combine_chunks()
    order = _ranks(values)
    codes = trees * (int(order.max()) + 1) + order
    if len(np.unique(codes[is_leaf])) < is_leaf.sum():
        raise BrokenPromise("A tree of the table 'target' lists a value twice.")
    if pa.types.is_string(values.type):
        order = np.arange(len(parents))  # texts follow each other as the tree lists them
    ends = []
    for end, way in (("low", 1), ("high", -1)):
        leaves = np.where(is_leaf, np.arange(len(parents)), -1)
        for node in np.flatnonzero(parents >= 0).tolist():
            parent = parents[node]
            if leaves[parent] < 0 or way * order[leaves[node]] < way * order[leaves[parent]]:
                leaves[parent] = leaves[node]
        ends.append(pc.all(pc.equal(table.column(end), values.take(pa.array(leaves)))).as_py())
    if not all(ends):
        raise BrokenPromise("A node of the table 'target' does not have the ends of the values below it.")


def _is_leaf(parents: Ints) -> Bools:
    is_leaf = np.ones(len(parents), np.bool_)
    is_leaf[parents[parents >= 0]] = False
    return is_leaf


def _ranks(values: pa.Array) -> Ints:
    """The rank of each value among all."""
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    found: Ints = ranks[encoded.indices.to_numpy()]
    return found


def _climb(parents: Ints) -> tuple[Ints, Ints]:
    """The depth and the root of every node, from the last to the first: parents come after their children."""
    depths, roots = [0] * len(parents), list(range(len(parents)))
    for node, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            depths[node], roots[node] = depths[parent] + 1, roots[parent]
    return np.array(depths), np.array(roots)


def counts_of(release: PublishedRelease) -> Counts:
    """Count the subdomains of each group."""
    table = release.tables["release" if "release" in release.tables else "sensitive"]
    groups = table.column(release.group_column).to_numpy().astype(np.int64)
    nodes = table.column(subdomain_columns(release.columns, release.group_column)[2]).to_numpy().astype(np.int64)
    width = release.tables["target"].num_rows
    pairs, counts = np.unique(groups * width + nodes, return_counts=True)
    return Counts(pairs // width, pairs % width, counts)


def check_subdomains(release: PublishedRelease) -> tuple[int, int]:
    """Check that groups are whole and subdomains say what their nodes say; return the numbers of rows and values."""
    low, high, node = subdomain_columns(release.columns, release.group_column)
    values = release.tables["release" if "release" in release.tables else "sensitive"]
    rows = release.tables["release" if "release" in release.tables else "quasi"]
    target = release.tables["target"]
    nodes = values.column(node).to_numpy()
    if not len(nodes) or not 0 <= nodes.min() <= nodes.max() < target.num_rows:
        raise BrokenPromise("A published subdomain is not in the table 'target'.")
    for end, column in (("low", low), ("high", high)):
        said, listed = values.column(column), target.column(end).take(values.column(node))
        if said.null_count or not pc.all(pc.equal(said, listed)).as_py():
            raise BrokenPromise("The bounds of a published subdomain are not those of its node.")
    of_rows, of_values = (np.diff(np.append(group_starts(table, release), table.num_rows)) for table in (rows, values))
    if (of_values < of_rows).any():
        raise BrokenPromise("A group has fewer subdomains than rows.")
    return rows.num_rows, values.num_rows


def climb(counts: Counts, trees: Trees, tops: Ints) -> list[tuple[Ints, Ints, Ints, Ints]]:
    """Add up subtrees level by level: for each level (group, child, values below it, values below all its siblings).

    `tops[g]` is the node at which group g's climb ends.
    """
    width = len(trees.parents)
    pairs, below = counts.groups * width + counts.nodes, counts.counts
    levels = []
    for depth in range(int(trees.depths[counts.nodes].max(initial=0)), 0, -1):
        nodes = pairs % width
        here = (trees.depths[nodes] == depth) & (nodes != tops[pairs // width])
        if not here.any():
            continue
        group, child, number = pairs[here] // width, nodes[here], below[here]
        parent_pairs, owner = np.unique(group * width + trees.parents[child], return_inverse=True)
        sums = np.zeros(len(parent_pairs), np.int64)
        np.add.at(sums, owner, number)
        levels.append((group, child, number, sums[owner]))
        pairs, owner = np.unique(np.concatenate((pairs[~here], parent_pairs)), return_inverse=True)
        merged = np.zeros(len(pairs), np.int64)
        np.add.at(merged, owner, np.concatenate((below[~here], sums)))
        below = merged
    return levels


def check_target(release: PublishedRelease) -> str:
    """Every group's subdomains mix to its target; the numbers of rows, values and fakes are as declared."""
    rows, values = check_subdomains(release)
    parameters = release.guarantee.parameters
    rows, values = total(release, "rows", rows), total(release, "values", values)
    if is_end(release) and values - rows != int(parameters["fakes"]):
        raise BrokenPromise("The number of fake values is not the one that the release declares.")
    counts, trees = counts_of(release), trees_of(release)
    if (trees.choices[trees.parents < 0] < 2).any():
        raise BrokenPromise("A tree of the table 'target' has one possible value, which hides nothing.")
    shift = Fraction(parameters["shift"])
    check_ratios(counts, trees, _tops(counts, trees, release.groups), shift)
    if shift:
        _check_implied(release, counts, trees)
    followed = "exactly" if shift == 0 else f"with every branch's share within {parameters['shift']}"
    groups = total(release, "groups", release.groups)
    return (
        f"each of {counted(groups, 'group')} follows its target distribution {followed}; "
        f"{values:,} values for {rows:,} "
        f"rows, {values - rows:,} of them fake; {still_tells(release)}"
    )


def check_ratios(counts: Counts, trees: Trees, tops: Ints, shift: Fraction = Fraction(0)) -> None:
    """Raise unless below every node that a group splits its values are in the ratio of the weights, up to `shift`."""
    needed = _mark_needed(trees, shift)
    for group, child, number, siblings in climb(counts, trees, tops):
        weight, total = trees.weights[child], trees.totals[trees.parents[child]]
        if int(siblings.max()) * int(total.max()) * shift.denominator >= 2**62:
            number, weight, siblings, total = (a.astype(object) for a in (number, weight, siblings, total))
        gap = abs(number * total - siblings * weight)
        if (weight == 0).any() or (gap * shift.denominator > shift.numerator * siblings * total).any():
            raise BrokenPromise("A group's values do not follow their target distribution.")
        _require_siblings(group, child, trees, needed)


def _check_implied(release: PublishedRelease, counts: Counts, trees: Trees) -> None:
    """The table of implied weights lists exactly the branches that groups divide, with their numbers."""
    levels = climb(counts, trees, _tops(counts, trees, release.groups))
    wanted = (
        np.array([np.concatenate([level[i] for level in levels]) for i in range(3)]) if levels else np.empty((3, 0))
    )
    wanted = wanted[:, np.lexsort((wanted[1], wanted[0]))]
    if any(column.null_count for column in release.tables["implied"].columns):
        raise BrokenPromise("The table 'implied' has gaps.")
    found = [release.tables["implied"].column(name).to_numpy() for name in ("group", "node", "weight")]
    if not np.array_equal(np.array(found), wanted):
        raise BrokenPromise("The table 'implied' does not follow from the published subdomains.")


def _mark_needed(trees: Trees, shift: Fraction) -> NDArray[np.bool_]:
    """Children whose share under the target is more than the shift: a group that splits their parent must have them."""
    below = trees.parents >= 0
    weights, totals = trees.weights.astype(object), trees.totals[trees.parents].astype(object)
    needed: NDArray[np.bool_] = below & (weights * shift.denominator > shift.numerator * totals)
    return needed


def _require_siblings(group: Ints, child: Ints, trees: Trees, needed: NDArray[np.bool_]) -> None:
    """A child that has none of a group's values has a share of zero, which must be within the shift as well."""
    below = trees.parents >= 0
    wanted = np.bincount(trees.parents[below], needed[below], minlength=len(needed))
    pairs, owner = np.unique(group * len(needed) + trees.parents[child], return_inverse=True)
    found = np.bincount(owner, needed[child], minlength=len(pairs))
    if (found != wanted[pairs % len(needed)]).any():
        raise BrokenPromise("A group's values do not follow their target distribution: a branch is left out.")


def _tops(counts: Counts, trees: Trees, groups: int) -> Ints:
    """The root of each group's tree; raise where a group mixes trees."""
    own = np.zeros(groups, np.int64)
    own[counts.groups] = trees.roots[counts.nodes]
    if (own[counts.groups] != trees.roots[counts.nodes]).any():
        raise BrokenPromise("A group mixes subdomains of different targets.")
    return own


def still_tells(release: PublishedRelease) -> str:
    """What the release tells beyond the target, in plain words: the values that no branch could take."""
    counts, trees = counts_of(release), trees_of(release)
    is_root = trees.parents[counts.nodes] < 0
    stuck = total(release, "at a root", int(counts.counts[is_root].sum()))
    values = total(release, "counted", int(counts.counts.sum()))
    if stuck == 0:
        return "no value stands at a root, so nothing tells there of a side with too many for the target"
    return (
        f"{stuck:,} of {values:,} values stand at a root, since some side has too many for the target; "
        "on which side is not told, unless somebody reasons about how the algorithm chose them"
    )


def check_personal(release: PublishedRelease) -> str:
    """Every group respects the node that covers it; people published exactly are as many as consented."""
    rows, values = check_subdomains(release)
    if rows != values:
        raise BrokenPromise("A personalized release has one subdomain for each row.")
    counts, trees = counts_of(release), trees_of(release)
    tops = covering_nodes(counts, trees, release.groups)
    check_ratios(counts, trees, tops)
    exact = total(release, "exact", int(counts.counts[trees.choices[tops[counts.groups]] <= 1].sum()))
    rows, groups = total(release, "rows", rows), total(release, "groups", release.groups)
    if is_end(release) and exact != int(release.guarantee.parameters["exact"]):
        raise BrokenPromise("The number of people whose value is published exactly is not the one declared.")
    return (
        f"each of {counted(groups, 'group')} follows the target below the node that "
        f"covers it; {exact:,} of {rows:,} "
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
