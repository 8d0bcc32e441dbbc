"""One release on its way into the ledger: checked before work begins, recorded before anything leaves, then confirmed.

Guarantee  a release that was saved is in the ledger, wherever its maker was killed; one that is in the ledger and not
           confirmed may have left or not, and counts as if it had
           of two releases of the same rows that are made at the same time the second to finish is refused
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BundleError
from hedgerow.ledger.fingerprint import Hashes
from hedgerow.ledger.ledger import Ledger, Memory, Remembered, read_memory, write_memory
from hedgerow.ledger.store import Contents, Mark, TableEntry, locked, write_hashes
from hedgerow.randomness import token

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Schema
    from hedgerow.table import Table

__all__ = ["PendingEntry", "Receipt", "identity", "now"]


@dataclass(frozen=True)
class Receipt:
    """Where a release is recorded."""

    path: Path
    id: str

    def confirm(self, bundle: str) -> None:
        """Note the checksum of the bundle that was saved."""
        with locked(self.path):
            ledger = Ledger.open(self.path)
            ledger.written(
                msgspec.structs.replace(entry, bundle=bundle)
                if isinstance(entry, TableEntry) and entry.id == self.id
                else entry
                for entry in ledger.entries
            )

    def withdraw(self) -> None:
        """Take the release back, if nothing left."""
        Ledger.open(self.path).forget([self.id])


@dataclass
class PendingEntry:
    """A table that is about to be published under a ledger.

    `series` is set by methods whose releases of one table are made to be put side by side, and `memory` is what they
    hand on to the next one.
    """

    receipt: Receipt
    hashes: Hashes
    columns: tuple[tuple[str, ...], ...]
    again: bool
    ledger: Ledger
    series: str | None = None
    before: Remembered = field(default_factory=Remembered)
    memory: Memory | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], table: Table, schema: Schema, *, again: bool, series: bool
    ) -> PendingEntry:
        """Open the ledger for a table, or raise Infeasible if its rows were published before."""
        ledger = Ledger.open(path)
        pending = cls(Receipt(ledger.path, token(4)), Hashes(table), _recognizable(table, schema), again, ledger)
        if series:
            pending.series = _series(ledger.key, identity(table, schema), schema.sensitive)
            pending.before = read_memory(ledger.path, pending.series)
        ledger.check(pending.hashes, again=again, series=pending.series)
        return pending

    def persons(self) -> NDArray[np.uint64]:
        """The fingerprints by which people are recognized, in the order of the rows."""
        return self.hashes.rows(self.columns[0], self.ledger.key)

    def record(self, release: Release) -> None:
        """Write the release into the ledger; look again, since others may have published meanwhile."""
        path = self.ledger.path
        with locked(path):
            ledger = self._current()
            ledger.check(self.hashes, again=self.again, series=self.series)
            marks = tuple(write_hashes(path, names, self.hashes.sorted(names, ledger.key)) for names in self.columns)
            if self.series is not None and self.memory is not None:
                write_memory(path, self.series, self.memory, self.before)
            ledger.written((*ledger.entries, self._entry(release, marks)))

    def _current(self) -> Ledger:
        """The ledger as it is now; a new one that somebody else began has another key, which hashes do not fit."""
        found = Ledger.open(self.ledger.path)
        if found.entries and found.key != self.ledger.key:
            raise BundleError(f"The ledger '{found.path.name}' was begun by another release meanwhile; publish again.")
        return Ledger(found.path, Contents(self.ledger.contents.key, found.entries))

    def _entry(self, release: Release, marks: tuple[Mark, ...]) -> TableEntry:
        return TableEntry(
            id=self.receipt.id,
            date=now(),
            table=self.hashes.mark(self.ledger.key),
            method=release.made.method,
            parameters=dict(release.made.parameters),
            form=release.form.name,
            rows=release.rows.published,
            marks=marks,
            series=self.series,
        )


def identity(table: Table, schema: Schema) -> tuple[str, ...]:
    """The columns that tell people apart: the first identifier that does so alone, all of them, or quasi-identifiers.

    Columns that are dropped often have the role identifier, too; a change in one of those must not make a stranger of
    anybody.
    """
    alone = (name for name in schema.identifier if len(table.encode(name).domain) == table.num_rows)
    if (key := next(alone, None)) is not None:
        return (key,)
    return tuple(sorted(schema.identifier or schema.quasi or (*schema.plain, *schema.sensitive)))


def now() -> str:
    """The time, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _recognizable(table: Table, schema: Schema) -> tuple[tuple[str, ...], ...]:
    """The sets of columns by which rows are recognized later, the most telling first."""
    both = (identity(table, schema), tuple(sorted(schema.quasi)))
    return tuple(dict.fromkeys(names for names in both if names))


def _series(key: bytes, people: tuple[str, ...], sensitive: tuple[str, ...]) -> str:
    """One series for the people of some columns and a sensitive column, whatever file they come from."""
    text = "\0".join((*people, "", *sensitive))
    return hashlib.blake2b(text.encode(), key=key, digest_size=8, person=b"series").hexdigest()
