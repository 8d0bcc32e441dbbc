"""Quasi-identifiers as they are, sensitive values generalized to subdomains that are shuffled inside each group.

Source     [Zhang 2008], sections 3.3.2 and 3.5
Guarantee  inside a group every assignment of its subdomains to its rows is equally likely; the order of published rows,
           the group numbers and the order inside a group are independent of the input's order
Cost       O(n) time; row numbers and nodes beyond the table

A subdomain of the column `s` is published in three columns: `s_low` and `s_high`, the least and the greatest value
below its node, and `s_node`, the node itself. The table `target` lists the nodes: which tree they belong to, the node
above, low, high, label, and the weight of the edge above. Nodes that are nobody's parent are values.

Where groups follow the target only within a shift, the table `implied` holds the weights that each follows exactly: for
every branch that a group divides, how many of its subdomains lie below each child; a child that is not listed has none.

Without fake values there is one table, `release`. With them there are more subdomains than rows: `quasi` and
`sensitive` are joined by the group, and which subdomains of a group belong to nobody is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.partition.target.trees import node_extremes
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.form import SHUFFLED, Form
from hedgerow.release.release import PublishedColumns, free_name
from hedgerow.release.shuffle import permutation, shuffle_within
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["DISGUISED", "Groups", "disguised", "implied_table", "subdomain_columns", "target_table"]

_HEAVIEST = 2**62


@dataclass(frozen=True, eq=False)
class Groups:
    """Group g has the rows `rows[row_offsets[g]:row_offsets[g+1]]` and the subdomains `nodes[offsets[g]:offsets[g+1]]`.

    Nodes are numbered over all trees, tree after tree.
    """

    rows: NDArray[np.int32]
    row_offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    offsets: NDArray[np.int64]


def disguised(
    kept: pa.Table,
    columns: PublishedColumns,
    groups: Groups,
    trees: Sequence[Hierarchy],
    *,
    group_column: str,
    separate: bool = False,
    is_shifted: bool = False,
    keys: Keys = system_keys,
) -> dict[str, pa.Table]:
    """Publish the open columns beside shuffled subdomains; `separate` puts them into two tables."""
    name = columns.sensitive[0]
    order = permutation(len(groups.offsets) - 1, keys=keys)
    rows, row_offsets = _regrouped(groups.rows, groups.row_offsets, order)
    nodes, offsets = _regrouped(groups.nodes, groups.offsets, order)
    shuffle_within(rows, row_offsets, keys=keys)
    shuffle_within(nodes, offsets, keys=keys)
    target = target_table(trees, kept.schema.field(name).type)
    others = {"target": target, **({"implied": implied_table(nodes, offsets, target)} if is_shifted else {})}
    opened = {one: kept.column(one).take(pa.array(rows)) for one in (*columns.quasi, *columns.plain)}
    hidden = _subdomains(nodes, target, subdomain_columns(columns, group_column))
    if not separate:
        return {"release": pa.table({**opened, **hidden, group_column: _numbers(row_offsets)}), **others}
    return {
        "quasi": pa.table({**opened, group_column: _numbers(row_offsets)}),
        "sensitive": pa.table({**hidden, group_column: _numbers(offsets)}),
        **others,
    }


def subdomain_columns(columns: PublishedColumns, group_column: str) -> tuple[str, str, str]:
    """The names of the columns low, high and node of the sensitive column."""
    taken = (*columns.all, group_column)
    names: list[str] = []
    for suffix in ("low", "high", "node"):
        names.append(free_name(f"{columns.sensitive[0]}_{suffix}", (*taken, *names)))
    return names[0], names[1], names[2]


def target_table(trees: Sequence[Hierarchy], kind: pa.DataType) -> pa.Table:
    """List the nodes of all trees; values are of the sensitive column's type."""
    bases = np.cumsum([0, *(tree.num_nodes for tree in trees)])
    parts = [_tree_columns(number, tree, int(bases[number]), kind) for number, tree in enumerate(trees)]
    return pa.concat_tables(parts).combine_chunks()


