"""Read workbooks (xlsx, xlsm, xlsb, xls, ods) with python-calamine.

One sheet is one table. Rows and columns without any cell are skipped. Dates stay dates, a column of dates with and
without times becomes timestamps, error cells such as `#N/A` are missing; a column that mixes types is refused, and so
are merged cells below the names and formulas whose results were never stored. Whole numbers that an .xlsx or .xlsm
file shows with leading zeros (zip codes) are texts, as they are in a delimited file. Hidden rows are read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.checks import MAX_CELLS, attempt, check_names, check_shape, check_size, existing_file, optional
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import column_of, with_zeros

_MOST_UNPACKED = 4 * 2**30
"""Bytes that a workbook may unpack to."""

_CHUNK = 1 << 22
_CELL = re.compile(rb'<(?:x:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
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
    rows, columns = 0, 0
    for text in _pieces(archive, entry):
        found = _CELL.findall(text)
        rows = max([rows, *(int(row) for _, row in found)])
        columns = max([columns, *(_column_number(letters) for letters in {letters for letters, _ in found})])
    return rows, columns


def _pieces(archive: zipfile.ZipFile, entry: str) -> Iterator[bytes]:
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
