"""Convert graphs from and to other libraries: networkx, igraph, scipy.sparse, data frames.

Data of edges become columns of edges. Weights that are all 1 say nothing, and no column is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.graph.bipartite import BipartiteGraph


def from_networkx(made: type[BipartiteGraph], graph: Any) -> BipartiteGraph:
    """Read a networkx graph with the node attribute `bipartite`, as networkx's own bipartite namespace writes it."""
    sides = dict(graph.nodes(data="bipartite"))
    if any(side not in (0, 1) for side in sides.values()):
        raise InputError("Every node of a networkx graph needs the attribute 'bipartite': 0 for left, 1 for right.")
    nodes = {side: [node for node in graph if sides[node] == side] for side in (0, 1)}
    edges = [(u, v, data) if sides[u] == 0 else (v, u, data) for u, v, data in graph.edges(data=True)]
    if any(sides[u] == sides[v] for u, v, _ in edges):
        raise InputError("Every edge of a bipartite graph joins a left node with a right one.")
    return _read(
        made,
        (
            _table("left", nodes[0], [graph.nodes[node] for node in nodes[0]], "bipartite"),
            _table("right", nodes[1], [graph.nodes[node] for node in nodes[1]], "bipartite"),
        ),
        ([_name(u) for u, _, _ in edges], [_name(v) for _, v, _ in edges]),
        [data for _, _, data in edges],
    )


def from_igraph(made: type[BipartiteGraph], graph: Any) -> BipartiteGraph:
    """Read an igraph graph with the vertex attribute `type`, as igraph's own bipartite functions write it."""
    if "type" not in graph.vs.attributes():
        raise InputError("Every vertex of an igraph graph needs the attribute 'type': false for left, true for right.")
    sides = [bool(kind) for kind in graph.vs["type"]]
    named = "name" in graph.vs.attributes()
    names = list(graph.vs["name"]) if named else list(range(len(sides)))
    ends = [(u, v) if not sides[u] else (v, u) for u, v in graph.get_edgelist()]
    if any(sides[u] == sides[v] for u, v in ends):
        raise InputError("Every edge of a bipartite graph joins a left node with a right one.")
    tables = []
    for side, key in ((False, "left"), (True, "right")):
        chosen = [number for number, kind in enumerate(sides) if kind == side]
        data = [{k: v for k, v in graph.vs[number].attributes().items() if k != "name"} for number in chosen]
        tables.append(_table(key, [names[number] for number in chosen], data, "type"))
    pairs = [names[u] for u, _ in ends], [names[v] for _, v in ends]
    return _read(made, (tables[0], tables[1]), pairs, [edge.attributes() for edge in graph.es])


def _read(
    made: type[BipartiteGraph],
    tables: tuple[pa.Table, pa.Table],
    ends: tuple[list[Any], list[Any]],
    data: list[dict[str, Any]],
) -> BipartiteGraph:
    """Join two tables by edges with data."""
    columns = _columns(data)
    if list(columns) == ["weight"] and all(weight in (1, None) for weight in columns["weight"]):
        columns = {}
    edges = _typed_table({"left end": ends[0], "right end": ends[1], **columns})
    return made.read(*tables, edges, edge_columns=("left end", "right end"), values=list(columns), repeats="count")


def _columns(data: Sequence[Any], leave: str = "") -> dict[str, list[Any]]:
    """Dictionaries of data as columns; what one of them lacks is missing."""
    names = dict.fromkeys(name for row in data for name in row if name != leave)
    return {str(name): [row.get(name) for row in data] for name in names}


def _table(key: str, nodes: list[Any], data: list[Any], leave: str) -> pa.Table:
    return _typed_table({key: [_name(node) for node in nodes], **_columns(data, leave)})


