"""Keyed fingerprints of rows and tables: the same row from another file, in another order, is the same row.

Source     [Aumasson 2012] (SipHash-2-4)
Guarantee  without the 128-bit key the hashes look random: nobody can test whether a row is among the fingerprints;
           with it anybody can
Cost       one pass over the codes of each column, one keyed hash a distinct value and one a row

A value is hashed as text: numbers alike whether they came as integers, floats or decimals, dates alike whether or not
they carry midnight, texts alike in either of Unicode's forms and with signs that nobody sees (as `verify.names` trims
them), for another program may have written the file. Each column has a key of its own, made from its name. A row is the
keyed hash of the sum of its values' hashes, so the order of the columns does not matter; the outer hash hides that sums
add up. Under a `FoldedKey` texts are alike in upper and lower case as well, so that rows are recognized whatever policy
for texts they were published under.

Messages of the same number of words are hashed together, so that every step is one operation on whole arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.verify.names import in_form

if TYPE_CHECKING:
    from hedgerow.table import Table

_PIECE = 1 << 21
_LONG = 64
"""Texts of more bytes are hashed one by one."""


class FoldedKey(bytes):
    """A key under which texts are hashed without regard to case; made from another key, which it does not equal."""

    @classmethod
    def of(cls, key: bytes) -> FoldedKey:
        """The one that belongs to a key."""
        return cls(hashlib.blake2b(key=key, digest_size=16, person=b"folded").digest())


class RowHashes(Protocol):
    """The fingerprints of the rows of one table, which may be larger than memory."""

    names: tuple[str, ...]
    num_rows: int
    texts: frozenset[str]
    """The columns that are texts."""

    def is_key(self, column: str, key: bytes) -> bool:
        """Return whether a column tells all rows apart."""
        ...

    def sorted_rows(self, columns: tuple[str, ...], key: bytes) -> NDArray[np.uint64]:
        """The rows' hashes in ascending order, which reveals nothing about the order of the rows."""
        ...

    def mark(self, key: bytes) -> str:
        """The hash of the whole table."""
        ...


class Hashes:
    """The fingerprints of one table, each made once: a table is compared with many releases, and then recorded.

    `values` are the hashes of columns' distinct values, where these are known already.
    """

    def __init__(self, table: Table, values: dict[tuple[str, bytes], NDArray[np.uint64]] | None = None) -> None:
        self.table = table
        self.names, self.num_rows = tuple(table.names), table.num_rows
        self.texts = frozenset(field.name for field in table.arrow.schema if pa.types.is_string(field.type))
        self._made: dict[tuple[tuple[str, ...], bytes], NDArray[np.uint64]] = {}
        self._values = {} if values is None else values

    def is_key(self, column: str, key: bytes) -> bool:
        """Return whether a column tells all rows apart, none of them without a value."""
        return len(self.table.encode(column).domain) == self.num_rows

    def rows(self, columns: tuple[str, ...], key: bytes) -> NDArray[np.uint64]:
        """The rows' hashes in the order of the rows."""
        if (columns, key) not in self._made:
            total = np.zeros(self.table.num_rows, np.uint64)
            for name in columns:
                total += self._column(name, key)[self.table.encode(name).codes]
            self._made[columns, key] = hash_words(total, _derive_key(key, "row"))
        return self._made[columns, key]

    def _column(self, name: str, key: bytes) -> NDArray[np.uint64]:
        """The hashes of a column's distinct values, and last that of a missing one."""
        if (name, key) not in self._values:
            self._values[name, key] = value_hashes(name, self.table.encode(name).domain, key)
        return self._values[name, key]

    def sorted_rows(self, columns: tuple[str, ...], key: bytes) -> NDArray[np.uint64]:
        """The same in ascending order, which reveals nothing about the order of the rows."""
        return np.sort(self.rows(columns, key))

    def mark(self, key: bytes) -> str:
        """The hash of the whole table."""
        return table_mark(self.sorted_rows(tuple(sorted(self.table.names)), key), key)


def value_hashes(name: str, domain: pa.Array, key: bytes) -> NDArray[np.uint64]:
    """The hashes of a column's distinct values, and last that of a missing one."""
    texts = _texts(domain, "folded" if isinstance(key, FoldedKey) else "trimmed")
    return np.append(_value_hashes(texts, _derive_key(key, f"column {name}")), _missing_hash(name, key))


def _missing_hash(name: str, key: bytes) -> NDArray[np.uint64]:
    return hash_words(np.zeros(1, np.uint64), _derive_key(key, f"missing {name}"))


def missing_row(name: str, key: bytes) -> int:
    """The hash of a row of one column whose value is missing."""
    return int(hash_words(_missing_hash(name, key), _derive_key(key, "row"))[0])


def table_mark(rows: NDArray[np.uint64], key: bytes) -> str:
    """Hash a whole table, given the sorted hashes of its rows over all columns."""
    digest = hashlib.blake2b(key=key, digest_size=16, person=b"table")
    for piece in pieces(rows):
        digest.update(piece.astype("<u8").tobytes())
    return digest.hexdigest()


