"""A keyed hash of 64 bits over very many short messages at once.

Source     [Aumasson 2012] (SipHash-2-4)
Guarantee  without the 128-bit key the hashes look random: nobody can tell which message a hash belongs to, nor test one
Cost       14 passes over an array per half round; two rounds for every 8 bytes and four at the end

Messages of the same number of words are hashed together, so that every step is one operation on whole arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Key", "hash_texts", "hash_words", "key_of"]

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
    return _hashed([words], np.full(len(words), 8, np.uint64), key)


def hash_texts(values: NDArray[np.uint8], offsets: NDArray[np.int64], key: Key) -> Words:
    """Hash the messages `values[offsets[i]:offsets[i + 1]]`."""
    lengths = np.diff(offsets)
    hashes = np.empty(len(lengths), np.uint64)
    # The last word holds what is left of a message and its length, so that a full last word needs one more.
    needed = lengths // 8 + 1
    for size in np.unique(needed).tolist():
        chosen = np.flatnonzero(needed == size)
        columns = _columns(values, offsets[chosen], lengths[chosen], size)
        hashes[chosen] = _hashed(columns[:-1], lengths[chosen].astype(np.uint64), key, columns[-1])
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


def _hashed(words: list[Words], lengths: Words, key: Key, rest: Words | None = None) -> Words:
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
        v[0] = _turned(v[0], 32)
        for a, b, bits in ((2, 1, 17), (0, 3, 21)):
            _mix(v, a, b, bits)
        v[2] = _turned(v[2], 32)


def _mix(v: list[Words], a: int, b: int, bits: int) -> None:
    v[a] += v[b]
    v[b] = _turned(v[b], bits)
    v[b] ^= v[a]


def _turned(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
