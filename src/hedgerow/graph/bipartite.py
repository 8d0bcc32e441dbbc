"""A bipartite graph: two tables of entities and the edges between them. It is the original and never published.

Entities are rows; an edge is a pair of row numbers. Entities without an edge are nodes of degree 0. Edges may have
columns of their own (when, how many, at what price) and may be repeated: then every edge is a row of `values`, and the
pairs that they join are kept without repetitions beside it. Graphs of other libraries come in and go out by `exchange`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import InputError, ParameterError, SchemaError, counted
from hedgerow.graph.adjacency import Adjacency, adjacency
from hedgerow.verify.names import in_form


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """Entities on the left, entities on the right, edges between them as row numbers.

    Make one with `BipartiteGraph.read`, `from_networkx` or `from_sparse`. `left_key` and `right_key` name the columns
    that identify the entities.
    """

    left: pa.Table
    right: pa.Table
    left_key: str
    right_key: str
    left_ends: NDArray[np.int32]
    right_ends: NDArray[np.int32]
    values: EdgeValues | None = None
    dropped: int = 0

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
        **reading: Any,
    ) -> BipartiteGraph:
        """Read three tables: files, or frames of any kind that `read_table` takes.

        The keys are the first columns of `left` and `right` unless named; the edges name an entity of each side in the
        columns `edge_columns`, by default those called like the keys, else the first two. `reading` are the options of
        `EdgeReading`: which further columns of the edges are published, what becomes of edges that occur more than
        once, and of edges that name nobody.
        """
        from hedgerow.table import read_table

        options = EdgeReading(**reading)
        tables = {"left": read_table(left).arrow, "right": read_table(right).arrow, "edges": read_table(edges).arrow}
        keys = (_key(tables["left"], left_key, "left"), _key(tables["right"], right_key, "right"))
        columns = _edge_columns(tables["edges"], keys, edge_columns)
        _check_not_swapped(
            [tables["edges"].column(column) for column in columns],
            [tables[side].column(key) for side, key in zip(("left", "right"), keys, strict=True)],
            options,
        )
        ends = [
            _positions(tables["edges"].column(column), tables[side].column(key), side, drop=options.dangling == "drop")
            for side, key, column in zip(("left", "right"), keys, columns, strict=True)
        ]
        named = (ends[0] >= 0) & (ends[1] >= 0)
        kept = tables["edges"] if named.all() else tables["edges"].filter(pa.array(named))
        first, second, values = _join_edges(ends[0][named], ends[1][named], options.select(kept, columns), options)
        graph = cls(tables["left"], tables["right"], keys[0], keys[1], first, second)
        return replace(graph, values=values, dropped=int((~named).sum()))

    @classmethod
    def from_edges(
        cls, edges: object, *, edge_columns: tuple[str, str] | None = None, **reading: Any
    ) -> BipartiteGraph:
        """Read a list of edges alone: its ends are the entities, which have no other columns.

        `edge_columns` names the two ends, by default the first two columns; `reading` are the options of `EdgeReading`.
        """
        from hedgerow.table import read_table

        table = read_table(edges).arrow
        names = _edge_columns(table, ("", ""), edge_columns)
        sides = [pa.table({name: table.column(name).drop_null().unique().sort()}) for name in names]
        return cls.read(sides[0], sides[1], table, edge_columns=names, **reading)

    @classmethod
    def from_networkx(cls, graph: Any) -> BipartiteGraph:
        """Take a networkx graph whose nodes have `bipartite` 0 (left) or 1 (right); other data become columns."""
        from hedgerow.graph.exchange import from_networkx

        return from_networkx(cls, graph)

    @classmethod
    def from_sparse(cls, matrix: Any) -> BipartiteGraph:
        """Take a scipy.sparse matrix: rows are left nodes, columns right nodes, what is not zero is an edge.

        Numbers other than 1 become the column `weight` of the edges.
        """
        from hedgerow.graph.exchange import from_sparse

        return from_sparse(cls, matrix)

    def to_networkx(self) -> Any:
        """Return the graph for networkx: nodes `("left", key)` and `("right", key)` with their columns."""
        from hedgerow.graph.exchange import to_networkx

        return to_networkx(self)

    def to_sparse(self) -> Any:
        """Return the adjacency matrix as a scipy.sparse array of ones."""
        from hedgerow.graph.exchange import to_sparse

        return to_sparse(self)

    @classmethod
    def from_igraph(cls, graph: Any) -> BipartiteGraph:
        """Take an igraph graph whose vertices have the attribute `type`: false for left, true for right."""
        from hedgerow.graph.exchange import from_igraph

        return from_igraph(cls, graph)

    def to_igraph(self) -> Any:
        """Return the graph for igraph, with the attribute `type` and all columns of vertices and edges."""
        from hedgerow.graph.exchange import to_igraph

        return to_igraph(self)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Return the three tables `left`, `right` and `edges`, the edges by keys and with their columns."""
        from hedgerow.graph.exchange import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> dict[str, Any]:
        """Return the three tables for pandas."""
        return {name: table.to_pandas() for name, table in self.to_arrow().items()}

    def to_polars(self) -> dict[str, Any]:
        """Return the three tables for polars."""
        import polars

        return {name: polars.from_arrow(table) for name, table in self.to_arrow().items()}

    @property
    def edges(self) -> int:
        """How many pairs of entities are joined; edges that repeat a pair count once."""
        return len(self.left_ends)

    @property
    def rows(self) -> int:
        """How many edges there are, repetitions included."""
        return self.edges if self.values is None else len(self.values.pairs)

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
        return f"BipartiteGraph({self.left.num_rows} left, {self.right.num_rows} right, {counted(self.rows, 'edge')})"


