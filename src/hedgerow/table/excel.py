"""Read workbooks (xlsx, xlsm, xlsb, xls, ods) with python-calamine.

One sheet is one table. Rows and columns without any cell are skipped. Dates stay dates, a column of dates with and
without times becomes timestamps, error cells such as `#N/A` are missing; a column that mixes types is refused, and so
are merged cells below the names and formulas whose results were never stored. Whole numbers that an .xlsx or .xlsm
file shows with leading zeros (zip codes) are texts, as they are in a delimited file. Hidden rows are read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.binary import SheetExtent, is_compound, records_grid, xls_grids
from hedgerow.table.checks import (
    MAX_CELLS,
    attempt,
    check_names,
    check_shape,
    check_size,
    existing_file,
    most_unpacked,
    optional,
)
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import column_of, with_zeros

_MOST_UNPACKED = 4 * 2**30
"""Bytes that a workbook may unpack to, however large it is."""

_MOST_DESCRIPTION = 1 << 24
"""Bytes of a part that is read as a whole: its list of sheets, its styles."""

_ALWAYS_CELLS = 10_000_000
_MOST_SPARSE = 16
"""Cells of a grid, each of which takes memory whether it is stored or not; few of them, or so many for a stored one."""

_CHUNK = 1 << 22
_OPENED = re.compile(rb"<(?!/)(?:[^\s<>]*:)?(?:c|row)[\s/>]")
_PLAIN = re.compile(rb'<(?:x:)?(?:c r="([A-Z]{1,3})(\d{1,7})"|row r="(\d{1,7})")(?:\s+(?!r=)[\w:.-]+="[^"<>]*")*\s*/?>')
"""A cell and a row as spreadsheet programs write them; whatever else opens one is left to a parser of XML."""
_STYLED = re.compile(rb'<(?:x:)?c\b[^>]*?\bs="(\d+)"')
_PLACE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
_WITHOUT_RESULT = re.compile(rb"(?:</(?:x:)?f>|<(?:x:)?f\b[^>]*/>)</(?:x:)?c>")
_HIDDEN_ROW = re.compile(rb'<(?:x:)?row\b[^>]*?\bhidden="(?:1|true)"')
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
"""Parts of a number format that stand for themselves, for blanks, colours and conditions."""


def read_excel(
    path: str | PathLike[str],
    *,
    sheet: str | int | None = None,
    header_row: int | None = None,
    missing_codes: Sequence[str] = (),
    types: Mapping[str, str] = MappingProxyType({}),
    max_cells: int = MAX_CELLS,
) -> Table:
    """Read one sheet of a workbook.

    `sheet` is a name or a number from 1, by default the only sheet; `header_row` is the number of the row that names
    the columns, by default the first that is not empty. Columns that `types` declares to be numbers stay numbers,
    however they are shown.
    """
    calamine = optional("python_calamine", "python-calamine")
    file = existing_file(path)
    damaged = f"'{file.name}' is not a whole workbook; it may be cut short, damaged or locked by a password."
    attempt(lambda: _check_unpacked(file, max_cells), damaged)
    with attempt(lambda: calamine.CalamineWorkbook.from_path(file), damaged) as book:
        if not book.sheet_names:
            raise InputError(f"'{file.name}' has no sheet.")
        name = _choose(book.sheet_names, sheet)
        found = attempt(lambda: book.get_sheet_by_name(name), damaged)
        content = attempt(lambda: found.to_python(skip_empty_area=False), damaged)
        merged = attempt(lambda: found.merged_cell_ranges, damaged) or ()
    shown = attempt(lambda: _find_shown(file, name), damaged)
    rows, header = _rows_from(content, header_row), _header(content, header_row)
    for column, widths in shown.widths.items():
        if types.get(str(_name(content[header][column]))) not in ("whole", "number"):
            cells = with_zeros([row[column] for row in content], [widths.get(row, 0) for row in range(len(content))])
            for row, cell in zip(content, cells, strict=True):
                row[column] = cell
    _check_merged(content, merged, header_row)
    hidden = {"hidden rows": f"{shown.hidden:,}, read like the others"} if shown.hidden else {}
    return replace(flatten(_table(rows, missing_codes), "file"), reading={"sheet": name} | hidden)


def _check_unpacked(file: Path, max_cells: int) -> None:
    """Most workbooks are zip archives: count what they unpack to, and how far cells reach, before a grid is built.

    One cell in the last corner of a sheet makes a grid of seventeen thousand million cells. Which parts are sheets is
    seen from what they hold, since a part can have any name; reading each to its end shows whether its size is true.
    """
    with file.open("rb") as stream:
        if is_compound(stream.read(8)):
            stream.seek(0)
            _check_grids(list(xls_grids(stream.read())), max_cells)
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        most = most_unpacked(file, _MOST_UNPACKED)
        if unpacked > most:
            raise InputError(f"The workbook unpacks to {unpacked:,} bytes, more than {most:,}.")
        is_binary = any(name.lower().endswith("workbook.bin") for name in archive.namelist())
        for entry in archive.infolist():
            _check_grids([_extent(archive, entry)], max_cells)
            if is_binary:
                _check_grids([records_grid(archive.read(entry))], max_cells)
            if entry.filename == "content.xml":
                _check_grids([_opendocument_grid(archive, entry)], max_cells)


def _check_grids(grids: Sequence[SheetExtent], max_cells: int) -> None:
    """Refuse sheets that are built together and are much larger than what they store."""
    for grid in grids:
        check_size(grid.rows, grid.columns, max_cells=max_cells)
    stored = sum(grid.cells for grid in grids)
    if sum(grid.rows * grid.columns for grid in grids) > max(_ALWAYS_CELLS, _MOST_SPARSE * stored):
        rows, columns = (max(getattr(grid, way) for grid in grids) for way in ("rows", "columns"))
        raise InputError(
            f"A sheet stores {stored:,} cells and spreads them over {rows:,} rows of {columns:,} columns; remove what "
            "stands far away from the table."
        )


def _extent(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SheetExtent:
    """The last row and the last column in which a sheet has a cell; nothing for a part that is no sheet."""
    grid, is_sheet, is_plain = SheetExtent(), False, True
    for text in _pieces(archive, entry):
        is_sheet |= b"sheetData" in text
        found = _PLAIN.findall(text)
        is_plain &= len(found) == len(_OPENED.findall(text))
        cells = [(letters, row) for letters, row, _ in found if letters]
        grid.rows = max([grid.rows, *(int(row) for _, row in cells)])
        grid.columns = max([grid.columns, *(_column_number(letters) for letters in {letters for letters, _ in cells})])
        grid.cells += len(cells)
    if not is_sheet:
        return SheetExtent()
    return grid if is_plain else _parsed_grid(archive, entry)


def _parsed_grid(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SheetExtent:
    """The same of a sheet whose cells are written in another way, or do not say where they stand."""
    grid, row, column = SheetExtent(), 0, 0

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal row, column
        kind, place = name.rpartition(":")[2], given.get("r")
        if kind == "row":
            row, column = int(place) if place else row + 1, 0
        elif kind == "c":
            if not place:
                column += 1
            elif found := re.fullmatch("([A-Za-z]+)([0-9]+)", place):
                row, column = int(found[2]), _column_number(found[1].upper().encode())
            else:
                raise ValueError("no place of a cell")
            grid.add(row, column)

    _parse(archive, entry, start)
    return grid


def _opendocument_grid(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SheetExtent:
    """The extent of the sheets of an .ods file, where cells stand for many; empty ones at the ends do not count."""
    grid, rows, column = SheetExtent(), 0, 0

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal rows, column
        many = {key.rpartition(":")[2]: value for key, value in given.items()}
        kind = name.rpartition(":")[2]
        if kind == "table":
            rows = 0
        elif kind == "table-row":
            rows, column = rows + int(many.get("number-rows-repeated", 1)), 0
        elif kind in ("table-cell", "covered-table-cell"):
            column += int(many.get("number-columns-repeated", 1))
            if {"value-type", "formula"} & many.keys():
                grid.add(rows, column)

    _parse(archive, entry, start)
    return grid


def _parse(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, start: Callable[[str, dict[str, str]], None]) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    with archive.open(entry) as stream:
        parser.ParseFile(stream)


def _pieces(archive: zipfile.ZipFile, entry: str | zipfile.ZipInfo) -> Iterator[bytes]:
    """A sheet's XML in pieces that no cell is cut by."""
    rest = b""
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            text = rest + chunk
            cut = max(text.rfind(b"<c "), text.rfind(b"<x:c "), 0) or text.rfind(b"<")
            yield text[:cut]
            rest = text[cut:]
    yield rest


