"""The class `GroupedGraph`: what is published of a bipartite graph, and nothing else.

Both entity tables, with the group of each entity; the edges on masked node numbers; and the group of each node. Which
node of a group is which entity of that group is the secret. It has no reference to the original graph.

`ask`, `verify` and `save` call modules that come later on the path of data; they import them when called.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import counted
from hedgerow.graph.adjacency import Adjacency, adjacency
from hedgerow.markup import html_note, html_table
from hedgerow.verify.graph import SIDES, PublishedGraph, verify_graph

if TYPE_CHECKING:
    from hedgerow.ledger.ledger import Receipt
    from hedgerow.verify import Verification


@dataclass(frozen=True, eq=False)
class Side:
    """One side as arrays: entities and nodes, both group after group, and the neighbours of each node."""

    name: str
    entities: pa.Table
    key: str
    group_column: str
    entity_groups: NDArray[np.int32]
    node_groups: NDArray[np.int32]
    sizes: Ints
    neighbours: Adjacency

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def degrees(self) -> Ints:
        """How many edges each node has."""
        return self.neighbours.degrees


@dataclass(frozen=True, eq=False)
class GroupedGraph(PublishedGraph):
    """Published tables of a graph with their guarantee.

    `receipt` says where the owner recorded the release; it does not leave.
    """

    receipt: Receipt | None = None

    @cached_property
    def left(self) -> Side:
        """The left side as arrays."""
        return self._side(0)

    @cached_property
    def right(self) -> Side:
        """The right side as arrays."""
        return self._side(1)

    @property
    def k(self) -> int:
        """The promised size of left groups."""
        return int(self.guarantee.parameters["k"])

    @property
    def l(self) -> int:  # noqa: E743 - the paper's letter
        """The promised size of right groups."""
        return int(self.guarantee.parameters["l"])

    @property
    def hidden_among(self) -> int:
        """Any two entities are joined in at most one of so many assignments.

        Where nodes have smaller groups because of hubs, one end of each link is still in a group of full size.
        """
        return (min if "left_slack" in self.guarantee.parameters else max)(self.k, self.l)

    @property
    def edges(self) -> int:
        """How many edges there are, repetitions included."""
        return int(self.tables["edges"].num_rows)

    @property
    def edge_columns(self) -> tuple[str, ...]:
        """The names of the columns that edges have beside their ends."""
        return tuple(self.tables["edges"].column_names[2:])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The left and the right nodes that edges join, each pair once, ascending."""
        left, right = self.ends
        repeats = (np.diff(left, prepend=-1) == 0) & (np.diff(right, prepend=-1) == 0)
        return (left[~repeats], right[~repeats]) if repeats.any() else (left, right)

    @cached_property
    def ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The left and the right node of each edge; edges are published in ascending order of both."""
        edges = self.tables["edges"]
        left, right = (_int32(edges.column(f"{side}_node")) for side in SIDES)
        return left, right

    def ask(self, question: str, *, estimate: str = "fair") -> Any:
        """Answer a question over `left`, `right`, `edges` or paths with bounds that hold.

        One aggregate gives a `GraphAnswer`; several, arithmetic and GROUP BY a table as `sql` of a release of a table.
        `estimate="learned"` adds an estimate that takes into account how conditions are correlated with degrees.
        """
        from hedgerow.graph.ask import ask

        return ask(self, question, estimate=estimate)

    def verify(self) -> Verification:
        """Re-derive the guarantee from what is published; return what was checked, or raise BrokenPromise."""
        return verify_graph(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, allow_insecure: bool = False) -> None:
        """Verify, then write a bundle: a folder of Parquet files with a manifest, whole or not at all.

        A release that was recorded in a ledger is confirmed there.
        """
        from hedgerow.graph.bundle import write
        from hedgerow.release.bundle import checksum

        self.verify()
        write(self, path, overwrite=overwrite, allow_insecure=allow_insecure)
        if self.receipt is not None:
            self.receipt.confirm(checksum(path))

    def _side(self, number: int) -> Side:
        name, other = SIDES[number], SIDES[1 - number]
        entities, column = self.tables[name], self.group_columns[number]
        node_groups = _int32(self.tables[f"{name}_nodes"].column("group"))
        ends, others = self.pairs if number == 0 else self.pairs[::-1]
        return Side(
            name=name,
            entities=entities,
            key=self.keys[number],
            group_column=column,
            entity_groups=_int32(entities.column(column)),
            node_groups=node_groups,
            sizes=np.bincount(node_groups),
            neighbours=adjacency(ends, others, len(node_groups), self.tables[f"{other}_nodes"].num_rows),
        )

    def __repr__(self) -> str:
        sides = f"{self.tables['left'].num_rows:,} left, {self.tables['right'].num_rows:,} right"
        return f"GroupedGraph(({self.k}, {self.l})-grouping of {sides}, {counted(self.edges, 'edge')})"

    def _repr_html_(self) -> str:
        columns = [(side, name) for side in SIDES for name in self.tables[side].column_names]
        return (
            html_note(repr(self))
            + html_note(self.guarantee.promise)
            + html_table(("table", "column"), columns, texts=2)
        )

    def __reduce__(self) -> str:
        # A pickle would skip what makes a bundle trustworthy: its verification, its checksums and its strict decoder.
        raise TypeError("A release is not pickled: save it with release.save(folder) and open it with hr.open(folder).")


def _int32(column: pa.ChunkedArray) -> NDArray[np.int32]:
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), np.int32)
