"""Read delimited text files.

Every cell is read as text, one dictionary of distinct texts a column, so that deciding a column's type looks at each
distinct cell once and at all of them. Spaces and tabs around a cell are dropped. A missing value is an empty cell or
one of `typed.MISSING`; in quotes a marker is a text like any other, unless all other cells are numbers or dates. An
empty text is missing. In a file of one column an empty line is a missing value; elsewhere empty lines are skipped.

The first line is a row, and the columns are numbered, if one of its cells is a number like all others of its column
and another one occurs again below. A decimal comma is recognised where commas cut no cells
(`typed.DecimalSign`). Both can be declared instead.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from hedgerow.errors import InputError, counted
from hedgerow.table.checks import BLANKS, attempt, read_bytes
from hedgerow.table.dialect import Dialect, find_dialect, record, text_behind_quote, to_utf8
from hedgerow.table.flat import flatten
from hedgerow.table.options import ReadOptions, read_options, require_columns
from hedgerow.table.table import Table
from hedgerow.table.typed import MISSING, DecimalSign, has_decimals, is_number_text, type_declared, type_texts
from hedgerow.table.write import unescape, unescape_name

__all__ = ["Dialect", "find_dialect", "read_csv", "to_utf8"]

_BLOCK = 1 << 24
_LARGEST_BLOCK = 2**31 - 1
_NOTHING = re.compile(rb"[\r\n]*+\Z")
_NO_ROWS = "The file has a header and no rows; a table needs at least one row."
_OPEN = "The file opens a quote and never closes it; close it, or double quotes inside of a cell."
_DISTINCT = pa.dictionary(pa.int32(), pa.string())


def read_csv(path: str | PathLike[str], *, unescape_formulas: bool = False, **options: Any) -> Table:
    """Read a delimited text file; `options` are those of `ReadOptions`, and are detected if they are not given.

    `unescape_formulas` undoes what `write_csv` did to keep spreadsheets from running cells.
    """
    asked = read_options(options)
    data = read_bytes(path)
    text = to_utf8(data, asked.encoding)
    dialect = find_dialect(text, asked.delimiter, header=asked.header is not False, quote=_quote(asked))
    cells = _cells(text, dialect)
    if asked.header is None and _has_no_header(dialect.names, cells):
        dialect = find_dialect(text, asked.delimiter, header=False, quote=_quote(asked))
        cells = _cells(text, dialect)
    names = [unescape_name(name) for name in dialect.names] if unescape_formulas else list(dialect.names)
    require_columns(names, asked.types)
    before = [pa.concat_arrays([chunk.dictionary for chunk in column.chunks]) for column in cells.columns]
    texts = [_trim(one) for one in before]
    if unescape_formulas:
        before, texts = [unescape(one) for one in before], [unescape(one) for one in texts]
    _require_fitting(asked, text, dialect, cells, texts)
    sign = _decimal(names, texts, dialect.delimiter, asked)
    signs = replace(asked, decimal=sign)
    columns = [
        attempt(
            partial(_read_column, column, own, name, signs),
            f"Column '{name}' holds more than 2 GiB of text; shorten it.",
        )
        for name, column, own in zip(names, cells.columns, texts, strict=True)
    ]
    table = flatten(pa.table(columns, names=names), "file")
    spaced = {
        name: _read_column(column, before, name, ReadOptions(types={name: "text"})).dictionary_decode()
        for name, column, before, after in zip(names, cells.columns, before, texts, strict=True)
        if table.arrow.schema.field(name).type == pa.string() and not before.equals(after)
    }
    reading = _reading(dialect, asked, sign, _encoding(data, text))
    if asked.header and _has_no_header(dialect.names, cells):
        reading["header"] = "the first line, as declared, though it looks like a row: --no-header"
    return replace(table, untrimmed=spaced, reading=reading)


def _reading(dialect: Dialect, asked: ReadOptions, decimal: str, encoding: str) -> dict[str, str]:
    """How the file was read, in words."""
    known = {"header": "the first line" if dialect.has_header else "none: columns are numbered"}
    known |= {"delimiter": {"\t": "tab"}.get(dialect.delimiter, dialect.delimiter), "decimal": decimal}
    known |= {"quote": dialect.quote or "none", "encoding": asked.encoding or encoding}
    known |= {"thousands": asked.thousands} if asked.thousands else {}
    return known | ({"missing codes": ", ".join(asked.missing_codes)} if asked.missing_codes else {})


def _require_fitting(
    asked: ReadOptions, text: bytes, dialect: Dialect, cells: pa.Table, texts: Sequence[pa.Array]
) -> None:
    """Refuse a delimiter, a missing header or a decimal point that was declared and that the file contradicts."""
    if asked.delimiter and len(dialect.names) == 1:
        other = find_dialect(text, header=False, quote=dialect.quote)
        if len(other.names) > 1:
            raise InputError(
                f"The declared delimiter cuts no line; {_delimiter_name(other.delimiter)} makes "
                f"{counted(len(other.names), 'column')}: "
                "declare that, or leave 'delimiter' out."
            )
    if asked.header is False and (headed := _count_headed(cells, texts)):
        raise InputError(
            f"The first line looks like names: without it {headed} of the columns would hold numbers. Leave 'header' "
            "out, or remove the line."
        )
    if asked.decimal == "." and "," not in (dialect.delimiter, asked.thousands):
        for name, one in zip(dialect.names, texts, strict=True):
            if name not in asked.types and has_decimals(one, ","):
                raise InputError(
                    f"Column '{name}' holds numbers with a decimal comma, and 'decimal' is declared as a point; "
                    "declare a comma, or that its type is text."
                )


def _delimiter_name(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _count_headed(cells: pa.Table, texts: Sequence[pa.Array]) -> int:
    """How many columns would hold numbers but for their first cell, where no cell of the first line is one."""
    first = [column[0].as_py() for column in cells.columns]
    if any(cell is None or is_number_text(cell.strip()) for cell in first):
        return 0
    found = 0
    for cell, values in zip(first, texts, strict=True):
        rest = values.filter(pc.fill_null(pc.not_equal(values, cell.strip(BLANKS)), fill_value=False))
        kind = type_texts(rest).type if len(rest) else pa.null()
        found += pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return found


def _encoding(data: bytes, text: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8" if data.removeprefix(codecs.BOM_UTF8) == text else "cp1252"


def _quote(asked: ReadOptions) -> str:
    return "" if asked.quote == "none" else asked.quote or '"'


def _cells(text: bytes, dialect: Dialect) -> pa.Table:
    cells = _parse(text, dialect)
    if cells.num_rows == 0:  # a lone byte-order mark after the header is no row either
        raise InputError(_NO_ROWS)
    _check_closed(text, cells, dialect.quote)
    _check_quoted(text, cells, dialect)
    return cells


def _has_no_header(names: Sequence[str], cells: pa.Table) -> bool:
    """Return whether the first line is a row: some cell is a number like its column, another occurs below it again."""
    numbers = repeated = False
    for name, column in zip(names, cells.columns, strict=True):
        values = pa.concat_arrays([chunk.dictionary for chunk in column.chunks])
        if is_number_text(name):
            numbers = numbers or pa.types.is_integer(kind := type_texts(values).type) or pa.types.is_floating(kind)
        else:
            repeated = repeated or bool(pc.any(pc.equal(_trim(values), name)).as_py())
    return numbers and repeated


def _decimal(names: Sequence[str], texts: Sequence[pa.Array], delimiter: str, asked: ReadOptions) -> str:
    found = DecimalSign(delimiter, asked)
    for name, values in zip(names, texts, strict=True):
        found.look_at(name, _without_codes(values, asked))
    return found.sign()


def _without_codes(texts: pa.Array, asked: ReadOptions) -> pa.Array:
    if not asked.missing_codes:
        return texts
    return pc.if_else(pc.is_in(texts, pa.array(list(asked.missing_codes))), None, texts)


def _parse(text: bytes, dialect: Dialect) -> pa.Table:
    """Cut the rows into cells; where a row fits no block, the block becomes as large as the file."""
    if _NOTHING.match(text, dialect.start):
        raise InputError(_NO_ROWS)
    for block in (_BLOCK, min(len(text) + 1, _LARGEST_BLOCK)):
        ragged: list[Any] = []
        try:
            return _read_texts(text, dialect, block, ragged)
        except pa.ArrowInvalid:
            if ragged:
                break
    raise _refusal(text, dialect)


def _read_texts(text: bytes, dialect: Dialect, block: int, ragged: list[Any], *, threads: bool = True) -> pa.Table:
    names = [str(number) for number in range(len(dialect.names))]

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    return arrow_csv.read_csv(
        pa.BufferReader(pa.py_buffer(text).slice(dialect.start)),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=block, use_threads=threads),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=bool(dialect.quote) and dialect.quote.encode() in text,
            ignore_empty_lines=len(names) > 1,
            invalid_row_handler=note,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, _DISTINCT),
            null_values=MISSING,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )


def _refusal(text: bytes, dialect: Dialect) -> InputError:
    """Read again without threads: only then does Arrow report the number of the record that does not fit."""
    ragged: list[Any] = []
    with suppress(pa.ArrowInvalid):
        _read_texts(text, dialect, min(len(text) + 1, _LARGEST_BLOCK), ragged, threads=False)
    if not ragged:
        return InputError("The file cannot be cut into rows and columns; a row may be longer than 2 GiB.")
    row = ragged[0]
    line = _line_of_record(text, dialect, row.number)
    if line is None:
        return InputError(_OPEN)
    return InputError(
        f"Line {line} has {counted(row.actual_columns, 'cell')} where the header has {row.expected_columns}; "
        "repair the line or put quotes around cells that hold the delimiter."
    )


def _line_of_record(text: bytes, dialect: Dialect, number: int) -> int | None:
    """The line on which the record of this number after the header begins, as an editor counts.

    None where a quote is left open before it, so that there is no such record.
    """
    filled = (match for match in _records(text, dialect) if match.group().strip(b"\r\n"))
    found = next(islice(filled, number - 1, None), None)
    return None if found is None else len(text[: found.start()].splitlines()) + 1


def _records(text: bytes, dialect: Dialect) -> Iterator[re.Match[bytes]]:
    pattern, place = record(dialect.delimiter, dialect.quote), dialect.start
    while place < len(text) and (match := pattern.match(text, place)):
        yield match
        place = match.end()


def _check_closed(text: bytes, cells: pa.Table, quote: str) -> None:
    last = cells.column(cells.num_columns - 1)[-1].as_py() or ""
    if quote and text.count(quote.encode()) % 2 and ("\n" in last or "\r" in last):
        raise InputError(_OPEN)


def _check_quoted(text: bytes, cells: pa.Table, dialect: Dialect) -> None:
    """Refuse quotes that Arrow would read as part of a cell, or drop: text behind a closing one, blanks before one."""
    if not dialect.quote or dialect.quote.encode() not in text:
        return
    if (place := text_behind_quote(text, dialect)) is not None:
        raise InputError(
            f"Line {len(text[:place].splitlines())} has text behind a closing quote; a quote inside of a quoted cell "
            "is written twice, and no backslash makes it part of the cell."
        )
    blank = rf"\A[{BLANKS}]+{dialect.quote}"
    for name, column in zip(dialect.names, cells.columns, strict=True):
        if any(pc.any(pc.match_substring_regex(chunk.dictionary, blank)).as_py() for chunk in column.chunks):
            raise InputError(
                f"Column '{name}' has a blank before a quote; remove the blank, or declare that there are no quotes "
                "(quote = none) if it belongs to the text."
            )


def _read_column(cells: pa.ChunkedArray, texts: pa.Array, name: str, signs: ReadOptions) -> pa.Array:
    """Type the distinct texts of a column together, and point every row at its value."""
    values = type_declared(_without_codes(texts, signs), name, signs)
    ends = accumulate((len(chunk.dictionary) for chunk in cells.chunks), initial=0)
    places = [
        pc.add(chunk.indices, pa.scalar(start, pa.int32())) for chunk, start in zip(cells.chunks, ends, strict=False)
    ]
    return pa.DictionaryArray.from_arrays(pa.concat_arrays(places), values)


def _trim(texts: pa.Array) -> pa.Array:
    trimmed = pc.ascii_trim(texts, characters=BLANKS)
    # A marker between spaces was not recognised while parsing; one without spaces was left because it was quoted.
    marker = pc.and_(pc.is_in(trimmed, pa.array(MISSING)), pc.not_equal(trimmed, texts))
    return pc.if_else(marker, None, trimmed)
