"""What a group of rows has in common in one column: the least interval, set or hierarchy node that covers its values.

Source     [LeFevre 2006] (minimum bounding boxes), [Samarati 2001] (nodes); see docs/methods/generalized.md
Guarantee  a box covers every value of its group; without a hierarchy no smaller interval or set does
Cost       O(n) per column, and a sort of the groups for sets

A column is seen as codes in the order of the published rows; group g has the rows `offsets[g]:offsets[g + 1]`. Missing
values have the last code. They are not part of an interval, set or node: a separate flag says that some are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes, distinct
from hedgerow.kernel import kernel

if TYPE_CHECKING:
    from hedgerow.schema import Hierarchy
    from hedgerow.table import Encoded

Offsets = NDArray[np.int64]
_MOST_LISTED = 6
_BITS = 64


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
    """Return whether intervals of a type make sense: everything but text."""
    return not pa.types.is_string(kind)


def interval_box(codes: Codes, offsets: Offsets, encoded: Encoded) -> Box:
    """The least interval of each group."""
    low, high, missing = _ends(codes, offsets, encoded)
    texts = encoded.domain.cast(pa.string()).to_pylist()
    label = _labels(low * (len(texts) + 1) + high, missing, lambda key: _span(texts, *divmod(key, len(texts) + 1)))
    return Box(label, _take(encoded.domain, low), _take(encoded.domain, high), missing=_flags(missing, encoded))


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
    return Box(label, _take(leaves, lows), _take(leaves, highs), missing=flags)


def set_box(codes: Codes, offsets: Offsets, encoded: Encoded, secret: NDArray[np.uint64]) -> Box:
    """The set of the values of each group; equal sets share a number, which reveals nothing about the groups.

    `secret` is a random key per code, by which sets are numbered.
    """
    number, chosen, sizes = _number_sets(codes, offsets, secret)
    sets, values = np.divmod(_listing(codes, offsets, chosen, sizes, len(secret)), len(secret))
    members = encoded.domain.take(pa.array(values))
    texts, ends = members.to_pylist(), np.cumsum([0, *sizes.tolist()]).tolist()
    shown = [_set_text(texts[start:end]) for start, end in pairwise(ends)]
    missing = _gaps(codes, offsets, encoded)
    return Box(
        _labels(number, missing, lambda key: shown[key]),
        number=pa.array(np.maximum(number, 0).astype(np.int32), mask=number < 0),
        missing=_flags(missing, encoded),
        members=(sets.astype(np.int32), members),
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
    return np.where(low == unknown, -1, low), high, _gaps(codes, offsets, encoded)


def _gaps(codes: Codes, offsets: Offsets, encoded: Encoded) -> NDArray[np.bool_]:
    """Return for each group whether some value is missing."""
    if not encoded.has_missing:
        return np.zeros(len(offsets) - 1, np.bool_)
    gaps: NDArray[np.bool_] = np.logical_or.reduceat(codes == len(encoded.domain), offsets[:-1])
    return gaps


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
    leaves = hierarchy.leaves.cast(pa.string()).take(pa.array(_join_runs(spans)))
    return pa.array(number, mask=node < 0), (sets, leaves)


def _number_sets(codes: Codes, offsets: Offsets, secret: NDArray[np.uint64]) -> tuple[Offsets, Offsets, Offsets]:
    """Give equal sets of values one number, -1 to empty ones; return it, a group for each number, and how many it has.

    Sets are compared by a bit per value if these fit a word; otherwise by the exclusive or of a random key per value,
    and then value by value: two sets never share a number. Either way they are numbered in the order of these keys.
    """
    if len(secret) <= _BITS:
        return _number_words(codes, offsets, secret)
    joined, sizes = np.zeros(len(offsets) - 1, np.uint64), np.zeros(len(offsets) - 1, np.int64)
    _join_keys(codes, offsets, secret, np.full(len(secret), -1), joined, sizes)
    filled = np.flatnonzero(sizes)
    _, first, place = np.unique(joined[filled], return_index=True, return_inverse=True)
    number = np.full(len(sizes), -1, np.int64)
    number[filled], chosen = place, filled[first]
    order = np.argsort(number, kind="stable")
    if not _are_equal(codes, offsets, sizes, number, chosen, order, np.full(len(secret), -1)):
        number[filled], chosen = np.arange(len(filled)), filled
    return number, chosen, sizes[chosen]


def _number_words(codes: Codes, offsets: Offsets, secret: NDArray[np.uint64]) -> tuple[Offsets, Offsets, Offsets]:
    """The same by words of bits; missing values, which have the last code, have none."""
    bits = np.append(np.uint64(1) << np.arange(len(secret) - 1, dtype=np.uint64), np.uint64(0)).astype(np.uint64)
    words = np.zeros(len(offsets) - 1, np.uint64)
    _join_bits(codes, offsets, bits, words)
    used, first, place = np.unique(words, return_index=True, return_inverse=True)
    has = (used[:, None] & bits) > 0
    order = np.argsort(np.bitwise_xor.reduce(np.where(has, secret, np.uint64(0)), axis=1))
    order = order[used[order] > 0]
    numbers = np.full(len(used), -1, np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[place], first[order], has[order].sum(axis=1)


@kernel
def _join_bits(codes: Codes, offsets: Offsets, bits: NDArray[np.uint64], words: NDArray[np.uint64]) -> None:
    """Join the bits of the codes of each group."""
    for group in range(len(words)):
        joined = words[group]
        for row in range(offsets[group], offsets[group + 1]):
            joined |= bits[codes[row]]
        words[group] = joined


def _listing(codes: Codes, offsets: Offsets, chosen: Offsets, sizes: Offsets, width: int) -> Offsets:
    """The distinct codes of the chosen groups, ascending, each as place of its group * width + code."""
    found = np.empty(int(sizes.sum()), np.int64)
    _list_codes(codes, offsets, chosen, np.full(width, -1), found)
    found += np.repeat(np.arange(len(chosen)) * width, sizes)
    found.sort()
    return found


@kernel
def _list_codes(codes: Codes, offsets: Offsets, chosen: Offsets, last: Offsets, found: Offsets) -> None:
    """List the distinct codes of each chosen group as they come; missing values have the last code."""
    place = 0
    for group in chosen:
        for row in range(offsets[group], offsets[group + 1]):
            code = codes[row]
            if last[code] != group and code < len(last) - 1:
                last[code] = group
                found[place] = code
                place += 1


@kernel
def _join_keys(
    codes: Codes,
    offsets: Offsets,
    secret: NDArray[np.uint64],
    last: Offsets,
    joined: NDArray[np.uint64],
    sizes: Offsets,
) -> None:
    """Join the keys of the distinct codes of each group by exclusive or, and count them.

    `last` says for each code in which group it was seen last; its last code is that of missing values.
    """
    gap = len(last) - 1
    for group in range(len(joined)):
        for row in range(offsets[group], offsets[group + 1]):
            code = codes[row]
            if last[code] != group and code < gap:
                last[code] = group
                joined[group] ^= secret[code]
                sizes[group] += 1


@kernel
def _are_equal(
    codes: Codes,
    offsets: Offsets,
    sizes: Offsets,
    number: Offsets,
    chosen: Offsets,
    order: Offsets,
    last: Offsets,
) -> bool:
    """Return whether each group has the same distinct codes as the group that represents its set.

    `order` lists the groups number after number.
    """
    gap = len(last) - 1
    marked = -1
    for group in order:
        mine = number[group]
        if mine < 0:
            continue
        other = chosen[mine]
        if mine != marked:
            marked = mine
            for row in range(offsets[other], offsets[other + 1]):
                last[codes[row]] = mine
        if sizes[group] != sizes[other]:
            return False
        for row in range(offsets[group], offsets[group + 1]):
            if codes[row] < gap and last[codes[row]] != mine:
                return False
    return True


def _join_runs(runs: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(0), *runs])


def _labels(keys: Offsets, missing: NDArray[np.bool_], text: Callable[[int], str]) -> pa.Array:
    """Write each distinct box once: its text, whether values are missing, or that all are."""
    marked = np.maximum(keys, -1) * 2 + missing
    used, place = distinct(marked + 2)
    written = [_mark_text(int(mark) - 2, text) for mark in used]
    return pa.array(written, pa.string()).take(pa.array(place))


def _mark_text(mark: int, text: Callable[[int], str]) -> str:
    key, is_missing = divmod(mark, 2)
    if key < 0:
        return "missing"
    return f"{text(key)} or missing" if is_missing else text(key)


def _span(texts: list[str], low: int, high: int) -> str:
    return texts[low] if low == high else f"{texts[low]}..{texts[high]}"


def _set_text(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    more = f", ... ({len(texts)} values)" if len(texts) > _MOST_LISTED else ""
    return "{" + ", ".join(texts[:_MOST_LISTED]) + more + "}"


def _take(values: pa.Array, places: Offsets) -> pa.Array:
    return values.take(pa.array(np.maximum(places, 0), mask=places < 0))


def _flags(missing: NDArray[np.bool_], encoded: Encoded) -> pa.Array | None:
    return pa.array(missing) if encoded.has_missing else None
