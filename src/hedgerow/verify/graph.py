"""Re-derive a grouped graph's guarantee from its published tables.

Source     [Zhang 2008], definitions 4.4.1 and 4.4.3
Guarantee  passes exactly the releases whose groups have k (l) nodes and as many entities, in which no two nodes of a
           group share a neighbour, in which every combination of values of edge columns is shared by edges of as many
           left and right nodes as promised, and which state rightly whose number of neighbours is certain
Cost       O(edges log edges)

Nothing here is shared with the code that groups: shared neighbours are found by sorting pairs of node and group.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.cores import on_cores
from hedgerow.errors import BrokenPromise, BundleError, counted, within_limits
from hedgerow.verify.graph_columns import MOST_PAIRS, columns_that_name
from hedgerow.verify.graph_words import FOLLOWING, graph_words
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.made import check_graph_made
from hedgerow.verify.manifest import GraphManifest, decode_graph
from hedgerow.verify.names import in_form
from hedgerow.verify.structure import check_table
from hedgerow.verify.values import PAGES, Guarantee, Made, Verification, told_seed
from hedgerow.verify.words import check_pages

__all__ = [
    "HUBS",
    "SIDES",
    "TABLES",
    "PublishedGraph",
    "count_ends",
    "count_known",
    "edge_classes",
    "is_function",
    "numbers_of",
    "open_held",
    "verify_graph",
    "verify_graph_bundle",
    "verify_held_graph",
]

SIDES = ("left", "right")
TABLES = ("left", "right", "left_nodes", "right_nodes", "edges")
"""The tables that every grouped graph has; their files have the same names."""
HUBS = ("left_hubs", "right_hubs")
"""Tables of entities that were set aside with their number of links; a release may have them."""
_MEASURED = ("left_known", "right_known")
_SET_ASIDE = ("left_hubs", "right_hubs", "hub_links")
_LOWERED = ("left_slack", "right_slack", "left_lowered", "right_lowered")

_SLACKS = (0, 1, 2, 4, 8)
"""How far below what counting allows groups may be; with any number a promise of five could hold for groups of one."""

_INT = pa.int32()
_CHANCE = 20.0
"""Bits beyond which a fit is no coincidence."""
_SOME = 2_000
"""Nodes whose groups are looked at first."""


_WORD, _HALF = 2**32, 2**31
_FEW, _PART = 50_000, 200_000
"""Pairs up to which they are sorted at once, and that are sorted at a time beyond it."""


Nodes = NDArray[np.int32] | NDArray[np.int64]


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
        parameters = release.guarantee.parameters
        least = 1 if parameters.get(f"{SIDES[number]}_slack") else int(parameters[letter])
        found, check = _check_groups(release, number, least)
        groups.append(found)
        checks.append(check)
    left, right = _check_edges(release, groups)
    # Both sides at once: sorting holds up nobody.
    both = on_cores(lambda side: _check_side(release, side, groups[side], (left, right)), (0, 1), rows=len(left))
    checks += [check for pair in zip(*both, strict=True) for check in pair]
    checks += _check_lowered(release, groups, (left, right))
    checks += [*_check_edge_columns(release), *_check_no_names(release, groups)]
    return Verification((*checks, _check_words(release.guarantee)))


def _check_side(release: PublishedGraph, number: int, groups: Ints, ends: tuple[Nodes, Nodes]) -> tuple[str, str]:
    """No column tells the nodes of one side apart, its groups are safe, and what is stated about degrees is so."""
    degrees = np.bincount(ends[number], minlength=len(groups))
    _check_no_nodes(release, number, groups, degrees)
    owners = groups.astype(np.int32)[ends[number]]
    first, second = (owners, ends[1]) if number == 0 else (ends[0], owners)
    return _check_safe(first, second, SIDES[number]), _check_known(release, number, groups, degrees)


def count_known(groups: Ints, degrees: Ints) -> int:
    """Count the entities whose number of neighbours is certain: all nodes of their group have equally many."""
    low, high = (np.full(int(groups.max(initial=-1)) + 1, number, np.int64) for number in (2**62, -1))
    np.minimum.at(low, groups, degrees)
    np.maximum.at(high, groups, degrees)
    return int((low == high)[groups].sum())


def edge_classes(columns: list[pa.ChunkedArray], rows: int) -> Ints:
    """Number the combinations of values of edge columns; a missing value is a value."""
    codes = np.zeros(rows, np.int64)
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode").indices
        packed = codes * (len(column.unique()) + 1) + np.asarray(encoded.to_numpy(zero_copy_only=False), np.int64)
        codes = np.unique(packed, return_inverse=True)[1].astype(np.int64)
    return codes


def count_ends(classes: Ints, ends: Ints) -> Ints:
    """How many different nodes have an edge of each class."""
    pairs = np.unique(classes * (int(ends.max(initial=0)) + 1) + ends)
    return np.bincount(pairs // (int(ends.max(initial=0)) + 1), minlength=int(classes.max(initial=-1)) + 1)


def _check_words(guarantee: Guarantee) -> str:
    said = guarantee.promise, guarantee.adversary, guarantee.not_promised
    promise, adversary, missing = graph_words(guarantee.parameters)
    former = tuple(sentence for sentence in missing if sentence != FOLLOWING)
    if said not in ((promise, adversary, missing), (promise, adversary, former)):
        raise BrokenPromise("The words of the guarantee are not those that follow from its parameters.")
    return "the guarantee says in words what its parameters say, and nothing else"


@within_limits
def verify_graph_bundle(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Verification:
    """Check a bundle on disk: checksums first, then the promise."""
    with hold(path) as bundle:
        return verify_held_graph(bundle, max_bytes=max_bytes)


def verify_held_graph(
    bundle: Held, opened: PublishedGraph | None = None, *, max_bytes: int | None = None
) -> Verification:
    """Check a bundle that is held open, and `opened` perhaps."""
    release = open_held(bundle, max_bytes=max_bytes) if opened is None else opened
    told = told_seed(release.made.reproducible)
    checks = ("every file fits its SHA-256 in the manifest", *told, *verify_graph(release).checks)
    check_pages(bundle.pages(decode_graph(bundle.manifest).files), release.guarantee)
    return Verification(checks)


def open_held(bundle: Held, *, max_bytes: int | None = None) -> PublishedGraph:
    """Read the grouped graph of a bundle that is held open; raise BundleError unless it is whole and unedited."""
    manifest = decode_graph(bundle.manifest)
    files = [f"{name}.parquet" for name in TABLES]
    if missing := [name for name in files if name not in manifest.files]:
        raise BundleError(f"The bundle has no {missing[0]}.")
    files += [f"{name}.parquet" for name in HUBS if f"{name}.parquet" in manifest.files]
    if not set(manifest.files) <= {*files, *PAGES}:
        raise BundleError("The manifest lists a file that no release has.")
    found = bundle.tables(manifest.files, files, max_bytes=max_bytes)
    release = PublishedGraph(
        tables={name.removesuffix(".parquet"): found[name] for name in files},
        keys=manifest.keys,
        group_columns=manifest.group_columns,
        guarantee=manifest.guarantee,
        made=Made(manifest.method, manifest.parameters, reproducible=manifest.reproducible_insecure),
    )
    try:
        check_graph_structure(release)
        _check_counts(release, manifest)
        _check_ends(release, [_check_groups(release, number, 1)[0] for number in (0, 1)])
    except BrokenPromise as error:
        raise BundleError(f"The bundle is not a grouped graph: {error}") from None
    _check_words(release.guarantee)
    return release


def check_graph_structure(release: PublishedGraph) -> str:
    """Raise BrokenPromise unless a graph has its five tables, their columns and types, and a promise of its kind."""
    guarantee = release.guarantee
    parameters = guarantee.parameters
    said = set(parameters) - {"edge_k"} - {"k", "l", *_MEASURED}
    is_whole = {"k", "l", *_MEASURED} <= set(parameters)
    if guarantee.criterion != "safe_grouping" or not is_whole or said not in (set(), {*_SET_ASIDE}, {*_LOWERED}):
        raise BrokenPromise("The release promises a criterion that this version cannot verify.")
    sizes = [name for name in ("k", "l", "edge_k") if name in parameters]
    if guarantee.columns != SIDES or not all(_is_size(parameters[name]) for name in sizes):
        raise BrokenPromise("The guarantee's sides are not left and right, or 'k' or 'l' is out of range.")
    if not all(_is_size(parameters[name], least=0) for name in set(parameters) - set(sizes)):
        raise BrokenPromise("A number of the guarantee is not a count.")
    if parameters["k"] == parameters["l"] == 1:
        raise BrokenPromise("'k' or 'l' must be at least 2: a (1, 1)-grouping promises nothing.")
    if "left_slack" in parameters:
        if min(int(parameters["k"]), int(parameters["l"])) == 1:
            raise BrokenPromise("Groups below their size need 'k' and 'l' of at least 2.")
        if not (parameters["left_slack"] or parameters["right_slack"]):
            raise BrokenPromise("The guarantee speaks of groups below their size where there is none.")
        if not {parameters["left_slack"], parameters["right_slack"]} <= {*_SLACKS}:
            raise BrokenPromise(
                "The guarantee allows smaller groups than any method makes: its slack is not 1, 2, 4 or 8."
            )
    if not set(TABLES) <= set(release.tables) <= {*TABLES, *HUBS}:
        raise BrokenPromise("The published tables are not those of a grouped graph.")
    edges = release.tables["edges"]
    extra = dict.fromkeys(edges.column_names) if "edge_k" in parameters else {}
    check_table(edges, {**extra, "left_node": _INT, "right_node": _INT})
    check_graph_made(release.made, edges)
    linked = []
    for side, key, group in zip(SIDES, release.keys, release.group_columns, strict=True):
        check_table(release.tables[f"{side}_nodes"], {"node": _INT, "group": _INT})
        entities = release.tables[side]
        if key == group or not {key, group} <= set(entities.column_names):
            raise BrokenPromise(f"The {side} entities have no keys or no groups.")
        check_table(entities, dict.fromkeys(entities.column_names) | {group: _INT})
        linked.append(_check_hubs(release, side, group))
        _check_keys([release.tables[name].column(key) for name in (side, f"{side}_hubs") if name in release.tables])
    hubs, pairs = [len(links) for links in linked], sum(map(sum, linked))
    others = [release.tables[side].num_rows + found for side, found in zip(SIDES, hubs, strict=True)][::-1]
    if any(max(links, default=0) > most for links, most in zip(linked, others, strict=True)):
        raise BrokenPromise("An entity that was set aside has more links than there are entities to be linked with.")
    # A pair of two hubs is a link of both.
    if any(hubs) and not (
        hubs == [parameters[name] for name in HUBS]
        and pairs - hubs[0] * hubs[1] <= int(parameters["hub_links"]) <= pairs
    ):
        raise BrokenPromise("The entities that were set aside, or the pairs that they joined, are not those stated.")
    return "tables of a grouped graph, no metadata; nodes have nothing but numbers"


def _check_keys(columns: list[pa.ChunkedArray]) -> None:
    """Who is listed twice hides among fewer others than there are rows."""
    keys = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    if pa.types.is_string(keys.type):  # as people read them: a space makes nobody another
        keys = pa.chunked_array([in_form(keys)])
    if keys.null_count or len(keys.unique()) < len(keys) or not len(columns[0]):
        raise BrokenPromise("A side has no entities, or some without a key or with that of another.")


def _check_hubs(release: PublishedGraph, side: str, group: str) -> list[int]:
    """Entities that were set aside have the columns of the others, and their number of links instead of a group."""
    name = f"{side}_hubs"
    if name not in release.tables:
        return []
    hubs, entities = release.tables[name], release.tables[side]
    wanted = {field.name: field.type for field in entities.schema if field.name != group}
    links = next((column for column in hubs.column_names if column not in wanted), "")
    check_table(hubs, {**wanted, links: pa.int64()})
    numbers: list[int] = hubs.column(links).drop_null().to_pylist()
    if [release.guarantee.parameters.get(name), len(numbers)] != [hubs.num_rows] * 2 or min(numbers, default=0) < 0:
        raise BrokenPromise(f"The {side} entities that were set aside are not as many as stated.")
    return numbers


def _is_size(value: object, *, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= 2**40


def _check_no_nodes(release: PublishedGraph, number: int, groups: Ints, degrees: Ints) -> None:
    """No column of the entities follows the nodes of their groups: their numbers, or how many edges each has.

    Group by group the values of such a column are the numbers of the nodes, or grow or fall with them.
    """
    side = SIDES[number]
    entities = release.tables[side]
    for name in entities.column_names:
        if name == release.group_columns[number]:
            continue
        # What does not follow the nodes of some groups does not follow all: a few of them clear nearly every column.
        some = int(np.searchsorted(groups, groups[min(_SOME, len(groups) - 1)]))
        for known in (np.arange(len(groups)), degrees):
            first, whole = numbers_of(entities.column(name).slice(0, some)), None
            for way in (1, -1):
                if some and (first is None or not _fits(way * first, known[:some], groups[:some])):
                    continue
                whole = numbers_of(entities.column(name)) if whole is None else whole
                if whole is not None and _follows(way * whole, known, groups):
                    raise BrokenPromise(f"'{name}' of the {side} entities tells the nodes of their groups apart.")


def numbers_of(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """A column of numbers, or of texts that are all numbers, as floats; None for other columns.

    They are the ranks of the numbers where floats would make one of two: 2^60 + 1 follows 2^60.
    """
    kind, exact = column.type, column
    if column.null_count or not len(column):
        return None
    if pa.types.is_decimal(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowException:
            return None
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    values = np.asarray(column.to_numpy(), np.float64)
    if not np.isfinite(values).all():
        return None
    different = len(np.unique(values))
    if not pa.types.is_floating(kind) and different < len(exact.unique()):
        with suppress(ArithmeticError):  # exponents beyond those of decimals
            numbers = [Decimal(cell) for cell in exact.to_pylist()]
            ranks = {number: rank for rank, number in enumerate(sorted(set(numbers)))}
            if different < len(ranks):  # else texts write one number in several ways
                return np.array([ranks[number] for number in numbers], np.float64)
    return values


def _follows(values: NDArray[np.float64], known: Ints, groups: Ints) -> bool:
    """Whether the values of each group are one growing function of its numbers, and that is no coincidence."""
    of_values = values[np.lexsort((values, groups))]
    return _fits(values, known, groups) and _bits(np.unique(of_values, return_inverse=True)[1], groups) > _CHANCE


def _fits(values: NDArray[np.float64], known: Ints, groups: Ints) -> bool:
    return is_function(known[np.lexsort((known, groups))], values[np.lexsort((values, groups))])


def is_function(known: Ints, values: NDArray[np.float64]) -> bool:
    """Whether equal numbers have equal values, and larger numbers larger or equal ones."""
    order = np.lexsort((values, known))
    ascending, follows = known[order], values[order]
    # Compared, not subtracted: a difference of two large numbers is beyond all numbers.
    same = np.diff(ascending) == 0
    return bool((follows[1:] >= follows[:-1]).all() and (follows[1:][same] == follows[:-1][same]).all())


def _check_known(release: PublishedGraph, number: int, groups: Ints, degrees: Ints) -> str:
    found = count_known(groups, degrees)
    if found != release.guarantee.parameters[_MEASURED[number]]:
        raise BrokenPromise("The number of entities whose number of neighbours is certain is not the one stated.")
    return f"the number of neighbours is certain for {found:,} of {len(groups):,} {SIDES[number]} entities, as stated"


def _check_lowered(release: PublishedGraph, groups: list[Ints], ends: tuple[Nodes, Nodes]) -> list[str]:
    """Groups below their size are as large as the links of their nodes' neighbours allow; one end of each link is full.

    A node whose busiest neighbour has d links is promised the number of nodes of its side divided by slack times d.
    """
    parameters = {name: int(number) for name, number in release.guarantee.parameters.items()}
    if "left_slack" not in parameters:
        return []
    checks, sizes = [], [np.bincount(one) for one in groups]
    for number, (side, letter) in enumerate(zip(SIDES, "kl", strict=True)):
        near, far = ends[number], ends[1 - number]
        links = np.bincount(far, minlength=len(groups[1 - number]))[far]
        order = np.lexsort((links, near))
        last = np.append(near[order][1:] != near[order][:-1], True)[: len(near)]
        busiest = np.zeros(len(groups[number]), np.int64)
        busiest[near[order][last]] = links[order][last]
        size, slack = parameters[letter], parameters[f"{side}_slack"]
        promised = np.clip(len(busiest) // np.maximum(max(slack, 1) * busiest, 1), 1, size) if slack else size
        own = sizes[number][groups[number]]
        if few := int((own < promised).sum()):
            raise BrokenPromise(
                f"{counted(few, f'{side} node is', f'{side} nodes are')} in groups below their promise."
            )
        if int((own < size).sum()) != parameters[f"{side}_lowered"]:
            raise BrokenPromise(f"The number of {side} entities in groups of fewer than {size} is not the one stated.")
        checks.append(
            f"{parameters[f'{side}_lowered']:,} {side} entities are in groups of fewer than {size}, as stated"
        )
    at_ends = [sizes[number][groups[number][ends[number]]] for number in (0, 1)]
    least = min(parameters["k"], parameters["l"])
    if few := int((np.maximum(*at_ends) < least).sum()):
        raise BrokenPromise(f"{counted(few, 'link has', 'links have')} groups of fewer than {least} at both ends.")
    return [*checks, f"one end of each link is in a group of at least {least}"]


def _check_edge_columns(release: PublishedGraph) -> list[str]:
    """Each combination of values of edge columns is shared by edges of enough nodes of both sides."""
    least, edges = int(release.guarantee.parameters.get("edge_k", 1)), release.tables["edges"]
    if least == 1:
        return []
    names = [name for name in edges.column_names if name not in ("left_node", "right_node")]
    classes = edge_classes([edges.column(name) for name in names], edges.num_rows)
    for side in SIDES:
        few = int((count_ends(classes, _numbers(edges.column(f"{side}_node"))) < least).sum())
        if few:
            raise BrokenPromise(
                f"{counted(few, 'combination of values of edges is', 'combinations of values of edges are')} "
                f"shared by fewer than {least} {side} nodes."
            )
    return [f"each combination of values of edges is shared by at least {least} left and {least} right nodes"]


def _check_no_names(release: PublishedGraph, groups: list[Ints]) -> list[str]:
    """No column of the edges shows which entity the node at an end is."""
    edges = release.tables["edges"]
    columns = {name: edges.column(name) for name in edges.column_names if name not in ("left_node", "right_node")}
    for number, side in enumerate(SIDES):
        entities = release.tables[side].drop_columns([release.group_columns[number]])
        if len(columns) * entities.num_columns > MOST_PAIRS:
            raise BrokenPromise(f"The edges and the {side} entities have more columns than are compared in pairs.")
        ends = _numbers(edges.column(f"{side}_node"))
        for name, column in columns_that_name(columns, ends, entities, groups[number]):
            raise BrokenPromise(
                f"'{name}' of the edges tells by '{column}' which {side} entity is at their end: each node shows the "
                f"value of an entity of its group."
            )
    return ["no column of the edges repeats one of the entities at their ends"] if columns else []


def _bits(told: Ints, groups: Ints) -> float:
    """How unlikely it is, as a number of bits, that an unrelated column of these values fits every group."""
    _, codes, counts = np.unique(told, return_inverse=True, return_counts=True)
    _, inside = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)
    sizes = np.bincount(groups)  # none is empty

    def factorial(numbers: Ints) -> float:
        return float(np.log2(np.arange(1, int(numbers.max()) + 1, dtype=float)).cumsum()[numbers - 1].sum())

    return factorial(np.array([len(told)])) + factorial(inside) - factorial(counts) - factorial(sizes)


def _check_counts(release: PublishedGraph, manifest: GraphManifest) -> None:
    if manifest.columns != tuple(tuple(release.tables[side].column_names) for side in SIDES):
        raise BrokenPromise("The columns of the entities are not those that the release declares.")
    if ("left_node", "right_node", *manifest.edge_columns) != tuple(release.tables["edges"].column_names):
        raise BrokenPromise("The columns of the edges are not those that the release declares.")
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
    if not np.array_equal(of_entities, of_nodes) and not np.array_equal(np.sort(of_entities), np.sort(of_nodes)):
        raise BrokenPromise(f"A {side} group does not have as many entities as nodes.")
    for order in (of_entities, of_nodes):
        if (np.diff(order) < 0).any():
            raise BrokenPromise(f"The {side} rows are not published group after group.")
    # They ascend, so that each follows the one before it or is the same.
    if len(of_nodes) and (of_nodes[0] != 0 or np.diff(of_nodes).max(initial=0) > 1):
        raise BrokenPromise(f"The {side} groups are not numbered from 0.")
    sizes = np.bincount(of_nodes)
    if sizes.min(initial=least) < least:
        raise BrokenPromise(
            f"{counted(int((sizes < least).sum()), f'{side} group has', f'{side} groups have')} "
            f"fewer than {least} nodes."
        )
    most = f" to {sizes.max():,}" if sizes.max() > sizes.min() else ""
    return (
        of_nodes,
        f"{counted(len(nodes), f'{side} entity', f'{side} entities')} in "
        f"{counted(len(sizes), 'group')} of {sizes.min():,}{most}",
    )


def _check_ends(release: PublishedGraph, groups: list[NDArray[np.int64]]) -> tuple[Nodes, Nodes]:
    """Return the ends of all edges, which are nodes that are there, in their order: another one could tell something.

    Answers take repeated edges to follow each other.
    """
    left, right = (_numbers(release.tables["edges"].column(f"{side}_node"), np.int32) for side in SIDES)
    for ends, known in zip((left, right), groups, strict=True):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(known)):
            raise BrokenPromise("An edge names a node that is not published.")
    if not ((left[1:] > left[:-1]) | ((left[1:] == left[:-1]) & (right[1:] >= right[:-1]))).all():
        raise BrokenPromise("The edges are not published in the order of their nodes.")
    return left, right


def _check_edges(release: PublishedGraph, groups: list[NDArray[np.int64]]) -> tuple[Nodes, Nodes]:
    """Check the ends of all edges, and return those of the edges without repetitions."""
    left, right = _check_ends(release, groups)
    repeats = (left[1:] == left[:-1]) & (right[1:] == right[:-1])
    if not repeats.any():
        return left, right
    if "edge_k" not in release.guarantee.parameters:
        raise BrokenPromise("An edge is published twice.")
    kept = np.append(True, ~repeats)
    return left[kept], right[kept]


def _check_safe(first: Nodes, second: Nodes, side: str) -> str:
    """No group and node of the other side come together twice; each edge has one of each."""
    if unsafe := _repeats(first, second):
        raise BrokenPromise(f"{counted(unsafe, 'time')} two nodes of one {side} group share a neighbour.")
    return f"no two nodes of a {side} group share a neighbour, over {counted(len(first), 'edge')}"


def _repeats(first: Nodes, second: Nodes) -> int:
    """Count the pairs that occurred before."""
    if not len(first):
        return 0
    width = int(second.max()) + 1
    if (first[1:] >= first[:-1]).all() and width < _HALF and len(first) > _FEW:
        return _repeats_in_order(first, second, width)
    pairs = first.astype(np.int64) * width + second
    if (pairs[1:] < pairs[:-1]).any():
        pairs = np.sort(pairs)
    return int((pairs[1:] == pairs[:-1]).sum())


def _repeats_in_order(first: Nodes, second: Nodes, width: int) -> int:
    """The same where `first` ascends: pairs of near first numbers fit 32 bits, and are sorted a part at a time."""
    found = start = 0
    while start < len(first):
        least = int(first[start])
        # Of the type of `first`, which would be copied otherwise.
        beyond = first.dtype.type(min(least + _WORD // width, _HALF - 1))
        end = min(int(np.searchsorted(first, beyond)), start + _PART)
        # A part ends between two first numbers, so that no pair is in two of them.
        end = end if end == len(first) else int(np.searchsorted(first, first[end]))
        if end <= start:
            end = int(np.searchsorted(first, first[start], side="right"))
        pairs = ((first[start:end].astype(np.int64) - least) * width + second[start:end]).astype(np.uint32)
        pairs.sort()
        found += int((pairs[1:] == pairs[:-1]).sum())
        start = end
    return found


def _numbers(column: pa.ChunkedArray, kind: type[np.int32] | type[np.int64] = np.int64) -> Ints:
    if column.null_count:
        raise BrokenPromise("Nodes and groups must be numbers, none missing.")
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), kind)
