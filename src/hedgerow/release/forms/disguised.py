"""Quasi-identifiers unchanged, sensitive values generalized to subdomains that are shuffled inside each group.

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
`sensitive` are joined by the group, and which subdomains of a group belong to nobody is not published.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.exact import require_ticks
from hedgerow.partition.shuffles import group_numbers, permutation, shuffle_within
from hedgerow.partition.target.least_range import node_extremes
from hedgerow.randomness import Keys, order_keys, system_keys
from hedgerow.release.forms.example import (
    Example,
    count_sql,
    name_r,
    name_sql,
    sum_or,
)
from hedgerow.release.forms.form import SHUFFLED, Form
from hedgerow.release.release import PublishedColumns
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.verify.names import subdomain_columns

if TYPE_CHECKING:
    from hedgerow.release.release import Release
    from hedgerow.table import Table

__all__ = ["DISGUISED", "DisguisedGroups", "implied_table", "publish_disguised", "subdomain_columns", "target_table"]

_HEAVIEST = 2**62


@dataclass(frozen=True, eq=False)
class DisguisedGroups:
    """Group g has the rows `rows[row_offsets[g]:row_offsets[g+1]]` and the subdomains `nodes[offsets[g]:offsets[g+1]]`.

    Nodes are numbered over all trees, tree after tree. With `is_shifted` groups follow distributions of their own near
    the target, which are then published.
    """

    rows: NDArray[np.int32]
    row_offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    is_shifted: bool = False


def publish_disguised(
    kept: Table,
    columns: PublishedColumns,
    groups: DisguisedGroups,
    trees: Sequence[Hierarchy],
    *,
    group_column: str,
    separate: bool = False,
    keys: Keys = system_keys,
) -> dict[str, pa.Table]:
    """Publish the open columns beside shuffled subdomains; `separate` puts them into two tables."""
    name = columns.sensitive[0]
    order = permutation(len(groups.offsets) - 1, keys=order_keys(keys))
    rows, row_offsets = _regroup(groups.rows, groups.row_offsets, order)
    nodes, offsets = _regroup(groups.nodes, groups.offsets, order)
    shuffle_within(rows, row_offsets, keys=order_keys(keys))
    shuffle_within(nodes, offsets, keys=order_keys(keys))
    target = target_table(trees, kept.arrow.schema.field(name).type)
    require_ticks(target.column("low"), name)  # a tree may have values that no row has, and answers sum those, too
    others = {"target": target, **({"implied": implied_table(nodes, offsets, target)} if groups.is_shifted else {})}
    opened = kept.at((*columns.quasi, *columns.plain), rows)
    hidden = _subdomains(nodes, target, subdomain_columns(columns, group_column))
    if not separate:
        return {"release": pa.table({**opened, **hidden, group_column: group_numbers(row_offsets)}), **others}
    return {
        "quasi": pa.table({**opened, group_column: group_numbers(row_offsets)}),
        "sensitive": pa.table({**hidden, group_column: group_numbers(offsets)}),
        **others,
    }


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


def _regroup(
    array: NDArray[np.int32], offsets: NDArray[np.int64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Put the runs of `array` into another order."""
    sizes = np.diff(offsets)[order]
    ends = np.append(0, np.cumsum(sizes))
    places = np.arange(len(array)) + np.repeat(offsets[:-1][order] - ends[:-1], sizes)
    return array[places], ends


def _lower_ends(columns: PublishedColumns, group_column: str) -> dict[str, str]:
    return {columns.sensitive[0]: subdomain_columns(columns, group_column)[0]}


def _example(release: Release, help_columns: Collection[str]) -> Example | None:
    """A sum by the help table; a count where that has no sums: a subdomain may be any value below its node."""
    return sum_or(_count_example, release, help_columns)


