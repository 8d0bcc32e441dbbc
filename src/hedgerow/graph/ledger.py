"""Graphs in the owner's ledger: a second release of a graph can undo the first.

Source     [Zhang 2008], section 4.5
Guarantee  a graph that was recorded is not published again by accident, and never as (k,1) beside (1,l)

An entry holds a keyed hash of the graph with its k and l. The hash covers the keys of both sides and all edges, in no
order: the same graph from another file is the same graph. A graph with one edge changed is another one; the owner has
to know.
"""

from __future__ import annotations

import hashlib
import hmac
import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import Infeasible
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.ledger import GraphEntry, Ledger
from hedgerow.ledger.page import now
from hedgerow.ledger.store import locked
from hedgerow.randomness import token

__all__ = ["Ledger", "check", "conflict", "record"]

Place = str | os.PathLike[str]


def check(ledger: Ledger, graph: BipartiteGraph, k: int, l: int, *, again: bool = False) -> str:  # noqa: E741
    """Return the keyed hash of a graph that may be published, or raise Infeasible with the reason."""
    mark = _fingerprint(graph, ledger.key)
    for entry in ledger.entries:
        if isinstance(entry, GraphEntry) and entry.graph == mark:
            conflict((entry.k, entry.l), (k, l), again=again)
    return mark


def record(path: Place, graph: BipartiteGraph, k: int, l: int, *, again: bool = False) -> None:  # noqa: E741
    """Write a release into the ledger; look again, since others may have published meanwhile."""
    opened = Ledger.open(path)
    with locked(opened.path):
        ledger = Ledger.open(path)
        mark = check(ledger, graph, k, l, again=again)
        ledger.written((*ledger.entries, GraphEntry(token(4), now(), mark, k, l)))


def conflict(before: tuple[int, int], now: tuple[int, int], *, again: bool) -> None:
    """Raise Infeasible if a graph that was published as (k, l) = `before` must not be published as `now`."""
    if (before[0] == 1 and now[1] == 1) or (before[1] == 1 and now[0] == 1):
        raise Infeasible(
            f"This graph was published as a ({before[0]}, {before[1]})-grouping; beside a ({now[0]}, "
            f"{now[1]})-grouping the shape of each node's surroundings joins the named left side of one to the named "
            f"right side of the other, and links become certain. Publish neither or one; a (k, l)-grouping of both "
            f"sides answers the same questions."
        )
    if not again:
        raise Infeasible(
            f"This graph was published before, as a ({before[0]}, {before[1]})-grouping. A second, independent "
            f"grouping can be joined to it by the shape of the graph, and an entity hides only among the nodes that "
            f"both allow. Reuse the first release, or ask for another one explicitly."
        )


def _fingerprint(graph: BipartiteGraph, key: bytes) -> str:
    digest = hmac.new(key, digestmod=hashlib.sha256)
    ranks = []
    for table, name in ((graph.left, graph.left_key), (graph.right, graph.right_key)):
        column = table.column(name)
        order = pc.sort_indices(column).to_numpy()
        # The length first, so that no two lists of keys run into each other.
        digest.update(len(column).to_bytes(8, "big"))
        for text in column.take(pa.array(order)).cast(pa.string()).to_pylist():
            digest.update(f"{len(text)}:{text}".encode())
        ranks.append(_inverse(order.astype(np.int64)))
    edges = np.sort(ranks[0][graph.left_ends] * graph.right.num_rows + ranks[1][graph.right_ends])
    digest.update(edges.astype("<i8").tobytes())
    return digest.hexdigest()


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
