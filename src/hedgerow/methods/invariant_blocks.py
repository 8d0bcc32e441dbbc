"""m-invariance in blocks: signatures are decided on counts, and a block holds whole groups of some of them.

Source     own; the decision is that of `partition.m_invariant`
Guarantee  that of m-invariance. Which newcomers get which signature, and who shares a group, is as likely as in memory:
           newcomers of a value are dealt to blocks by exact numbers, and inside of a block to its signatures; where a
           signature has more people than a block, its groups are divided, and a hypergeometric draw says how many
           people and counterfeits of each value the groups of every block get
Cost       O(values of all signatures x blocks) on the driver, and 12 bytes for each person who is known, or new and
           recorded. Rows carry a keyed hash of the person, 8 bytes, in the place of identifiers

With grouping "near" neighbours are looked for inside of a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Ints
from hedgerow.ledger import PendingEntry
from hedgerow.ledger.fingerprint import pieces
from hedgerow.ledger.ledger import SeriesMemory
from hedgerow.ledger.streamed import StreamedHashes
from hedgerow.methods.scaled import BatchHasher, pack_blocks
from hedgerow.partition.m_invariant import Buckets, Signatures
from hedgerow.randomness import Keys
from hedgerow.release.release import free_name
from hedgerow.scale.coding import Coder, ColumnClass, CountedTable, RowMark, codes_of
from hedgerow.scale.dealing import Placing, draw_tables


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """The people of a table who have a signature, by the hash in the column `mark`; None where nobody is recognized."""

    mark: str | None
    persons: NDArray[np.uint64]
    owners: Codes

    def owners_of(self, rows: pa.Table) -> Codes:
        """The signature of each row's person; -1 for newcomers."""
        if self.mark is None or not len(self.persons):
            return np.full(rows.num_rows, -1, np.int32)
        persons = rows.column(self.mark).to_numpy()
        places = np.minimum(np.searchsorted(self.persons, persons), len(self.persons) - 1)
        return np.where(self.persons[places] == persons, self.owners[places], np.int32(-1))


def known_people(counted: CountedTable, pending: PendingEntry | None) -> tuple[KnownPeople, Coder]:
    """Look up who has a signature; the coder puts a hash of the person in the place of the identifiers."""
    nobody = KnownPeople(None, np.empty(0, np.uint64), np.empty(0, np.int32))
    if pending is None:
        return nobody, counted.coder
    key, columns, before = pending.ledger.key, pending.columns[0], pending.before.memory
    mark = free_name("person", counted.engine.names)
    hasher = BatchHasher.of(counted, [(columns, key)])
    coder = replace(counted.coder, mark=RowMark(mark, tuple(hasher.coder.names), hasher.first))
    if before is None:
        return replace(nobody, mark=mark), coder
    persons, owners = [], []
    for piece in pieces(pending.hashes.sorted_rows(columns, key)):
        places = np.minimum(np.searchsorted(before.persons, piece), max(len(before.persons) - 1, 0))
        found = before.persons[places] == piece
        persons.append(piece[found])
        owners.append(before.owners[places[found]])
    return KnownPeople(mark, np.concatenate(persons), np.concatenate(owners)), coder


def count_doubles(pending: PendingEntry | None) -> int:
    """How many rows equal another row in the columns that identify people."""
    if pending is None:
        return 0
    assert isinstance(pending.hashes, StreamedHashes), "a table in blocks is read in batches"
    return pending.hashes.count_doubles(pending.columns[0], pending.ledger.key)


@dataclass(frozen=True, eq=False)
class SeriesClasses:
    """The class of a row: where its value stands in its person's signature; then newcomers, by value.

    The last class is of people whose value their signature lacks. `codes` are the series' own for those of the table.
    """

    column: str
    codes: Codes
    people: KnownPeople
    signatures: Signatures
    values: int

    @property
    def size(self) -> int:
        """How many classes there are."""
        return len(self.signatures.members) + self.values + 1

    def __call__(self, batch: pa.Table) -> Codes:
        """The class of each row of a coded batch."""
        codes, owners = self.codes[codes_of(batch, self.column)], self.people.owners_of(batch)
        cells, held = self.signatures.cells(owners, codes), len(self.signatures.members)
        known = np.where(cells < 0, held + self.values, cells)
        return np.where(owners < 0, held + codes, known).astype(np.int32)

    def count(self, batch: pa.Table) -> Ints:
        """How often each class occurs in a coded batch."""
        return np.bincount(self(batch), minlength=self.size).astype(np.int64)

    def tally(self, counted: CountedTable, coder: Coder) -> tuple[Ints, Ints, int]:
        """The people by place in their signatures, newcomers by value, and people whose value is strange to theirs."""
        held = len(self.signatures.members)
        if not held:  # a first release: the counts of the column say it
            offered = np.bincount(self.codes, counted.column(self.column).counts, minlength=self.values)
            return np.zeros(0, np.int64), offered.astype(np.int64), 0
        found = sum(counted.engine.fold(coder, self.count), np.zeros(self.size, np.int64))
        return found[:held], found[held:-1], int(found[-1])

    @property
    def classify(self) -> SeriesClasses | ColumnClass:
        """What gives a row its class; in a first release its value, which engines have counted."""
        return self if len(self.signatures.members) else ColumnClass(self.column, self.codes)


