"""What a group of rows has in common in one column: the least interval, set or hierarchy node that covers its values.

Source     [LeFevre 2006] (minimum bounding boxes), [Samarati 2001] (nodes); see docs/methods/generalized.md
Guarantee  a box covers every value of its group; without a hierarchy no smaller interval or set does
Cost       O(n) per column for intervals and nodes; a sort of (group, value) for sets

A column is seen as codes in the order of the published rows; group g has the rows `offsets[g]:offsets[g + 1]`. Missing
values have the last code. They are no part of an interval, set or node: a flag beside it tells that some are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.randomness import Keys, order_keys, system_keys

if TYPE_CHECKING:
    from hedgerow.schema import Hierarchy
    from hedgerow.table import Encoded

__all__ = ["Box", "interval_box", "is_ordered", "node_box", "set_box"]

Offsets = NDArray[np.int64]
_MOST_LISTED = 6
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Box:
    """One column of every group: a readable label, ends or the number of a set, and whether values are missing.

    `low`, `high` and `number` are None where the box is of the other kind; entries are null where all values of a group
    are missing. `members` lists the values of each numbered set, `missing` is None where the column has no gaps.
    """

    label: pa.Array
    low: pa.Array | None = None
    high: pa.Array | None = None
    number: pa.Array | None = None
    missing: pa.Array | None = None
    members: tuple[NDArray[np.int32], pa.Array] | None = None


def is_ordered(kind: pa.DataType) -> bool:
    """Tell whether intervals of a type make sense: everything but text."""
    return not pa.types.is_string(kind)


def interval_box(codes: Codes, offsets: Offsets, encoded: Encoded) -> Box:
    """The least interval of each group."""
    low, high, missing = _ends(codes, offsets, encoded)
    texts = encoded.domain.cast(pa.string()).to_pylist()
    label = _labels(low * (len(texts) + 1) + high, missing, lambda key: _span(texts, *divmod(key, len(texts) + 1)))
    return Box(label, _taken(encoded.domain, low), _taken(encoded.domain, high), missing=_flags(missing, encoded))


def node_box(
    codes: Codes, offsets: Offsets, encoded: Encoded, hierarchy: Hierarchy, *, level: int = 0, name: str = "column"
) -> Box:
    """The lowest node of at least `level` that covers each group."""
    at_level = hierarchy.recode(level)
    low, high, missing = _node_ends(
        codes, offsets, encoded, at_level[hierarchy.leaf_codes(name, encoded.domain)], hierarchy
    )
    node = at_level[np.maximum(low, 0)].astype(np.int64)
    while np.any(climbing := hierarchy.high[node] <= high):
        node = np.where(climbing, hierarchy.parents[node], node)
    node = np.where(low < 0, -1, node)
    label = _labels(node, missing, lambda key: hierarchy.labels[key])
    flags = _flags(missing, encoded)
    if not is_ordered(encoded.domain.type):
        number, members = _node_sets(node, hierarchy)
        return Box(label, number=number, missing=flags, members=members)
    leaves = hierarchy.leaves.cast(encoded.domain.type)
    lows, highs = _node_extremes(node, hierarchy, leaves)
    return Box(label, _taken(leaves, lows), _taken(leaves, highs), missing=flags)


def set_box(codes: Codes, offsets: Offsets, encoded: Encoded, *, keys: Keys = system_keys) -> Box:
    """The set of the values of each group; equal sets share a number, which tells nothing about the groups."""
    values, starts, missing = _distinct(codes, offsets, len(encoded.domain))
    number, chosen = _numbered(values, starts, order_keys(keys)(len(encoded.domain) + 1))
    sizes = np.diff(starts)
    texts = encoded.domain.to_pylist()
    shown = [_listed([texts[code] for code in values[starts[g] : starts[g + 1]]]) for g in chosen.tolist()]
    label = _labels(number, missing, lambda key: shown[key])
    places = _joined([np.arange(starts[g], starts[g + 1]) for g in chosen.tolist()])
    members = np.repeat(np.arange(len(chosen), dtype=np.int32), sizes[chosen])
    return Box(
        label,
        number=pa.array(np.maximum(number, 0).astype(np.int32), mask=number < 0),
        missing=_flags(missing, encoded),
        members=(members, encoded.domain.take(pa.array(values[places]))),
    )


def _ends(codes: Codes, offsets: Offsets, encoded: Encoded) -> tuple[Offsets, Offsets, NDArray[np.bool_]]:
    """The least and greatest code of each group, -1 where all values are missing, and where any is."""
    gap = len(encoded.domain)
    low = np.minimum.reduceat(codes, offsets[:-1]).astype(np.int64)
    greatest = np.maximum.reduceat(codes, offsets[:-1]).astype(np.int64)
    if not encoded.has_missing:
        return low, greatest, np.zeros(len(low), np.bool_)
    high = np.maximum.reduceat(np.where(codes == gap, np.int32(-1), codes), offsets[:-1]).astype(np.int64)
    return np.where(low == gap, -1, low), high, greatest == gap


def _node_ends(
    codes: Codes, offsets: Offsets, encoded: Encoded, nodes: Codes, hierarchy: Hierarchy
) -> tuple[Offsets, Offsets, NDArray[np.bool_]]:
    """The first and last leaf below the nodes of each group, -1 where all values are missing, and where any is."""
    unknown = np.int32(hierarchy.num_leaves)
    firsts = np.append(hierarchy.low[nodes], unknown)[codes]
    lasts = np.append(hierarchy.high[nodes] - np.int32(1), np.int32(-1))[codes]
    low = np.minimum.reduceat(firsts, offsets[:-1]).astype(np.int64)
    high = np.maximum.reduceat(lasts, offsets[:-1]).astype(np.int64)
    gaps = np.maximum.reduceat((codes == len(encoded.domain)).view(np.int8), offsets[:-1])
    return np.where(low == unknown, -1, low), high, gaps.astype(np.bool_)


def _node_extremes(node: Offsets, hierarchy: Hierarchy, leaves: pa.Array) -> tuple[Offsets, Offsets]:
    """The leaves with the least and the greatest value below each node; leaf order need not be that of the values."""
    import pyarrow.compute as pc

    order = pc.array_sort_indices(leaves).to_numpy().astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    used, place = np.unique(np.maximum(node, 0), return_inverse=True)
    spans = [rank[hierarchy.low[one] : hierarchy.high[one]] for one in used.tolist()]
    low, high = (order[np.array([end(span) for span in spans])][place] for end in (np.min, np.max))
    return np.where(node < 0, -1, low), np.where(node < 0, -1, high)


def _node_sets(node: Offsets, hierarchy: Hierarchy) -> tuple[pa.Array, tuple[NDArray[np.int32], pa.Array]]:
    """Number the nodes in use and list the leaves below each."""
    used = np.unique(node[node >= 0])
    number = np.searchsorted(used, node).astype(np.int32)
    spans = [np.arange(hierarchy.low[one], hierarchy.high[one]) for one in used.tolist()]
    sets = np.repeat(np.arange(len(used), dtype=np.int32), [len(span) for span in spans])
    leaves = hierarchy.leaves.cast(pa.string()).take(pa.array(_joined(spans)))
    return pa.array(number, mask=node < 0), (sets, leaves)


def _distinct(codes: Codes, offsets: Offsets, gap: int) -> tuple[Offsets, Offsets, NDArray[np.bool_]]:
    """The ascending distinct codes of each group, where each group's begin and end, and which groups have gaps."""
    blocks = [_distinct_in_block(codes, offsets[first : last + 1], gap) for first, last in _blocks(offsets)]
    values, sizes, missing = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return values, np.append(0, np.cumsum(sizes)), missing


