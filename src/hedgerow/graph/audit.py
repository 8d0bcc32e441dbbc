"""Re-derive a grouped graph's guarantee from its published tables.

Source     [Zhang 2008], definitions 4.4.1 and 4.4.3
Guarantee  passes exactly the releases whose groups have k (l) nodes and as many entities, and in which no two
           nodes of a group share a neighbour
Cost       O(edges log edges)

Nothing here is shared with the code that groups: shared neighbours are found by sorting pairs of node and group.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.audit import Verification
from hedgerow.errors import BrokenPromise
from hedgerow.graph.grouped import SIDES, TABLES, GroupedGraph

__all__ = ["verify", "verify_bundle", "verify_opened"]


def verify(release: GroupedGraph) -> Verification:
    """Check that a grouped graph holds what it says and nothing else; raise BrokenPromise if not."""
    if release.guarantee.criterion != "safe_grouping" or set(release.guarantee.parameters) != {"k", "l"}:
        raise BrokenPromise("The release promises a criterion that this version cannot verify.")
    checks = [_check_tables(release)]
    groups = []
    for number, letter in enumerate("kl"):
        least = int(release.guarantee.parameters[letter])
        found, check = _check_groups(release, number, least)
        groups.append(found)
        checks.append(check)
    left, right = _check_edges(release, groups)
    checks.append(_check_safe(right, groups[0][left], "left"))
    checks.append(_check_safe(left, groups[1][right], "right"))
    return Verification(tuple(checks))


def verify_bundle(path: str | os.PathLike[str]) -> Verification:
    """Check a bundle on disk: checksums first, then the promise."""
    from hedgerow.graph.bundle import read

    return verify_opened(read(path))


def verify_opened(release: GroupedGraph) -> Verification:
    """Check a graph that was read from a bundle, and so held against its checksums."""
    return Verification(("every file fits its SHA-256 in the manifest", *verify(release).checks))


def _check_tables(release: GroupedGraph) -> str:
    if set(release.tables) != set(TABLES):
        raise BrokenPromise("The published tables are not those of a grouped graph.")
    for name, table in release.tables.items():
        if table.schema.metadata or any(field.metadata for field in table.schema):
            raise BrokenPromise(f"The published table '{name}' carries metadata.")
        if any(pa.types.is_dictionary(field.type) for field in table.schema):
            raise BrokenPromise(f"A column of '{name}' carries a dictionary, which may hold more than its rows.")
    for name, wanted in (("edges", ["left_node", "right_node"]), ("left_nodes", _NODE), ("right_nodes", _NODE)):
        if release.tables[name].column_names != wanted:
            raise BrokenPromise(f"The columns of '{name}' must be {wanted}: anything else could tell nodes apart.")
    return "five tables, no metadata; nodes and edges have nothing but numbers"


_NODE = ["node", "group"]


def _check_groups(release: GroupedGraph, number: int, least: int) -> tuple[NDArray[np.int64], str]:
    """Each group has as many entities as nodes, and enough of them; return the group of each node."""
    side = SIDES[number]
    if release.group_columns[number] not in release.tables[side].column_names:
        raise BrokenPromise(f"The {side} entities have no groups.")
    of_entities = _numbers(release.tables[side].column(release.group_columns[number]))
    of_nodes, nodes = (_numbers(release.tables[f"{side}_nodes"].column(name)) for name in ("group", "node"))
    if not np.array_equal(nodes, np.arange(len(nodes))):
        raise BrokenPromise(f"The {side} nodes are not numbered from 0.")
    if not np.array_equal(np.sort(of_entities), np.sort(of_nodes)):
        raise BrokenPromise(f"A {side} group does not have as many entities as nodes.")
    for order in (of_entities, of_nodes):
        if (np.diff(order) < 0).any():
            raise BrokenPromise(f"The {side} rows are not published group after group.")
    _, sizes = np.unique(of_nodes, return_counts=True)
    if sizes.min(initial=least) < least:
        raise BrokenPromise(f"{int((sizes < least).sum())} {side} group(s) have fewer than {least} nodes.")
    return of_nodes, f"{len(nodes):,} {side} entities in {len(sizes):,} groups of {sizes.min()} to {sizes.max()}"


def _check_edges(release: GroupedGraph, groups: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    left, right = (_numbers(release.tables["edges"].column(f"{side}_node")) for side in SIDES)
    for ends, known in zip((left, right), groups, strict=True):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(known)):
            raise BrokenPromise("An edge names a node that is not published.")
    if _repeats(left, right):
        raise BrokenPromise("An edge is published twice.")
    return left, right


def _check_safe(ends: NDArray[np.int64], groups: NDArray[np.int64], side: str) -> str:
    if unsafe := _repeats(ends, groups):
        raise BrokenPromise(f"{unsafe} time(s) two nodes of one {side} group share a neighbour.")
    return f"no two nodes of a {side} group share a neighbour, over {len(ends):,} edges"


def _repeats(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """Count the pairs that occurred before."""
    if not len(first):
        return 0
    pairs = np.sort(first * (int(second.max()) + 1) + second)
    return int((pairs[1:] == pairs[:-1]).sum())


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    if column.null_count or not pa.types.is_integer(column.type):
        raise BrokenPromise("Nodes and groups must be whole numbers, none missing.")
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), np.int64)
