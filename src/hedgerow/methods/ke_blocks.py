"""(k,e)-anonymous groups of a table that is larger than memory, packed into blocks.

Source     own; the groups are those of `ke_sum`, `ke_max`, `ke_max_overlap`, `ke_count` and `ke_capped`
Guarantee  the groups that the whole table would have in memory; which rows of a value go to which of its groups, and
           which values of a group to which of its rows, is uniformly random, across blocks, too
Cost       O(pieces) on the driver; O(n) in the blocks

A group of more rows than a block can hold is published by several blocks. Each gets a random share of the group's rows
and, by a second, independent draw, a share of its values: shuffled inside the blocks, every assignment of the group's
values to its rows is equally likely. A random partition looks at nothing, so that it can be made block by block, of
rows that were dealt to blocks at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.ke import KE
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.exact import Line
from hedgerow.methods.scaled import pack_blocks
from hedgerow.partition.ke.runs import Pieces
from hedgerow.randomness import Keys
from hedgerow.scale.coding import CodedColumn, codes_of
from hedgerow.scale.dealing import Placing, draw_tables
from hedgerow.table.encode import Encoded
from hedgerow.table.table import Table

__all__ = ["KEBlocks", "deal_at_random", "pack_pieces"]

_MOST_DRAWN = 1 << 24


@dataclass(frozen=True, eq=False)
class KEBlocks:
    """The pieces of each block: block b has pieces starts[b]:starts[b + 1], its groups numbered from 0.

    In a block of `shared` the pieces are the values that it publishes, and not those of the rows that it gets.
    """

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    groups: NDArray[np.int32]
    counts: NDArray[np.int64]
    shared: frozenset[int]

    def pieces(self, block: int) -> Pieces:
        """The pieces of a block, sorted by value and group."""
        own = slice(int(self.starts[block]), int(self.starts[block + 1]))
        return Pieces(self.values[own], self.groups[own], self.counts[own])

    def rows(self, block: int, table: Table, column: str) -> tuple[Table, Encoded]:
        """The rows of a block with the values that it publishes."""
        sensitive = table.encode(column)
        if block not in self.shared:
            return table, sensitive
        own = self.pieces(block)
        drawn = Encoded(np.repeat(own.values, own.counts), sensitive.domain, sensitive.has_missing)
        place = table.arrow.column_names.index(column)
        changed = Table(table.arrow.set_column(place, column, drawn.decode(drawn.codes)), table.kind)
        changed._encoded.update(table._encoded | {column: drawn})
        return changed, drawn


def classify(column: str, batch: pa.Table) -> NDArray[np.int32]:
    """The class of a row is the code of its sensitive value."""
    return codes_of(batch, column)


def pack_pieces(
    pieces: Pieces, column: str, size: int, *, most: int, whole: bool, keys: Keys
) -> tuple[Placing, KEBlocks, list[list[int]]]:
    """Pack groups into blocks of about `most` rows; `whole` refuses groups that are larger than a block."""
    order = np.argsort(pieces.lowest(), kind="stable")
    rows = pieces.rows()
    if whole and int(rows.max()) > most:
        raise SchemaError(
            f"A group of {int(rows.max()):,} rows has to be divided further, and does not fit into the memory that was "
            "allowed; allow more, or leave 'refine' out."
        )
    first = np.empty(len(rows), np.int32)
    first[order], runs = pack_blocks(rows[order], most)
    block, shares = first[pieces.groups], {run[0]: len(run) for run in runs}
    large = np.array([shares.get(int(one), 1) for one in first])[pieces.groups] > 1
    dealt = [(pieces.values[~large], block[~large], pieces.counts[~large])]
    published = [(pieces.values[~large], block[~large], pieces.groups[~large], pieces.counts[~large])]
    for run in (run for run in runs if len(run) > 1):
        own = (block == run[0]) & large
        values, counts = pieces.values[own], pieces.counts[own]
        total, parts = int(counts.sum()), len(run)
        sizes = np.full(parts, total // parts) + (np.arange(parts) < total % parts)
        for table, into in ((draw_tables(counts, sizes, keys=keys), 0), (draw_tables(counts, sizes, keys=keys), 1)):
            line, kind = np.nonzero(table)
            blocks, drawn = np.array(run, np.int32)[line], table[line, kind]
            if into:
                published.append((values[kind], blocks, np.zeros(len(kind), np.int32), drawn))
            else:
                dealt.append((values[kind], blocks, drawn))
    classes, places, numbers = (np.concatenate(parts) for parts in zip(*dealt, strict=True))
    placing = Placing.of(partial(classify, column), classes, places, numbers, size=size, keys=keys)
    shared = frozenset(block for run in runs if len(run) > 1 for block in run)
    return placing, _blocks(*map(np.concatenate, zip(*published, strict=True)), shared=shared), runs


def _blocks(
    values: NDArray[np.int32],
    blocks: NDArray[np.int32],
    groups: NDArray[np.int32],
    counts: NDArray[np.int64],
    *,
    shared: frozenset[int],
) -> KEBlocks:
    """Sort pieces by block, value and group, and number the groups of each block from 0."""
    order = np.lexsort((groups, values, blocks))
    values, blocks, groups, counts = values[order], blocks[order], groups[order], counts[order]
    pairs, places = np.unique(blocks.astype(np.int64) * (int(groups.max()) + 1) + groups, return_inverse=True)
    owners = pairs // (int(groups.max()) + 1)
    starts = np.searchsorted(blocks, np.arange(int(blocks.max()) + 2))
    local = places - np.searchsorted(owners, blocks)
    return KEBlocks(starts, values, local.astype(np.int32), counts, shared)


def deal_at_random(
    where: Line, column: CodedColumn, name: str, *, criterion: KE, most: int, keys: Keys
) -> tuple[Placing, list[list[int]]]:
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
    joined = _joined(table, where, criterion)
    line, kind = np.nonzero(joined)
    placing = Placing.of(
        partial(classify, name),
        kind.astype(np.int32),
        line.astype(np.int32),
        joined[line, kind],
        size=len(counts),
        keys=keys,
    )
    return placing, [[block] for block in range(len(joined))]


def _joined(table: NDArray[np.int64], where: Line, criterion: KE) -> NDArray[np.int64]:
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
