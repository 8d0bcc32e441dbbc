"""Publish a grouping: entities and nodes each in a secret order inside their groups, edges on masked numbers.

Source     [Zhang 2008], definition 4.4.2
Guarantee  every assignment of a group's entities to its nodes is equally likely; group numbers, node numbers and the
           order of all rows are independent of the input's order
Cost       O(entities + edges log edges)
Deviates   the paper's two maps from entities to groups are the column `group` of the entity tables

Columns of edges: disguise them so that each combination of values is shared by edges of enough nodes.

Source     own; the cuts are those of [LeFevre 2006]
Guarantee  each combination of published values is shared by edges of at least `edge_k` different left and as many
           different right nodes; every true number or date lies in its published interval
Cost       O(edges log edges) in all, a level of halving being O(edges)

Texts and truth values are kept where enough edges share their combination, and are left out (missing) otherwise.
Numbers and dates are cut at medians, the widest column first, as long as both parts have enough nodes of both sides;
then each part shows its least and its greatest value, in columns `x_from` and `x_to`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints, is_numeric
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.graph.adjacency import side_by_side
from hedgerow.graph.bipartite import BipartiteGraph, EdgeValues
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_code, permutation, shuffle_within
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.release import Made
from hedgerow.verify.graph import count_ends, count_known, edge_classes, is_function, numbers_of
from hedgerow.verify.graph_columns import MOST_PAIRS, columns_that_name
from hedgerow.verify.values import Guarantee

if TYPE_CHECKING:
    from hedgerow.graph.greedy import Grouping


_CHANCE = 20.0
"""Bits beyond which a fit is no coincidence."""
_SOME = 2_000
"""Entities that are looked at first."""

_INSERTED = 24
"""Neighbours up to which they are sorted by insertion."""


def group_graph(
    graph: BipartiteGraph,
    left: Grouping,
    right: Grouping,
    *,
    guarantee: Callable[[Mapping[str, int]], Guarantee],
    made: Made,
    keys: Keys = system_keys,
) -> GroupedGraph:
    """Mask the nodes of a graph by a grouping of each side; `guarantee` words what is measured in the release."""
    sides = _mask(graph.left, left, keys), _mask(graph.right, right, keys)
    (left_rows, left_nodes, left_masks, left_column), (right_rows, right_nodes, right_masks, right_column) = sides
    entities, edges = side_by_side(
        graph.edges,
        lambda: (left_rows(), right_rows()),
        lambda: _edges(left_masks, right_masks, graph, keys),
    )
    tables = dict(zip(("left", "right"), entities, strict=True))
    tables |= {"left_nodes": left_nodes, "right_nodes": right_nodes, "edges": edges}
    measured = {
        "left_known": count_known(left.groups.astype(np.int64), graph.by_left.degrees),
        "right_known": count_known(right.groups.astype(np.int64), graph.by_right.degrees),
    }
    names = (graph.left_key, graph.right_key), (left_column, right_column)
    return GroupedGraph(tables, *names, guarantee(measured), made)


def check_no_structure(graph: BipartiteGraph) -> None:
    """Refuse a column that is a monotone function of the degrees: it would undo the masking.

    This covers numbers, and texts that are numbers. Other columns that follow from the edges cannot be recognized; the
    guarantee says that there must be none.
    """
    for side, table, key, degrees in (
        ("left", graph.left, graph.left_key, graph.by_left.degrees),
        ("right", graph.right, graph.right_key, graph.by_right.degrees),
    ):
        if np.ptp(degrees) == 0:
            continue
        for name in table.column_names:
            # What does not follow some degrees does not follow all: a few rows clear nearly every column.
            some = numbers_of(table.column(name).slice(0, _SOME))
            if some is None or not any(is_function(degrees[:_SOME], way * some) for way in (1, -1)):
                continue
            values = numbers_of(table.column(name))
            if values is None:
                continue
            is_degree = name != key and np.array_equal(values, degrees)
            if not is_degree and not any(_follows(way * values, degrees) for way in (1, -1)):
                continue
            raise SchemaError(
                f"The column '{name}' of the {side} table is each entity's number of edges, or grows or falls with it, "
                f"which distinguishes the nodes of a group. Leave it out: 'degree' can be asked of the release."
            )


def check_no_names(graph: BipartiteGraph) -> None:
    """Refuse a column of the edges that has, at every edge, the value of a column of the entity at one end."""
    if graph.values is None:
        return
    for side, table, found in (("left", graph.left, graph.left_ends), ("right", graph.right, graph.right_ends)):
        ends = found[graph.values.pairs].astype(np.int64)
        if len(graph.values.columns) * table.num_columns > MOST_PAIRS:
            raise SchemaError(
                f"The edges have {len(graph.values.columns)} columns and the {side} table has {table.num_columns}; at "
                f"most {MOST_PAIRS:,} pairs of them are compared, so leave some out."
            )
        for name, column in columns_that_name(graph.values.columns, ends, table, np.arange(table.num_rows)):
            raise SchemaError(
                f"'{name}' of the edges is '{column}' of the {side} entity at each edge, which tells which node is "
                f"which entity. Leave one of the two out."
            )


def _follows(values: Floats, degrees: Ints) -> bool:
    """Whether a column is a monotone function of the degrees, and that is no coincidence."""
    if not is_function(degrees, values):
        return False
    counts = np.unique(values, return_counts=True)[1]
    bits = math.lgamma(len(values) + 1) - sum(map(math.lgamma, (counts + 1).tolist()))
    return bits > _CHANCE * math.log(2)


def _mask(
    table: pa.Table, grouping: Grouping, keys: Keys
) -> tuple[Callable[[], pa.Table], pa.Table, NDArray[np.int32], str]:
    """Return what gathers the published entities, the published nodes, and the secret number of each entity's node."""
    groups = permutation(grouping.count, keys=keys)[grouping.groups]
    sizes = np.bincount(groups, minlength=grouping.count)
    offsets = np.append(0, np.cumsum(sizes))
    by_group = by_code(groups.astype(np.int32), sizes)
    ascending = pa.array(groups[by_group])
    entities, nodes = by_group, by_group.copy()
    shuffle_within(entities, offsets, keys=keys)
    shuffle_within(nodes, offsets, keys=keys)
    masks = np.empty_like(nodes)
    masks[nodes] = np.arange(len(nodes), dtype=np.int32)
    column = _free_name(table)

    def publish() -> pa.Table:
        return table.take(pa.array(entities)).append_column(column, ascending).replace_schema_metadata(None)

    return publish, pa.table({"node": np.arange(len(nodes), dtype=np.int32), "group": ascending}), masks, column


