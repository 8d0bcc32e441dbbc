"""Rows as records of 64-bit words, mostly one, which compiled loops move as a whole.

Cost       O(n d) once; 8 bytes a row where codes and the row's number fit 63 bits

A record holds the codes of quasi-identifiers, the sensitive codes and the row's number, each in as many bits as it
needs and none across two words. The module also has the rules of a search and its working memory, as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.cores import on_cores
from hedgerow.kernel import SMALL, kernel

_WORD = 63  # bits of a word that fields may use: the sign stays clear
_RUN = 1 << 16  # rows that one thread packs at a time


class PackedRows(NamedTuple):
    """The rows: records, where the bits of each field lie, and marks where groups begin.

    Field `f` is `(word[places[f]] >> shifts[f]) & masks[f]`; the last one is the row's number.
    """

    words: Ints
    places: Ints
    shifts: Ints
    masks: Ints
    starts: Bools


class SplitRules(NamedTuple):
    """What a split must respect: the line and the borders of each column, least rows, limits per sensitive column.

    `places` says where codes lie, `ranks` the rank of the border after each code of a column that has a tree.
    """

    places: Floats
    ranks: NDArray[np.int16]
    has_tree: Bools
    firsts: Ints
    sizes: Ints
    relaxed: bool
    rows: int
    widths: Ints
    distinct: Ints
    numerators: Ints
    denominators: Ints


class SplitBuffers(NamedTuple):
    """Working memory of one thread; `tried` holds the least rank not yet tried, or DONE.

    All codes of a run lie between `low` and `high`, which are the least and the greatest of them where `is_tight` says
    so. The histogram and the counts are zero between splits.
    """

    low: Ints
    high: Ints
    is_tight: Bools
    tried: NDArray[np.int16]
    histogram: Ints
    counts: Ints


def pack_rows(quasi: Codes | Sequence[Codes], sensitive: list[Codes], order: Ints | None) -> PackedRows:
    """Put each row's codes and its number side by side, in as many bits as each needs."""
    rows = len(sensitive[0])
    columns = [*quasi, *sensitive, np.arange(rows, dtype=np.int32)]
    widths = [max(int(column.max()).bit_length(), 1) for column in columns]
    places, shifts = _layout(widths)
    words = np.zeros((rows, places[-1] + 1), np.int64)
    pack = pack_field.compiled if rows > SMALL else pack_field.plain

    def fill(first: int) -> None:
        run = slice(first, first + _RUN)
        for column, place, shift in zip(columns, places, shifts, strict=True):
            pack(column[run] if order is None else column[order[run]], words[run, place], shift)

    on_cores(fill, range(0, rows, _RUN), rows=rows)
    masks = np.array([(1 << width) - 1 for width in widths])
    return PackedRows(words, np.array(places), np.array(shifts), masks, np.zeros(rows, np.bool_))


def _layout(widths: Sequence[int]) -> tuple[list[int], list[int]]:
    """The word of each field and where its bits begin there, field after field."""
    places, shifts = [0], [0]
    for width, following in pairwise(widths):
        fits = shifts[-1] + width + following <= _WORD
        places.append(places[-1] + (not fits))
        shifts.append(shifts[-1] + width if fits else 0)
    return places, shifts


@kernel
def pack_field(codes: NDArray[np.int32], words: Ints, shift: int) -> None:
    """Put the codes of a field into its word of each row."""
    for row in range(len(codes)):
        words[row] |= np.int64(codes[row]) << shift


@kernel
def write_labels(records: PackedRows, labels: NDArray[np.int32]) -> None:
    """Number groups as they lie, and write the number of its group for each row."""
    words = records.words[:, records.places[-1]]
    shift = records.shifts[-1]
    mask = records.masks[-1]
    group = -1
    for place in range(len(words)):
        group += records.starts[place]
        labels[(words[place] >> shift) & mask] = group
