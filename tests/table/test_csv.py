"""Delimited text files, the good and the bad."""

import codecs
import datetime as dt
import time

import pyarrow as pa
import pytest

from hedgerow.errors import InputError, ParameterError
from hedgerow.table import read_csv, read_table


@pytest.fixture
def read(tmp_path):
    """Write bytes or text to a file and read it as a table."""

    def read(content, **options):
        path = tmp_path / "people.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_csv(path, **options).arrow

    return read


def test_types_come_from_the_whole_column(read):
    """One late decimal makes a column of whole numbers floats, one late word makes it text."""
    rows = "1,1,1\n" * 50_000
    table = read(f"a,b,c\n{rows}2,2.5,x\n")
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string()]
    assert [table.column(i)[-1].as_py() for i in range(3)] == [2, 2.5, "x"]


def test_a_word_in_a_later_block_is_seen(read):
    """Files are read in blocks; a column's type is decided over all of them, and no row is mixed up."""
    rows = 1_200_000
    body = "\n".join(f"{i},{i % 7}.5,level {i % 16}" for i in range(rows))
    table = read(f"a,b,c\n{body}\nlast,1,x\n")
    assert table.schema.types == [pa.string(), pa.float64(), pa.string()]
    assert table.column("a").to_pylist() == [*map(str, range(rows)), "last"]
    assert table.column("c")[rows - 1].as_py() == f"level {(rows - 1) % 16}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(read, delimiter):
    """Comma, semicolon, tab and bar are told apart, also where cells hold the others in quotes."""
    lines = [["a", "b", "c"], ["1", '"x,y;z|\t"', "2.5"], ["2", "w", "3.5"]]
    table = read("\n".join(delimiter.join(line) for line in lines))
    assert table.to_pydict() == {"a": [1, 2], "b": ["x,y;z|", "w"], "c": [2.5, 3.5]}


def test_one_column_may_hold_any_delimiter(read):
    """A file of one column is not cut by a comma inside of its cells."""
    assert read("name\nSmith, John\nDoe\n").to_pydict() == {"name": ["Smith, John", "Doe"]}


def test_a_delimiter_can_be_given(read):
    """What the caller says wins over detection."""
    assert read("a;b,c\n1;2,3\n", delimiter=";").column_names == ["a", "b,c"]


ENCODINGS = {
    "utf-8": "é,x\nü,1\n".encode(),
    "utf-8 with a mark": codecs.BOM_UTF8 + "é,x\nü,1\n".encode(),
    "utf-16 little": codecs.BOM_UTF16_LE + "é,x\nü,1\n".encode("utf-16-le"),
    "utf-16 big": codecs.BOM_UTF16_BE + "é,x\nü,1\n".encode("utf-16-be"),
    "latin-1": "é,x\nü,1\n".encode("latin-1"),
}


@pytest.mark.parametrize("case", ENCODINGS)
def test_encodings_are_found(read, case):
    """Byte-order marks are obeyed and dropped; bytes that are not UTF-8 are Western European."""
    assert read(ENCODINGS[case]).to_pydict() == {"é": ["ü"], "x": [1]}


def test_windows_letters_and_bytes_that_windows_lacks(read):
    """The euro sign is Windows-1252; a byte that it leaves undefined falls back to Latin-1."""
    assert read(b"a,b\n\x80,1\n").column("a").to_pylist() == ["€"]
    assert read(b"a,b\n\x81\xe9,1\n").column("a").to_pylist() == ["\x81é"]


def test_an_encoding_can_be_given(read):
    """A named encoding is used, and refused where it does not fit."""
    assert read("a,b\nщ,1\n".encode("cp1251"), encoding="cp1251").column("a").to_pylist() == ["щ"]
    with pytest.raises(InputError, match="not valid utf-8"):
        read(b"a,b\n\xff,1\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="'encoding' must name a text encoding"):
        read("a,b\n1,2\n", encoding="klingon")


def test_missing_values(read):
    """Empty cells and a few markers are missing, with spaces around them too."""
    body = "".join(f"{cell},{cell},1\n" for cell in ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "?", " ? "])
    table = read(f"a,b,c\n{body}x,5,1\n")
    assert table.to_pydict() == {"a": [None] * 10 + ["x"], "b": [None] * 10 + [5], "c": [1] * 11}


