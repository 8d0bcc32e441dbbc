"""Thrift's compact protocol, as far as Parquet uses it: a structure becomes a dict by field number, a list a list.

Source     own; https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
Guarantee  ends with a value or a ValueError, after at most as many steps as there are bytes
Cost       O(bytes)
"""

from __future__ import annotations

from typing import Any

__all__ = ["Struct", "read_struct"]

Struct = dict[int, Any]

_DEEPEST = 16


def read_struct(content: bytes, place: int) -> tuple[Struct, int]:
    """Read the structure that begins at `place`; return it and where it ends."""
    reader = _Reader(content, place)
    try:
        return reader.struct(0), reader.place
    except IndexError:
        raise ValueError("a structure ends too early") from None


class _Reader:
    def __init__(self, content: bytes, place: int) -> None:
        self._content, self.place = content, place

    def struct(self, depth: int) -> Struct:
        if depth > _DEEPEST:
            raise ValueError("a structure is nested too deep")
        found: Struct = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._whole()
            if number in found:
                raise ValueError("a field comes twice")
            # A truth value is told by its field's kind.
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind == 9:
            return self._list(depth)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("a kind that Parquet does not use")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        size = self._varint() if size == 15 else size
        if size > len(self._content) - self.place:
            raise ValueError("a list is longer than the file")
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(size)]
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        start, self.place = self.place, self.place + size
        if self.place > len(self._content):
            raise ValueError("a text is longer than the file")
        return self._content[start : self.place]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value, shift = value | (byte & 127) << shift, shift + 7
            if shift > 63:
                raise ValueError("a number is too long")
        return value | byte << shift

    def _whole(self) -> int:
        raw = self._varint()
        return (raw >> 1) ^ -(raw & 1)
