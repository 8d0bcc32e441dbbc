"""Encode repeated texts as integers, by a compiled loop without branches on the length of a text.

Guarantee  equal texts, and no others, get one code
Cost       O(n) loads of two words each where texts have up to 16 bytes, and the bytes between those of longer ones

A text is known by its length, its first and its last eight bytes, which overlap in short texts. Longer ones are
compared with the first text of their code, word by word.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.kernel import SMALL, inline_kernel, kernel

_MOST = 1 << 11
"""Different texts that are worth it: more of them leave the nearest cache, where Arrow's hashing is as fast."""

_LAST = 256
"""Texts at the end of the bytes that may be looked at one by one."""

_ONE, _THREE, _SEVEN, _EIGHT, _SIXTEEN, _FORTY, _63 = (np.uint64(number) for number in (1, 3, 7, 8, 16, 40, 63))
_FIRST, _SECOND, _THIRD = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)


def code_texts(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """A code for each text, by first appearance, and the row where each code appears first.

    None if this does not pay or does not apply: some texts are missing, many are different, or no kernel was compiled
    yet.
    """
    if "numba" not in sys.modules or len(texts) <= SMALL or texts.null_count or texts.buffers()[2] is None:
        return None
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    words = np.frombuffer(data, np.uint64, len(data) // 8)
    # Loads reach up to two words beyond a text.
    safe = int(np.searchsorted(ends[1:], 8 * len(words) - 16, side="right"))
    if len(texts) - safe > _LAST:
        return None
    codes, firsts, slots = np.empty(len(texts), np.int32), np.empty(_MOST, np.int64), np.full(4 * _MOST, -1, np.int32)
    seen = np.empty((_MOST, 3), np.uint64)
    found = _code(ends[: safe + 1], words, codes, firsts, slots, seen)
    if found < 0:
        return None
    known = {text: code for code, text in enumerate(texts.take(firsts[:found]).to_pylist())}
    appeared = list(firsts[:found])
    for row in range(safe, len(texts)):
        codes[row] = known.setdefault(texts[row].as_py(), len(known))
        appeared += [row] if codes[row] == len(appeared) else []
    return codes, np.array(appeared, np.int64)


@inline_kernel
def _load(words: NDArray[np.uint64], place: np.uint64) -> np.uint64:
    """The eight bytes that begin at a place; all is unsigned, or Numba would look at each index for its sign."""
    shift = (place & _SEVEN) << _THREE
    word = place >> _THREE
    found: np.uint64 = (words[word] >> shift) | ((words[word + _ONE] << _ONE) << (_63 - shift))
    return found


@kernel
def _code(
    ends: NDArray[np.int32],
    words: NDArray[np.uint64],
    codes: NDArray[np.int32],
    firsts: NDArray[np.int64],
    slots: NDArray[np.int32],
    seen: NDArray[np.uint64],
) -> int:
    """Write a code for each text; return how many there are, or -1 where there is no room for another."""
    found = 0
    room = np.uint64(len(slots) - 1)
    for row in range(len(ends) - 1):
        begin = np.uint64(ends[row])
        size = np.uint64(ends[row + 1]) - begin
        short = min(size, _EIGHT)
        head = _load(words, begin) & _MASKS[short]
        tail = _load(words, begin + (size - short)) & _MASKS[short]
        slot = ((((head * _FIRST) ^ (tail * _SECOND) ^ (size * _THIRD)) * _FIRST) >> _FORTY) & room
        while True:
            code = slots[slot]
            if code < 0:
                if found == len(firsts):
                    return -1
                slots[slot] = found
                firsts[found] = row
                seen[found, 0] = head
                seen[found, 1] = tail
                seen[found, 2] = size
                code = found
                found += 1
                break
            if seen[code, 0] == head and seen[code, 1] == tail and seen[code, 2] == size:
                if size <= _SIXTEEN:
                    break
                other = np.uint64(ends[firsts[code]])
                place = _EIGHT
                while place < size - _EIGHT and _load(words, begin + place) == _load(words, other + place):
                    place += _EIGHT
                if place >= size - _EIGHT:
                    break
            slot = (slot + _ONE) & room
        codes[row] = code
    return found