def test_a_quoted_marker_is_a_text_among_texts(read):
    """Quotes tell Namibia's code from a missing value, except among numbers, where only missing makes sense."""
    assert read('a,b\n"NA","NA"\nx,1\nNA,2\n').to_pydict() == {"a": ["NA", "x", None], "b": [None, 1, 2]}
    assert read('a,b\n"NA",1\n').to_pydict() == {"a": ["NA"], "b": [1]}


def test_an_empty_quoted_cell_is_missing(read):
    """Programs that quote everything write missing values as empty quotes."""
    assert read('"a","b"\n"",""\n"x","1"\n').to_pydict() == {"a": [None, "x"], "b": [None, 1]}


def test_zip_codes_stay_text(read):
    """A leading zero means that the digits are a name."""
    assert read("zip,n\n01234,0\n99999,10\n").to_pydict() == {"zip": ["01234", "99999"], "n": [0, 10]}


def test_spaces_around_cells_are_dropped(read):
    """The Adult file puts a space after each comma."""
    table = read("age, work, pay\n39, State-gov, ?\n50, Private, 12\n")
    assert table.to_pydict() == {"age": [39, 50], "work": ["State-gov", "Private"], "pay": [None, 12]}


def test_quoted_cells_hold_lines_delimiters_and_quotes(read):
    """The format's own signs survive in quotes."""
    assert read('a,b\n"x\ny","1,""2"""\r\nz,w\n').to_pydict() == {"a": ["x\ny", "z"], "b": ['1,"2"', "w"]}


