"""A ledger for a table that is larger than memory: rows are hashed in a pass, and compared before any block is made.

Guarantee  that of the ledger: the same rows are recognized as in memory; every bundle that appears has an entry
Cost       one pass over the table, and 8 bytes a row and set of columns in files beside the ledger

The tasks that hash get the ledger's key. They see the rows themselves, so the key gives them no further information.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.ledger import Ledger, PendingEntry
from hedgerow.ledger.fingerprint import Hashes, value_hashes
from hedgerow.ledger.streamed import ColumnSets, StreamedHashes
from hedgerow.release import Release
from hedgerow.release.folder import folder_beside
from hedgerow.release.parts import checksum_at
from hedgerow.scale.coding import Coder, CountedTable


@dataclass(frozen=True, eq=False)
class BatchHasher:
    """Hashes the rows of batches, a line for each set of columns; it can be sent to another process."""

    coder: Coder
    sets: ColumnSets
    key: bytes
    values: Mapping[tuple[str, bytes], NDArray[np.uint64]]

    @classmethod
    def of(cls, counted: CountedTable, sets: ColumnSets, key: bytes) -> BatchHasher:
        """Hash what can be hashed before: values that have codes."""
        coder = counted.identified.only({name for columns in sets for name in columns})
        values = {(name, key): value_hashes(name, own.domain, key) for name, own in coder.columns.items()}
        return cls(coder, tuple(sets), key, values)

    def __call__(self, batch: pa.Table) -> NDArray[np.uint64]:
        """The hashes of a batch of rows."""
        hashes = Hashes(self.coder.table(self.coder.encode(batch)), dict(self.values))
        return np.stack([hashes.rows(columns, self.key) for columns in self.sets])

    def first(self, batch: pa.Table) -> NDArray[np.uint64]:
        """The hashes of a batch of rows by the first set."""
        found: NDArray[np.uint64] = self(batch)[0]
        return found


@contextmanager
def pending_in_blocks(
    path: str | os.PathLike[str], counted: CountedTable, *, again: bool, series: bool
) -> Iterator[PendingEntry]:
    """Open the ledger for a counted table, or raise Infeasible if its rows were published before."""
    ledger, schema = Ledger.open(path), counted.schema
    with ExitStack() as opened:
        folder = opened.enter_context(folder_beside(Path(path).absolute()))
        folder.chmod(0o700)
        names, rows = counted.engine.names, counted.rows.published
        keys = {
            name: len(counted.identified.columns[name].domain) == rows
            for name in schema.identifier
            if name in counted.identified.columns
        }
        hashes = StreamedHashes(names, rows, partial(_pass, counted), folder, keys)
        alone = [(name,) for name in schema.identifier if keys.get(name, True)]
        marks = [mark.columns for _, mark in ledger.comparable(names)]
        wanted = [*alone[:1], *marks, tuple(sorted(schema.quasi)), tuple(sorted(names))]
        hashes.make([columns for columns in wanted if columns], ledger.key)
        pending = PendingEntry.open(ledger, hashes, schema, again=again, series=series)
        # Errors from here on do not concern the ledger's folder.
        kept = opened.pop_all()
    try:
        yield pending
    finally:
        kept.close()


def _pass(counted: CountedTable, sets: ColumnSets, key: bytes) -> Iterator[NDArray[np.uint64]]:
    hasher = BatchHasher.of(counted, sets, key)
    return counted.engine.gather(hasher.coder.names, hasher)


@contextmanager
def recording(pending: PendingEntry, release: Release, out: str | os.PathLike[str], checksum: str) -> Iterator[None]:
    """Record a release before its bundle appears inside, and confirm it then; what did not appear is taken back."""
    pending.record(release)
    try:
        yield
    except BaseException:
        if checksum_at(out) != checksum:
            pending.receipt.withdraw()
        raise
    pending.receipt.confirm(checksum)
