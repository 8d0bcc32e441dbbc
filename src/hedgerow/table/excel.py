"""Read workbooks (xlsx, xlsm, xlsb, xls, ods) with python-calamine.

One sheet is one table. Rows and columns without any cell are skipped. Dates stay dates, a column of dates with and
without times becomes timestamps, error cells such as `#N/A` are missing; a column that mixes types is refused, and so
are merged cells below the names.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.checks import MAX_CELLS, attempt, check_names, check_shape, check_size, existing_file, optional
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import column_of

_MOST_UNPACKED = 4 * 2**30
"""Bytes that a workbook may unpack to."""

_CHUNK = 1 << 22
_CELL = re.compile(rb'<(?:x:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')


def read_excel(
    path: str | PathLike[str],
    *,
    sheet: str | int | None = None,
    header_row: int | None = None,
    missing_codes: Sequence[str] = (),
    max_cells: int = MAX_CELLS,
) -> Table:
    """Read one sheet of a workbook.

    `sheet` is a name or a number from 1, by default the only sheet; `header_row` is the number of the row that names
    the columns, by default the first that is not empty.
    """
    calamine = optional("python_calamine", "python-calamine")
    file = existing_file(path)
    damaged = f"'{file.name}' is not a whole workbook; it may be cut short, damaged or locked by a password."
    attempt(lambda: _check_unpacked(file, max_cells), damaged)
    with attempt(lambda: calamine.CalamineWorkbook.from_path(file), damaged) as book:
        name = _choose(book.sheet_names, sheet)
        found = attempt(lambda: book.get_sheet_by_name(name), damaged)
        content = attempt(lambda: found.to_python(skip_empty_area=False), damaged)
        merged = attempt(lambda: found.merged_cell_ranges, damaged) or ()
    rows = _rows_from(content, header_row)
    _check_merged(content, merged, header_row)
    return replace(flatten(_table(rows, missing_codes), "file"), reading={"sheet": name})


def _check_unpacked(file: Path, max_cells: int) -> None:
    """A workbook is a zip archive of XML: count what it unpacks to, and how far its cells reach, before it is built.

    One cell in the last corner of a sheet makes a grid of seventeen thousand million cells.
    """
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _MOST_UNPACKED:
            raise InputError(f"The workbook unpacks to {unpacked:,} bytes, more than {_MOST_UNPACKED:,}.")
        for entry in archive.namelist():
            if entry.startswith("xl/worksheets/") and entry.endswith(".xml"):
                check_size(*_extent(archive, entry), max_cells=max_cells)


def _extent(archive: zipfile.ZipFile, entry: str) -> tuple[int, int]:
    """The last row and the last column in which a sheet has a cell."""
    rows, columns, rest = 0, 0, b""
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            text = rest + chunk
            found = _CELL.findall(text)
            rows = max([rows, *(int(row) for _, row in found)])
            columns = max([columns, *(_column_number(letters) for letters in {letters for letters, _ in found})])
            rest = text[text.rfind(b"<") :]
    return rows, columns


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _check_merged(content: list[list[Any]], merged: Sequence[Any], header_row: int | None) -> None:
    """Refuse merged cells below the names: the first of them holds the value, and the others would be missing."""
    filled = (place for place, row in enumerate(content) if any(cell != "" for cell in row))
    header = next(filled, 0) if header_row is None else header_row - 1
    for (first, left), (last, _) in merged:
        if last > header and first < len(content) and left < len(content[first]) and content[first][left] != "":
            raise InputError(
                f"The sheet has merged cells in row {max(first, header + 1) + 1}: only the first of them holds the "
                "value. Take them apart, and fill each."
            )


def _choose(names: list[str], sheet: str | int | None) -> str:
    listed = ", ".join(map(repr, names))
    if sheet is None and len(names) == 1:
        return names[0]
    if isinstance(sheet, str) and sheet in names:
        return sheet
    if isinstance(sheet, str) and sheet.isdecimal():
        sheet = int(sheet)
    if isinstance(sheet, int) and not isinstance(sheet, bool) and 1 <= sheet <= len(names):
        return names[sheet - 1]
    got = "none was named" if sheet is None else f"got {sheet!r}"
    raise ParameterError(f"'sheet' must be one of {listed} or a number from 1 to {len(names)}; {got}.")


def _rows_from(content: list[list[Any]], header_row: int | None) -> list[list[Any]]:
    if header_row is not None:
        if isinstance(header_row, bool) or not isinstance(header_row, int) or not 1 <= header_row <= len(content):
            raise ParameterError(f"'header_row' must be a row number from 1 to {len(content)}; got {header_row!r}.")
        content = content[header_row - 1 :]
    return [row for row in content if any(cell != "" for cell in row)]


def _table(rows: list[list[Any]], codes: Sequence[str]) -> pa.Table:
    if not rows:
        raise InputError("The sheet is empty; its first row must name the columns.")
    columns = [column for column in zip(*rows, strict=True) if any(cell != "" for cell in column)]
    names = [_name(column[0]) for column in columns]
    check_names(names)
    check_shape(len(rows) - 1, len(names))
    return pa.table([column_of(c[1:], name, codes) for name, c in zip(names, columns, strict=True)], names=names)


def _name(cell: Any) -> Any:
    """Years and other numbers above a column are names too."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else cell.strip() if isinstance(cell, str) else cell
