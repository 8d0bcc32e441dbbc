"""Fingerprints of a table that is larger than memory: made batch by batch, sorted in files.

Guarantee  the hashes, their order and the marks are those that the table has in memory
Cost       one pass over the table for all sets of columns that are asked for together; 8 bytes a row and set in files
           beside the ledger, and the hashes of about two million rows in memory

Hashes are dealt to files by their first bits, each file is sorted alone, and one after another they are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import InputError
from hedgerow.ledger.fingerprint import missing_row, pieces, table_mark
from hedgerow.ledger.store import map_hashes

ColumnSets = Sequence[tuple[tuple[str, ...], bytes]]
"""Columns, with the key under which their rows are hashed."""

_MOST = 1 << 21
"""Hashes that are sorted at once."""


class StreamedHashes:
    """The fingerprints of a table; `passed` reads it once: for each batch the hashes of its rows, a line for each set.

    Files are written to `folder`, which is not the caller's to keep. `keys` says of some columns whether they tell all
    rows apart, `texts` which ones are texts.
    """

    def __init__(
        self,
        names: Sequence[str],
        num_rows: int,
        passed: Callable[[ColumnSets], Iterable[NDArray[np.uint64]]],
        folder: Path,
        keys: Mapping[str, bool],
        texts: Collection[str],
    ) -> None:
        self.names, self.num_rows, self.texts = tuple(names), num_rows, frozenset(texts)
        self._passed, self._folder, self._keys = passed, folder, keys
        self._made: dict[tuple[tuple[str, ...], bytes], NDArray[np.uint64]] = {}

    def is_key(self, column: str, key: bytes) -> bool:
        """Return whether a column is a key: no value missing and none twice."""
        if column in self._keys:
            return self._keys[column]
        rows = self.sorted_rows((column,), key)
        empty = missing_row(column, key)
        place = int(np.searchsorted(rows, np.uint64(empty)))
        return self.count_doubles((column,), key) == 0 and (place == len(rows) or int(rows[place]) != empty)

    def count_doubles(self, columns: tuple[str, ...], key: bytes) -> int:
        """How many rows have the hash of another row before them."""
        found, last = 0, None
        for piece in pieces(self.sorted_rows(columns, key)):
            found += int((piece[1:] == piece[:-1]).sum()) + (last is not None and piece[0] == last)
            last = piece[-1]
        return found

    def sorted_rows(self, columns: tuple[str, ...], key: bytes) -> NDArray[np.uint64]:
        """The rows' hashes in ascending order."""
        self.make([(columns, key)])
        return self._made[columns, key]

    def mark(self, key: bytes) -> str:
        """The hash of the whole table."""
        return table_mark(self.sorted_rows(tuple(sorted(self.names)), key), key)

    def make(self, sets: ColumnSets) -> None:
        """Hash the rows by each of several sets of columns, in one pass."""
        wanted = [one for one in dict.fromkeys(sets) if one not in self._made]
        if not wanted:
            return
        bits = max(0, (self.num_rows // _MOST).bit_length())
        first = len(self._made)
        seen = 0
        for batch in self._passed(wanted):
            seen += batch.shape[1]
            for place, hashes in enumerate(batch):
                for number, own in _by_first_bits(hashes, bits):
                    with self._file(first + place, number).open("ab") as file:
                        file.write(own.astype("<u8").tobytes())
        if seen != self.num_rows:
            raise InputError("The table changed while it was read; publish it again.")
        for place, one in enumerate(wanted):
            self._made[one] = self._in_order(first + place, 1 << bits)

    def _file(self, place: int, number: int) -> Path:
        return self._folder / f"rows-{place}-{number}"

    def _in_order(self, place: int, files: int) -> NDArray[np.uint64]:
        whole = self._folder / f"rows-{place}"
        with whole.open("wb") as file:
            for own in (self._file(place, number) for number in range(files)):
                if own.exists():
                    file.write(np.sort(np.fromfile(own, "<u8")).tobytes())
                    own.unlink()
        return map_hashes(whole)


def _by_first_bits(hashes: NDArray[np.uint64], bits: int) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    if bits == 0:
        yield 0, hashes
        return
    numbers = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=1 << bits))
    for number, end in enumerate(ends.tolist()):
        start = 0 if number == 0 else int(ends[number - 1])
        if end > start:
            yield number, hashes[order[start:end]]