@dataclass(frozen=True, eq=False)
class BlockBuckets:
    """The buckets of one block, and the numbers that their signatures have in the series, ascending."""

    buckets: Buckets
    numbers: Ints

    def owners_of(self, known: Codes) -> Codes:
        """Numbers of signatures in the series as numbers in the block."""
        return np.where(known < 0, -1, np.searchsorted(self.numbers, known)).astype(np.int32)


def divide_buckets(
    whole: Buckets, classes: SeriesClasses, *, most: int, keys: Keys
) -> tuple[Placing, list[BlockBuckets]]:
    """Pack buckets into blocks of about `most` rows; larger ones are divided between several, group by group."""
    signatures = whole.signatures
    people = np.add.reduceat(whole.held + whole.new, signatures.offsets[:-1])
    shares = np.clip(-(-people // most), 1, np.maximum(whole.groups, 1)) * (whole.groups > 0)
    piece = np.repeat(np.arange(len(shares)), shares)
    turn = np.arange(len(piece)) - np.repeat(np.cumsum(shares) - shares, shares)
    groups = whole.groups[piece] // shares[piece] + (turn < whole.groups[piece] % shares[piece])
    sizes = np.diff(signatures.offsets)[piece]
    cells = np.repeat(signatures.offsets[:-1][piece] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    own = np.repeat(np.arange(len(piece)), sizes)
    held, new = whole.held[cells], whole.new[cells]
    gaps, firsts, starts = whole.gaps, np.cumsum(shares) - shares, np.cumsum(sizes) - sizes
    for cell in np.flatnonzero(shares[signatures.owners] > 1).tolist():
        number = int(signatures.owners[cell])
        parts = slice(int(firsts[number]), int(firsts[number] + shares[number]))
        at = starts[parts] + (cell - int(signatures.offsets[number]))
        drawn = draw_tables(np.array([held[at[0]], new[at[0]], gaps[cell]]), groups[own[at]], keys=keys)
        held[at], new[at] = drawn[:, 0], drawn[:, 1]
    blocks = pack_blocks(np.bincount(own, held + new, minlength=len(piece)).astype(np.int64), most)
    first = len(classes.signatures.members)
    placing = Placing.of(
        classes.classify,
        np.concatenate((cells, first + signatures.members[cells])).astype(np.int32),
        np.concatenate((blocks[own], blocks[own])),
        np.concatenate((held, new)),
        size=classes.size,
        keys=keys,
    )
    inside = [
        _block(signatures, piece, groups, (cells, own, held, new), np.flatnonzero(blocks == block))
        for block in range(placing.num_blocks)
    ]
    return placing, inside


def _block(
    signatures: Signatures, piece: Ints, groups: Ints, shares: tuple[Ints, Ints, Ints, Ints], mine: Ints
) -> BlockBuckets:
    """The buckets of the pieces that one block got; two of the same signature are one again."""
    cells, own, held, new = shares
    numbers, places = np.unique(piece[mine], return_inverse=True)
    lengths = np.diff(signatures.offsets)[numbers]
    offsets = np.append(0, np.cumsum(lengths))
    listed = np.repeat(signatures.offsets[:-1][numbers] - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    start, end = np.searchsorted(own, [mine[0], mine[-1] + 1])
    at = np.searchsorted(listed, cells[start:end])
    kept, added = (np.bincount(at, one[start:end], minlength=len(listed)).astype(np.int64) for one in (held, new))
    total = np.bincount(places, groups[mine], minlength=len(numbers)).astype(np.int64)
    return BlockBuckets(Buckets(Signatures(offsets, signatures.members[listed]), kept, added, total), numbers)


def with_newcomers(
    before: SeriesMemory | None, signatures: Signatures, domain: pa.Array, handed: Sequence[Mapping[str, NDArray[Any]]]
) -> SeriesMemory:
    """What the next release has to know: everybody who was ever published, and the newcomers of all blocks."""
    pairs = [(one["persons"], one["owners"]) for one in handed]
    if before is not None:
        pairs.append((before.persons, before.owners))
    persons = np.concatenate([one[0] for one in pairs])
    order = np.argsort(persons)
    owners = np.concatenate([one[1] for one in pairs])[order]
    return SeriesMemory(persons[order], owners, signatures.offsets, domain.take(pa.array(signatures.members)))
