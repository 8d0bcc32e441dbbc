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
    try:
        return _struct(content, place, 0)
    except IndexError:
        raise ValueError("a structure ends too early") from None


def _struct(content: bytes, place: int, depth: int) -> tuple[Struct, int]:
    if depth > _DEEPEST:
        raise ValueError("a structure is nested too deep")
    found: Struct = {}
    number = 0
    while head := content[place]:
        place += 1
        step, kind = head >> 4, head & 15
        if step:
            number += step
        else:
            number, place = _whole(content, place)
        if number in found:
            raise ValueError("a field comes twice")
        if kind <= 2:  # a truth value is told by its field's kind
            found[number] = kind == 1
        else:
            found[number], place = _value(content, place, kind, depth)
    return found, place + 1


def _value(content: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (4, 5, 6):
        return _whole(content, place)
    if kind == 12:
        return _struct(content, place, depth + 1)
    if kind == 8:
        size, place = _varint(content, place)
        return _bytes(content, place, size)
    if kind == 9:
        return _list(content, place, depth)
    if kind == 3:
        return content[place], place + 1
    if kind == 7:
        return _bytes(content, place, 8)
    raise ValueError("a kind that Parquet does not use")


def _list(content: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    size, kind = content[place] >> 4, content[place] & 15
    place += 1
    if size == 15:
        size, place = _varint(content, place)
    if size > len(content) - place:
        raise ValueError("a list is longer than the file")
    found = []
    for _ in range(size):
        value, place = (content[place] == 1, place + 1) if kind in (1, 2) else _value(content, place, kind, depth + 1)
        found.append(value)
    return found, place


def _bytes(content: bytes, place: int, size: int) -> tuple[bytes, int]:
    if place + size > len(content):
        raise ValueError("a text is longer than the file")
    return content[place : place + size], place + size


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := content[place]) > 127:
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if shift > 63:
            raise ValueError("a number is too long")
    return value | byte << shift, place + 1


def _whole(content: bytes, place: int) -> tuple[int, int]:
    raw, place = _varint(content, place)
    return (raw >> 1) ^ -(raw & 1), place