@dataclass(frozen=True, eq=False)
class EdgeValues:
    """Edges one by one: edge n joins the pair number `pairs[n]`, and has row n of the `columns`."""

    pairs: Ints
    columns: Mapping[str, pa.ChunkedArray]

    def take(self, rows: Ints, pairs: Ints) -> EdgeValues:
        """Some of the edges, with the pairs numbered anew."""
        chosen = pa.array(rows)
        return EdgeValues(pairs, {name: column.take(chosen) for name, column in self.columns.items()})


@dataclass(frozen=True)
class EdgeReading:
    """What becomes of the edges' own columns (`values`), of `repeats` and of `dangling` edges.

    `values` names the columns to publish with the edges; () leaves all others out, None refuses a table that has
    others. `repeats` of a pair are refused, counted or dropped ("refuse", "count", "drop"); edges with values are
    always counted one by one. Edges that name an entity of neither table are refused or dropped ("refuse", "drop").
    `drop_duplicates` is `repeats="drop"`.
    """

    values: Sequence[str] | None = None
    repeats: Literal["refuse", "count", "drop"] = "refuse"
    dangling: Literal["refuse", "drop"] = "refuse"
    drop_duplicates: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("repeats", ("refuse", "count", "drop")), ("dangling", ("refuse", "drop"))):
            if getattr(self, name) not in allowed:
                raise ParameterError(f"'{name}' must be one of {', '.join(map(repr, allowed))}.")
        if isinstance(self.values, str):
            raise ParameterError("'values' must be a list of names of columns.")
        if self.drops and self.values:
            raise ParameterError("'repeats' cannot be dropped where edges have values: which of them would stay?")

    @property
    def drops(self) -> bool:
        """Whether a pair counts once."""
        return self.drop_duplicates or self.repeats == "drop"

    def select(self, table: pa.Table, ends: tuple[str, str]) -> dict[str, pa.ChunkedArray]:
        """The columns to publish with the edges; refuse to drop columns silently."""
        others = [name for name in table.column_names if name not in ends]
        if self.values is None and others:
            raise InputError(
                f"The edges have columns beside their ends ({len(others)}). Name those to publish with the edges "
                f"(values, --value), or leave them out (values=[], --no-values)."
            )
        names = list(dict.fromkeys(self.values or ()))
        if not set(names) <= set(others) or {"left_node", "right_node"} & set(names):
            raise SchemaError(
                "'values' must name columns of the edges other than their ends, left_node and right_node."
            )
        return {name: table.column(name) for name in names}


