"""Graphs of other libraries, in and out: networkx and scipy.sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.graph.bipartite import BipartiteGraph

__all__ = ["from_networkx", "from_sparse", "to_networkx", "to_sparse"]


def from_networkx(graph: Any) -> BipartiteGraph:
    """Read a networkx graph with the node attribute `bipartite`, as networkx's own bipartite namespace writes it."""
    sides = dict(graph.nodes(data="bipartite"))
    if any(side not in (0, 1) for side in sides.values()):
        raise InputError("Every node of a networkx graph needs the attribute 'bipartite': 0 for left, 1 for right.")
    nodes = {side: [node for node in graph if sides[node] == side] for side in (0, 1)}
    pairs = [(u, v) if sides[u] == 0 else (v, u) for u, v in graph.edges()]
    if any(sides[u] == sides[v] for u, v in pairs):
        raise InputError("Every edge of a bipartite graph joins a left node with a right one.")
    edges = {"left": [_name(u) for u, _ in pairs], "right": [_name(v) for _, v in pairs]}
    return BipartiteGraph.read(
        _entities(graph, nodes[0], "left"), _entities(graph, nodes[1], "right"), _typed(edges), drop_duplicates=True
    )


def _entities(graph: Any, nodes: list[Any], key: str) -> pa.Table:
    columns: dict[str, list[Any]] = {key: [_name(node) for node in nodes]}
    names = dict.fromkeys(name for node in nodes for name in graph.nodes[node] if name != "bipartite")
    columns |= {str(name): [graph.nodes[node].get(name) for node in nodes] for name in names}
    return _typed(columns)


def _typed(columns: dict[str, list[Any]]) -> pa.Table:
    try:
        return pa.table(columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError("The nodes and each attribute of a networkx graph must be of one type a side.") from None


def _name(node: Any) -> Any:
    """Undo the `("left", key)` of `to_networkx`, so that a graph comes back as it went."""
    return node[1] if isinstance(node, tuple) and len(node) == 2 and node[0] in ("left", "right") else node


def to_networkx(graph: BipartiteGraph) -> Any:
    """Build a networkx graph; nodes are `("left", key)` and `("right", key)`, because both sides may use a key."""
    try:
        import networkx as nx
    except ImportError:
        raise InputError("This needs networkx: pip install networkx.") from None
    built = nx.Graph()
    names = []
    for number, (side, table, key) in enumerate(
        (("left", graph.left, graph.left_key), ("right", graph.right, graph.right_key))
    ):
        rows = table.to_pylist()
        names.append([(side, row.pop(key)) for row in rows])
        built.add_nodes_from(
            (name, {"bipartite": number, **row}) for name, row in zip(names[number], rows, strict=True)
        )
    ends = zip(graph.left_ends.tolist(), graph.right_ends.tolist(), strict=True)
    built.add_edges_from((names[0][v], names[1][w]) for v, w in ends)
    return built


def from_sparse(matrix: Any) -> BipartiteGraph:
    """Read a scipy.sparse matrix or array; nodes are called by their row and column numbers."""
    if getattr(matrix, "ndim", None) != 2 or not hasattr(matrix, "tocsr"):
        raise InputError("'matrix' must be a two-dimensional scipy.sparse matrix or array.")
    clean = matrix.tocsr().copy()
    clean.sum_duplicates()
    clean.eliminate_zeros()
    cells = clean.tocoo()
    left, right = (
        pa.table({name: np.arange(size)}) for name, size in zip(("left", "right"), matrix.shape, strict=True)
    )
    return BipartiteGraph(left, right, "left", "right", cells.row.astype(np.int32), cells.col.astype(np.int32))


def to_sparse(graph: BipartiteGraph) -> Any:
    """Build a scipy.sparse array with a one for each edge."""
    try:
        from scipy.sparse import coo_array
    except ImportError:
        raise InputError("This needs scipy: pip install 'hedgerow[opt]'.") from None
    cells = (np.ones(graph.edges, np.int8), (graph.left_ends, graph.right_ends))
    return coo_array(cells, shape=(graph.left.num_rows, graph.right.num_rows)).tocsr()