def implied_table(nodes: NDArray[np.int32], offsets: NDArray[np.int64], target: pa.Table) -> pa.Table:
    """For each group and each node below a root how many of the group's subdomains lie below it, where some do."""
    parents = target.column("parent").fill_null(-1).to_numpy().astype(np.int64)
    groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs, numbers = np.unique(groups * len(parents) + nodes, return_counts=True)
    seen, counts = [], []
    place, group = pairs % len(parents), pairs // len(parents)
    while len(place):
        below = parents[place] >= 0
        place, group, numbers = place[below], group[below], numbers[below]
        seen.append(group * len(parents) + place)
        counts.append(numbers)
        place = parents[place]
    found, owner = np.unique(np.concatenate(seen), return_inverse=True)
    weights = np.bincount(owner, np.concatenate(counts), minlength=len(found)).astype(np.int64)
    columns = {"group": (found // len(parents)).astype(np.int32), "node": (found % len(parents)).astype(np.int32)}
    return pa.table({**columns, "weight": weights})


def _tree_columns(number: int, tree: Hierarchy, base: int, kind: pa.DataType) -> pa.Table:
    weights = tree.weights or ()
    if max(weights) >= _HEAVIEST:
        raise ParameterError("the weights of the target must be below 2^62; make them small by 'quantize'.")
    leaves = tree.leaves.cast(kind)
    ranks = None if pa.types.is_string(kind) else np.asarray(leaves.to_numpy(zero_copy_only=False).argsort().argsort())
    lows, highs = node_extremes(tree, ranks)
    parents = np.where(tree.parents < 0, 0, tree.parents + base)
    return pa.table(
        {
            "target": pa.array(np.full(tree.num_nodes, number, np.int32)),
            "node": pa.array(np.arange(base, base + tree.num_nodes, dtype=np.int32)),
            "parent": pa.array(parents.astype(np.int32), mask=tree.parents < 0),
            "low": leaves.take(pa.array(lows)),
            "high": leaves.take(pa.array(highs)),
            "label": pa.array(tree.labels, pa.string()),
            "weight": pa.array(weights, pa.int64()),
        }
    )


def _subdomains(nodes: NDArray[np.int32], target: pa.Table, names: tuple[str, str, str]) -> dict[str, pa.Array]:
    chosen = pa.array(nodes)
    low, high, node = names
    return {low: target.column("low").take(chosen), high: target.column("high").take(chosen), node: chosen}


def _regrouped(
    array: NDArray[np.int32], offsets: NDArray[np.int64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Put the runs of `array` into another order."""
    sizes = np.diff(offsets)[order]
    ends = np.append(0, np.cumsum(sizes))
    places = np.arange(len(array)) + np.repeat(offsets[:-1][order] - ends[:-1], sizes)
    return array[places], ends


def _numbers(offsets: NDArray[np.int64]) -> pa.Array:
    return pa.array(np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)))


def _lower_ends(columns: PublishedColumns, group_column: str) -> dict[str, str]:
    return {columns.sensitive[0]: subdomain_columns(columns, group_column)[0]}


DISGUISED = Form(
    name="disguised",
    has_subdomains=True,
    may_have_fakes=True,
    done="The values of {sensitive} were widened to subdomains that follow a target distribution, and shuffled inside "
    "{groups} of rows; all other columns are as they were. Where there are more subdomains than rows, some belong to "
    "nobody.",
    files={
        "release": "the other columns, least and greatest value and node of each subdomain, and `{group}`",
        "quasi": "the other columns and `{group}`",
        "sensitive": "least and greatest value and node of each subdomain, and `{group}`; a group that has more "
        "subdomains than rows has so many fake ones, and nobody can tell which",
        "target": "the nodes of the target's tree: the node above, lowest and highest value, label, weight",
        "implied": "per group the weights that it follows exactly, for the branches that it divides; a sibling that is "
        "not listed has weight 0, other weights are the target's",
    },
    unverifiable=f"{SHUFFLED}, and that every true value lies in its subdomain",
    lower_ends=_lower_ends,
)
