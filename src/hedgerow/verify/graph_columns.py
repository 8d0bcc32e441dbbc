"""Columns of edges that name the entities at their ends: with these, whoever reads the release knows who is which node.

Source     own
Guarantee  reports a column of edges and one of entities if every node shows one value on its edges, every group has
           entities with the values of its nodes, and more than 20 bits speak against a coincidence
Cost       O(edges log edges) for a column of edges that is the same on all edges of each node; O(edges) otherwise

An edge with the name, or the town, of its left end joins published node and published entity, so that assignments
inside a group are not equally likely. A value that differs between the edges of a node belongs to edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints, is_numeric

__all__ = ["MOST_PAIRS", "columns_that_name"]

_CHANCE = 20.0
"""Bits beyond which a fit is no coincidence."""
MOST_PAIRS = 4_096
"""Columns of edges times columns of a side: each pair is compared, so that a small file could take hours."""


def columns_that_name(
    edges: Mapping[str, pa.ChunkedArray], ends: Ints, entities: pa.Table, groups: Ints
) -> Iterator[tuple[str, str]]:
    """Pairs of a column of edges and one of entities by which nodes show their entities.

    `ends` are the nodes of the edges on this side; row n of `entities` and node n are in the group `groups[n]`.
    """
    for name, values in edges.items():
        if _of_nodes(_codes(values), ends, len(groups)) is None:
            continue
        for column in entities.column_names:
            joined = _as_one_type(values, entities.column(column))
            if joined is None:
                continue
            codes = _codes(joined)
            shown = _of_nodes(codes[: len(values)], ends, len(groups))
            if shown is not None and _bits(shown, codes[len(values) :], groups) > _CHANCE:
                yield name, column


def _as_one_type(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Two columns one after the other, numbers as numbers and all else as texts; None for types without a text."""
    if one.type == other.type:
        return pa.chunked_array([*one.chunks, *other.chunks], one.type)
    for kind in _common_types(one.type, other.type):
        with suppress(pa.ArrowException):
            both = [column.cast(kind, safe=False) for column in (one, other)]
            return pa.chunked_array([chunk for column in both for chunk in column.chunks], kind)
    return None


def _common_types(one: pa.DataType, other: pa.DataType) -> list[pa.DataType]:
    """Types in which values of two others can be compared, the best one first: floats make one of large numbers."""
    if not (is_numeric(one) and is_numeric(other)):
        return [pa.string()]
    exact = [pa.decimal128(38, max(getattr(kind, "scale", 0) for kind in (one, other)))]
    has_floats = pa.types.is_floating(one) or pa.types.is_floating(other)
    return [*([] if has_floats else exact), pa.float64()]


def _codes(column: pa.ChunkedArray) -> Ints:
    """A column as codes, -1 where it is missing."""
    indices = column.combine_chunks().dictionary_encode().indices.fill_null(-1)
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64)


def _of_nodes(codes: Ints, ends: Ints, nodes: int) -> Ints | None:
    """The one value that the edges of each node show, -1 where they show none; None where some node shows two."""
    there = codes >= 0
    codes, ends = codes[there], ends[there]
    shown = np.full(nodes, -1, np.int64)
    shown[ends] = codes
    return shown if len(codes) and (shown[ends] == codes).all() else None


def _bits(shown: Ints, known: Ints, groups: Ints) -> float:
    """How unlikely it is that nodes fit the entities of their groups; 0 if some group does not fit.

    By chance each node would show the value of an entity drawn from all of the side. A group of k with m nodes that
    show something fits if these have the values of m of its entities, which are at most binomial(k, m) sets of values.
    """
    seen, listed = shown >= 0, known >= 0
    width = int(max(shown.max(initial=0), known.max(initial=0))) + 1
    wanted, times = np.unique(groups[seen] * width + shown[seen], return_counts=True)
    there, most = np.unique(groups[listed] * width + known[listed], return_counts=True)
    places = np.minimum(np.searchsorted(there, wanted), max(len(there) - 1, 0))
    if not len(there) or (there[places] != wanted).any() or (times > most[places]).any():
        return 0.0
    frequent = np.bincount(known[listed], minlength=width)[wanted % width] / listed.sum()
    sizes, shows = np.bincount(groups), np.bincount(groups[seen], minlength=int(groups.max()) + 1)
    factorials = _log_factorials(int(sizes.max()))
    orders = factorials[shows].sum() - factorials[times].sum() + (times * np.log2(frequent)).sum()
    choices = (factorials[sizes] - factorials[shows] - factorials[sizes - shows]).sum()
    return float(-orders - choices)


def _log_factorials(most: int) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.log2(np.arange(1, most + 1, dtype=float)).cumsum()])