@dataclass
class _ShownCells:
    """What a sheet's XML says of its cells beyond their values: for each column, rows and digits shown, hidden rows."""

    widths: dict[int, dict[int, int]] = field(default_factory=dict)
    hidden: int = 0


def _find_shown(file: Path, sheet: str) -> _ShownCells:
    """How the numbers of a sheet are shown; nothing is known of binary workbooks and of .ods."""
    shown = _ShownCells()
    if not zipfile.is_zipfile(file):
        return shown
    with zipfile.ZipFile(file) as archive:
        if (entry := _entry(archive, sheet)) is None:
            return shown
        styles = {str(n).encode(): digits for n, digits in enumerate(_digits(archive)) if digits > 1}
        for text in _pieces(archive, entry):
            shown.hidden += len(_HIDDEN_ROW.findall(text))
            if _WITHOUT_RESULT.search(text):
                raise InputError(
                    f"The sheet '{sheet}' has formulas whose results are not stored in the file, so they would be read "
                    "as missing. Open it in a spreadsheet program, save it there, and read it again."
                )
            for cell in _STYLED.finditer(text) if styles else ():
                place = _PLACE.search(text, cell.start(), text.find(b">", cell.start()))
                if (digits := styles.get(cell[1])) and place:
                    shown.widths.setdefault(_column_number(place[1]) - 1, {})[int(place[2]) - 1] = digits
    return shown


