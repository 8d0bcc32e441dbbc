"""Hubs, nodes with so many links that the other side cannot be grouped: how they are handled, and what that costs.

Source     own
Guarantee  what is left has no node that alone forbids groups of k and l; nothing is published of a hub but, on request,
           its columns and its number of links. No choice of a left entity changes the number of links of more than its
           own hubs
Cost       O(edges)

The neighbours of one node must all be in different groups, so a product that three quarters of all households buy
allows no groups of two households. Counting finds the nodes that forbid k or l. Without them the greedy search may
still fail, so further rounds set aside nodes with fewer and fewer links.

Instead, the neighbours of hubs may have smaller groups. Of n nodes, d of which share a neighbour, at most n / d can be
in a group with each of the d. So a node whose neighbour of largest degree has d links is promised min(k, n / (slack d))
nodes, at least one, and one end of every link must be in a group of full size: that keeps the probability of every link
at one of min(k, l). See docs/methods/safe_grouping.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools
from hedgerow.errors import Infeasible
from hedgerow.graph.adjacency import Adjacency, Order, largest_possible
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys

if TYPE_CHECKING:
    from hedgerow.graph.greedy import Grouping

HubChoice = Literal["refuse", "suppress", "apart", "lower"]
SLACKS = (1, 2, 4, 8)
"""How far below what counting allows the sizes of groups of neighbours of hubs are tried."""
HUB_CHOICES: tuple[HubChoice, ...] = get_args(HubChoice)


@dataclass(frozen=True, eq=False)
class Hubs:
    """The entities that were set aside, and the number of pairs that they joined."""

    graph: BipartiteGraph
    left: Bools
    right: Bools
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

    At 1 a hub is a node with so many neighbours that these could not be in different groups; at 2 one with half as
    many, and so on.
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


def without_entities(graph: BipartiteGraph, hubs: tuple[Bools, Bools], edges: Bools) -> BipartiteGraph:
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


def wanted_sizes(side: Adjacency, opposite: Adjacency, k: int, slack: int) -> NDArray[np.int32]:
    """How many nodes each node's group must have: k, or fewer where a neighbour has many links."""
    busiest = np.zeros(side.nodes, np.int64)
    np.maximum.at(busiest, side.ends, opposite.degrees[side.neighbours])
    sizes: NDArray[np.int32] = np.clip(side.nodes // np.maximum(slack * busiest, 1), 1, k).astype(np.int32)
    return sizes


@dataclass(frozen=True, eq=False)
class Lowered:
    """Groupings of both sides in which neighbours of hubs may have smaller groups, with the slack of each side.

    A slack of 0 says that every group of the side has its full size.
    """

    groupings: tuple[Grouping, Grouping]
    slacks: tuple[int, int]
    sizes: tuple[int, int]

    @property
    def counts(self) -> dict[str, int]:
        """What the guarantee states; nothing where every group has its full size."""
        if not any(self.slacks):
            return {}
        below = [int(g.sizes[g.sizes < size].sum()) for g, size in zip(self.groupings, self.sizes, strict=True)]
        names = ("left_slack", "right_slack", "left_lowered", "right_lowered")
        return dict(zip(names, (*self.slacks, *below), strict=True))

    @property
    def least(self) -> tuple[int, int]:
        """The smallest group of each side, or its promised size where all have that."""
        found = [min(int(g.sizes.min()), size) for g, size in zip(self.groupings, self.sizes, strict=True)]
        return found[0], found[1]

    def check_links(self, graph: BipartiteGraph) -> None:
        """Raise Infeasible where both ends of a link are in groups below their size."""
        ends = (graph.left_ends, graph.right_ends)
        sizes = [g.sizes[g.groups[one]] for g, one in zip(self.groupings, ends, strict=True)]
        few = int((np.maximum(*sizes) < min(self.sizes)).sum())
        if few:
            raise Infeasible(
                f"{few:,} of {graph.edges:,} links would have small groups at both ends, because both sides have nodes "
                f'with very many links. Set them aside with hubs="apart" or hubs="suppress", or ask for smaller groups.'
            )


def group_lowered(
    side: Adjacency, opposite: Adjacency, k: int, *, order: Order, strict: bool, keys: Keys
) -> tuple[Grouping, int]:
    """Group a side in full sizes, else with smaller groups for neighbours of hubs; return the slack beside."""
    from hedgerow.graph.greedy import greedy

    for slack in (0, *SLACKS):
        if not slack and k > largest_possible(opposite):
            continue
        wanted = wanted_sizes(side, opposite, k, slack) if slack else None
        for _ in range(3):
            found, loose = greedy(side, opposite, k=k, order=order, strict=strict, keys=keys, wanted=wanted)
            if found is not None:
                return found, slack
    raise Infeasible(
        f"No safe grouping was found, not even with groups of an eighth of what counting allows for neighbours of "
        f'nodes with very many links: {loose:,} nodes were left over. Try order="degree", or set hubs aside.'
    )


@dataclass(frozen=True)
class LoweredCost:
    """What smaller groups for neighbours of hubs cost, by counting: entities below their size, and links of both."""

    slack: int
    left_lowered: float
    right_lowered: float
    links_lowered: float
    links_open: float


def lowered_costs(graph: BipartiteGraph, k: int, l: int) -> list[LoweredCost]:  # noqa: E741
    """For each slack: the shares of entities with smaller groups, of links with one such end, and with two."""
    found = []
    for slack in SLACKS:
        left = wanted_sizes(graph.by_left, graph.by_right, k, slack) < k
        right = wanted_sizes(graph.by_right, graph.by_left, l, slack) < l
        ends = left[graph.left_ends], right[graph.right_ends]
        shares = (left, right, ends[0] | ends[1], ends[0] & ends[1])
        found.append(LoweredCost(slack, *(float(marks.mean()) if len(marks) else 0.0 for marks in shares)))
    return found
