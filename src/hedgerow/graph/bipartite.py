"""A bipartite graph: two tables of entities and the edges between them. It never leaves.

Entities are rows; an edge is a pair of row numbers. There are no double edges and no weights. Entities without an
edge are nodes of degree 0. Graphs of networkx and scipy.sparse come in and go out.

A synthetic author-paper graph of any size, with heavy-tailed degrees and people who write together again.

Source     preferential attachment [Barabási 1999]; sizes of the defaults from [Zhang 2008], section 4.2
Cost       O(edges)

Papers appear one after the other. The first author of a paper is new, a recent one, or one drawn in proportion to the
papers written so far; the others are new, co-authors of the first one's latest paper, or drawn like the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import InputError, ParameterError, SchemaError
from hedgerow.graph.adjacency import Adjacency, adjacency
from hedgerow.kernel import kernel
from hedgerow.randomness import generator

__all__ = ["BipartiteGraph", "author_paper_graph", "from_networkx", "from_sparse", "to_networkx", "to_sparse"]


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """Entities on the left, entities on the right, edges between them as row numbers.

    Make one with `BipartiteGraph.read`, `from_networkx` or `from_sparse`. `left_key` and `right_key` name the columns
    that tell the entities apart.
    """

    left: pa.Table
    right: pa.Table
    left_key: str
    right_key: str
    left_ends: NDArray[np.int32]
    right_ends: NDArray[np.int32]

    @classmethod
    def read(
        cls,
        left: object,
        right: object,
        edges: object,
        *,
        left_key: str | None = None,
        right_key: str | None = None,
        edge_columns: tuple[str, str] | None = None,
        drop_duplicates: bool = False,
    ) -> BipartiteGraph:
        """Read three tables: files, or frames of any kind that `read_table` takes.

        The keys are the first columns of `left` and `right` unless named; the edges name an entity of each side in the
        columns `edge_columns`, by default those called like the keys, else the first two. A pair that occurs twice is
        refused unless `drop_duplicates` says that the second one means nothing.
        """
        from hedgerow.table import read_table

        tables = {"left": read_table(left).arrow, "right": read_table(right).arrow, "edges": read_table(edges).arrow}
        keys = (_key(tables["left"], left_key, "left"), _key(tables["right"], right_key, "right"))
        columns = _edge_columns(tables["edges"], keys, edge_columns)
        ends = tuple(
            _positions(tables["edges"].column(column), tables[side].column(key), side)
            for side, key, column in zip(("left", "right"), keys, columns, strict=True)
        )
        first, second = _without_duplicates(ends[0], ends[1], tables["right"].num_rows, drop=drop_duplicates)
        return cls(tables["left"], tables["right"], keys[0], keys[1], first, second)

    @classmethod
    def from_networkx(cls, graph: Any) -> BipartiteGraph:
        """Take a networkx graph whose nodes have `bipartite` 0 (left) or 1 (right); other node data become columns."""
        return from_networkx(graph)

    @classmethod
    def from_sparse(cls, matrix: Any) -> BipartiteGraph:
        """Take a scipy.sparse matrix: rows are left nodes, columns right nodes, what is not zero is an edge."""
        return from_sparse(matrix)

    def to_networkx(self) -> Any:
        """Return the graph for networkx: nodes `("left", key)` and `("right", key)` with their columns."""
        return to_networkx(self)

    def to_sparse(self) -> Any:
        """Return the adjacency matrix as a scipy.sparse array of ones."""
        return to_sparse(self)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.left_ends)

    @cached_property
    def by_left(self) -> Adjacency:
        """The right neighbours of each left node."""
        return adjacency(self.left_ends, self.right_ends, self.left.num_rows, self.right.num_rows)

    @cached_property
    def by_right(self) -> Adjacency:
        """The left neighbours of each right node."""
        return adjacency(self.right_ends, self.left_ends, self.right.num_rows, self.left.num_rows)

    def __repr__(self) -> str:
        # Counts alone: Arrow's own text form shows cells, and this one ends up in logs.
        return f"BipartiteGraph({self.left.num_rows} left, {self.right.num_rows} right, {self.edges} edges)"


def _key(table: pa.Table, key: str | None, side: str) -> str:
    if not table.num_columns or not table.num_rows:
        raise InputError(f"The {side} table must have at least one row and a column that names its entities.")
    name = table.column_names[0] if key is None else key
    if name not in table.column_names:
        raise SchemaError(f"'{side}_key' must be a column of the {side} table; '{name}' is not one.")
    column = table.column(name)
    if column.null_count:
        raise InputError(f"The key '{name}' of the {side} table has {column.null_count:,} missing values.")
    if (distinct := len(column.unique())) != len(column):
        raise InputError(
            f"The key '{name}' of the {side} table must tell its rows apart; {len(column) - distinct:,} repeat one."
        )
    return name


def _edge_columns(table: pa.Table, keys: tuple[str, str], chosen: tuple[str, str] | None) -> tuple[str, str]:
    if chosen is None and keys[0] != keys[1] and set(keys) <= set(table.column_names):
        return keys
    names = tuple(table.column_names[:2]) if chosen is None else tuple(chosen)
    if len(names) != 2 or not set(names) <= set(table.column_names):
        raise SchemaError("'edge_columns' must name two columns of the edges: the left end, then the right end.")
    return names[0], names[1]


def _positions(ends: pa.ChunkedArray, key: pa.ChunkedArray, side: str) -> NDArray[np.int32]:
    """Turn key values into row numbers."""
    import pyarrow.compute as pc

    if ends.null_count:
        raise InputError(f"{ends.null_count:,} edges have no {side} end.")
    if ends.type != key.type:
        raise InputError(
            f"The {side} ends of the edges are {ends.type}, but the key of the {side} table is {key.type}."
        )
    rows = pc.index_in(ends, value_set=key.combine_chunks())
    if rows.null_count:
        raise InputError(f"{rows.null_count:,} edges name an entity that the {side} table does not have.")
    return np.asarray(rows.combine_chunks().to_numpy(zero_copy_only=False), np.int32)


def _without_duplicates(
    left: NDArray[np.int32], right: NDArray[np.int32], width: int, *, drop: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = np.unique(left.astype(np.int64) * width + right)
    if len(pairs) == len(left):
        return left, right
    if not drop:
        raise InputError(
            f"{len(left) - len(pairs):,} edges occur more than once. Weights are not published: "
            f"say drop_duplicates=True if the repetition means nothing."
        )
    return (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)


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


_REGIONS = ("US", "EU", "AS", "SA", "AF", "OC")
_REGION_SHARES = (0.36, 0.31, 0.24, 0.05, 0.02, 0.02)
_MOST_AUTHORS = 100
_MOST_PAPERS = 400


def author_paper_graph(
    authors: int = 402_023, papers: int = 543_065, edges: int = 1_401_349, *, seed: int = 0
) -> BipartiteGraph:
    """Generate a graph with exactly these numbers of nodes and edges; the defaults are those of DBLP in June 2007.

    Authors have a `location`, papers a `venue` and a `year`, and both a `draw` from 0 to 99 for predicates of a chosen
    selectivity. None of them depends on the graph. At most 100 authors share a paper; an author writes at most 400,
    in small graphs fewer.
    """
    if not (0 < authors <= edges and 0 < papers <= edges and edges <= 20 * papers and edges <= 50 * authors):
        raise ParameterError(
            "'edges' must be at least as many as the nodes of a side, and at most 20 a paper, 50 an author."
        )
    random = generator(seed)
    sizes = _paper_sizes(random, papers, edges, min(_MOST_AUTHORS, authors))
    is_new = np.zeros(edges, np.bool_)
    is_new[0] = True
    is_new[1 + random.choice(edges - 1, authors - 1, replace=False)] = True
    ends = np.empty(edges, np.int32)
    latest, written = np.zeros(authors, np.int32), np.zeros(authors, np.int32)
    # A small graph with an author of hundreds of papers would have no safe groups of any size.
    most = min(_MOST_PAPERS, max(papers // 40, 4 * edges // authors))
    if not _write_papers(sizes, is_new, random.random((edges, 2)), ends, latest, written, most):
        raise ParameterError(
            "'edges' must leave authors to choose from; these numbers make papers that nobody can fill."
        )
    left, right = _random_entities(random, authors, papers)
    shuffled = random.permutation(authors).astype(np.int32), random.permutation(papers).astype(np.int32)
    paper_ends = np.repeat(np.arange(papers, dtype=np.int32), sizes)
    return BipartiteGraph(left, right, "author", "paper", shuffled[0][ends], shuffled[1][paper_ends])


def _paper_sizes(random: np.random.Generator, papers: int, edges: int, most: int) -> NDArray[np.int64]:
    """Draw authors per paper: mostly one to four, now and then dozens, `edges` in all."""
    tail = np.minimum(random.pareto(2.6, papers) * 1.4, most - 1).astype(np.int64)
    sizes = np.minimum(1 + random.poisson(max(0.0, edges / papers - 1.55), papers) + tail, most)
    while (gap := edges - int(sizes.sum())) != 0:
        chosen = random.integers(0, papers, size=abs(gap))
        chosen = np.unique(chosen[(sizes[chosen] > 1) if gap < 0 else (sizes[chosen] < most)])
        sizes[chosen] += 1 if gap > 0 else -1
    return np.asarray(sizes, np.int64)


def _random_entities(random: np.random.Generator, authors: int, papers: int) -> tuple[pa.Table, pa.Table]:
    venues = np.minimum(random.zipf(1.5, papers), 300)
    left = {
        "author": np.arange(authors),
        "location": np.array(_REGIONS)[random.choice(len(_REGIONS), authors, p=_REGION_SHARES)],
        "draw": random.integers(0, 100, authors),
    }
    right = {
        "paper": np.arange(papers),
        "venue": np.char.add("venue ", venues.astype(str)),
        "year": 2007 - random.geometric(0.12, papers).clip(1, 40),
        "draw": random.integers(0, 100, papers),
    }
    return pa.table(left), pa.table(right)


@kernel
def _write_papers(
    sizes: NDArray[np.int64],
    is_new: NDArray[np.bool_],
    draws: NDArray[np.float64],
    ends: NDArray[np.int32],
    latest: NDArray[np.int32],
    written: NDArray[np.int32],
    most: int,
) -> bool:
    """Fill in the authors paper by paper; False where there are too few authors to fill the papers."""
    known = start = early = 0
    for paper in range(len(sizes)):
        for slot in range(start, start + sizes[paper]):
            author = -1
            if is_new[slot] and early:
                early -= 1
            elif is_new[slot]:
                author = known
            if author == -1:
                author = _suggest(draws[slot], ends, start, slot, latest, known)
                author = _another(author, ends, start, slot, written, known, most)
            if author == -1:
                # Everybody known is on this paper already: a new author comes before her turn.
                early += 1
                author = known
            if author == len(written):
                return False
            known = max(known, author + 1)
            ends[slot] = author
            written[author] += 1
        for slot in range(start, start + sizes[paper]):
            latest[ends[slot]] = start
        start += sizes[paper]
    return known == len(written)


@kernel
def _suggest(
    draw: NDArray[np.float64], ends: NDArray[np.int32], start: int, slot: int, latest: NDArray[np.int32], known: int
) -> int:
    """Draw an author: of the first author's latest paper, in proportion to papers written, or a recent one."""
    if slot > start and start and draw[0] < 0.5:
        return int(ends[min(latest[ends[start]] + int(draw[1] * 8), start - 1)])
    if draw[0] < 0.6:
        return int(ends[int(draw[1] * slot)])
    return known - 1 - int(draw[1] * draw[1] * known)


@kernel
def _another(
    author: int, ends: NDArray[np.int32], start: int, slot: int, written: NDArray[np.int32], known: int, most: int
) -> int:
    """Step to the next author who is not on this paper yet and has not written too much; -1 if there is none."""
    for _ in range(known):
        is_free = written[author] < most
        for place in range(start, slot):
            is_free = is_free and ends[place] != author
        if is_free:
            return author
        author = (author + 1) % known
    return -1
