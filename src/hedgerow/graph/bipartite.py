"""A bipartite graph: two tables of entities and the edges between them. It never leaves.

Entities are rows; an edge is a pair of row numbers. There are no double edges and no weights. Entities without an
edge are nodes of degree 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import InputError, SchemaError
from hedgerow.graph.adjacency import Adjacency, adjacency

__all__ = ["BipartiteGraph"]


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
        from hedgerow.graph.convert import from_networkx

        return from_networkx(graph)

    @classmethod
    def from_sparse(cls, matrix: Any) -> BipartiteGraph:
        """Take a scipy.sparse matrix: rows are left nodes, columns right nodes, what is not zero is an edge."""
        from hedgerow.graph.convert import from_sparse

        return from_sparse(matrix)

    def to_networkx(self) -> Any:
        """Return the graph for networkx: nodes `("left", key)` and `("right", key)` with their columns."""
        from hedgerow.graph.convert import to_networkx

        return to_networkx(self)

    def to_sparse(self) -> Any:
        """Return the adjacency matrix as a scipy.sparse array of ones."""
        from hedgerow.graph.convert import to_sparse

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
