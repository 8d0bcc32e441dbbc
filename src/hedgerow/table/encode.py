"""A column as small integers in the order of its values.

Cost       O(n + range) where whole numbers lie close together, by counting;
           O(n + u log u) on u distinct values otherwise, by hashing; O(n log n) where nearly all values differ
Memory     4 bytes a row for the codes; scratch space stays within a few bytes a row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import one_array
from hedgerow.cores import cores, on_cores
from hedgerow.errors import counted
from hedgerow.table.texts import code_texts

_BLOCK = 1 << 18
"""Rows handled at a time, so that 64-bit scratch arrays stay in the cache."""

_SAMPLE = 1 << 14


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A column as codes: `codes[row] < len(domain)` stands for `domain[code]`, `len(domain)` for missing.

    `domain` holds the distinct values, ascending, without missing; texts ascend by code point.
    """

    codes: NDArray[np.int32]
    domain: pa.Array
    has_missing: bool

    @property
    def size(self) -> int:
        """How many codes are in use, the one for missing included."""
        return len(self.domain) + self.has_missing

    def counts(self) -> NDArray[np.int64]:
        """Rows per code."""
        total = np.zeros(self.size, dtype=np.int64)
        # bincount widens its input to 64 bits; blocks keep that copy small without adding up too many histograms.
        step = max(_BLOCK, self.size)
        for start in range(0, len(self.codes), step):
            total += np.bincount(self.codes[start : start + step], minlength=self.size)
        return total

    def decode(self, codes: NDArray[np.int32]) -> pa.Array:
        """The values that codes stand for, missing ones included."""
        missing = codes == len(self.domain) if self.has_missing else None
        return self.domain.take(pa.array(codes, mask=missing))

    def __repr__(self) -> str:
        return (
            f"Encoded({counted(len(self.codes), 'row')}, "
            f"{counted(len(self.domain), 'distinct value')}, has_missing={self.has_missing})"
        )


def encode(array: pa.Array | pa.ChunkedArray) -> Encoded:
    """Encode a column of a `Table` (flat type, floats without NaN and negative zero)."""
    column = one_array(array)
    codes, domain = _encode(column)
    codes.flags.writeable = False
    return Encoded(codes, domain, column.null_count > 0)


def encode_texts(texts: pa.Array) -> Encoded | None:
    """Encode a column of text; None where a sample says that most values differ, so that few would be seen again."""
    sample = texts.take(pa.array(np.arange(0, len(texts), max(1, len(texts) // _SAMPLE)))).drop_null()
    if 2 * len(sample.unique()) > len(sample):
        return None
    found = code_texts(texts)
    if found is None:
        codes, domain = _by_hashing(texts, parts=cores())
    else:
        domain = texts.take(pa.array(found[1]))
        order = pc.sort_indices(domain).to_numpy()
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        codes, domain = ranks.take(found[0], mode="clip"), domain.take(pa.array(order))
    codes.flags.writeable = False
    return Encoded(codes, domain, texts.null_count > 0)


def _encode(column: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    if column.null_count == len(column):
        return np.zeros(len(column), dtype=np.int32), column.slice(0, 0)
    numbers = _as_numbers(column)
    if numbers is None:
        return _by_hashing(column)
    if numbers.dtype.kind in "iu" and (narrow := _narrow_range(numbers)):
        codes, distinct = _by_counting(numbers, *narrow)
        return _mark_missing(codes, column, len(distinct)), _of_type(distinct, column.type)
    if not _mostly_distinct(numbers):
        return _by_hashing(column)
    codes, firsts = _by_sorting(numbers)
    return _mark_missing(codes, column, len(firsts)), column.take(pa.array(firsts))


def _as_numbers(column: pa.Array) -> NDArray[Any] | None:
    """The column's buffer as a NumPy array, missing replaced by the smallest value; None for texts and decimals."""
    kind = column.type
    if pa.types.is_boolean(kind):
        plain = column.cast(pa.uint8())
    elif pa.types.is_date32(kind):
        plain = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        plain = column.view(pa.int64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        plain = column
    else:
        return None
    if plain.null_count:
        plain = plain.fill_null(pc.min(plain))
    numbers: NDArray[Any] = plain.to_numpy(zero_copy_only=True)
    return numbers


def _narrow_range(numbers: NDArray[Any]) -> tuple[int, int] | None:
    low, high = int(numbers.min()), int(numbers.max())
    return (low, high) if high - low <= 4 * len(numbers) + 1024 else None


def _by_counting(numbers: NDArray[Any], low: int, high: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    codes = np.empty(len(numbers), dtype=np.int32)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(numbers), _BLOCK)]
    for block in blocks:
        seen[np.subtract(numbers[block], low, dtype=np.int64)] = True
    ranks = np.cumsum(seen, dtype=np.int32)
    ranks -= 1
    for block in blocks:
        np.take(ranks, np.subtract(numbers[block], low, dtype=np.int64), out=codes[block], mode="clip")
    return codes, np.flatnonzero(seen) + low


def _mostly_distinct(numbers: NDArray[Any]) -> bool:
    """Guess from a sample whether hashing would miss the cache on nearly every row, where sorting is faster."""
    sample = numbers[:: max(1, len(numbers) // _SAMPLE)]
    return len(np.unique(sample)) > 0.99 * len(sample)


def _by_sorting(numbers: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    order = np.argsort(numbers)
    ascending = numbers[order]
    starts = np.concatenate(([True], ascending[1:] != ascending[:-1]))
    codes = np.empty(len(numbers), dtype=np.int32)
    codes[order] = np.cumsum(starts, dtype=np.int32) - np.int32(1)
    return codes, order[starts]


def _by_hashing(column: pa.Array, *, parts: int = 1) -> tuple[NDArray[np.int32], pa.Array]:
    """Hash a column, in parts where values repeat: they keep every core at work until the last column is done."""
    step = max(_SAMPLE, -(-len(column) // parts))
    slices = [column.slice(first, step) for first in range(0, len(column), step)]
    hashed = pa.chunked_array(on_cores(pa.Array.dictionary_encode, slices, rows=len(column))).unify_dictionaries()
    dictionary = hashed.chunk(0).dictionary
    order = pc.sort_indices(dictionary)
    distinct = len(order)
    ranks = np.empty(distinct + 1, dtype=np.int32)
    ranks[order.to_numpy()] = np.arange(distinct, dtype=np.int32)
    ranks[distinct] = distinct
    codes = np.empty(len(column), dtype=np.int32)
    for chunk, first in zip(hashed.chunks, range(0, len(column), step), strict=True):
        np.take(ranks, chunk.indices.fill_null(distinct).to_numpy(), out=codes[first : first + step], mode="clip")
    return codes, dictionary.take(order)


def _mark_missing(codes: NDArray[np.int32], column: pa.Array, missing: int) -> NDArray[np.int32]:
    if column.null_count:
        codes[column.is_null().to_numpy(zero_copy_only=False)] = missing
    return codes


def _of_type(distinct: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    if pa.types.is_date32(kind):
        return pa.array(distinct.astype(np.int32)).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(distinct).view(kind)
    return pa.array(distinct).cast(kind)
