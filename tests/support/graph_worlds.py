"""Oracles for grouped graphs: every graph that fits a release, and the best grouping there is, by exhaustion.

They work on published tables and on definitions alone and share nothing with `hedgerow.graph`'s search and bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.grouped import GroupedGraph
from tests.support.exhaustive import set_partitions

__all__ = ["World", "is_safe", "safe_grouping_exists", "tiny_graph", "worlds"]

World = list[tuple[dict[str, object], dict[str, object]]]
"""A graph that fits a release: its edges, each as the left and the right entity that it joins."""


def worlds(release: GroupedGraph) -> Iterator[World]:
    """Yield the graph of every assignment of entities to nodes; its size is the product of factorials: keep it tiny."""
    edges = release.tables["edges"].to_pylist()
    rights = list(_assignments(release, 1))
    for left in _assignments(release, 0):
        for right in rights:
            yield [(left[edge["left_node"]], right[edge["right_node"]]) for edge in edges]


def _assignments(release: GroupedGraph, number: int) -> Iterator[dict[int, dict[str, object]]]:
    """Yield maps from node to entity."""
    side, column = ("left", "right")[number], release.group_columns[number]
    entities, nodes = release.tables[side].to_pylist(), release.tables[f"{side}_nodes"].to_pylist()
    groups = sorted({node["group"] for node in nodes})
    members = [[entity for entity in entities if entity[column] == group] for group in groups]
    places = [[node["node"] for node in nodes if node["group"] == group] for group in groups]
    for choice in itertools.product(*(itertools.permutations(group) for group in members)):
        yield {
            node: entity
            for group, order in zip(places, choice, strict=True)
            for node, entity in zip(group, order, strict=True)
        }


def tiny_graph(seed: int, *, density: float = 0.2, values: bool = False) -> BipartiteGraph:
    """A random graph of three to six nodes a side with columns that questions can ask about.

    With `values` edges have a price, a day and a sort, and some are repeated.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 7, size=2)
    joined = random.random(sizes) < density
    joined[0, 0] = True
    v, w = np.nonzero(joined)
    tables = [
        pa.table(
            {
                name: [f"{name}{n}" for n in range(size)],
                "town": random.choice(["x", "y", "z"], size),
                "size": random.integers(-3, 6, size),
            }
        )
        for name, size in zip("vw", sizes.tolist(), strict=True)
    ]
    rows = np.arange(len(v))
    if values:
        rows = np.sort(np.append(rows, random.choice(rows, len(rows) // 2)))
    edges = {"v": [f"v{n}" for n in v[rows]], "w": [f"w{n}" for n in w[rows]]}
    if not values:
        return BipartiteGraph.read(*tables, pa.table(edges, pa.schema([("v", pa.string()), ("w", pa.string())])))
    kinds = [("v", pa.string()), ("w", pa.string()), ("price", pa.int64()), ("day", pa.int64()), ("sort", pa.string())]
    edges |= {
        "price": random.integers(-4, 10, len(rows)).tolist(),
        "day": random.integers(1, 4, len(rows)).tolist(),
        "sort": random.choice(["m", "n"], len(rows)).tolist(),
    }
    return BipartiteGraph.read(*tables, pa.table(edges, pa.schema(kinds)), values=["price", "day", "sort"])


def is_safe(groups: Sequence[int], edges: Sequence[tuple[int, int]]) -> bool:
    """Tell by the definition whether no two nodes of a group share a neighbour; edges are (node, neighbour)."""
    neighbours = [{far for near, far in edges if near == node} for node in range(len(groups))]
    pairs = itertools.combinations(range(len(groups)), 2)
    return not any(groups[u] == groups[v] and neighbours[u] & neighbours[v] for u, v in pairs)


def safe_grouping_exists(nodes: int, edges: Sequence[tuple[int, int]], k: int) -> bool:
    """Try every partition of `nodes` nodes into safe groups of at least k."""
    return any(
        min(map(len, blocks)) >= k and is_safe(_labels(blocks, nodes), edges)
        for blocks in set_partitions(list(range(nodes)))
    )


def _labels(blocks: list[list[int]], nodes: int) -> list[int]:
    labels = [0] * nodes
    for number, block in enumerate(blocks):
        for node in block:
            labels[node] = number
    return labels