def _entry(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """The part of an archive that holds a sheet."""
    if "xl/workbook.xml" not in archive.namelist():
        return None
    book, links = _xml(archive, "xl/workbook.xml"), _xml(archive, "xl/_rels/workbook.xml.rels")
    targets = {link.get("Id"): str(link.get("Target")) for link in links}
    for one in book.iter():
        if _tag(one) == "sheet" and one.get("name") == sheet:
            number = next((value for name, value in one.attrib.items() if name.endswith("}id")), None)
            target = targets.get(number, "")
            entry = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            return entry if entry in archive.namelist() and entry.endswith(".xml") else None
    return None


def _digits(archive: zipfile.ZipFile) -> list[int]:
    """For each style of cells, the least number of digits that it shows of a whole number."""
    if "xl/styles.xml" not in archive.namelist():
        return []
    styles = _xml(archive, "xl/styles.xml")
    formats = {one.get("numFmtId"): str(one.get("formatCode")) for one in styles.iter() if _tag(one) == "numFmt"}
    cells = next((one for one in styles if _tag(one) == "cellXfs"), ())
    return [_least_digits(formats.get(str(one.get("numFmtId")), "")) for one in cells]


def _least_digits(code: str) -> int:
    """How many digits a number format shows at least, of formats without decimals, thousands, percents and dates."""
    digits = _LITERAL.sub("", code.split(";")[0]).strip()
    return digits.count("0") if re.fullmatch(r"[0#\- /.()]*", digits) and not re.search(r"0\.0*$", digits) else 0


def _xml(archive: zipfile.ZipFile, entry: str) -> ElementTree.Element:
    if archive.getinfo(entry).file_size > _MOST_DESCRIPTION:
        raise InputError(f"The workbook's part '{entry}' has more than {_MOST_DESCRIPTION:,} bytes.")
    return ElementTree.fromstring(archive.read(entry))


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _check_merged(content: list[list[Any]], merged: Sequence[Any], header_row: int | None) -> None:
    """Refuse merged cells below the names: the first of them holds the value, and the others would be missing."""
    header = _header(content, header_row)
    for (first, left), (last, _) in merged:
        if last > header and first < len(content) and left < len(content[first]) and content[first][left] != "":
            raise InputError(
                f"The sheet has merged cells in row {max(first, header + 1) + 1}: only the first of them holds the "
                "value. Take them apart, and fill each."
            )


def _header(content: list[list[Any]], header_row: int | None) -> int:
    filled = (place for place, row in enumerate(content) if any(cell != "" for cell in row))
    return next(filled, 0) if header_row is None else header_row - 1


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
