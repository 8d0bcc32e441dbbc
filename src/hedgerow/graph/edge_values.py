"""Columns of edges: disguise them so that each combination of values is shared by edges of enough nodes.

Source     own; the cuts are those of [LeFevre 2006]
Guarantee  each combination of published values is shared by edges of at least `edge_k` different left and as many
           different right nodes; every true number or date lies in its published interval
Cost       O(edges log edges) in all, a level of halving being O(edges)

Texts and truth values are kept where enough edges share their combination, and are left out (missing) otherwise.
Numbers and dates are cut at medians, the widest column first, as long as both parts have enough nodes of both sides;
then each part shows its least and its greatest value, in columns `x_from` and `x_to`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import is_numeric
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.graph.bipartite import BipartiteGraph, EdgeValues
from hedgerow.verify.graph import count_ends, edge_classes

Rows = NDArray[np.int64]


def disguise_edges(graph: BipartiteGraph, edge_k: int) -> tuple[BipartiteGraph, tuple[str, ...]]:
    """Return the graph with disguised columns of edges, and the names of those that became intervals."""
    from dataclasses import replace

    assert graph.values is not None
    values = graph.values
    ends = graph.left_ends[values.pairs].astype(np.int64), graph.right_ends[values.pairs].astype(np.int64)
    for side in ends:
        if len(np.unique(side)) < edge_k:
            raise Infeasible(f"edge_k = {edge_k} needs edges of as many nodes on each side; the graph has fewer.")
    ordered = {name: column for name, column in values.columns.items() if _is_ordered(column.type)}
    others = {name: column for name, column in values.columns.items() if name not in ordered}
    _check_names(ordered, values.columns)
    texts, classes = _kept_texts(others, ends, edge_k)
    published: dict[str, pa.ChunkedArray] = dict(texts)
    if ordered:
        ranks = np.stack([_ranks(column) for column in ordered.values()], axis=1)
        parts = _cut(ranks, classes, ends, edge_k)
        for name, column in ordered.items():
            published |= _intervals(name, column, parts)
    return replace(graph, values=EdgeValues(values.pairs, published)), tuple(ordered)


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(is_numeric(kind) or pa.types.is_temporal(kind))


def _check_names(ordered: Mapping[str, pa.ChunkedArray], columns: Mapping[str, pa.ChunkedArray]) -> None:
    for name, column in ordered.items():
        if {f"{name}_from", f"{name}_to"} & set(columns):
            raise SchemaError(
                f"'{name}' of the edges becomes '{name}_from' and '{name}_to'; another column is called so."
            )
        if column.null_count:
            raise SchemaError(f"'{name}' of the edges has missing values, which have no place in an interval.")


def _kept_texts(
    columns: Mapping[str, pa.ChunkedArray], ends: tuple[Rows, Rows], edge_k: int
) -> tuple[dict[str, pa.ChunkedArray], Rows]:
    """Leave out texts whose combination too few nodes have; return the columns and the class of each edge."""
    rows = len(ends[0])
    classes = edge_classes(list(columns.values()), rows)
    if _few(classes, ends, edge_k).any():
        classes = np.where(_few(classes, ends, edge_k), 0, classes + 1)
        # The class of missing texts must be large enough, too: otherwise the next smallest class joins it.
        while _few(classes, ends, edge_k).any():
            sizes = np.bincount(classes)
            sizes[[0, *np.flatnonzero(sizes == 0)]] = rows + 1
            classes[classes == int(sizes.argmin())] = 0
        kept = pa.array(classes != 0)
        columns = {name: _mask(column.combine_chunks(), kept) for name, column in columns.items()}
    return dict(columns), np.unique(classes, return_inverse=True)[1].astype(np.int64)


def _mask(column: pa.Array, kept: pa.Array) -> pa.ChunkedArray:
    """The column with what is not kept missing."""
    return pa.chunked_array([pc.if_else(kept, column, pa.scalar(None, column.type))])


def _few(classes: Rows, ends: tuple[Rows, Rows], edge_k: int) -> NDArray[np.bool_]:
    """Mark the edges of classes that fewer than `edge_k` nodes of a side have."""
    counts = np.minimum(*(count_ends(classes, side) for side in ends))
    marks: NDArray[np.bool_] = (counts < edge_k)[classes]
    return marks


def _ranks(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Values between 0 and 1 by their rank, equal ones alike."""
    ranks = pc.rank(column.combine_chunks(), tiebreaker="dense").to_numpy().astype(np.float64)
    scaled: NDArray[np.float64] = ranks / max(1.0, ranks.max(initial=1.0))
    return scaled


def _cut(ranks: NDArray[np.float64], classes: Rows, ends: tuple[Rows, Rows], edge_k: int) -> list[Rows]:
    """Halve the edges of each class as long as both halves have enough nodes of both sides."""
    order = np.argsort(classes, kind="stable")
    waiting = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
    done = []
    while waiting:
        rows = waiting.pop()
        halves = _halves(ranks, rows, ends, edge_k)
        if halves is None:
            done.append(rows)
        else:
            waiting += halves
    return done


def _halves(ranks: NDArray[np.float64], rows: Rows, ends: tuple[Rows, Rows], edge_k: int) -> list[Rows] | None:
    if len(rows) < 2 * edge_k:
        return None
    inside = ranks[rows]
    for column in np.argsort(-np.ptp(inside, axis=0), kind="stable").tolist():
        numbers = inside[:, column]
        below = numbers < np.median(numbers)
        if not below.any():
            below = numbers <= np.median(numbers)
        halves = [rows[below], rows[~below]]
        if all(len(half) >= edge_k and _has_ends(half, ends, edge_k) for half in halves):
            return halves
    return None


def _has_ends(rows: Rows, ends: tuple[Rows, Rows], edge_k: int) -> bool:
    return all(len(np.unique(side[rows])) >= edge_k for side in ends)


def _intervals(name: str, column: pa.ChunkedArray, parts: list[Rows]) -> dict[str, pa.ChunkedArray]:
    """The least and the greatest value of each part, beside each of its edges."""
    flat = column.combine_chunks()
    ranks = pc.rank(flat, tiebreaker="first").to_numpy().astype(np.int64) - 1
    by_rank = np.argsort(ranks)
    low, high = np.empty(len(flat), np.int64), np.empty(len(flat), np.int64)
    for rows in parts:
        inside = ranks[rows]
        low[rows], high[rows] = by_rank[inside.min()], by_rank[inside.max()]
    return {
        f"{name}_{end}": pa.chunked_array([flat.take(pa.array(rows))]) for end, rows in (("from", low), ("to", high))
    }
