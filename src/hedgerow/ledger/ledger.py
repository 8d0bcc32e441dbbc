"""The owner's record of what was published, so that the same rows are not published twice by accident.

Guarantee  a table that shares a recognizable row with an earlier release is refused unless the owner asks for it
Cost       a keyed hash of each row, and a search of each row among those of every earlier release

Two independent releases of the same rows can be intersected: a person in both has one of the values that both allow. A
ledger holds, for each release, keyed hashes of its rows: by the first identifier that is unique in every row (by all of
them, if none is), and by the quasi-identifiers. Rows and columns in another order, other file types, more
columns, rows that came or went: a row is recognized as long as the columns of one of the two are there, and otherwise
not. Where identifiers can be compared they decide; without them two people with the same quasi-identifiers look like
one, so the refusal names the columns.

Without the key nothing can be tested: the hashes alone are random numbers. With the ledger file, which has the key, one
can test whether a person whose columns one knows was published, when, and in an m-invariant series with which
signature, which the releases show as well; not who has which sensitive value. Keep it with the tables; it is not part
of a release.

What the owner remembers between m-invariant releases: which signature each published person has.

Source     [Xiao 2007]
Cost       8 bytes a person that was ever published

The file holds keyed hashes of people and, for each signature, its sensitive values, which were published with it. It
does not hold who has which value. People who left are remembered, so that they keep their signature if they return.

A release is checked before work begins, recorded before it is returned, and confirmed when it is saved. So every saved
release is in the ledger, even if the process was killed; one that is recorded but not confirmed may have been saved or
not, and counts as published. Of two releases of the same rows that are made at the same time the second to
finish is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hedgerow.errors import BundleError, Infeasible, ParameterError, as_path, counted
from hedgerow.ledger.fingerprint import FoldedKey, Hashes, RowHashes, pieces
from hedgerow.ledger.store import (
    MEMORY,
    Contents,
    Entry,
    Mark,
    TableEntry,
    folder_of,
    lock,
    read_contents,
    read_hashes,
    replace_file,
    sweep,
    write_contents,
    write_hashes,
)
from hedgerow.ledger.streamed import StreamedHashes
from hedgerow.randomness import token
from hedgerow.release.folder import require_outside_bundles

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Schema


@dataclass(frozen=True)
class Overlap:
    """How many rows of a table an earlier release holds, recognized by which columns; `same`: it is the same table."""

    entry: TableEntry
    rows: int
    columns: tuple[str, ...]
    same: bool


@dataclass(frozen=True)
class Ledger:
    """A file of entries, one per release."""

    path: Path
    contents: Contents = field(repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Read a ledger, or begin one where there is no file yet; nothing is written before the first release."""
        place = as_path(path)
        if os.path.islink(place):  # replacing a link would leave the ledger behind it as it was
            place = place.resolve()
        require_outside_bundles(place)  # the recipient of the bundle would get the secret key
        return cls(place, read_contents(place))

    def __reduce__(self) -> str:
        # A pickle would carry the secret key to wherever it goes.
        raise TypeError("A ledger is not pickled: it holds a secret key. Open its file with hr.Ledger.open(path).")

    @property
    def key(self) -> bytes:
        """The secret."""
        return bytes.fromhex(self.contents.key)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All releases, oldest first."""
        return self.contents.entries

    def overlaps(self, source: object) -> list[Overlap]:
        """Return which earlier releases hold rows of this table.

        >>> import tempfile, hedgerow as hr
        >>> table = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release = hr.Anatomy(l=2).publish(
        ...         table, hr.Schema(quasi="age", sensitive="pay"), ledger=f"{folder}/ledger.json")
        ...     [found.rows for found in hr.Ledger.open(f"{folder}/ledger.json").overlaps(table)]
        [4]
        """
        return self._overlaps(_hashes(source))

    def check(self, source: object, *, again: bool = False, series: str | None = None) -> None:
        """Raise Infeasible if rows of this table were published before, unless `again` asks for that.

        Releases of one `series` are made to be put side by side, so they do not stand in each other's way.
        """
        if not again:
            hashes = _hashes(source)
            refuse(self._overlaps(hashes, series), hashes.num_rows)

    def forget(self, ids: Iterable[str]) -> Ledger:
        """Remove releases from the ledger that were never handed out."""
        wanted = set(ids)
        with lock(self.path):
            now = Ledger.open(self.path)
            if unknown := wanted - {entry.id for entry in now.entries}:
                raise ParameterError(f"The ledger has no release {', '.join(sorted(unknown))}.")
            return now.write([entry for entry in now.entries if entry.id not in wanted])

    def write(self, entries: Iterable[Entry]) -> Ledger:
        """Replace the file by one with these entries, and remove the hashes that no entry names; hold the lock."""
        contents = Contents(self.contents.key, tuple(entries))
        write_contents(self.path, contents)
        sweep(self.path, contents)
        return Ledger(self.path, contents)

    def comparable(self, names: Iterable[str]) -> list[tuple[TableEntry, Mark]]:
        """The releases that rows of these columns can be compared with, and by which hashes."""
        there = set(names)
        tables = (entry for entry in self.entries if isinstance(entry, TableEntry))
        found = (
            (entry, next((mark for mark in entry.marks if there.issuperset(mark.columns)), None)) for entry in tables
        )
        return [(entry, mark) for entry, mark in found if mark is not None]

    def row_key(self, *, folds: bool) -> bytes:
        """The key of the hashes by which rows are recognized, where case counts or where it does not."""
        return FoldedKey.of(self.key) if folds else self.key

    def _overlaps(self, hashes: RowHashes, series: str | None = None) -> list[Overlap]:
        others = [
            (entry, mark) for entry, mark in self.comparable(hashes.names) if series is None or entry.series != series
        ]
        found = [overlap for entry, mark in others if (overlap := self._overlap(entry, mark, hashes))]
        return sorted(found, key=lambda overlap: -overlap.rows)

    def _overlap(self, entry: TableEntry, mark: Mark, hashes: RowHashes) -> Overlap | None:
        before = read_hashes(self.path, mark)
        count = 0
        for rows in pieces(hashes.sorted_rows(mark.columns, self.row_key(folds=mark.folds))):
            places = np.minimum(np.searchsorted(before, rows), len(before) - 1)
            count += int((before[places] == rows).sum())
        return Overlap(entry, count, mark.columns, hashes.mark(self.key) == entry.table) if count else None


def _hashes(source: object) -> RowHashes:
    from hedgerow.table import read_table

    return source if isinstance(source, Hashes | StreamedHashes) else Hashes(read_table(source))


def refuse(overlaps: list[Overlap], rows: int) -> None:
    """Raise Infeasible for the release with the most rows in common, if there is any."""
    if not overlaps:
        return
    first, others = overlaps[0], len(overlaps) - 1
    what = (
        "This very table was"
        if first.same
        else f"{first.rows:,} of {counted(rows, 'row')} {'was' if first.rows == 1 else 'were'}"
    )
    more = f" and in {others} other release{'s' * (others > 1)}" if others else ""
    raise Infeasible(
        f"{what} published before, in release {first.entry.id} ({first.entry.method}, {first.entry.date[:10]}){more}; "
        f"rows were recognized by {_names(first.columns)}. A second, independent release narrows down what the first "
        "one hides: use the first, publish every version as m-invariant under one ledger, or ask for another release "
        "explicitly (again=True, --again)."
    )


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more columns"


@dataclass(frozen=True, eq=False)
class SeriesMemory:
    """Person `persons[i]` (a keyed hash, ascending) has signature `owners[i]`.

    Signature s is the set of values `values[offsets[s]:offsets[s + 1]]`.
    """

    persons: NDArray[np.uint64]
    owners: NDArray[np.int32]
    offsets: NDArray[np.int64]
    values: pa.Array


@dataclass(frozen=True, eq=False)
class StoredMemory:
    """A memory as it was read, and a checksum to notice changes of the file."""

    memory: SeriesMemory | None = None
    sha256: str = ""


def read_memory(path: Path, series: str) -> StoredMemory:
    """Read what is remembered of a series; nothing, if this is its first release."""
    file = _file(path, series)
    if not file.exists():
        return StoredMemory()
    try:
        content = file.read_bytes()
        table = pq.read_table(pa.BufferReader(content))
        return StoredMemory(_decode(table), hashlib.sha256(content).hexdigest())
    except (OSError, pa.ArrowException, KeyError):
        raise BundleError(
            f"The memory of earlier releases beside the ledger '{path.name}' cannot be read; restore it from a copy, "
            "since nobody's signature is known without it."
        ) from None


def write_memory(path: Path, series: str, memory: SeriesMemory, before: StoredMemory) -> None:
    """Replace what is remembered, unless another release did so since it was read; hold the lock."""
    if read_memory(path, series).sha256 != before.sha256:
        raise BundleError("Another release of this series was recorded meanwhile; publish again, after it.")
    sink = pa.BufferOutputStream()
    pq.write_table(_encode(memory), sink, compression="zstd", store_schema=True)
    replace_file(_file(path, series), [sink.getvalue().to_pybytes()])


def _file(path: Path, series: str) -> Path:
    return folder_of(path) / f"{MEMORY}{series}.parquet"


def _encode(memory: SeriesMemory) -> pa.Table:
    """One row per signature: its values and the people who have it."""
    order = np.argsort(memory.owners, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(memory.owners, minlength=len(memory.offsets) - 1)))
    values = pa.LargeListArray.from_arrays(pa.array(memory.offsets), memory.values)
    persons = pa.LargeListArray.from_arrays(pa.array(ends), pa.array(memory.persons[order]))
    return pa.table({"values": values, "persons": persons})


def _decode(table: pa.Table) -> SeriesMemory:
    values, persons = (table.column(name).combine_chunks() for name in ("values", "persons"))
    hashes = persons.flatten().to_numpy()
    owners = np.repeat(np.arange(len(persons), dtype=np.int32), persons.value_lengths().to_numpy())
    order = np.argsort(hashes)
    offsets = np.append(0, np.cumsum(values.value_lengths().to_numpy()))
    return SeriesMemory(hashes[order], owners[order], offsets, values.flatten())


@dataclass(frozen=True)
class Receipt:
    """Where a release is recorded."""

    path: Path
    id: str

    def confirm(self, bundle: str) -> None:
        """Note the checksum of the bundle that was saved."""
        with lock(self.path):
            ledger = Ledger.open(self.path)
            ledger.write(
                msgspec.structs.replace(entry, bundle=bundle) if entry.id == self.id else entry
                for entry in ledger.entries
            )

    def withdraw(self) -> None:
        """Remove the entry of a release that was not saved."""
        Ledger.open(self.path).forget([self.id])


@dataclass
class PendingEntry:
    """A table that is about to be published under a ledger.

    `series` is set by methods whose releases of one table are made to be put side by side, and `memory` is what they
    hand on to the next one.
    """

    receipt: Receipt
    hashes: RowHashes
    columns: tuple[tuple[str, ...], ...]
    again: bool
    ledger: Ledger
    series: str | None = None
    before: StoredMemory = field(default_factory=StoredMemory)
    memory: SeriesMemory | None = None

    @classmethod
    def open(cls, ledger: Ledger, hashes: RowHashes, schema: Schema, *, again: bool, series: bool) -> PendingEntry:
        """Prepare an entry for a table, or raise Infeasible if its rows were published before."""
        people = identity(hashes, schema, ledger.key)
        by_quasi = (tuple(sorted(schema.quasi)),) if schema.quasi else ()
        pending = cls(Receipt(ledger.path, token(4)), hashes, tuple(dict.fromkeys((people, *by_quasi))), again, ledger)
        if series:
            pending.series = _series(ledger.key, people, schema.sensitive)
            pending.before = read_memory(ledger.path, pending.series)
        ledger.check(pending.hashes, again=again, series=pending.series)
        return pending

    def persons(self) -> NDArray[np.uint64]:
        """The fingerprints by which people are recognized, in the order of the rows of a table in memory."""
        assert isinstance(self.hashes, Hashes), "rows that are read in batches have no order"
        return self.hashes.rows(self.columns[0], self.ledger.key)

    def record(self, release: Release) -> None:
        """Write the release into the ledger; look again, since others may have published meanwhile."""
        path = self.ledger.path
        with lock(path):
            ledger = self._current()
            ledger.check(self.hashes, again=self.again, series=self.series)
            if not path.exists():  # so that hashes without a ledger are those of one that was lost
                write_contents(path, ledger.contents)
            marks = tuple(self._write_mark(path, names) for names in self.columns)
            if self.series is not None and self.memory is not None:
                write_memory(path, self.series, self.memory, self.before)
            ledger.write((*ledger.entries, self._entry(release, marks)))

    def _write_mark(self, path: Path, names: tuple[str, ...]) -> Mark:
        folds = has_texts(self.hashes, names)
        rows = self.hashes.sorted_rows(names, self.ledger.row_key(folds=folds))
        return write_hashes(path, names, rows, folds=folds)

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


def identity(hashes: RowHashes, schema: Schema, key: bytes) -> tuple[str, ...]:
    """The columns that identify people: the first identifier that is unique, all identifiers, or quasi-identifiers.

    Columns that are dropped often have the role identifier, too; a change in one of those must not make a stranger of
    anybody.
    """
    alone = next((name for name in schema.identifier if hashes.is_key(name, key)), None)
    if alone is not None:
        return (alone,)
    return tuple(sorted(schema.identifier or schema.quasi or (*schema.plain, *schema.sensitive)))


def has_texts(hashes: RowHashes, names: tuple[str, ...]) -> bool:
    """Tell whether a text is among some columns, which may come in another case next time."""
    return not hashes.texts.isdisjoint(names)


def now() -> str:
    """The time, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _series(key: bytes, people: tuple[str, ...], sensitive: tuple[str, ...]) -> str:
    """One series for the people of some columns and a sensitive column, whatever file they come from."""
    text = "\0".join((*people, "", *sensitive))
    return hashlib.blake2b(text.encode(), key=key, digest_size=8, person=b"series").hexdigest()