def _key(table: pa.Table, key: str | None, side: str) -> str:
    if not table.num_columns or not table.num_rows:
        raise InputError(f"The {side} table must have at least one row and a column that names its entities.")
    name = table.column_names[0] if key is None else key
    if name not in table.column_names:
        raise SchemaError(f"'{side}_key' must be a column of the {side} table; '{name}' is not one.")
    column = table.column(name)
    if column.null_count:
        raise InputError(f"The key '{name}' of the {side} table has {counted(column.null_count, 'missing value')}.")
    as_read = in_form(column) if pa.types.is_string(column.type) else column
    if (distinct := len(as_read.unique())) != len(column):
        raise InputError(
            f"The key '{name}' of the {side} table must be unique in every row; {len(column) - distinct:,} repeat one."
        )
    return name


def _edge_columns(table: pa.Table, keys: tuple[str, str], chosen: tuple[str, str] | None) -> tuple[str, str]:
    if chosen is None and keys[0] != keys[1] and set(keys) <= set(table.column_names):
        return keys
    names = tuple(table.column_names[:2]) if chosen is None else tuple(chosen)
    if len(names) != 2 or not set(names) <= set(table.column_names):
        raise SchemaError("'edge_columns' must name two columns of the edges: the left end, then the right end.")
    return names[0], names[1]


def _check_not_swapped(ends: Sequence[pa.ChunkedArray], keys: Sequence[pa.ChunkedArray], options: EdgeReading) -> None:
    """Refuse tables, or ends, that fit the other way round; edges that may be dropped, where not one fits as it is."""
    rows = len(ends[0])
    given = _count_named(ends, keys)
    if given == rows or (given and options.dangling == "drop"):
        return
    swapped = _count_named(ends, keys[::-1])
    if swapped > given:
        raise InputError(
            f"{given:,} of {counted(rows, 'edge')} name entities of both tables, but {swapped:,} do if the left and "
            "the right table change places: give the tables, or the ends of the edges (edge_columns, --edge-columns), "
            "the other way round."
        )


def _count_named(ends: Sequence[pa.ChunkedArray], keys: Sequence[pa.ChunkedArray]) -> int:
    """How many edges name an entity at both ends; none where the types differ."""
    import pyarrow.compute as pc

    if any(end.type != key.type for end, key in zip(ends, keys, strict=True)):
        return 0
    named = [pc.is_in(end, value_set=key.combine_chunks()) for end, key in zip(ends, keys, strict=True)]
    return int(pc.sum(pc.and_(*named)).as_py() or 0)


def _positions(ends: pa.ChunkedArray, key: pa.ChunkedArray, side: str, *, drop: bool) -> NDArray[np.int32]:
    """Turn key values into row numbers; -1 for edges that name nobody, where these may be dropped."""
    import pyarrow.compute as pc

    if ends.null_count and not drop:
        raise InputError(f"{counted(ends.null_count, 'edge has', 'edges have')} no {side} end. {_DROP}")
    if ends.type != key.type:
        raise InputError(
            f"The {side} ends of the edges are {ends.type}, but the key of the {side} table is {key.type}."
        )
    rows = pc.index_in(ends, value_set=key.combine_chunks())
    if rows.null_count and not drop:
        raise InputError(
            f"{counted(rows.null_count, 'edge names', 'edges name')} an entity that the {side} "
            f"table does not have. {_DROP}"
        )
    return np.asarray(rows.fill_null(-1).combine_chunks().to_numpy(zero_copy_only=False), np.int32)


_DROP = "dangling='drop' leaves them out."


def _join_edges(
    left: NDArray[np.int32], right: NDArray[np.int32], columns: Mapping[str, pa.ChunkedArray], options: EdgeReading
) -> tuple[NDArray[np.int32], NDArray[np.int32], EdgeValues | None]:
    """Part edges into the pairs that they join, without repetitions, and the edges one by one where that matters."""
    width = int(right.max(initial=0)) + 1
    packed = left.astype(np.int64) * width + right
    pairs, owners = np.unique(packed, return_inverse=True)
    repeated = len(packed) - len(pairs)
    if repeated and not (options.drops or columns or options.repeats == "count"):
        raise InputError(
            f"{counted(repeated, 'edge occurs', 'edges occur')} more than once. Say "
            f"repeats='count' to publish how often, or repeats='drop' if the repetition means nothing."
        )
    if not repeated and not columns:
        return left, right, None
    ends = (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)
    return *ends, None if options.drops else EdgeValues(owners.astype(np.int64), columns)
