"""Nodes with so many links that nobody on the other side can be grouped: set them aside, and say what that costs.

Source     own
Guarantee  what is left has no node that alone forbids groups of k and l; nothing is published of a hub but, on request,
           its columns and its number of links. No choice of a left entity changes the number of links of more than its
           own hubs
Cost       O(edges)

The neighbours of one node must all be in different groups, so a product that three quarters of all households buy
allows no groups of two households. Counting tells which nodes forbid k or l. Without them the greedy search may still
fail, so rounds of growing tightness set aside what comes next to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import Infeasible
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys

__all__ = ["HUB_CHOICES", "HubChoice", "HubCost", "Hubs", "hub_costs", "set_hubs_aside", "without_entities"]

HubChoice = Literal["refuse", "suppress", "apart"]
HUB_CHOICES: tuple[HubChoice, ...] = get_args(HubChoice)

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Hubs:
    """The entities that were set aside, and the number of pairs that they joined."""

    graph: BipartiteGraph
    left: Marks
    right: Marks
    links: int

    @property
    def counts(self) -> dict[str, int]:
        """What the guarantee states; nothing where nothing was set aside."""
        if not (self.left.any() or self.right.any()):
            return {}
        return {"left_hubs": int(self.left.sum()), "right_hubs": int(self.right.sum()), "hub_links": self.links}

    def tables(self, keys: Keys) -> dict[str, pa.Table]:
        """A table of each side's hubs with their number of neighbours, in a secret order."""
        found = {}
        for side, table, marks, degrees in (
            ("left", self.graph.left, self.left, self.graph.by_left.degrees),
            ("right", self.graph.right, self.right, self.graph.by_right.degrees),
        ):
            rows = np.flatnonzero(marks)
            if len(rows):
                rows = rows[permutation(len(rows), keys=keys)]
                name = _free_name(table)
                links = pa.array(degrees[rows].astype(np.int64))
                hubs = table.take(pa.array(rows)).append_column(name, links)
                found[f"{side}_hubs"] = hubs.replace_schema_metadata(None)
        return found


def _free_name(table: pa.Table) -> str:
    name = "links"
    while name in table.column_names:
        name = f"_{name}"
    return name


def set_hubs_aside(graph: BipartiteGraph, k: int, l: int, tightness: int) -> tuple[BipartiteGraph, Hubs]:  # noqa: E741
    """Return the graph without its hubs, and these; with a tightness of 0 nothing is one.

    At 1 a hub is who has so many neighbours that these could not be in different groups; at 2 who has half as many, and
    so on.
    """
    sizes = graph.left.num_rows, graph.right.num_rows
    hubs = np.zeros(sizes[0], np.bool_), np.zeros(sizes[1], np.bool_)
    edges = np.ones(graph.edges, np.bool_)
    if tightness:
        share = 2.0 ** (1 - tightness)
        while True:
            degrees = [
                np.bincount(ends[edges], minlength=size)
                for ends, size in zip((graph.left_ends, graph.right_ends), sizes, strict=True)
            ]
            found = degrees[0] > share * ((~hubs[1]).sum() // l), degrees[1] > share * ((~hubs[0]).sum() // k)
            found = found[0] & ~hubs[0] if l > 1 else hubs[0] & False, found[1] & ~hubs[1] if k > 1 else hubs[1] & False
            if not (found[0].any() or found[1].any()):
                break
            hubs = hubs[0] | found[0], hubs[1] | found[1]
            edges = ~(hubs[0][graph.left_ends] | hubs[1][graph.right_ends])
            if hubs[0].all() or hubs[1].all():
                raise Infeasible(f"Every entity of a side has too many links for groups of k = {k} and l = {l}.")
    aside = Hubs(graph, *hubs, graph.edges - int(edges.sum()))
    return (
        graph if edges.all() and not (hubs[0].any() or hubs[1].any()) else without_entities(graph, hubs, edges)
    ), aside


def without_entities(graph: BipartiteGraph, hubs: tuple[Marks, Marks], edges: Marks) -> BipartiteGraph:
    """The graph without some entities and with some of its pairs."""
    numbers = [(np.cumsum(~marks) - 1).astype(np.int32) for marks in hubs]
    values = graph.values
    if values is not None:
        rows = np.flatnonzero(edges[values.pairs])
        values = values.take(rows, (np.cumsum(edges) - 1)[values.pairs[rows]])
    return replace(
        graph,
        left=graph.left.filter(pa.array(~hubs[0])),
        right=graph.right.filter(pa.array(~hubs[1])),
        left_ends=numbers[0][graph.left_ends[edges]],
        right_ends=numbers[1][graph.right_ends[edges]],
        values=values,
    )


@dataclass(frozen=True)
class HubCost:
    """What setting hubs aside costs at one tightness, and which sizes counting allows then."""

    tightness: int
    left_hubs: int
    right_hubs: int
    links_lost: float
    most_k: int
    most_l: int


def hub_costs(graph: BipartiteGraph, k: int, l: int) -> list[HubCost]:  # noqa: E741
    """For each tightness: how many hubs, which share of the links is lost, and the sizes that counting allows."""
    from hedgerow.graph.adjacency import largest_possible

    found = []
    for tightness in range(5):
        try:
            kept, aside = set_hubs_aside(graph, k, l, tightness)
        except Infeasible:
            break
        sizes = largest_possible(kept.by_right), largest_possible(kept.by_left)
        counts = int(aside.left.sum()), int(aside.right.sum())
        found.append(HubCost(tightness, *counts, aside.links / max(1, graph.edges), *sizes))
    return found