def pieces(rows: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    """Hashes that may lie in a file, a few million at a time."""
    for first in range(0, len(rows), _PIECE):
        yield rows[first : first + _PIECE]


def _derive_key(key: bytes, use: str) -> Key:
    return key_of(hashlib.blake2b(use.encode(), key=key, digest_size=16).digest())


def _value_hashes(texts: pa.Array, key: Key) -> NDArray[np.uint64]:
    if len(texts) == 0:
        return np.empty(0, np.uint64)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    values = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    is_long = np.diff(offsets) > _LONG
    if not is_long.any():
        return hash_texts(values, offsets, key)
    return _with_long(texts, is_long, key)


def _with_long(texts: pa.Array, is_long: NDArray[np.bool_], key: Key) -> NDArray[np.uint64]:
    """Shorten long texts to their digest first, which is longer than any text that is kept as it is."""
    secret = b"".join(half.to_bytes(8, "little") for half in key)
    short = texts.to_pylist()
    for place in np.flatnonzero(is_long).tolist():
        short[place] = hashlib.blake2b(short[place].encode(), key=secret, digest_size=40).hexdigest()
    joined = "".join(short).encode()
    offsets = np.append(0, np.cumsum([len(text.encode()) for text in short]))
    return hash_texts(np.frombuffer(joined, np.uint8), offsets, key)


def _texts(domain: pa.Array, policy: str) -> pa.Array:
    """Distinct values as text that does not depend on the type they came in."""
    kind = domain.type
    if pa.types.is_floating(kind):
        return _whole_as_integers(domain)
    if pa.types.is_decimal(kind):
        return pa.array([_decimal_text(value) for value in domain.to_pylist()], pa.string())
    if pa.types.is_timestamp(kind):
        midnight = " 00:00:00.000000"
        return pa.array([text.removesuffix(midnight) for text in domain.cast(pa.string()).to_pylist()], pa.string())
    return in_form(domain, policy) if pa.types.is_string(kind) else domain.cast(pa.string())


def _decimal_text(value: Decimal) -> str:
    """A decimal as `_whole_as_integers` writes the float that prints it, where there is one, else with all digits."""
    near = repr(float(value))
    is_short_whole = abs(value) < 2**63 and value == int(value)
    return _plain(near if Decimal(near) == value and not is_short_whole else format(value, "f"))


def _whole_as_integers(domain: pa.Array) -> pa.Array:
    """Floats as integers where they are, else as Python writes them: a value's text depends on no other value."""
    numbers = domain.to_numpy(zero_copy_only=False)
    is_whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < 2.0**63)
    if is_whole.all():
        return pa.array(numbers.astype(np.int64)).cast(pa.string())
    pairs = zip(numbers.tolist(), is_whole.tolist(), strict=True)
    return pa.array([str(int(value)) if whole else _plain(repr(value)) for value, whole in pairs], pa.string())


def _plain(text: str) -> str:
    """A decimal without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text.lower() else text


Words = NDArray[np.uint64]

Key = tuple[int, int]

_BLOCK = 1 << 13

_MASKS = np.array([2 ** (8 * size) - 1 for size in range(9)], np.uint64)

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def key_of(secret: bytes) -> Key:
    """Read 16 bytes as a key."""
    return int.from_bytes(secret[:8], "little"), int.from_bytes(secret[8:16], "little")


def hash_words(words: Words, key: Key) -> Words:
    """Hash messages of one word each."""
    return _hash_blocks([words], np.full(len(words), 8, np.uint64), key)


def hash_texts(values: NDArray[np.uint8], offsets: NDArray[np.int64], key: Key) -> Words:
    """Hash the messages `values[offsets[i]:offsets[i + 1]]`."""
    lengths = np.diff(offsets)
    hashes = np.empty(len(lengths), np.uint64)
    # The last word holds what is left of a message and its length, so that a full last word needs one more.
    needed = lengths // 8 + 1
    for size in np.unique(needed).tolist():
        chosen = np.flatnonzero(needed == size)
        columns = _columns(values, offsets[chosen], lengths[chosen], size)
        hashes[chosen] = _hash_blocks(columns[:-1], lengths[chosen].astype(np.uint64), key, columns[-1])
    return hashes


def _columns(
    values: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], size: int
) -> list[Words]:
    """The words of messages, one array for each place; bytes past the end are zero."""
    windows = np.lib.stride_tricks.sliding_window_view(np.append(values, np.zeros(8, np.uint8)), 8)
    words = []
    for place in range(size):
        found = windows[starts + 8 * place].view("<u8").ravel().astype(np.uint64)
        words.append(found & _MASKS[np.minimum(lengths - 8 * place, 8)])
    return words


def _hash_blocks(words: list[Words], lengths: Words, key: Key, rest: Words | None = None) -> Words:
    """Hash messages block by block, so that a block's four words of state stay in the cache."""
    ends = lengths << np.uint64(56)
    columns = [*words, ends if rest is None else rest | ends]
    hashes = np.empty(len(lengths), np.uint64)
    for start in range(0, len(lengths), _BLOCK):
        block = slice(start, start + _BLOCK)
        hashes[block] = _hashed_block([column[block] for column in columns], key)
    return hashes


def _hashed_block(words: list[Words], key: Key) -> Words:
    v = [np.full(len(words[0]), start ^ key[half % 2], np.uint64) for half, start in enumerate(_START)]
    for word in words:
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _rounds(v: list[Words], number: int) -> None:
    for _ in range(number):
        for a, b, bits in ((0, 1, 13), (2, 3, 16)):
            _mix(v, a, b, bits)
        v[0] = _turn(v[0], 32)
        for a, b, bits in ((2, 1, 17), (0, 3, 21)):
            _mix(v, a, b, bits)
        v[2] = _turn(v[2], 32)


def _mix(v: list[Words], a: int, b: int, bits: int) -> None:
    v[a] += v[b]
    v[b] = _turn(v[b], bits)
    v[b] ^= v[a]


def _turn(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