def _count_example(release: Release, people: str, hidden: str, known: str, column: str) -> Example:
    group, node = release.group_column, subdomain_columns(release.columns, release.group_column)[2]
    target = release.tables["target"]
    leaf = target.filter(pc.invert(pc.is_in(target.column("node"), value_set=target.column("parent")))).column("low")
    return Example(
        f"how many rows have a value of `{column}`, for each `{known}`: of the S subdomains of a group, h of whose "
        "rows match, n are the value asked for and m contain it; max(0, h + n - S) to min(h, m) go together",
        count_sql(known, column, leaf[0].as_py()),
        f"""\
WITH RECURSIVE
  above AS (SELECT node AS leaf, low AS value, node FROM 'target.parquet'
            WHERE node NOT IN (SELECT parent FROM 'target.parquet' WHERE parent IS NOT NULL)
            UNION ALL SELECT leaf, value, parent FROM above JOIN 'target.parquet' AS target USING (node)
            WHERE parent IS NOT NULL),
  known AS (SELECT {name_sql(known)} AS known, {name_sql(group)} AS g, count(*) AS h
            FROM '{people}.parquet' GROUP BY 1, 2),
  hidden AS (SELECT {name_sql(node)} AS node, {name_sql(group)} AS g FROM '{hidden}.parquet'),
  counted AS (SELECT value, g, count(*) FILTER (WHERE leaf = node) AS n, count(*) AS m
              FROM hidden JOIN above USING (node) GROUP BY value, g),
  sizes AS (SELECT g, count(*) AS size FROM hidden GROUP BY g)
SELECT known, value, sum(greatest(h + n - size, 0)) AS lower, sum(least(h, m)) AS upper
FROM known JOIN counted USING (g) JOIN sizes USING (g)
GROUP BY known, value ORDER BY known, value
""",
        f"""\
import pandas as pd

target = pd.read_parquet("target.parquet")
parents = dict(zip(target["node"], target["parent"]))
above = []
for leaf, value in target.loc[~target["node"].isin(target["parent"]), ["node", "low"]].itertuples(index=False):
    node = leaf
    while pd.notna(node):
        above.append((value, node == leaf, int(node)))
        node = parents[node]
above = pd.DataFrame(above, columns=["value", "n", "node"])
known = pd.read_parquet("{people}.parquet")[[{known!r}, {group!r}]].set_axis(["known", "g"], axis=1)
hidden = pd.read_parquet("{hidden}.parquet")[[{node!r}, {group!r}]].set_axis(["node", "g"], axis=1)
known = known.groupby(["known", "g"], dropna=False).size().reset_index(name="h")
sizes = hidden.groupby("g").size().rename("size")
counted = hidden.merge(above).groupby(["value", "g"])["n"].agg(n="sum", m="size").reset_index().join(sizes, on="g")
pairs = known.merge(counted, on="g")
pairs["lower"] = (pairs["h"] + pairs["n"] - pairs["size"]).clip(lower=0)
pairs["upper"] = pairs[["h", "m"]].min(axis=1)
answer = pairs.groupby(["known", "value"], dropna=False)[["lower", "upper"]].sum().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
target <- read_parquet("target.parquet")
step <- above <- target |> filter(!node %in% parent) |> transmute(leaf = node, value = low, node)
while (nrow(step) > 0) {{
  step <- step |> inner_join(select(target, node, parent), by = "node") |>
    filter(!is.na(parent)) |> transmute(leaf, value, node = parent)
  above <- bind_rows(above, step)
}}
known <- read_parquet("{people}.parquet") |>
  count(known = .data[[{name_r(known)}]], g = .data[[{name_r(group)}]], name = "h")
hidden <- read_parquet("{hidden}.parquet") |>
  transmute(node = .data[[{name_r(node)}]], g = .data[[{name_r(group)}]]) |> group_by(g) |> mutate(size = n())
hidden |> inner_join(above, by = "node", relationship = "many-to-many") |>
  group_by(value, g, size) |> summarise(n = sum(leaf == node), m = n()) |>
  inner_join(known, by = "g", relationship = "many-to-many") |>
  group_by(known, value) |> summarise(lower = sum(pmax(h + n - size, 0)), upper = sum(pmin(h, m)))
""",
    )


def _people(release: Release) -> pa.Table:
    """The rows of people beside an empty column for their values, of which there may be more than rows."""
    table = release.tables["release" if "release" in release.tables else "quasi"]
    name, low = release.columns.sensitive[0], release.tables["target"].schema.field("low").type
    opened = table.select([*release.columns.quasi, *release.columns.plain, release.group_column])
    return opened.append_column(name, pa.nulls(table.num_rows, low))


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
    example=_example,
    rows=_people,
    evidence="disguised",
)
