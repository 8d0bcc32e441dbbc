"""How far the cells of binary workbooks (.xls, .xlsb) reach, counted record by record before a grid of them is built.

Source     own; [MS-XLS], [MS-XLSB] and [MS-CFB] at https://learn.microsoft.com/openspecs
Guarantee  each cell of a sheet that calamine builds is counted; sheets that share records, streams that go round in a
           circle and dimensions beyond those of the format are a ValueError
Cost       O(records)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack_from

import numpy as np

from hedgerow.arrays import Ints

__all__ = ["SheetExtent", "is_compound", "records_grid", "xls_grids"]

_MOST_ROWS, _MOST_COLUMNS = 1 << 16, 1 << 8
_ROW, _LAST_OF_CELLS, _BEGIN = 0, 11, 145
_END, _SHEET, _DIMENSIONS, _OF_MANY = 0x0A, 0x85, 0x200, 0xBD
_OF_CELLS = {*range(1, 9), 0xBD, 0xBE, 0xD6, 0xFD, *range(0x201, 0x207), 0x27E, 0x406}
_MAGIC = bytes.fromhex("D0CF11E0A1B11AE1")
_SMALL, _SMALL_SECTOR, _ENTRY = 4096, 64, 128
_NAMES = ("Workbook", "Book")


@dataclass
class SheetExtent:
    """How far the cells of a sheet reach, and how many it stores."""

    rows: int = 0
    columns: int = 0
    cells: int = 0

    def add(self, row: int, column: int) -> None:
        """Note a cell."""
        self.rows, self.columns, self.cells = max(self.rows, row), max(self.columns, column), self.cells + 1


def records_grid(content: bytes) -> SheetExtent:
    """The extent of a part of an .xlsb file; nothing for one that is no sheet."""
    grid, row, place, is_sheet = SheetExtent(), 0, 0, False
    while place < len(content) - 1:
        kind, place = _read_packed(content, place, 2)
        size, place = _read_packed(content, place, 4)
        is_sheet |= kind == _BEGIN
        if is_sheet and kind <= _LAST_OF_CELLS:
            number = int.from_bytes(content[place : place + 4], "little") + 1
            if kind == _ROW:
                row = number
            else:
                grid.add(row, number)
        place += size
    return grid


def _read_packed(content: bytes, place: int, most: int) -> tuple[int, int]:
    """A number of seven bits a byte, in `most` bytes at most, and where it ends."""
    number = 0
    for shift, byte in enumerate(content[place : place + most]):
        number |= (byte & 127) << 7 * shift
        place += 1
        if byte < 128:
            break
    return number, place


def is_compound(content: bytes) -> bool:
    """Tell whether a file, of which this is the beginning, is one of streams, as .xls files are."""
    return content.startswith(_MAGIC)


def xls_grids(content: bytes) -> Iterator[SheetExtent]:
    """The extents of all sheets of an .xls file: each is built when the file is opened."""
    stream, seen = _workbook(content), set[int]()
    sheets = [unpack_from("<I", stream, place)[0] for kind, place, _ in _records(stream, 0, seen) if kind == _SHEET]
    for sheet in sheets:
        grid = SheetExtent()
        for kind, place, size in _records(stream, sheet, seen):
            if kind == _DIMENSIONS and size >= 10:
                _, rows, _, columns = unpack_from("<IIHH" if size >= 14 else "<HHHH", stream, place)
                if rows > _MOST_ROWS or columns > _MOST_COLUMNS:
                    raise ValueError("dimensions that no sheet of this format has")
            elif kind in _OF_CELLS and size >= 4:
                row, column = unpack_from("<HH", stream, place)
                last = unpack_from("<H", stream, place + size - 2)[0] if kind == _OF_MANY else column
                grid.add(row + 1, max(column, last) + 1)
        yield grid


def _records(stream: bytes, place: int, seen: set[int]) -> Iterator[tuple[int, int, int]]:
    """The records from a place to the end of their part: kind, place and size of their content."""
    while place + 4 <= len(stream):
        if place in seen:
            raise ValueError("two sheets share records")
        seen.add(place)
        kind, size = unpack_from("<HH", stream, place)
        if kind == _END or place + 4 + size > len(stream):
            return
        yield kind, place + 4, size
        place += 4 + size


def _workbook(content: bytes) -> bytes:
    """The stream of the workbook: sectors that a table links, or small ones inside the first entry's stream."""
    size = 1 << unpack_from("<H", content, 30)[0]

    def read(sectors: list[int]) -> bytes:
        return b"".join(content[(number + 1) * size : (number + 2) * size] for number in sectors)

    lists, more = list(unpack_from("<109I", content, 76)), unpack_from("<I", content, 68)[0]
    while more < len(content) // size and len(lists) <= len(content):
        *found, more = _words(read([more])).tolist()
        lists += found
    table = _words(read([number for number in lists if number < len(content) // size]))
    directory = read(_chain(unpack_from("<I", content, 48)[0], table))
    entries = [directory[place : place + _ENTRY] for place in range(0, len(directory) - _ENTRY + 1, _ENTRY)]
    named = {entry[:64].decode("utf-16-le", "replace").partition("\0")[0]: entry for entry in reversed(entries)}
    entry = next(named[name] for name in _NAMES if name in named)
    start, length = unpack_from("<II", entry, 116)
    if length >= _SMALL:
        return read(_chain(start, table))[:length]
    small = read(_chain(unpack_from("<I", entries[0], 116)[0], table))
    links = _words(read(_chain(unpack_from("<I", content, 60)[0], table)))
    found = (small[number * _SMALL_SECTOR : (number + 1) * _SMALL_SECTOR] for number in _chain(start, links))
    return b"".join(found)[: length or None]


def _words(content: bytes) -> Ints:
    return np.frombuffer(content[: len(content) // 4 * 4], "<u4").astype(np.int64)


def _chain(start: int, links: Ints) -> list[int]:
    """The numbers that follow each other from the first on; those beyond the table end a chain."""
    found: list[int] = []
    while start < len(links):
        found.append(start)
        if len(found) > len(links):
            raise ValueError("a stream goes round in a circle")
        start = int(links[start])
    return found