def _free_name(table: pa.Table) -> str:
    name = "group"
    while name in table.column_names:
        name = f"_{name}"
    return name


def _edges(left: NDArray[np.int32], right: NDArray[np.int32], graph: BipartiteGraph, keys: Keys) -> pa.Table:
    """Sort the masked edges: the order of a sorted list of secret numbers reveals nothing; repetitions are shuffled."""
    if graph.values is None:
        return _pairs(*_ascending(graph, left, right))
    packed = (left.astype(np.int64)[graph.left_ends] << 32) | right[graph.right_ends]
    shuffled = permutation(graph.rows, keys=keys)
    rows = shuffled[np.argsort(packed[graph.values.pairs[shuffled]], kind="stable")]
    ascending = packed[graph.values.pairs[rows]]
    table = _pairs((ascending >> 32).astype(np.int32), (ascending & 0xFFFFFFFF).astype(np.int32))
    for name, column in graph.values.columns.items():
        table = table.append_column(name, column.take(pa.array(rows)))
    return table.replace_schema_metadata(None)


def _pairs(left: NDArray[np.int32], right: NDArray[np.int32]) -> pa.Table:
    return pa.table({"left_node": left, "right_node": right})


def _ascending(
    graph: BipartiteGraph, left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The masked ends of all pairs in ascending order, node by node: only the neighbours of one node are sorted."""
    near = graph.by_left
    nodes = np.empty_like(left)
    nodes[left] = np.arange(len(left), dtype=np.int32)
    found = np.empty(near.edges, np.int32), np.empty(near.edges, np.int32)
    _list_edges(nodes, near.offsets, near.neighbours, right, *found)
    return found


@kernel
def _list_edges(
    nodes: NDArray[np.int32],
    offsets: Ints,
    neighbours: NDArray[np.int32],
    masks: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
) -> None:
    """Write the edges of the nodes in turn, those of each by ascending masks."""
    place = 0
    for number in range(len(nodes)):
        node = nodes[number]
        first, degree = place, offsets[node + 1] - offsets[node]
        for edge in range(offsets[node], offsets[node + 1]):
            mask, before = masks[neighbours[edge]], place
            while degree <= _INSERTED and before > first and right[before - 1] > mask:
                right[before] = right[before - 1]
                before -= 1
            left[place], right[before] = number, mask
            place += 1
        if degree > _INSERTED:
            right[first:place].sort()


def disguise_edges(graph: BipartiteGraph, edge_k: int) -> tuple[BipartiteGraph, tuple[str, ...]]:
    """Return the graph with disguised columns of edges, and the names of those that became intervals."""
    from dataclasses import replace

    assert graph.values is not None
    values = graph.values
    ends = graph.left_ends[values.pairs].astype(np.int64), graph.right_ends[values.pairs].astype(np.int64)
    for side in ends:
        if len(np.unique(side)) < edge_k:
            raise Infeasible(f"edge_k = {edge_k} needs edges of as many nodes on each side; the graph has fewer.")
    ordered = {name: column for name, column in values.columns.items() if _is_ordered(column.type)}
    others = {name: column for name, column in values.columns.items() if name not in ordered}
    _check_names(ordered, values.columns)
    texts, classes = _kept_texts(others, ends, edge_k)
    published: dict[str, pa.ChunkedArray] = dict(texts)
    if ordered:
        ranks = np.stack([_ranks(column) for column in ordered.values()], axis=1)
        parts = _cut(ranks, classes, ends, edge_k)
        for name, column in ordered.items():
            published |= _intervals(name, column, parts)
    return replace(graph, values=EdgeValues(values.pairs, published)), tuple(ordered)


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(is_numeric(kind) or pa.types.is_temporal(kind))


def _check_names(ordered: Mapping[str, pa.ChunkedArray], columns: Mapping[str, pa.ChunkedArray]) -> None:
    for name, column in ordered.items():
        if {f"{name}_from", f"{name}_to"} & set(columns):
            raise SchemaError(
                f"'{name}' of the edges becomes '{name}_from' and '{name}_to'; another column is called so."
            )
        if column.null_count:
            raise SchemaError(f"'{name}' of the edges has missing values, which have no place in an interval.")


def _kept_texts(
    columns: Mapping[str, pa.ChunkedArray], ends: tuple[Ints, Ints], edge_k: int
) -> tuple[dict[str, pa.ChunkedArray], Ints]:
    """Leave out texts whose combination too few nodes have; return the columns and the class of each edge."""
    rows = len(ends[0])
    classes = edge_classes(list(columns.values()), rows)
    if _few(classes, ends, edge_k).any():
        classes = np.where(_few(classes, ends, edge_k), 0, classes + 1)
        # The class of missing texts must be large enough, too: otherwise the next smallest class joins it.
        while _few(classes, ends, edge_k).any():
            sizes = np.bincount(classes)
            sizes[[0, *np.flatnonzero(sizes == 0)]] = rows + 1
            classes[classes == int(sizes.argmin())] = 0
        kept = pa.array(classes != 0)
        columns = {name: _leave_out(column.combine_chunks(), kept) for name, column in columns.items()}
    return dict(columns), np.unique(classes, return_inverse=True)[1].astype(np.int64)


def _leave_out(column: pa.Array, kept: pa.Array) -> pa.ChunkedArray:
    """The column with what is not kept missing."""
    return pa.chunked_array([pc.if_else(kept, column, pa.scalar(None, column.type))])


def _few(classes: Ints, ends: tuple[Ints, Ints], edge_k: int) -> Bools:
    """Mark the edges of classes that fewer than `edge_k` nodes of a side have."""
    counts = np.minimum(*(count_ends(classes, side) for side in ends))
    marks: Bools = (counts < edge_k)[classes]
    return marks


def _ranks(column: pa.ChunkedArray) -> Floats:
    """Values between 0 and 1 by their rank, equal ones alike."""
    ranks = pc.rank(column.combine_chunks(), tiebreaker="dense").to_numpy().astype(np.float64)
    scaled: Floats = ranks / max(1.0, ranks.max(initial=1.0))
    return scaled


def _cut(ranks: Floats, classes: Ints, ends: tuple[Ints, Ints], edge_k: int) -> list[Ints]:
    """Halve the edges of each class as long as both halves have enough nodes of both sides."""
    order = np.argsort(classes, kind="stable")
    waiting = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
    done = []
    while waiting:
        rows = waiting.pop()
        halves = _halves(ranks, rows, ends, edge_k)
        if halves is None:
            done.append(rows)
        else:
            waiting += halves
    return done


def _halves(ranks: Floats, rows: Ints, ends: tuple[Ints, Ints], edge_k: int) -> list[Ints] | None:
    if len(rows) < 2 * edge_k:
        return None
    inside = ranks[rows]
    for column in np.argsort(-np.ptp(inside, axis=0), kind="stable").tolist():
        numbers = inside[:, column]
        below = numbers < np.median(numbers)
        if not below.any():
            below = numbers <= np.median(numbers)
        halves = [rows[below], rows[~below]]
        if all(len(half) >= edge_k and _has_ends(half, ends, edge_k) for half in halves):
            return halves
    return None


def _has_ends(rows: Ints, ends: tuple[Ints, Ints], edge_k: int) -> bool:
    return all(len(np.unique(side[rows])) >= edge_k for side in ends)


def _intervals(name: str, column: pa.ChunkedArray, parts: list[Ints]) -> dict[str, pa.ChunkedArray]:
    """The least and the greatest value of each part, beside each of its edges."""
    flat = column.combine_chunks()
    ranks = pc.rank(flat, tiebreaker="first").to_numpy().astype(np.int64) - 1
    by_rank = np.argsort(ranks)
    low, high = np.empty(len(flat), np.int64), np.empty(len(flat), np.int64)
    for rows in parts:
        inside = ranks[rows]
        low[rows], high[rows] = by_rank[inside.min()], by_rank[inside.max()]
    return {
        f"{name}_{end}": pa.chunked_array([flat.take(pa.array(rows))]) for end, rows in (("from", low), ("to", high))
    }