def _blocks(offsets: Offsets) -> list[tuple[int, int]]:
    """Runs of groups of about so many rows, so that 64-bit scratch arrays stay small."""
    wanted = np.arange(0, int(offsets[-1]), _BLOCK)
    cuts = np.unique(np.append(np.searchsorted(offsets, wanted), len(offsets) - 1)).tolist()
    return list(pairwise(cuts))


def _distinct_in_block(codes: Codes, offsets: Offsets, gap: int) -> tuple[Offsets, Offsets, NDArray[np.bool_]]:
    """The ascending distinct codes of each group of a block, how many each group has, and which groups have gaps."""
    sizes = np.diff(offsets)
    keys = np.repeat(np.arange(len(sizes)) * (gap + 1), sizes)
    keys += codes[offsets[0] : offsets[-1]]
    owners, values = np.divmod(_occurring(keys, len(sizes) * (gap + 1)), gap + 1)
    missing = np.zeros(len(sizes), np.bool_)
    missing[owners[values == gap]] = True
    owners, values = owners[values < gap], values[values < gap]
    return values, np.bincount(owners, minlength=len(sizes)), missing


def _occurring(keys: Offsets, width: int) -> Offsets:
    """The distinct keys below `width`, ascending: by marking them where there is room, by sorting otherwise."""
    if width > 32 * len(keys) + 1024:
        return np.unique(keys)
    seen = np.zeros(width, np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen)


