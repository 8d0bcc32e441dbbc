"""(k,e)-anonymous groups of a table that is larger than memory, packed into blocks.

Source     own; the groups are those of `ke_sum`, `ke_max`, `ke_max_overlap`, `ke_count` and `ke_capped`
Guarantee  the groups that the whole table would have in memory, but for those that are larger than a block; which rows
           of a value go to which of its groups is uniformly random, across blocks, too
Cost       O(pieces) on the driver; O(n) in the blocks

A group of more rows than a block can hold, as nine zeros in ten rows make one, is divided at random into groups that
keep the promise as well, if there are any: its values are dealt to them by a multivariate hypergeometric draw, and the
rows of each value at random. Bounds of answers get no wider by that: the largest so many values of each part are at
most those of the whole. A random partition looks at nothing, so that it can be made block by block, of rows that were
dealt to blocks at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.exact import Line
from hedgerow.methods.scaled import pack_blocks
from hedgerow.partition.ke.runs import Pieces
from hedgerow.randomness import Keys
from hedgerow.scale.coding import CodedColumn, ColumnClass
from hedgerow.scale.dealing import Placing, draw_tables

_MOST_DRAWN = 1 << 24
_TRIES = 3

Holds = Callable[[NDArray[np.int32], NDArray[np.int64]], bool]
"""Return whether a group of so many rows of these values keeps the promise."""


@dataclass(frozen=True, eq=False)
class KEBlocks:
    """The pieces of each block: block b has pieces starts[b]:starts[b + 1], its groups numbered from 0."""

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    groups: NDArray[np.int32]
    counts: NDArray[np.int64]

    def pieces(self, block: int) -> Pieces:
        """The pieces of a block, sorted by value and group."""
        own = slice(int(self.starts[block]), int(self.starts[block + 1]))
        return Pieces(self.values[own], self.groups[own], self.counts[own])


def divide_large(pieces: Pieces, holds: Holds, *, most: int, keys: Keys) -> Pieces:
    """Divide groups of more than `most` rows at random into groups that keep the promise, where that can be."""
    large = np.flatnonzero(pieces.rows() > most)
    if not len(large):
        return pieces
    is_large = np.isin(pieces.groups, large)
    parts = [(pieces.values[~is_large], pieces.groups[~is_large], pieces.counts[~is_large])]
    following = pieces.num_groups
    for group in large.tolist():
        own = pieces.groups == group
        values, counts = pieces.values[own], pieces.counts[own]
        table = _divide_rows(values, counts, holds, most=most, keys=keys)
        line, kind = np.nonzero(table)
        numbers = np.append(group, following + np.arange(len(table) - 1))
        following += len(table) - 1
        parts.append((values[kind], numbers[line].astype(np.int32), table[line, kind]))
    values, groups, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((groups, values))
    return Pieces(values[order], groups[order], counts[order])


def _divide_rows(
    values: NDArray[np.int32], counts: NDArray[np.int64], holds: Holds, *, most: int, keys: Keys
) -> NDArray[np.int64]:
    """The rows of each value in each part, one line a part."""
    rows = int(counts.sum())
    parts = -(-rows // most)
    while parts > 1:
        sizes = np.full(parts, rows // parts) + (np.arange(parts) < rows % parts)
        for _ in range(_TRIES):
            table = draw_tables(counts, sizes, keys=keys)
            if all(holds(values[line > 0], line[line > 0]) for line in table):
                return table
        parts = parts * 3 // 4
    return counts[None, :]


def pack_pieces(pieces: Pieces, column: str, size: int, *, most: int, keys: Keys) -> tuple[Placing, KEBlocks]:
    """Pack groups into blocks of about `most` rows, in the order of their least values."""
    order = np.argsort(pieces.lowest(), kind="stable")
    block = np.empty(pieces.num_groups, np.int32)
    block[order] = pack_blocks(pieces.rows()[order], most)
    blocks = block[pieces.groups]
    placing = Placing.of(ColumnClass(column), pieces.values, blocks, pieces.counts, size=size, keys=keys)
    order = np.lexsort((pieces.groups, pieces.values, blocks))
    blocks, groups = blocks[order], pieces.groups[order]
    members = np.bincount(block)
    # Groups of a block are numbered in the order of their global numbers.
    local = np.empty(pieces.num_groups, np.int32)
    by_block = np.argsort(block, kind="stable")
    local[by_block] = np.arange(len(block)) - np.repeat(np.cumsum(members) - members, members)
    starts = np.searchsorted(blocks, np.arange(len(members) + 1))
    return placing, KEBlocks(starts, pieces.values[order], local[groups], pieces.counts[order])


def deal_at_random(where: Line, column: CodedColumn, name: str, *, criterion: KE, most: int, keys: Keys) -> Placing:
    """Deal the rows of each value to blocks at random, by a draw that leaves no block without a partition."""
    counts = column.counts
    rows, blocks = int(counts.sum()), -(-int(counts.sum()) // most)
    if blocks * len(counts) > _MOST_DRAWN:
        raise SchemaError(
            f"'{name}' has {len(counts):,} different values, too many to deal {rows:,} rows at random outside of "
            "memory; choose another objective, or allow more memory."
        )
    sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
    table = draw_tables(counts, sizes, keys=keys)
    return Placing.of_table(ColumnClass(name), _join_blocks(table, where, criterion).T, keys=keys)


def _join_blocks(table: NDArray[np.int64], where: Line, criterion: KE) -> NDArray[np.int64]:
    """Join a block that cannot keep the criterion with the one after it; the last one with the one before."""
    kept = KE(criterion.k, where.distance(criterion.e))
    done, pending = list[NDArray[np.int64]](), np.zeros(table.shape[1], np.int64)
    for line in table:
        pending = pending + line
        if kept.feasible(where.positions[pending > 0]):
            done.append(pending)
            pending = np.zeros_like(pending)
    if pending.any():
        if not done:
            raise Infeasible("No block of rows keeps the criterion.")
        done[-1] = done[-1] + pending
    return np.stack(done)
