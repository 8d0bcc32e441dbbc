"""Binary workbooks (.xls, .xlsb), written here record by record: how far cells reach is known before they are built."""

import random
import struct
import zipfile

import pytest

import hedgerow as hr
from hedgerow.app.jobs import Stopped
from hedgerow.table import read_table
from hedgerow.table.binary import SheetExtent, records_grid, xls_grids
from hedgerow.table.checks import attempt

SMALL = {(0, 0): "a", (0, 1): "b", (1, 0): 1.0, (1, 1): 2.5, (2, 0): 3.0, (2, 1): 4.5}
FREE, END, TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def packed(number):
    """Seven bits a byte."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def record(kind, data=b""):
    """A record of an .xlsb file."""
    return packed(kind) + packed(len(data)) + data


def wide(text):
    """A text behind its length."""
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb_cells(cells):
    """Rows and their cells."""
    found, last = b"", None
    for (row, column), value in sorted(cells.items()):
        found += b"" if row == last else record(0, struct.pack("<I", row) + bytes(13))
        head, last = struct.pack("<II", column, 0), row
        found += record(6, head + wide(value)) if isinstance(value, str) else record(5, head + struct.pack("<d", value))
    return found


def xlsb(cells, path):
    """A workbook of one sheet."""
    link = b'<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.bin"/></Relationships>'
    sheet = record(129) + record(148, struct.pack("<IIII", 0, 2, 0, 1)) + record(145) + xlsb_cells(cells)
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("Sheet1"))
    parts = {
        "[Content_Types].xml": b"<Types/>",
        "xl/_rels/workbook.bin.rels": link,
        "xl/workbook.bin": book + record(144) + record(132),
        "xl/worksheets/sheet1.bin": sheet + record(146) + record(130),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def biff(kind, data=b""):
    """A record of an .xls file."""
    return struct.pack("<HH", kind, len(data)) + data


def cell(row, column, value):
    """A text or a number."""
    head = struct.pack("<HHH", row, column, 15)
    if isinstance(value, str):
        return biff(0x204, head + struct.pack("<HB", len(value), 0) + value.encode())
    return biff(0x203, head + struct.pack("<d", value))


def stream(*sheets, at=None, more=b""):
    """What the stream of a workbook holds; `at` says where its sheets begin, `more` goes before the cells."""
    begin = [biff(0x809, struct.pack("<HHHHII", 0x600, kind, 0x1D, 0x7CC, 0, 0)) for kind in (5, 16)]
    bodies = [begin[1] + more + b"".join(cell(*place, value) for place, value in cells.items()) for cells in sheets]
    bodies = [body + biff(0x0A) for body in bodies]
    head = begin[0] + biff(0x42, struct.pack("<H", 1200))
    places, name = [len(head) + 14 * len(sheets) + 4], b"S"
    for body in bodies[:-1]:
        places.append(places[-1] + len(body))
    for number, place in enumerate(places if at is None else at):
        head += biff(0x85, struct.pack("<IBBBB", place, 0, 0, 2, 0) + name + b"%d" % number)
    return head + biff(0x0A) + b"".join(bodies)


def compound(content, *, links=None, name="Workbook", size=None, small=False):
    """A file of streams: its table, its list, then the stream, in small sectors if asked; `links` makes it a circle."""
    length = len(content) if size is None else size
    inside = -(-len(content) // 64) if small else 0
    content = content.ljust(64 * inside if small else max(len(content), 4096), b"\0")
    count = -(-len(content) // 512)
    table = [TABLE, END, *(number + 3 for number in range(count))]
    table[-1] = END if links is None else links
    if small:
        table.append(END)
    more = struct.pack(f"<{inside}I", *range(1, inside), END).ljust(512, b"\xff") if small else b""

    def entry(named, kind, start, length):
        text = (named + "\0").encode("utf-16-le")
        head = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, FREE, FREE, 1 if kind == 5 else FREE)
        return head + bytes(36) + struct.pack("<IQ", start, length)

    length = max(length, 4096) if not small and size is None else length
    root = entry("Root Entry", 5, 2 if small else END, len(content) if small else 0)
    listed = root + entry(name, 2, 0 if small else 2, length) + bytes(256)
    head = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<9I", 0, 1, 1, 0, 4096, count + 2 if small else END, int(small), END, 0)
    head += struct.pack("<109I", 0, *[FREE] * 108)
    return (
        head + struct.pack("<128I", *table, *[FREE] * (128 - len(table))) + listed + content.ljust(count * 512) + more
    )


def refusal(file, **options):
    """Why a workbook is refused."""
    with pytest.raises(hr.InputError) as caught:
        read_table(file, **options)
    return str(caught.value)


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("name", ["Workbook", "Book"])
def test_workbooks_are_read(tmp_path, small, name):
    """Of both kinds, and whether or not the stream is a small one."""
    (tmp_path / "a.xls").write_bytes(compound(stream(SMALL), small=small, name=name))
    wanted = {"a": [1, 3], "b": [2.5, 4.5]}
    assert read_table(tmp_path / "a.xls").arrow.to_pydict() == wanted
    assert read_table(xlsb(SMALL, tmp_path / "a.xlsb")).arrow.to_pydict() == wanted


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("place", [(65_535, 255), (65_535, 65_000), (1, 65_535)])
def test_a_far_cell_of_an_xls_file_is_refused(tmp_path, place, small):
    """A file of five thousand bytes asked for 136 GB, and the process ended."""
    file = tmp_path / "a.XLS"  # whose kind is told by its first bytes
    file.write_bytes(compound(stream(SMALL | {place: 7.0}), small=small))
    if place[0] * place[1] > 10_000_000:
        assert "spreads them over" in refusal(file) or "announces" in refusal(file)
    assert [vars(grid) for grid in xls_grids(file.read_bytes())] == [
        {"rows": max(place[0] + 1, 3), "columns": place[1] + 1, "cells": 7}
    ]


@pytest.mark.parametrize("place", [(1_000_000, 16_000), (20_000, 1_000), (2, 2**32 - 1)])
def test_a_far_cell_of_an_xlsb_file_is_refused(tmp_path, place):
    """A file of two thousand bytes asked for 512 GB, and the process ended."""
    assert "column" in refusal(xlsb(SMALL | {place: 7.0}, tmp_path / "a.xlsb"))


def test_sheets_are_counted_together(tmp_path):
    """All of an .xls file are built when it is opened."""
    file = tmp_path / "a.xls"
    for sheets, fits in ((2, True), (9, False)):
        content = compound(stream(*[SMALL | {(5_000, 255): 7.0}] * sheets))
        file.write_bytes(content)
        assert len(list(xls_grids(content))) == sheets
        if fits:
            assert "Column 3 has no name" in refusal(file, sheet=1)
        else:
            assert "spreads them over" in refusal(file)


@pytest.mark.parametrize("at", [[0], [57, 57]])
def test_sheets_that_share_records_are_refused(tmp_path, at):
    """A thousand sheets could be one and the same, and be built a thousand times."""
    (tmp_path / "a.xls").write_bytes(compound(stream(*[SMALL] * len(at), at=at)))
    assert "not a whole workbook" in refusal(tmp_path / "a.xls")


@pytest.mark.parametrize(("rows", "columns"), [(65_536, 257), (65_537, 256), (2**32 - 16, 2), (2, 65_535)])
def test_dimensions_beyond_the_format_are_refused(tmp_path, rows, columns):
    """Room is made for that many cells, whether they come or not."""
    more = biff(0x200, struct.pack("<IIHHH", 0, rows, 0, columns, 0))
    (tmp_path / "a.xls").write_bytes(compound(stream(SMALL, more=more)))
    assert "not a whole workbook" in refusal(tmp_path / "a.xls")
    more = biff(0x200, struct.pack("<IIHHH", 0, 65_536, 0, 256, 0))
    assert list(xls_grids(compound(stream(SMALL, more=more)))) == [SheetExtent(3, 2, 6)]


def test_streams_that_go_round_in_a_circle_are_refused(tmp_path):
    """The last sector of the stream names the first as its next."""
    (tmp_path / "a.xls").write_bytes(compound(stream(SMALL), links=2))
    assert "not a whole workbook" in refusal(tmp_path / "a.xls")
    (tmp_path / "b.xls").write_bytes(compound(stream(SMALL), size=0))
    assert refusal(tmp_path / "b.xls")


def test_many_cells_of_one_record_are_counted():
    """From the first to the last column."""
    many = biff(0xBD, struct.pack("<HH", 4, 7) + bytes(12) + struct.pack("<H", 8))
    assert list(xls_grids(compound(stream({}, more=many)))) == [SheetExtent(5, 9, 1)]


def test_parts_that_are_no_sheets_have_no_cells():
    """Cells count behind the record that begins them; half a record is none."""
    cells = xlsb_cells(SMALL)
    assert records_grid(cells) == SheetExtent()
    assert records_grid(record(145) + cells) == SheetExtent(3, 2, 6)
    assert records_grid(record(145) + cells + b"\x05") == SheetExtent(3, 2, 6)
    assert records_grid(b"") == SheetExtent()


class PanicException(BaseException):
    """What libraries in Rust raise where they stop: no Exception."""


def test_a_panic_is_a_refusal():
    """One of polars or calamine went through every handler, and ended the program with a list of calls."""

    def panic():
        raise PanicException("some cell")

    with pytest.raises(hr.InputError, match="cannot be read") as caught:
        attempt(panic, "It cannot be read.")
    assert caught.value.__context__ is None

    for other in (KeyboardInterrupt, SystemExit, Stopped):  # the last one ends a job of the app

        def stop(other=other):
            raise other

        with pytest.raises(other):
            attempt(stop, "It cannot be read.")


@pytest.mark.parametrize("kind", ["xls", "xlsb"])
def test_damaged_workbooks_are_refused(tmp_path, kind):
    """With any bytes changed: read, or refused in a sentence."""
    draw = random.Random(7)
    whole, file = compound(stream(SMALL)), tmp_path / f"a.{kind}"
    if kind == "xlsb":
        whole = xlsb(SMALL, file).read_bytes()
    ends = [len(whole) - 22, 0] if kind == "xlsb" else [len(whole), 0]
    refused = 0
    for _ in range(150):
        forged = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            forged[draw.randrange(ends[1], ends[0])] = draw.choice([0, 1, 5, 127, 128, 255])
        file.write_bytes(forged)
        try:
            read_table(file)
        except hr.HedgerowError:
            refused += 1
    assert refused
