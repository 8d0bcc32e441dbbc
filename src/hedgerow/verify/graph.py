"""Re-derive a grouped graph's guarantee from its published tables.

Source     [Zhang 2008], definitions 4.4.1 and 4.4.3
Guarantee  passes exactly the releases whose groups have k (l) nodes and as many entities, and in which no two
           nodes of a group share a neighbour
Cost       O(edges log edges)

Nothing here is shared with the code that groups: shared neighbours are found by sorting pairs of node and group.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import GraphManifest, decode_graph
from hedgerow.verify.structure import check_table
from hedgerow.verify.values import Guarantee, Made, Verification
from hedgerow.verify.words import graph_words

__all__ = [
    "SIDES",
    "TABLES",
    "PublishedGraph",
    "open_held",
    "verify_graph",
    "verify_graph_bundle",
    "verify_opened_graph",
]

SIDES = ("left", "right")
TABLES = ("left", "right", "left_nodes", "right_nodes", "edges")
"""The published tables; their files have the same names."""

_INT = pa.int32()
_CHANCE = 20.0
"""Bits beyond which a fit is no coincidence."""


@dataclass(frozen=True, eq=False)
class PublishedGraph:
    """Published tables of a graph with what is said of them."""

    tables: Mapping[str, pa.Table]
    keys: tuple[str, str]
    group_columns: tuple[str, str]
    guarantee: Guarantee
    made: Made


def verify_graph(release: PublishedGraph) -> Verification:
    """Check that a grouped graph holds what it says and nothing else; raise BrokenPromise if not."""
    checks = [check_graph_structure(release)]
    groups = []
    for number, letter in enumerate("kl"):
        least = int(release.guarantee.parameters[letter])
        found, check = _check_groups(release, number, least)
        groups.append(found)
        checks.append(check)
    left, right = _check_edges(release, groups)
    for number, ends in enumerate((left, right)):
        _check_no_nodes(release, number, groups[number], np.bincount(ends, minlength=len(groups[number])))
    checks.append(_check_safe(right, groups[0][left], "left"))
    checks.append(_check_safe(left, groups[1][right], "right"))
    if graph_words(release.guarantee.parameters) != _words(release.guarantee):
        raise BrokenPromise("The words of the guarantee are not those that follow from its parameters.")
    checks.append("the guarantee says in words what its parameters say, and nothing else")
    return Verification(tuple(checks))


def _words(guarantee: Guarantee) -> tuple[str, str, tuple[str, ...]]:
    return guarantee.promise, guarantee.adversary, guarantee.not_promised


def verify_graph_bundle(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Verification:
    """Check a bundle on disk: checksums first, then the promise."""
    with hold(path) as bundle:
        return verify_opened_graph(open_held(bundle, max_bytes=max_bytes))


def open_held(bundle: Held, *, max_bytes: int | None = None) -> PublishedGraph:
    """Read the grouped graph of a bundle that is held open; raise BundleError unless it is whole and unedited."""
    manifest = decode_graph(bundle.manifest)
    files = [f"{name}.parquet" for name in TABLES]
    if missing := [name for name in files if name not in manifest.files]:
        raise BundleError(f"The bundle has no {missing[0]}.")
    if not set(manifest.files) <= {*files, "README.md"}:
        raise BundleError("The manifest lists a file that no release has.")
    found = bundle.tables(manifest.files, files, max_bytes=max_bytes)
    release = PublishedGraph(
        tables={name: found[f"{name}.parquet"] for name in TABLES},
        keys=manifest.keys,
        group_columns=manifest.group_columns,
        guarantee=manifest.guarantee,
        made=Made(manifest.method, manifest.parameters, reproducible=manifest.reproducible_insecure),
    )
    try:
        check_graph_structure(release)
        _check_counts(release, manifest)
    except BrokenPromise as error:
        raise BundleError(f"The bundle is not a grouped graph: {error}") from None
    return release


def verify_opened_graph(release: PublishedGraph) -> Verification:
    """Check a graph that was read from a bundle, and so held against its checksums."""
    return Verification(("every file fits its SHA-256 in the manifest", *verify_graph(release).checks))


def check_graph_structure(release: PublishedGraph) -> str:
    """Raise BrokenPromise unless a graph has its five tables, their columns and types, and a promise of its kind."""
    guarantee = release.guarantee
    if guarantee.criterion != "safe_grouping" or set(guarantee.parameters) != {"k", "l"}:
        raise BrokenPromise("The release promises a criterion that this version cannot verify.")
    if guarantee.columns != SIDES or not all(_is_size(guarantee.parameters[letter]) for letter in "kl"):
        raise BrokenPromise("The guarantee's sides are not left and right, or 'k' or 'l' is out of range.")
    if guarantee.parameters["k"] == guarantee.parameters["l"] == 1:
        raise BrokenPromise("'k' or 'l' must be at least 2: a (1, 1)-grouping promises nothing.")
    if set(release.tables) != set(TABLES):
        raise BrokenPromise("The published tables are not those of a grouped graph.")
    check_table(release.tables["edges"], {"left_node": _INT, "right_node": _INT})
    for side, key, group in zip(SIDES, release.keys, release.group_columns, strict=True):
        check_table(release.tables[f"{side}_nodes"], {"node": _INT, "group": _INT})
        entities = release.tables[side]
        if key == group or not {key, group} <= set(entities.column_names):
            raise BrokenPromise(f"The {side} entities have no keys or no groups.")
        check_table(entities, dict.fromkeys(entities.column_names) | {group: _INT})
    return "five tables, no metadata; nodes and edges have nothing but numbers"


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 2**31


def _check_no_nodes(release: PublishedGraph, number: int, groups: Ints, degrees: Ints) -> None:
    """No column of the entities follows the nodes of their groups: their numbers, or how many edges each has."""
    side = SIDES[number]
    entities = release.tables[side]
    for name in entities.column_names:
        column = entities.column(name)
        if name == release.group_columns[number] or not pa.types.is_integer(column.type) or column.null_count:
            continue
        values = column.to_numpy()
        for told in (np.arange(len(groups)), degrees):
            if np.array_equal(values[np.lexsort((values, groups))], told[np.lexsort((told, groups))]) and (
                _bits(told, groups) > _CHANCE
            ):
                raise BrokenPromise(f"'{name}' of the {side} entities tells the nodes of their groups apart.")


def _bits(told: Ints, groups: Ints) -> float:
    """How unlikely it is, as a number of bits, that an unrelated column of these values fits every group."""
    _, codes, counts = np.unique(told, return_inverse=True, return_counts=True)
    _, inside = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)
    sizes = np.bincount(groups)

    def factorial(numbers: Ints) -> float:
        return float(np.log2(np.arange(1, int(numbers.max()) + 1, dtype=float)).cumsum()[numbers - 1].sum())

    return factorial(np.array([len(told)])) + factorial(inside) - factorial(counts) - factorial(sizes[sizes > 0])


def _check_counts(release: PublishedGraph, manifest: GraphManifest) -> None:
    if manifest.columns != tuple(tuple(release.tables[side].column_names) for side in SIDES):
        raise BrokenPromise("The columns of the entities are not those that the release declares.")
    counts, tables = manifest.counts, release.tables
    found = [tables[name].num_rows for name in ("left", "right", "edges")]
    groups = [len(tables[f"{side}_nodes"].column("group").unique()) for side in SIDES]
    if [counts.left, counts.right, counts.edges, counts.left_groups, counts.right_groups] != found + groups:
        raise BrokenPromise("The counts of entities, edges and groups are not those of the published tables.")


def _check_groups(release: PublishedGraph, number: int, least: int) -> tuple[NDArray[np.int64], str]:
    """Each group has as many entities as nodes, and enough of them; return the group of each node."""
    side = SIDES[number]
    of_entities = _numbers(release.tables[side].column(release.group_columns[number]))
    of_nodes, nodes = (_numbers(release.tables[f"{side}_nodes"].column(name)) for name in ("group", "node"))
    if not np.array_equal(nodes, np.arange(len(nodes))):
        raise BrokenPromise(f"The {side} nodes are not numbered from 0.")
    if not np.array_equal(np.sort(of_entities), np.sort(of_nodes)):
        raise BrokenPromise(f"A {side} group does not have as many entities as nodes.")
    for order in (of_entities, of_nodes):
        if (np.diff(order) < 0).any():
            raise BrokenPromise(f"The {side} rows are not published group after group.")
    named, sizes = np.unique(of_nodes, return_counts=True)
    if not np.array_equal(named, np.arange(len(named))):
        raise BrokenPromise(f"The {side} groups are not numbered from 0.")
    if sizes.min(initial=least) < least:
        raise BrokenPromise(f"{int((sizes < least).sum())} {side} group(s) have fewer than {least} nodes.")
    return of_nodes, f"{len(nodes):,} {side} entities in {len(sizes):,} groups of {sizes.min()} to {sizes.max()}"


def _check_edges(
    release: PublishedGraph, groups: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