def _typed_table(columns: dict[str, list[Any]]) -> pa.Table:
    try:
        return pa.table(columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError("Nodes and each attribute of a graph must be of one type a side.") from None


def _name(node: Any) -> Any:
    """Undo the `("left", key)` of `to_networkx`, so that a graph comes back as it went."""
    return node[1] if isinstance(node, tuple) and len(node) == 2 and node[0] in ("left", "right") else node


def to_networkx(graph: BipartiteGraph) -> Any:
    """Build a networkx graph; nodes are `("left", key)` and `("right", key)`, because both sides may use a key.

    Edges with columns, and repeated ones, make a MultiGraph.
    """
    try:
        import networkx as nx
    except ImportError:
        raise InputError("This needs networkx: pip install networkx.") from None
    built = nx.Graph() if graph.values is None else nx.MultiGraph()
    names = []
    for number, (side, table, key) in enumerate(
        (("left", graph.left, graph.left_key), ("right", graph.right, graph.right_key))
    ):
        rows = table.to_pylist()
        names.append([(side, row.pop(key)) for row in rows])
        built.add_nodes_from(
            (name, {"bipartite": number, **row}) for name, row in zip(names[number], rows, strict=True)
        )
    ends, data = _ends(graph), _data(graph)
    built.add_edges_from((names[0][v], names[1][w], row) for v, w, row in zip(*ends, data, strict=True))
    return built


def to_igraph(graph: BipartiteGraph) -> Any:
    """Build an igraph graph: the left vertices first, `name` is the key and `type` is true on the right."""
    try:
        import igraph
    except ImportError:
        raise InputError("This needs igraph: pip install igraph.") from None
    sizes = graph.left.num_rows, graph.right.num_rows
    built = igraph.Graph(sum(sizes))
    built.vs["type"] = [False] * sizes[0] + [True] * sizes[1]
    built.vs["name"] = graph.left[graph.left_key].to_pylist() + graph.right[graph.right_key].to_pylist()
    for table, key, empty in (
        (graph.left, graph.left_key, (0, sizes[1])),
        (graph.right, graph.right_key, (sizes[0], 0)),
    ):
        for name in table.column_names:
            if name != key:
                built.vs[name] = [None] * empty[0] + table[name].to_pylist() + [None] * empty[1]
    left, right = _ends(graph)
    built.add_edges(zip(left, [sizes[0] + w for w in right], strict=True))
    for name, column in ({} if graph.values is None else graph.values.columns).items():
        built.es[name] = column.to_pylist()
    return built


def to_arrow(graph: BipartiteGraph) -> dict[str, pa.Table]:
    """Tables of both sides and of the edges; the ends of the edges are keys, called `left` and `right`."""
    left, right = (pa.array(ends, pa.int64()) for ends in _ends(graph))
    ends = {"left": graph.left[graph.left_key].take(left), "right": graph.right[graph.right_key].take(right)}
    columns = {} if graph.values is None else graph.values.columns
    return {"left": graph.left, "right": graph.right, "edges": pa.table({**ends, **columns})}


def _ends(graph: BipartiteGraph) -> tuple[list[int], list[int]]:
    """The rows of both ends of each edge, repetitions included."""
    pairs = slice(None) if graph.values is None else graph.values.pairs
    return graph.left_ends[pairs].tolist(), graph.right_ends[pairs].tolist()


def _data(graph: BipartiteGraph) -> list[dict[str, Any]]:
    columns = {} if graph.values is None else graph.values.columns
    return pa.table(dict(columns)).to_pylist() if columns else [{} for _ in range(graph.rows)]


def from_sparse(made: type[BipartiteGraph], matrix: Any) -> BipartiteGraph:
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
    if (cells.data == 1).all():
        return made(left, right, "left", "right", cells.row.astype(np.int32), cells.col.astype(np.int32))
    edges = pa.table({"left": cells.row.astype(np.int64), "right": cells.col.astype(np.int64), "weight": cells.data})
    return made.read(left, right, edges, values=["weight"])


def to_sparse(graph: BipartiteGraph) -> Any:
    """Build a scipy.sparse array of ones, of weights where edges have them, or of how often each edge is there."""
    try:
        from scipy.sparse import coo_array
    except ImportError:
        raise InputError("This needs scipy: pip install 'hedgerow[opt]'.") from None
    numbers: Any = np.ones(graph.edges, np.int8)
    if graph.values is not None:
        columns = graph.values.columns
        weights = columns["weight"].to_numpy() if list(columns) == ["weight"] else np.ones(graph.rows, np.int64)
        numbers = np.bincount(graph.values.pairs, weights=weights, minlength=graph.edges).astype(weights.dtype)
    shape = (graph.left.num_rows, graph.right.num_rows)
    return coo_array((numbers, (graph.left_ends, graph.right_ends)), shape=shape).tocsr()