def _numbered(values: Offsets, starts: Offsets, secret: NDArray[np.uint64]) -> tuple[Offsets, Offsets]:
    """Give equal runs of values one number, -1 to empty ones; return it and a run that stands for each number.

    Runs are told apart by the sum of a random key per value, and then compared: two sets never share a number.
    """
    sums = np.append(np.uint64(0), np.cumsum(secret[values]))
    sizes = np.diff(starts)
    filled = np.flatnonzero(sizes)
    _, first, place = np.unique((sums[starts[1:]] - sums[starts[:-1]])[filled], return_index=True, return_inverse=True)
    chosen = filled[first]
    if not _are_equal(values, starts, filled, chosen[place]):
        chosen, place = filled, np.arange(len(filled))
    number = np.full(len(sizes), -1, np.int64)
    number[filled] = place
    return number, chosen


def _are_equal(values: Offsets, starts: Offsets, runs: Offsets, others: Offsets) -> bool:
    """Tell whether each run has the values of the other."""
    sizes = np.diff(starts)
    if not np.array_equal(sizes[runs], sizes[others]):
        return False
    lengths = sizes[runs]
    inner = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    mine, theirs = (values[np.repeat(starts[which], lengths) + inner] for which in (runs, others))
    return np.array_equal(mine, theirs)


def _joined(runs: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(0), *runs])


def _labels(keys: Offsets, missing: NDArray[np.bool_], text: Callable[[int], str]) -> pa.Array:
    """Write each distinct box once: its text, whether values are missing, or that all are."""
    marked = np.maximum(keys, -1) * 2 + missing
    used, place = np.unique(marked, return_inverse=True)
    written = [_written(int(mark), text) for mark in used]
    return pa.array(written, pa.string()).take(pa.array(place.reshape(-1)))


def _written(mark: int, text: Callable[[int], str]) -> str:
    key, is_missing = divmod(mark, 2)
    if key < 0:
        return "missing"
    return f"{text(key)} or missing" if is_missing else text(key)


def _span(texts: list[str], low: int, high: int) -> str:
    return texts[low] if low == high else f"{texts[low]}..{texts[high]}"


def _listed(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    more = f", ... ({len(texts)} values)" if len(texts) > _MOST_LISTED else ""
    return "{" + ", ".join(texts[:_MOST_LISTED]) + more + "}"


def _taken(values: pa.Array, places: Offsets) -> pa.Array:
    return values.take(pa.array(np.maximum(places, 0), mask=places < 0))


def _flags(missing: NDArray[np.bool_], encoded: Encoded) -> pa.Array | None:
    return pa.array(missing) if encoded.has_missing else None