def test_a_quote_inside_a_cell_is_a_sign_like_any_other(read):
    """An inch sign in the header swallows no line."""
    assert read('5" pipe,x\n1,2"\n3,4\n').to_pydict() == {'5" pipe': [1, 3], "x": ['2"', "4"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(read, end):
    """Unix, Windows and old Macintosh lines are read, with or without the last end and with blank lines."""
    assert read(end.join(["", "a,b", "1,2", "", "3,4"])).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_dates_and_timestamps(read):
    """ISO dates and timestamps are recognised; with a zone they are given in UTC."""
    table = read(
        "d,t,z\n2020-02-29,2020-01-01 10:00,2020-01-01T10:00:00.5+02:00\n"
        "0001-01-01,1999-12-31T23:59:59,2020-01-01T00:00Z\n"
    )
    assert table.schema.types == [pa.date32(), pa.timestamp("us"), pa.timestamp("us")]
    assert table.column("d").to_pylist() == [dt.date(2020, 2, 29), dt.date(1, 1, 1)]
    assert table.column("z")[0].as_py() == dt.datetime(2020, 1, 1, 8, 0, 0, 500_000)


REFUSED = {
    "empty": (b"", "file is empty"),
    "blank": (b"\n \n\r\n  ", "file is empty"),
    "only a mark": (codecs.BOM_UTF8, "file is empty"),
    "no rows": (b"a,b\n", "header and no rows"),
    "blank rows": (b"a,b\n\n\r\n", "header and no rows"),
    "a mark instead of rows": (b"a,b\n" + codecs.BOM_UTF8 + b"\n\n", "header and no rows"),
    "nul": (b"a,b\n1,canary\n2,can\0ary\n", "Line 3 holds a NUL"),
    "utf-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "declare the encoding utf-16-le"),
    "mixed encodings": ("a,b\né,1\n".encode() + b"\xe9canary,2\n", "Line 3 is not valid UTF-8"),
    "broken utf-16": (codecs.BOM_UTF16_LE + b"a\0,", "not valid utf-16"),
    "short row": (b"a,b\n1,2\ncanary\n", "Line 3 has 1 cell where the header has 2"),
    "long row": (b"a,b\n1,2\n1,canary,3\n", "Line 3 has 3 cells where the header has 2"),
    "long row after quoted lines": (b'a,b\n\n"x\ny",2\n\n1,canary,3\n', "Line 6 has 3 cells"),
    "long row after a long row": (b'a,b\n1,"' + b"x" * (40 << 20) + b'"\n1,2,3\n', "Line 3 has 3 cells"),
    "same names": (b"a,canary,canary\n1,2,3\n", "columns 2, 3 share a name"),
    "same names but for spaces": (b"a, a\n1,2\n", "columns 1, 2 share a name"),
    "no name": (b",b\n0,1\n", "Column 1 has no name"),
    "a trailing delimiter": (b"a,b,\n0,1,\n", "Column 3 has no name"),
    "open quote": (b'a,b\n1,"canary\n2,3\n', "opens a quote and never closes it"),
    "open quote in the header": (b'a,"b\n1,2\n', "Line 1 opens a quote in the header"),
    "open quote in a short row": (b'1,b\n"\n\n', "opens a quote and never closes it"),
    "long row after an inch": (b'a,b\n5" canary,1\n1,2,3\n', "Line 3 has 3 cells"),
    "short row with an inch": (b'a,b\n1,2\ncanary"\n', "Line 3 has 1 cell"),
    "nothing but quotes": (b'""', "Column 1 has no name|no rows"),
    "infinite": (b"a,b\n1,inf\n2,3\n", "Column 'b' holds an infinite"),
    "negative infinite": (b"a,b\n1,-Infinity\n2,3.5\n", "Column 'b' holds an infinite"),
    "too large": (b"a,b\n1,1e400\n2,3\n", "Column 'b' holds an infinite number, or one beyond the range"),
    "a name without end": (b"a" * 200_000 + b",b\n1,2\n", "first line cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_files_are_refused_in_a_sentence(read, case):
    """The refusal says where and why, quotes no cell and carries no foreign error along."""
    content, reason = REFUSED[case]
    with pytest.raises(InputError, match=reason) as caught:
        read(content)
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_refused_delimiter(read):
    """Delimiters other than the four are refused by name."""
    with pytest.raises(ParameterError, match="'delimiter' must be one of"):
        read("a,b\n1,2\n", delimiter="x")


def test_negative_zero_and_tiny_numbers(read):
    """Minus zero is zero, and a number too small for a float is zero."""
    assert list(map(str, read("a\n-0.0\n1e-400\n1.5\n").column("a").to_pylist())) == ["0.0", "0.0", "1.5"]


def test_one_row_is_enough(read):
    """A table of one row is a table."""
    assert read("a,b\n1,x\n").to_pydict() == {"a": [1], "b": ["x"]}


def test_empty_lines_of_one_column_are_missing(read):
    """Where there is one column an empty line is a cell."""
    assert read("a\n1\n\n3\n").to_pydict() == {"a": [1, None, 3]}


@pytest.mark.parametrize("size", [1 << 20, 40 << 20])
def test_long_cells(read, size):
    """A cell of a megabyte, and one that spans more than two of the blocks that files are read in, are cells."""
    table = read('a,b\n1,"' + "x" * size + '"\n2,y\n')
    assert [len(cell) for cell in table.column("b").to_pylist()] == [size, 1]


def test_ten_thousand_columns(read):
    """A wide file is read in seconds of processor time, which a busy machine does not change much."""
    started = time.process_time()
    table = read(",".join(f"c{i}" for i in range(10_000)) + "\n" + ",".join(["5", "x"] * 5_000) + "\n")
    assert (table.num_columns, table.column(9_999).to_pylist()) == (10_000, ["x"])
    assert time.process_time() - started < 60


def test_quoted_lines_survive_where_blocks_meet(read):
    """A file longer than a block is cut between rows, not at a line end inside of quotes."""
    cell = "\n".join(["word"] * 200)
    table = read("a,b\n" + f'1,"{cell}"\n' * 20_000)
    assert table.column("a").to_pylist() == [1] * 20_000
    assert table.column("b").unique().to_pylist() == [cell]


def test_unusual_names_survive(read):
    """Quotes, dots, spaces, keywords and lines in names are names."""
    names = ["group", "select", 'say "hi"', "a.b", "two words", "two\nlines", "a,b"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert read(header + "\n" + ",".join("1" * len(names)) + "\n").column_names == names


def test_reading_opens_the_file_alone(tmp_path):
    """No cell is parked in a temporary file: during a read only the source is opened, and only to read."""
    import sys

    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,x\n")
    read_table(path)
    opened = []
    watching = [True]
    sys.addaudithook(lambda event, args: opened.append(args[:2]) if watching[0] and event == "open" else None)
    read_table(path)
    watching[0] = False
    assert {(str(name), mode) for name, mode in opened} == {(str(path), "r")}
    assert [entry.name for entry in tmp_path.iterdir()] == ["people.csv"]
