"""Publish a grouping: entities and nodes each in a secret order inside their groups, edges on masked numbers.

Source     [Zhang 2008], definition 4.4.2
Guarantee  every assignment of a group's entities to its nodes is equally likely; group numbers, node numbers and the
           order of all rows are independent of the input's order
Cost       O(entities + edges log edges)
Deviates   the paper's two maps from entities to groups are the column `group` of the entity tables
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import SchemaError
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.partition.shuffles import permutation, shuffle_within
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.release import Made
from hedgerow.verify.values import Guarantee

if TYPE_CHECKING:
    from hedgerow.graph.safe_grouping import Grouping

__all__ = ["check_no_structure", "grouped"]


def grouped(
    graph: BipartiteGraph,
    left: Grouping,
    right: Grouping,
    *,
    guarantee: Guarantee,
    made: Made,
    keys: Keys = system_keys,
) -> GroupedGraph:
    """Mask the nodes of a graph by a grouping of each side."""
    left_rows, left_nodes, left_masks, left_column = _masked(graph.left, left, keys)
    right_rows, right_nodes, right_masks, right_column = _masked(graph.right, right, keys)
    tables = {
        "left": left_rows,
        "right": right_rows,
        "left_nodes": left_nodes,
        "right_nodes": right_nodes,
        "edges": _edges(left_masks[graph.left_ends], right_masks[graph.right_ends], graph.right.num_rows),
    }
    return GroupedGraph(tables, (graph.left_key, graph.right_key), (left_column, right_column), guarantee, made)


def check_no_structure(graph: BipartiteGraph) -> None:
    """Refuse a column that is each entity's number of edges: it would undo the masking.

    Other columns that follow from the edges cannot be told from attributes; the guarantee says that they must not be
    there.
    """
    for side, table, key, degrees in (
        ("left", graph.left, graph.left_key, graph.by_left.degrees),
        ("right", graph.right, graph.right_key, graph.by_right.degrees),
    ):
        for name in table.column_names:
            column = table.column(name)
            if name == key or not pa.types.is_integer(column.type) or column.null_count or np.ptp(degrees) == 0:
                continue
            if np.array_equal(column.to_numpy(), degrees):
                raise SchemaError(
                    f"The column '{name}' of the {side} table is each entity's number of edges, which tells the nodes "
                    f"of a group apart. Leave it out: 'degree' can be asked of the release."
                )


def _masked(table: pa.Table, grouping: Grouping, keys: Keys) -> tuple[pa.Table, pa.Table, NDArray[np.int32], str]:
    """Return the published entities, the published nodes, and the secret number of each entity's node."""
    groups = permutation(grouping.count, keys=keys)[grouping.groups]
    offsets = np.append(0, np.cumsum(np.bincount(groups, minlength=grouping.count)))
    by_group = np.argsort(groups, kind="stable").astype(np.int32)
    ascending = pa.array(groups[by_group])
    entities, nodes = by_group, by_group.copy()
    shuffle_within(entities, offsets, keys=keys)
    shuffle_within(nodes, offsets, keys=keys)
    masks = np.empty_like(nodes)
    masks[nodes] = np.arange(len(nodes), dtype=np.int32)
    column = _free_name(table)
    published = table.take(pa.array(entities)).append_column(column, ascending).replace_schema_metadata(None)
    return published, pa.table({"node": np.arange(len(nodes), dtype=np.int32), "group": ascending}), masks, column


def _free_name(table: pa.Table) -> str:
    name = "group"
    while name in table.column_names:
        name = f"_{name}"
    return name


def _edges(left: NDArray[np.int32], right: NDArray[np.int32], width: int) -> pa.Table:
    """Sort the masked edges: the order of a sorted list of secret numbers says nothing."""
    ascending = np.sort(left.astype(np.int64) * width + right)
    return pa.table(
        {"left_node": (ascending // width).astype(np.int32), "right_node": (ascending % width).astype(np.int32)}
    )
