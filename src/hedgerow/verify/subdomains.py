"""Read a disguised release back: trees from the table `target`, and how often each group publishes each node.

Nothing is shared with the code that makes releases. Whatever does not fit together breaks the promise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Bools, Ints
from hedgerow.errors import BrokenPromise
from hedgerow.verify.names import subdomain_columns
from hedgerow.verify.values import PublishedRelease

__all__ = ["Counts", "Trees", "check_subdomains", "climb", "counts_of", "trees_of"]


@dataclass(frozen=True, eq=False)
class Trees:
    """Nodes of all trees: parent (-1 at a root), weight of the edge above, sum of the weights below, depth, root."""

    parents: Ints
    weights: Ints
    totals: Ints
    depths: Ints
    roots: Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """Group `groups[i]` publishes node `nodes[i]` `counts[i]` times; sorted, each pair once."""

    groups: Ints
    nodes: Ints
    counts: Ints


def trees_of(release: PublishedRelease) -> Trees:
    """Read the trees; raise unless they are trees, values first in each, with usable weights."""
    table = release.tables["target"]
    if any(table.column(name).null_count for name in table.column_names if name != "parent"):
        raise BrokenPromise("The table 'target' has gaps.")
    numbers = table.column("node").to_numpy()
    parents = table.column("parent").fill_null(-1).to_numpy().astype(np.int64)
    weights = table.column("weight").to_numpy().astype(np.int64)
    inner = parents >= 0
    in_order = np.array_equal(numbers, np.arange(len(numbers))) and (parents[inner] > np.flatnonzero(inner)).all()
    if not in_order or (parents >= len(numbers)).any() or (weights < 0).any() or weights.max() >= 2**62:
        raise BrokenPromise("The table 'target' does not list trees with weights.")
    totals = np.zeros(len(parents), np.int64)
    np.add.at(totals, parents[inner], weights[inner])
    if np.bincount(parents[inner], weights[inner].astype(float), minlength=len(parents)).max() >= 2**62:
        raise BrokenPromise("The weights of the table 'target' are too large to be compared.")
    depths, roots = _climbed(parents)
    _check_nodes(table, parents, roots)
    return Trees(parents, weights, totals, depths, roots)


def _check_nodes(table: pa.Table, parents: Ints, roots: Ints) -> None:
    """Trees are numbered one after the other; a value is one value, and a node has the ends of what lies below it."""
    trees: Ints = np.cumsum(parents < 0) - (parents < 0)  # children come before parents, so a root ends its tree
    if not np.array_equal(table.column("target").to_numpy(), trees) or not np.array_equal(trees, trees[roots]):
        raise BrokenPromise("The table 'target' does not number its trees one after the other.")
    low, high = (_places(table, end) for end in ("low", "high"))
    wanted = (np.where(_is_leaf(parents), low, np.iinfo(np.int64).max), np.where(_is_leaf(parents), high, -1))
    if pa.types.is_string(table.schema.field("low").type):
        return
    for node in np.flatnonzero(parents >= 0).tolist():
        parent = parents[node]
        wanted[0][parent] = min(wanted[0][parent], wanted[0][node])
        wanted[1][parent] = max(wanted[1][parent], wanted[1][node])
    is_value = low == high
    if not (np.array_equal(wanted[0], low) and np.array_equal(wanted[1], high) and is_value[_is_leaf(parents)].all()):
        raise BrokenPromise("A node of the table 'target' does not have the ends of the values below it.")


def _is_leaf(parents: Ints) -> Bools:
    is_leaf = np.ones(len(parents), np.bool_)
    is_leaf[parents[parents >= 0]] = False
    return is_leaf


def _places(table: pa.Table, end: str) -> Ints:
    """The rank of each node's end among all ends."""
    both = pa.chunked_array([*table.column("low").chunks, *table.column("high").chunks]).combine_chunks()
    encoded = both.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    places: Ints = ranks[encoded.indices.to_numpy()]
    return places[: table.num_rows] if end == "low" else places[table.num_rows :]


def _climbed(parents: Ints) -> tuple[Ints, Ints]:
    """The depth and the root of every node, by climbing from all of them at once."""
    depths, roots = np.zeros(len(parents), np.int64), np.arange(len(parents))
    while (higher := parents[roots] >= 0).any():
        depths[higher] += 1
        roots[higher] = parents[roots[higher]]
    return depths, roots


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
    of_rows, of_values = _group_sizes(rows, release), _group_sizes(values, release)
    if (of_values < of_rows).any():
        raise BrokenPromise("A group has fewer subdomains than rows.")
    return rows.num_rows, values.num_rows


def _group_sizes(table: pa.Table, release: PublishedRelease) -> Ints:
    """Rows per group; raise unless groups come one after the other, numbered from 0, as many as declared."""
    column = table.column(release.group_column)
    if column.null_count or not pa.types.is_integer(column.type):
        raise BrokenPromise("The group column must hold whole numbers and nothing missing.")
    numbers = column.to_numpy()
    is_sorted = len(numbers) and numbers[0] == 0 and numbers[-1] == release.groups - 1
    sizes = np.bincount(numbers) if is_sorted and not (numbers[1:] < numbers[:-1]).any() else np.zeros(1, int)
    if len(sizes) != release.groups or (sizes == 0).any():
        raise BrokenPromise("The rows are not published group after group, numbered from 0, as many as declared.")
    return sizes


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
