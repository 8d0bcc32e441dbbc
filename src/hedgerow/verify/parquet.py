"""Read a Parquet file that a stranger wrote: its layout is checked, and the cost known, before a page is decoded.

Source     own; the Parquet format: https://github.com/apache/parquet-format
Guarantee  files with a layout, types or metadata other than ours, and files that would take more than the limit, are a
           BundleError. The sizes that count are those in the page headers, which the decoder itself goes by
Cost       O(pages) before decoding; texts are decoded as dictionaries first, so that a text that is repeated a million
           times costs one text until its whole size is known

Arrow's reader trusts a footer in places and then ends the process, so it does not get one that was not checked here.

Thrift's compact protocol is read as far as Parquet uses it (own;
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md): a structure becomes a dict by field
number, a list a list; it ends with a value or a ValueError, after at most as many steps as there are bytes. Programs
skip fields that they do not know, and some but not all of them those of another kind than the format gives them: of
what our files have, each field is on a list, with its kind.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hedgerow.errors import BundleError
from hedgerow.verify.statistics import Described, check_statistics

__all__ = ["Struct", "read_parquet", "read_struct"]

Struct = dict[int, Any]

_DEEPEST = 16
_MOST_VALUES = 4_000_000
"""Fields and entries of lists in one structure, of which three bytes can take 240 in memory."""


Shape = dict[int, Any]
"""The fields of a structure: by number a kind, the shape of a structure, or a list of what its entries are."""

_BOOL, _I16, _I32, _I64, _BYTES, _LIST, _STRUCT = 2, 4, 5, 6, 8, 9, 12
_BITS = {_I16: 15, _I32: 31, _I64: 63}


def read_struct(content: bytes, place: int, shape: Shape | None = None) -> tuple[Struct, int]:
    """Read the structure that begins at `place`; return it and where it ends. Without a shape it has any fields."""
    try:
        return _struct(content, place, 0, [_MOST_VALUES], shape)
    except IndexError:
        raise ValueError("a structure ends too early") from None


def _is_of(kind: int, wanted: Any) -> bool:
    """Whether a kind in the file is the one of a shape; a truth value has one of two."""
    nested = _STRUCT if isinstance(wanted, dict) else _LIST if isinstance(wanted, list) else wanted
    return bool(nested == max(kind, _BOOL))


def _struct(content: bytes, place: int, depth: int, left: list[int], shape: Shape | None) -> tuple[Struct, int]:
    """A structure; its fields and the entries of its lists are taken from the number that is `left`."""
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
        _take(left, 1)
        wanted = None if shape is None else shape.get(number)
        if shape is not None and not _is_of(kind, wanted):
            raise ValueError("metadata: a field that we do not write, or of another kind")
        if kind <= 2:  # a truth value is told by its field's kind
            found[number] = kind == 1
        elif 4 <= kind <= 6 and (byte := content[place]) < 128:  # most of what there is: a number of one byte
            found[number], place = (byte >> 1) ^ -(byte & 1), place + 1
        else:
            found[number], place = _value(content, place, kind, (depth, left, wanted))
    return found, place + 1


def _take(left: list[int], number: int) -> None:
    left[0] -= number
    if left[0] < 0:
        raise ValueError("a structure has too many values")


def _value(content: bytes, place: int, kind: int, inside: tuple[int, list[int], Any]) -> tuple[Any, int]:
    depth, left, wanted = inside
    if kind in _BITS:
        number, place = _whole(content, place)
        if wanted is not None and number >> _BITS[kind] not in (0, -1):
            raise ValueError("a number is too long")
        return number, place
    if kind == _STRUCT:
        return _struct(content, place, depth + 1, left, wanted)
    if kind == _BYTES:
        size, place = _varint(content, place)
        return _bytes(content, place, size)
    if kind == _LIST:
        return _list(content, place, depth, left, wanted)
    if kind == 3:
        return content[place], place + 1
    if kind == 7:
        return _bytes(content, place, 8)
    raise ValueError("a kind that Parquet does not use")


def _list(content: bytes, place: int, depth: int, left: list[int], shape: list[Any] | None) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise ValueError("lists are nested too deep")
    size, kind = content[place] >> 4, content[place] & 15
    place += 1
    wanted = None if shape is None else shape[0]
    if shape is not None and not _is_of(kind, wanted):
        raise ValueError("metadata: a list of another kind")
    if size == 15:
        size, place = _varint(content, place)
    if size > len(content) - place:
        raise ValueError("a list is longer than the file")
    _take(left, size)
    found = []
    for _ in range(size):
        if kind in (1, 2):
            value, place = content[place] == 1, place + 1
        else:
            value, place = _value(content, place, kind, (depth + 1, left, wanted))
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


_TIMES, _FLOOR, _CEILING = 16, 256 << 20, 4 << 30
"""The default limit: so many times the file, but not below the floor, nor above the ceiling."""

_MOST_COLUMNS = 20_000
_SMALL = 1 << 20  # bytes that one thread decodes sooner than several
_SMALL_FILE, _SMALL_TABLE = 1 << 16, 1 << 19  # bytes of a file that is remembered, packed and decoded
_LARGEST_PAGE = 64 << 20
_MARK = b"PAR1"
_WRITER = re.compile(rb"parquet-cpp-arrow version [0-9.]{1,20}(-SNAPSHOT)?")
_WIDTHS = {pa.string(): 5, pa.bool_(): 1, pa.int32(): 4, pa.date32(): 4}
_EIGHT = (pa.int64(), pa.float64(), pa.timestamp("us"))
_PHYSICAL = (0, 1, 2, 5, 6, 7)  # truth values, 32 and 64 bits, doubles, texts, bytes of fixed length
_CODECS = (0, 1, 6)  # none, snappy, zstd
_DATA, _DICTIONARY = 0, 2
_CODINGS, _LEVELS = (0, 2, 3, 8), 3  # plain, dictionaries, runs; gaps as runs
_TEXT = 6
_TYPED = (2, 6, 7, 8, 10)
_NAMED: dict[pa.DataType, tuple[Struct, ...]] = {
    pa.string(): ({6: 0, 10: {1: {}}},),
    pa.date32(): ({6: 6, 10: {6: {}}},),
    pa.timestamp("us"): tuple({**old, 10: {8: {1: False, 2: {2: {}}}}} for old in ({6: 10}, {})),
}
"""What our writer says of a type beside its physical one: twice, for older and for newer readers."""

_SAID: Shape = {1: _BYTES, 2: _BYTES, 3: _I64, 5: _BYTES, 6: _BYTES, 7: _BOOL, 8: _BOOL}
_COLUMN: Shape = dict.fromkeys((1, 2, 3, 5, 6, 7, 8), _I32) | {
    4: _BYTES,
    10: {1: {}, 5: {1: _I32, 2: _I32}, 6: {}, 8: {1: _BOOL, 2: {2: {}}}},
}
_ABOUT: Shape = {1: _I32, 2: [_I32], 3: [_BYTES], 4: _I32, **dict.fromkeys((5, 6, 7, 9, 11), _I64), 12: _SAID}
_ABOUT |= {13: [{1: _I32, 2: _I32, 3: _I32}], 16: {1: _I64, 2: [_I64], 3: [_I64]}}
_PART: Shape = {1: [{2: _I64, 3: _ABOUT}], **dict.fromkeys((2, 3, 5, 6), _I64), 7: _I16}
_FOOTER: Shape = {1: _I32, 2: [_COLUMN], 3: _I64, 4: [_PART], 6: _BYTES, 7: [{1: {}}]}
_PAGE: Shape = dict.fromkeys((1, 2, 3), _I32) | {
    5: dict.fromkeys((1, 2, 3, 4), _I32) | {5: _SAID},
    7: {1: _I32, 2: _I32, 3: _BOOL},
}
"""What our writer writes, in the kinds of the format; fields are numbered as the format numbers them."""


def read_parquet(name: str, content: bytes, *, rows: int | None, max_bytes: int | None = None) -> pa.Table:
    """Decode a file of a bundle that must have `rows` rows; raise BundleError for anything but one of ours.

    The same small file again, to the byte, is the same table, and is not decoded again: a part of a bundle is looked at
    for several questions, and by whoever opens and then verifies it.
    """
    limit = max_bytes if max_bytes is not None else min(max(_TIMES * len(content), _FLOOR), _CEILING)
    if len(content) <= _SMALL_FILE and limit >= _SMALL_TABLE:
        with suppress(AnnouncesTooMuch):
            return _read_small(name, content, rows)
    return _read(name, content, rows, limit)


@functools.lru_cache(maxsize=128)
def _read_small(name: str, content: bytes, rows: int | None) -> pa.Table:
    return _read(name, content, rows, _SMALL_TABLE)


def _read(name: str, content: bytes, rows: int | None, limit: int) -> pa.Table:
    try:
        footer = _checked_footer(content)
        if footer[3] != rows:
            raise BundleError(f"{name} does not have the number of rows that its manifest says.")
        sizes, described = _checked_pages(content, footer)
        if sum(sizes) > limit:
            raise AnnouncesTooMuch(name, limit)
        table = _decode(name, content, [column[4].decode() for column in footer[2][1:] if column[1] == _TEXT], limit)
        for column, place in zip(footer[2][1:], range(table.num_columns), strict=True):
            _require(_says_once(column, table.schema.field(place).type), "a column is of another type to other readers")
            check_statistics(table.column(place), column[1], described[place])
        return table
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, OverflowError, ValueError, LookupError, TypeError, AttributeError):
        raise BundleError(f"{name} is not a readable Parquet file of this bundle.") from None


class AnnouncesTooMuch(BundleError):
    """A file that would take more than it may once it is decoded."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(
            f"{name} announces more than {limit:,} bytes once it is decoded, so it is not read; allow more if you "
            "trust its sender (--max-bytes)."
        )


