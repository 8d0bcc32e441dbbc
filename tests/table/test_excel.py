"""Workbooks."""

import datetime as dt
import re
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest

from hedgerow.errors import InputError, ParameterError
from hedgerow.table import read_excel, read_table

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("python_calamine")

CANARY = "canary-b71e"


@pytest.fixture
def book(tmp_path):
    """Write sheets, given as rows, and give the workbook's path."""

    def book(**sheets):
        path = tmp_path / "book.xlsx"
        with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd hh:mm"}) as workbook:
            day = workbook.add_format({"num_format": "yyyy-mm-dd"})
            for name, rows in sheets.items():
                sheet = workbook.add_worksheet(name)
                for r, row in enumerate(rows):
                    for c, cell in enumerate(row):
                        plain_date = isinstance(cell, dt.date) and not isinstance(cell, dt.datetime)
                        sheet.write(r, c, cell, *([day] if plain_date else []))
        return path

    return book


ROWS = [
    ["age", "name", "born", "seen", "in", "2018"],
    [39, "x", dt.date(1980, 5, 1), dt.datetime(2020, 1, 1, 8), True, 1.5],
]


def test_a_sheet_is_read(book):
    """Whole numbers, texts, dates, times, truth values and floats keep their types."""
    table = read_table(book(people=[*ROWS, [None] * 6, [40, "NA", None, dt.date(2020, 1, 2), False, 2]]))
    expected = [pa.int64(), pa.string(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.float64()]
    assert (table.arrow.schema.types, table.kind) == (expected, "file")
    assert table.arrow.column("name").to_pylist() == ["x", None]
    assert table.arrow.column("seen").to_pylist() == [dt.datetime(2020, 1, 1, 8), dt.datetime(2020, 1, 2)]


def test_texts_that_look_like_numbers_stay_texts(book):
    """A cell's type is the workbook's, not a guess."""
    assert read_table(book(s=[["zip"], ["01234"], ["5"]])).arrow.column("zip").to_pylist() == ["01234", "5"]


def test_a_numeric_name_is_a_name(book):
    """A year above a column names it."""
    assert read_table(book(s=[["a", 2018], [1, 2]])).names == ("a", "2018")


def test_sheets_are_chosen_by_name_or_number(book):
    """With several sheets the caller has to say which."""
    path = book(first=[["a"], [1]], second=[["b"], [2]])
    assert read_excel(path, sheet="second").names == read_excel(path, sheet=2).names == ("b",)
    for wrong in (None, "third", 0, 3, True, 1.0):
        with pytest.raises(ParameterError, match="'sheet' must be one of 'first', 'second' or a number from 1 to 2"):
            read_excel(path, sheet=wrong)


def test_the_header_row_can_be_given(book):
    """Titles above the header are skipped on request."""
    path = book(s=[["A title"], [], ["a", "b"], [1, 2]])
    assert read_excel(path, header_row=3).arrow.to_pydict() == {"a": [1], "b": [2]}
    for wrong in (0, 5, True, "1", 1.5):
        with pytest.raises(ParameterError, match="'header_row' must be a row number from 1 to 4"):
            read_excel(path, header_row=wrong)


REFUSED = {
    "mixed": ([["a"], [1], [CANARY]], "Column 'a' mixes number and text"),
    "mixed with dates": ([["a"], [dt.date(2020, 1, 1)], [CANARY]], "Column 'a' mixes date and text"),
    "times of day": ([["a"], [dt.time(10, 30)]], "Column 'a' (has type|mixes)"),
    "no name": ([["a", None], [1, CANARY]], "Column 2 has no name"),
    "same names": ([[CANARY, CANARY], [1, 2]], "columns 1, 2 share a name"),
    "no rows": ([["a", "b"]], "at least one row"),
    "nothing": ([], "sheet is empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_sheets_are_refused(book, case):
    """The refusal names columns, never a cell."""
    rows, reason = REFUSED[case]
    with pytest.raises(InputError, match=reason) as caught:
        read_table(book(s=rows))
    assert CANARY not in str(caught.value)


def test_a_damaged_workbook_is_refused(book):
    """A file cut short is refused in one sentence."""
    path = book(s=[["a"], [1]])
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"'book\.xlsx' is not a whole workbook"):
        read_table(path)


def test_a_cell_in_the_far_corner_is_refused(book):
    """One cell far away would make a grid of thousands of millions of cells."""
    path = book(s=[["a"], [1]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="announces 1,048,576 rows of 16,384 columns"):
        read_table(path)


def test_a_missing_package_is_named(book, monkeypatch):
    """Without the extra the refusal says how to install it."""
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"'python-calamine'.*pip install hedgerow\[files\]"):
        read_table(book(s=[["a"], [1]]))


def test_merged_cells_below_the_names_are_refused(tmp_path):
    """The second row of a merged cell is no missing value; a merged title above the names is no matter."""

    def read(place, header_row=None):
        with xlsxwriter.Workbook(tmp_path / "merged.xlsx") as workbook:
            sheet = workbook.add_worksheet()
            for r, row in enumerate([["", ""], ["region", "pay"], ["North", 1], ["", 2], ["South", 3]]):
                sheet.write_row(r, 0, row)
            sheet.merge_range(*place, CANARY)
        return read_excel(tmp_path / "merged.xlsx", header_row=header_row)

    with pytest.raises(InputError, match="merged cells in row 3: only the first") as caught:
        read((2, 0, 3, 0))
    assert CANARY not in str(caught.value)
    assert read((0, 0, 0, 1), header_row=2).num_rows == 3


def _formatted(folder, code, *cells):
    """A workbook with numbers of one format below `zip`."""
    with xlsxwriter.Workbook(folder / "zip.xlsx") as workbook:
        sheet, shown = workbook.add_worksheet("people"), workbook.add_format({"num_format": code})
        sheet.write_row(0, 0, ["zip", "pay"])
        for row, cell in enumerate(cells, start=1):
            sheet.write(row, 0, cell, shown)
            sheet.write(row, 1, row)
    return folder / "zip.xlsx"


@pytest.mark.parametrize(("code", "read"), [
    ("00000", ["01234", "56789"]),
    ('"D-"00000', ["01234", "56789"]),
    ("[<=99999]00000;00000-0000", ["01234", "56789"]),
    ("000-00-0000", ["000001234", "000056789"]),
    ("0000", [1234, 56789]),
    ("0", [1234, 56789]),
    ("#,##0", [1234, 56789]),
    ("000000.00", [1234, 56789]),
    ("000000%", [1234, 56789]),
])  # fmt: skip
def test_leading_zeros_that_a_number_format_shows_are_kept(tmp_path, code, read):
    """A zip code of Boston is 01234 on the screen, and so it is where the sheet is saved as CSV."""
    assert read_table(_formatted(tmp_path, code, 1234, 56789)).arrow.column("zip").to_pylist() == read


def test_zip_codes_that_were_typed_in_several_ways_are_one_column(tmp_path):
    """Formatted numbers beside texts; a column that is declared as a number stays one."""
    path = _formatted(tmp_path, "00000", 1234, "00012", None, 56789, 0)
    assert read_table(path).arrow.column("zip").to_pylist() == ["01234", "00012", None, "56789", "00000"]
    numbers = _formatted(tmp_path, "00", 7, 12)
    assert read_table(numbers).arrow.column("zip").to_pylist() == ["07", "12"]
    assert read_table(numbers, types={"zip": "whole"}).arrow.column("zip").to_pylist() == [7, 12]


def test_formulas_without_results_are_refused_and_hidden_rows_are_counted(tmp_path):
    """A program that wrote formulas and never calculated leaves nothing to read."""
    path = _formatted(tmp_path, "0", 1, 2, 3)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<row r="3"', b'<row r="3" hidden="1"')

    def write(**changes):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in (parts | changes).items():
                archive.writestr(name, content)

    write()
    assert read_table(path).reading["hidden rows"] == "1, read like the others"
    assert read_table(path).num_rows == 3
    for formula in (b"<f>1+1</f>", b'<f t="shared" si="0"/>'):
        write(**{sheet: parts[sheet].replace(b"<v>3</v>", formula, 1)})
        with pytest.raises(InputError, match="'people' has formulas whose results are not stored"):
            read_table(path)


CORNERS = {
    "quotes": "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
    "small letters": '<row r="1048576"><c r="xfd1048576"><v>1</v></c></row>',
    "blanks": '<row r="1048576"><c r = "XFD1048576"><v>1</v></c></row>',
    "a line end": '<row r="1048576"><c\nr="XFD1048576"><v>1</v></c></row>',
    "a prefix": '<row r="1048576" xmlns:y="y"><y:c r="XFD1048576"><v>1</v></y:c></row>',
    "no place": '<row r="1048576">' + "<c/>" * 16_383 + "<c><v>1</v></c></row>",
    "more letters": '<row r="1000"><c r="AAAAAA1000"><v>1</v></c></row>',
    "just below the limit of cells": '<row r="1048576"><c r="AAA1048576"><v>1</v></c></row>',
}


def _with_sheet(path, rows, *, part="xl/worksheets/sheet1.xml", **more):
    """Put rows of XML in the place of a workbook's only sheet, under another name if asked, and add parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = parts.pop("xl/worksheets/sheet1.xml").replace("</sheetData>", f"{rows}</sheetData>")
    links = parts["xl/_rels/workbook.xml.rels"].replace("worksheets/sheet1.xml", part.removeprefix("xl/"))
    parts |= {part: sheet, "xl/_rels/workbook.xml.rels": links} | more
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def _refused(path):
    """Read a workbook in a process of its own, with little memory: without it the library aborts the process."""
    resource = pytest.importorskip("resource")
    code = f"import hedgerow as hr\ntry: hr.read_table({str(path)!r})\nexcept hr.InputError as error: print(error)"
    limit = 4 << 30
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0, done.stderr[-300:]
    return done.stdout


@pytest.mark.parametrize("way", CORNERS)
def test_a_far_cell_is_refused_however_it_is_written(way, book):
    """XML has many ways to write one cell, and the library reads them all."""
    said = _refused(_with_sheet(book(s=[["a"], [1]]), CORNERS[way]))
    assert re.search(r"The file announces|A sheet stores \d cells and spreads them", said)


def test_a_sheet_of_any_name_is_looked_at(book):
    """What is a sheet is said by its contents: its part may be called a picture."""
    for part in ("xl/media/a.png", "xl/content.xml"):
        said = _refused(_with_sheet(book(s=[["a"], [1]]), CORNERS["quotes"], part=part))
        assert "The file announces" in said


def test_cells_written_in_other_ways_are_read(book):
    """A sheet that needs the parser of XML is read as before."""
    path = _with_sheet(book(s=[["a"], [1]]), "<row r='3'><c r='A3'><v>2</v></c></row><row><c><v>3</v></c></row>")
    assert read_table(path).arrow.column("a").to_pylist() == [1, 2, 3]


def test_a_sheet_of_repeated_cells_is_refused(tmp_path):
    """In .ods files one cell can stand for a hundred million; empty ones at the ends are what every such file has."""
    spaces = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "table", "text")}
    declared = " ".join(f'xmlns:{name}="{space}"' for name, space in spaces.items())
    cell = '<table:table-cell {} office:value-type="{}" office:value="1"><text:p>a</text:p></table:table-cell>'
    first = f"<table:table-row>{cell.format('', 'string')}</table:table-row>"
    many, wide = 'table:number-rows-repeated="{}"', 'table:number-columns-repeated="{}"'
    end = f"<table:table-row {many.format(1_048_000)}><table:table-cell {wide.format(16_384)}/></table:table-row>"
    for rows, columns, refused in ((3, 1, False), (1_000_000, 100, True)):
        row = f"<table:table-row {many.format(rows)}>{cell.format(wide.format(columns), 'float')}</table:table-row>"
        path = tmp_path / f"{rows}.ods"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            archive.writestr("META-INF/manifest.xml", "<manifest/>")
            archive.writestr(
                "content.xml",
                f"<office:document-content {declared}><office:body><office:spreadsheet>"
                f'<table:table table:name="s">{first}{row}{end}</table:table>'
                "</office:spreadsheet></office:body></office:document-content>",
            )
        if refused:
            assert "A sheet stores 2 cells" in _refused(path)
        else:
            assert read_table(path).num_rows == rows


def test_large_descriptions_and_packed_texts_are_refused(book):
    """Styles are read as a whole, so few bytes of a packed file must not become a tree of millions of elements."""
    styles = "<styleSheet>" + "<a/>" * 5_000_000 + "</styleSheet>"
    with pytest.raises(InputError, match=r"part 'xl/styles\.xml' has more than"):
        read_table(_with_sheet(book(s=[["a"], [1]]), "", **{"xl/styles.xml": styles}))
