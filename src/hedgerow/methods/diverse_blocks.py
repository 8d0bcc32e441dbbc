"""Blocks for groupings that use sensitive values only: rows are dealt to blocks in turn, in the order of their values.

Source     own; the dealing in turn is that of [Li 2015], section 3, with blocks of its groups in the place of groups
Guarantee  with m rows for each group, no value, and no neighbourhood of values that at most 1/m of all rows lie in, has
           more rows in a block than the block has room for groups: every block can be divided as the whole table can
Cost       O(values x blocks) on the driver

Row i in the order of values goes to group i mod G of G = rows // m groups, and blocks are runs of groups. A
neighbourhood of at most G rows then has at most one row in each group. Which rows of a value these are is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.errors import SchemaError
from hedgerow.methods.prepared import Prepared
from hedgerow.methods.region_blocks import cut_regions
from hedgerow.randomness import Keys
from hedgerow.scale.coding import ColumnClass, CountedTable, codes_of
from hedgerow.scale.dealing import Placing, draw_tables

_MOST_DEALT = 1 << 24
_TRIES = 3
_LEAST_WINDOW = 8
"""Ranks inside a block that a row may swap over; where there would be fewer, blocks are runs of ranks."""


def deal_in_turn(counts: Counts, column: str, *, m: int, most: int, keys: Keys) -> Placing:
    """Deal rows to blocks of about `most` rows, in turn and in the order of values."""
    rows = int(counts.sum())
    groups = max(1, rows // m)
    blocks = min(groups, -(-rows // most))
    if blocks * len(counts) > _MOST_DEALT:
        raise _too_many(column, counts, rows)
    borders = np.arange(blocks + 1) * groups // blocks
    ends = np.cumsum(counts)
    table = _before(ends, groups, borders) - _before(ends - counts, groups, borders)
    return Placing.of_table(ColumnClass(column), table, keys=keys)


def deal_ranks(counts: Counts, column: str, *, window: int, most: int, keys: Keys) -> tuple[Placing, int]:
    """Deal rows to blocks so that near ranks in a block are near in the table; also return the window inside of blocks.

    Of every B neighbouring ranks each of the B blocks gets one at random, so that rows whose ranks in a block are w
    apart have ranks at most B w + B - 1 apart in the table. Where the window is too narrow for that, blocks are runs of
    ranks, and nobody swaps across their borders.
    """
    rows = int(counts.sum())
    blocks = -(-rows // most)
    inside = (window + 1) // blocks - 1
    if blocks * len(counts) > _MOST_DEALT:
        raise _too_many(column, counts, rows)
    ends = np.cumsum(counts)
    if blocks == 1 or inside < _LEAST_WINDOW:
        borders, inside = np.arange(blocks + 1) * rows // blocks, window
        table = np.diff(np.clip(borders, (ends - counts)[:, None], ends[:, None]), axis=1).astype(np.int64)
        return Placing.of_table(ColumnClass(column), table, keys=keys), inside
    rounds, rest = np.divmod(np.append(0, ends), blocks)
    seen, place = np.unique(rounds, return_inverse=True)
    turn = np.argsort(keys(len(seen) * blocks).reshape(-1, blocks), axis=1).argsort(axis=1)
    before = rounds[:, None] + (turn[place] < rest[:, None])
    return Placing.of_table(ColumnClass(column), np.diff(before, axis=0), keys=keys), inside


def _too_many(column: str, counts: Counts, rows: int) -> SchemaError:
    return SchemaError(
        f"'{column}' has {len(counts):,} different values, too many to deal {rows:,} rows outside of memory; "
        "round it, or allow more memory."
    )


def _before(ranks: Counts, groups: int, borders: Counts) -> NDArray[np.int64]:
    """How many of the first so many rows go to the groups of each block."""
    rounds, rest = np.divmod(ranks[:, None], groups)
    widths = np.diff(borders)
    table: NDArray[np.int64] = rounds * widths + np.clip(rest - borders[:-1], 0, widths)
    return table


@dataclass(frozen=True)
class JointCodes:
    """The combination of several columns' codes as one code."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many combinations there can be."""
        return int(np.prod([float(size) for size in self.sizes]))

    def __call__(self, batch: pa.Table) -> NDArray[np.int32]:
        """The combination of each row of a coded batch."""
        joint = np.zeros(batch.num_rows, np.int32)
        for name, size in zip(self.columns, self.sizes, strict=True):
            joint = joint * np.int32(size) + codes_of(batch, name)
        return joint

    def count(self, batch: pa.Table) -> Counts:
        """How often each combination occurs in a coded batch."""
        return np.bincount(self(batch), minlength=self.size).astype(np.int64)

    def apart(self, counts: Counts) -> list[Counts]:
        """The counts of each column."""
        table = counts.reshape(self.sizes)
        axes = range(len(self.sizes))
        return [table.sum(axis=tuple(other for other in axes if other != own)) for own in axes]


def deal_jointly(counted: CountedTable, columns: Sequence[str], *, m: int, keys: Keys) -> Placing:
    """Deal rows to blocks at random, by a draw that leaves each block able to keep 1/m in every column."""
    joint = JointCodes(tuple(columns), tuple(counted.column(name).size for name in columns))
    if joint.size > _MOST_DEALT // 4:
        raise SchemaError(
            f"The sensitive columns have {joint.size:,} combinations of values, too many to deal rows outside of "
            "memory; round them, or publish them in releases of their own."
        )
    counts = sum(counted.engine.fold(counted.coder, joint.count), np.zeros(joint.size, np.int64))
    there = np.flatnonzero(counts)
    rows = int(counts.sum())
    blocks = min(-(-rows // counted.engine.block_rows), max(1, _MOST_DEALT // len(there)))
    while True:
        sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
        for _ in range(_TRIES if blocks > 1 else 1):
            table = np.zeros((blocks, joint.size), np.int64)
            table[:, there] = draw_tables(counts[there], sizes, keys=keys)
            if blocks == 1 or all(m * int(own.max()) <= line.sum() for line in table for own in joint.apart(line)):
                block, value = np.nonzero(table)
                classes, places = value.astype(np.int32), block.astype(np.int32)
                return Placing.of(joint, classes, places, table[block, value], size=joint.size, keys=keys)
        blocks = blocks * 3 // 4


def plan_diverse(whole: Prepared, counted: CountedTable, *, l: int, grouping: str) -> Placing:  # noqa: E741
    """Blocks in which no value of any sensitive column fills more than 1/l: blind, or regions of quasi-identifiers."""
    names, criterion = whole.columns.sensitive, FrequencyDiversity(l)
    counts = [counted.column(name).counts for name in names]
    require([criterion] * len(names), counts, names)
    if grouping != "blind":
        return cut_regions(whole, counted, names, partial(_are_diverse, l), least=l)
    if len(names) > 1:
        return deal_jointly(counted, names, m=l, keys=whole.keys)
    return deal_in_turn(counts[0], names[0], m=l, most=counted.engine.block_rows, keys=whole.keys)


def _are_diverse(l: int, counts: Sequence[Counts]) -> bool:  # noqa: E741
    return all(l * int(own.max()) <= int(own.sum()) for own in counts)


def deal_rows(counted: CountedTable, *, keys: Keys) -> Placing:
    """Deal rows to blocks at random, whatever their values: for methods that replace values row by row."""
    rows = counted.rows.published
    blocks = -(-rows // counted.engine.block_rows)
    sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
    places = np.arange(blocks, dtype=np.int32)
    return Placing.of(ColumnClass(), np.zeros(blocks, np.int32), places, sizes, size=1, keys=keys)