def _says_once(column: Struct, kind: pa.DataType) -> bool:
    """Tell whether all that a footer says of a column's type says the one that Arrow read.

    It says it twice, and which of the two counts differs from reader to reader: 100 to one is 1.00 to another.
    """
    said = {field: value for field, value in column.items() if field in _TYPED}
    if not pa.types.is_decimal128(kind):
        return said in _NAMED.get(kind, ({},))
    length = (10**kind.precision - 1).bit_length() // 8 + 1
    ends = {7: kind.scale, 8: kind.precision}
    return said == {2: length, 6: 5, **ends, 10: {5: {1: kind.scale, 2: kind.precision}}}


def _width(kind: pa.DataType) -> int:
    """Bytes that a cell takes at least; 0 for a type that no release has."""
    if pa.types.is_decimal128(kind):
        return 16
    return 8 if kind in _EIGHT else _WIDTHS.get(kind, 0)


def _require(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(what)


def _checked_footer(content: bytes) -> Struct:
    """The footer, if every part of it is what our own writer writes."""
    _require(len(content) >= 12 and content[:4] == content[-4:] == _MARK, "not a Parquet file")
    size = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - size
    _require(start >= 4, "the footer is longer than the file")
    footer, end = read_struct(content, start, _FOOTER)
    _require(end == len(content) - 8, "the footer holds metadata")
    _require(bool(_WRITER.fullmatch(footer[6])) and footer[1] in (1, 2), "another program wrote it")
    root, *columns = footer[2]
    _require(root.get(5) == len(columns) <= _MOST_COLUMNS, "columns are nested")
    _require(root[4] == b"schema" and len(root) == 3 and not root.get(3), "columns are nested")
    _require(len(footer.get(7, [])) in (0, len(columns)), "columns have other orders")
    for column in columns:
        _require(column[1] in _PHYSICAL and column[3] in (0, 1) and not column.get(5), "columns are nested")
    for group in footer[4]:
        _require(len(group[1]) == len(columns), "a part has other columns than the file")
        for column, chunk in zip(columns, group[1], strict=True):
            _check_chunk(chunk, column, group[3], start)
    _require(footer[3] == 0 or all(group[3] > 0 for group in footer[4]), "a part has no rows")
    _require(sum(group[3] for group in footer[4]) == footer[3], "the parts do not add up")
    _check_filled([chunk[3] for group in footer[4] for chunk in group[1]], start)
    return footer


def _check_filled(chunks: list[Struct], end: int) -> None:
    """Columns follow each other from the mark to the footer: bytes that belong to none could hold anything."""
    place = len(_MARK)
    for first, size in sorted((_first_page(about), about[7]) for about in chunks):
        _require(first == place, "bytes that belong to no column, or to two")
        place += size
    _require(place == end, "bytes that belong to no column, or to two")


def _check_chunk(chunk: Struct, column: Struct, rows: int, end: int) -> None:
    """One column of one part lies inside the file, and is of the column's type and length."""
    about = chunk[3]
    _require(about[1] == column[1] and about[3] == [column[4]] and about[5] == rows, "a column is another one")
    _require(about[4] in _CODECS, "a compression that we do not use")
    start = _first_page(about)
    _require(start >= 4 and about[7] >= 0 and start + about[7] <= end, "a column lies outside the file")
    _require(chunk[2] in (0, start, start + about[7]), "a column lies elsewhere than its pages")


def _first_page(about: Struct) -> int:
    """Where the pages of a column begin: at its dictionary, if it has one; without rows it has nothing else."""
    data: int = about[9]
    dictionary: int = about.get(11, data)
    return int(dictionary if about[5] == data == 0 else min(data, dictionary))


def _checked_pages(content: bytes, footer: Struct) -> tuple[list[int], list[list[Described]]]:
    """The size of every page once it is unpacked, and what is said of the rows of each column.

    That is said of all rows of a part, and of those of each page. Raise unless the pages fill their columns.
    """
    sizes, row = [], 0
    described: list[list[Described]] = [[] for _ in footer[2][1:]]
    for number, group in enumerate(footer[4]):
        for chunk, found in zip(group[1], described, strict=True):
            about = chunk[3]
            found.append(Described(row, group[3], about.get(12, {}), sizes=about.get(16)))
            start = place = _first_page(about)
            end, values, is_first = place + about[7], 0, True
            pages: Counter[tuple[int, int]] = Counter()
            more = 0  # bytes that pages have beyond those in the file
            while place < end:
                header, place = read_struct(content, place, _PAGE)
                kind, unpacked, packed = header[1], header[2], header[3]
                _require(kind == _DATA or (kind == _DICTIONARY and is_first), "a page of another kind")
                _require(packed >= 0 and 0 <= unpacked <= _LARGEST_PAGE, "a page is too large")
                inside = header[5 if kind == _DATA else 7]
                _require(len(header) == 4, "a page carries metadata")
                _require(inside[1] >= 0, "a page has fewer than no values")
                _require(inside.get(2, 0) in _CODINGS, "a coding that we do not use")
                if kind == _DATA:
                    _require(inside.get(3, _LEVELS) == inside.get(4, _LEVELS) == _LEVELS, "gaps in another coding")
                    found.append(Described(row + values, inside[1], inside.get(5, {}), inside.get(2)))
                    values += inside[1]
                else:  # which has as many entries as it has bytes at most, whatever it says
                    _require(inside[1] <= max(unpacked, 1), "a dictionary has more entries than bytes")
                    _require(not inside.get(3), "a dictionary says that it is sorted")
                    found.append(Described(row, 0, {}, entries=inside[1]))
                pages[kind, inside.get(2, 0)] += 1
                place, is_first, more = place + packed, False, more + unpacked - packed
                sizes.append(unpacked)
            _require(place == end and values == about[5], "pages do not fill their column")
            _check_described(about, pages, end - start + more)
        _check_sums(group, number)
        row += group[3]
    return sizes, described


def _check_described(about: Struct, pages: Counter[tuple[int, int]], unpacked: int) -> None:
    """A column has the size and the codings that its pages have: readers skip parts that seem to be dictionaries only.

    Codings may be listed that no page has.
    """
    _require(about[6] == unpacked, "a column has another size than its pages")
    _require({coding for _, coding in pages} <= set(about[2]), "a column has pages in codings that it does not list")
    listed = Counter({(entry[1], entry[2]): entry[3] for entry in about.get(13, [])})
    _require(13 not in about or listed == pages, "a column has other pages than it lists")


def _check_sums(group: Struct, number: int) -> None:
    """Sizes and places of a part are those of its columns: readers that share a file choose their parts by them."""
    columns = [chunk[3] for chunk in group[1]]
    packed, start = sum(about[7] for about in columns), _first_page(columns[0]) if columns else 0
    _require(group[2] == sum(about[6] for about in columns), "a part has another size than its columns")
    _require(group.get(6, packed) == packed and group.get(5, start) == start, "a part lies elsewhere than its columns")
    _require(group.get(7, number) == number, "parts are not numbered one after the other")


def _decode(name: str, content: bytes, texts: list[str], limit: int) -> pa.Table:
    """Decode texts as dictionaries, add up how long they are, and only then write them out."""
    with pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as file:
        schema = file.schema_arrow
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
        if not all(map(_width, kinds)) or len(set(schema.names)) < len(schema):
            raise BundleError(f"{name} has a column of a type that no release has, or two of one name.")
        if file.metadata.num_rows * sum(map(_width, kinds)) > limit:
            raise AnnouncesTooMuch(name, limit)
        table = file.read(use_threads=len(content) > _SMALL).combine_chunks()
    lengths = [_text_bytes(column) for column in table.columns if pa.types.is_dictionary(column.type)]
    if sum(lengths) > limit or max(lengths, default=0) >= 2**31:  # one array cannot hold more
        raise AnnouncesTooMuch(name, limit)
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    decoded = pa.table(columns, names=schema.names).combine_chunks()
    decoded.validate(full=True)
    return decoded


def _text_bytes(column: pa.ChunkedArray) -> int:
    """How long a column of text is once every cell is written out."""
    total = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
        total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return total
