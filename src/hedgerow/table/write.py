"""Write delimited text files: commas, UTF-8, quotes where needed.

`read_csv` reads back the same table, except that CSV carries no types: texts that all look like numbers come
back as numbers, decimals as floats, empty texts as missing, and spaces around texts are gone. Floats always carry a
point or an exponent, so they stay floats.

Cells that a spreadsheet would run as a formula are escaped, and restored when they are read.

A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an apostrophe in front. So does one that
begins with apostrophes before such a sign: taking one apostrophe away restores every text, which makes the two
functions inverse to each other.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.table.checks import check_names
from hedgerow.table.table import Table
from hedgerow.table.typed import MISSING

_ROWS = 1 << 16
"""Rows put into text at a time."""


def write_csv(
    table: Table | pa.Table, path: str | PathLike[str], *, escape_formulas: bool = True, append: bool = False
) -> None:
    """Write a table of flat columns; `escape_formulas` keeps spreadsheets from running texts as formulas.

    With `append` its rows follow those of a file that is there.
    """
    arrow = table.arrow if isinstance(table, Table) else table
    check_names(arrow.column_names)
    header = _quote(_disarm(pa.array(arrow.column_names, pa.string()), escape_formulas))
    with Path(path).open("ab" if append else "wb") as file:
        if not append:
            file.write(",".join(header.to_pylist()).encode() + b"\n")
        for batch in arrow.to_batches(max_chunksize=_ROWS):
            cells = [_cells(column, escape_formulas) for column in batch.columns]
            file.write(_join_cells(cells))


def _disarm(texts: pa.Array, escape_formulas: bool) -> pa.Array:
    return escape(texts) if escape_formulas else texts


def _cells(column: pa.Array, escape_formulas: bool) -> pa.Array:
    if pa.types.is_string(column.type):
        distinct = column.dictionary_encode()
        cells = _quote(_disarm(distinct.dictionary, escape_formulas)).take(distinct.indices)
    elif pa.types.is_floating(column.type):
        cells = _with_point(column.cast(pa.string()))
    else:
        cells = column.cast(pa.string())
    return cells.fill_null("")


def _with_point(numbers: pa.Array) -> pa.Array:
    whole = pc.match_substring_regex(numbers, r"\A-?\d+\z")
    return pc.if_else(whole, pc.binary_join_element_wise(numbers, "0", "."), numbers)


def _quote(texts: pa.Array) -> pa.Array:
    """Quote texts that hold a sign of the format, that would be trimmed, or that spell a missing value."""
    special = pc.match_substring_regex(texts, r'[",;|\t\r\n]|\A | \z')
    needs = pc.or_(special, pc.is_in(texts, pa.array(MISSING)))
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def _join_cells(cells: list[pa.Array]) -> memoryview:
    """Rows as bytes: the data buffer of an array of lines is the text of the file."""
    rows = pc.binary_join_element_wise(*cells, ",").cast(pa.large_string())
    lines = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
    return memoryview(lines.buffers()[2])


# Spreadsheets look behind spaces of any kind, and some read full-width signs as plain ones.
_ARMED = r"\A('*[\s\pZ\x00-\x1f\x{200b}-\x{200f}\x{2060}\x{feff}]*[=+\-@\t\r\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])"


def escape(texts: pa.Array) -> pa.Array:
    """Put an apostrophe before texts that a spreadsheet would run."""
    return pc.replace_substring_regex(texts, _ARMED, r"'\1", max_replacements=1)


def unescape(texts: pa.Array) -> pa.Array:
    """Undo `escape`."""
    return pc.replace_substring_regex(texts, _ARMED.replace("(", "'(", 1), r"\1", max_replacements=1)


def unescape_name(name: str) -> str:
    """Undo `escape` on a column name."""
    plain: str = unescape(pa.array([name]))[0].as_py()
    return plain
