"""Files as they come: declared or found out, compressed, in folders and databases; wrong declarations are refused."""

import datetime as dt
import gzip
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.scale import column_names
from hedgerow.verify import verify_bundle

PLAIN = "name;pay;born\nAnn;1,5;2000-01-02\nBob;2,25;1999-12-31\n"


def _write(folder, text, name="t.csv"):
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def _columns(table):
    return table.arrow.to_pydict()


def test_a_decimal_comma_is_found_where_commas_cut_no_cells(tmp_path):
    """Semicolons and commas in numbers: a European file; the table says how it was read."""
    table = hr.read_table(_write(tmp_path, PLAIN))
    assert _columns(table)["pay"] == [1.5, 2.25]
    assert table.reading["decimal"] == ","
    assert table.reading["delimiter"] == ";"


def test_points_and_commas_in_one_file_are_not_guessed(tmp_path):
    """Where some column has points, a comma is no decimal sign."""
    text = "a;b\n1,5;1.5\n2,5;2.5\n"
    assert _columns(hr.read_table(_write(tmp_path, text)))["a"] == ["1,5", "2,5"]
    declared = _columns(hr.read_table(_write(tmp_path, text), decimal=","))
    assert declared == {"a": [1.5, 2.5], "b": ["1.5", "2.5"]}


def test_thousands_are_read_only_where_they_are_whole(tmp_path):
    """1.234,5 is a number with both signs declared; 12.34 is none then."""
    text = "a;b\n1.234,5;12.34\n7;1\n"
    read = _columns(hr.read_table(_write(tmp_path, text), decimal=",", thousands="."))
    assert read == {"a": [1234.5, 7.0], "b": ["12.34", "1"]}


def test_a_file_without_a_header_is_found_by_its_cells_or_declared(tmp_path):
    """A number like its column and a text that occurs again: the first line is a row."""
    text = "Male,39\nFemale,50\nMale,38\n"
    table = hr.read_table(_write(tmp_path, text))
    assert _columns(table) == {"column1": ["Male", "Female", "Male"], "column2": [39, 50, 38]}
    assert "none" in table.reading["header"]
    assert hr.read_table(_write(tmp_path, text), header=True).names == ("Male", "39")
    numbers = "1,2\n3,4\n"
    assert hr.read_table(_write(tmp_path, numbers)).names == ("1", "2")
    assert hr.read_table(_write(tmp_path, numbers), header=False).num_rows == 2


def test_quotes_missing_codes_and_types_are_declared(tmp_path):
    """Single quotes, no quotes, codes for missing, texts of digits."""
    text = "zip,score,note\n12,-9,'a,b'\n34,5,'c'\n"
    table = hr.read_table(_write(tmp_path, text), quote="'", missing_codes=["-9"], types={"zip": "text"})
    assert _columns(table) == {"zip": ["12", "34"], "score": [None, 5], "note": ["a,b", "c"]}
    assert _columns(hr.read_table(_write(tmp_path, 'a,b\n"x,1\n'), quote="none")) == {"a": ['"x'], "b": [1]}
    frame = pa.table({"zip": [12, -9]})
    pq.write_table(frame, tmp_path / "t.parquet")
    read = hr.read_table(tmp_path / "t.parquet", missing_codes="-9", types={"zip": "text"})
    assert _columns(read) == {"zip": ["12", None]}


@pytest.mark.parametrize("ending", ["gz", "zip", "zst"])
def test_compressed_files_are_read_like_the_ones_inside(tmp_path, ending):
    """Nothing is left behind, and what is inside decides how it is read."""
    file = tmp_path / f"t.csv.{ending}"
    if ending == "gz":
        file.write_bytes(gzip.compress(PLAIN.encode()))
    elif ending == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("inside/t.csv", PLAIN)
    else:
        with pa.CompressedOutputStream(str(file), "zstd") as out:
            out.write(PLAIN.encode())
    assert _columns(hr.read_table(file))["pay"] == [1.5, 2.25]
    damaged = _write(tmp_path, file.read_bytes()[:20], f"damaged.csv.{ending}")
    with pytest.raises(hr.InputError, match="cannot be unpacked"):
        hr.read_table(damaged)


def test_an_archive_of_several_files_is_refused(tmp_path):
    """A table is one file."""
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", PLAIN)
        archive.writestr("b.csv", PLAIN)
    with pytest.raises(hr.InputError, match="holds 2 files"):
        hr.read_table(tmp_path / "t.zip")


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    """Files in order, folders `name=value` as columns; files that differ are refused."""
    for year in (2001, 2002):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [year]}), tmp_path / "t" / f"year={year}" / "part.parquet")
    assert _columns(hr.read_table(tmp_path / "t")) == {"a": [2001, 2002], "year": [2001, 2002]}
    pq.write_table(pa.table({"b": [1]}), tmp_path / "t" / "year=2002" / "z.parquet")
    with pytest.raises(hr.InputError, match="differ in columns or types"):
        hr.read_table(tmp_path / "t")
    (tmp_path / "empty").mkdir()
    with pytest.raises(hr.InputError, match="without Parquet files"):
        hr.read_table(tmp_path / "empty")


def test_a_folder_is_named_in_what_is_said_of_it(tmp_path, monkeypatch):
    """Also the one that one is in, which has no name; a release is called one."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "b.parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.InputError, match=r"files in '\.' differ"):
        hr.read_table(".")
    (tmp_path / "a.parquet").write_bytes(b"damaged")
    with pytest.raises(hr.InputError, match=r"in '\.' is cut short"):
        hr.read_table(".")
    table = {"sex": ["f", "m"] * 4, "pay": [1, 2] * 4}
    hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["sex"], sensitive="pay")).save("out")
    with pytest.raises(hr.InputError, match="'out' is a release of hedgerow and no table"):
        hr.read_table("out")


def test_a_table_of_duckdb(tmp_path):
    """`duckdb:file#table`, also with a schema; the file is not written to."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age, 'x' AS town")
    before = (tmp_path / "d.duckdb").read_bytes()
    for name in ("people", "main.people"):
        assert _columns(hr.read_table(f"duckdb:{tmp_path}/d.duckdb#{name}")) == {"age": [1], "town": ["x"]}
    assert (tmp_path / "d.duckdb").read_bytes() == before
    for wrong, message in (
        (f"duckdb:{tmp_path}/d.duckdb", "behind '#'"),
        (f"duckdb:{tmp_path}/d.duckdb#no", "no such"),
    ):
        with pytest.raises(hr.InputError, match=message):
            hr.read_table(wrong)


def test_a_view_of_any_number_of_rows_is_counted_first(tmp_path):
    """Some letters in a database asked for all memory there is."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE VIEW many AS SELECT range AS a, 1 AS b FROM range(3000000000)")
        connection.execute("CREATE VIEW few AS SELECT range AS a, 1 AS b FROM range(50)")
    with pytest.raises(hr.InputError, match="3,000,000,000 rows of 2 columns, more than the limit of 1,000,000,000"):
        hr.read_table(f"duckdb:{tmp_path}/d.duckdb#many")
    assert hr.read_table(f"duckdb:{tmp_path}/d.duckdb#few", max_cells=100).num_rows == 50
    with pytest.raises(hr.InputError, match="more than the limit of 99"):
        hr.read_table(f"duckdb:{tmp_path}/d.duckdb#few", max_cells=99)


def test_a_view_of_a_database_reads_nothing_but_the_database(tmp_path):
    """A database from a stranger does not read the owner's files, nor variables, in memory and in blocks."""
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "own.csv").write_text("age,pay\n" + "".join(f"{20 + n % 9},{n % 5}\n" for n in range(45)))
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range % 9 AS age, range % 5 AS pay FROM range(45)")
        connection.execute("CREATE VIEW same AS SELECT * FROM people")
        connection.execute(f"CREATE VIEW files AS SELECT * FROM read_csv('{tmp_path}/own.csv')")
        connection.execute(f"CREATE VIEW bytes AS SELECT 1 AS age, size AS pay FROM read_blob('{tmp_path}/own.csv')")
    schema = hr.Schema(quasi="age", sensitive="pay")
    for number, name in enumerate(("files", "bytes")):
        source = f"duckdb:{tmp_path}/d.duckdb#{name}"
        with pytest.raises(hr.InputError, match="reads more than the database"):
            hr.read_table(source)
        with pytest.raises(hr.InputError, match="cannot be read"):
            hr.Anatomy(2).publish(source, schema, out=tmp_path / f"out{number}")
    assert hr.read_table(f"duckdb:{tmp_path}/d.duckdb#same").num_rows == 45
    hr.Anatomy(2).publish(f"duckdb:{tmp_path}/d.duckdb#same", schema, out=tmp_path / "out")
    assert verify_bundle(tmp_path / "out").checks


def test_a_server_that_is_not_there_is_refused_without_its_address():
    """No password in a message."""
    pytest.importorskip("psycopg")
    with pytest.raises(hr.InputError, match="cannot be reached") as caught:
        hr.read_table("postgresql://someone:canary@localhost:1/none#t")
    assert "canary" not in str(caught.value)


def test_labels_of_a_statistics_package(tmp_path):
    """Codes by default, labels when asked; declared missing values are missing; codes without a label are refused."""
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [30.0, 40.0, 50.0]})
    labels = {"sex": {1.0: "male", 2.0: "female"}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels, missing_ranges={"sex": [9.0]})
    table = hr.read_table(tmp_path / "t.sav")
    assert _columns(table) == {"sex": [1, 2, None], "age": [30, 40, 50]}
    assert table.reading["value labels"] == "read as codes: sex"
    assert _columns(hr.read_table(tmp_path / "t.sav", labels=True))["sex"] == ["male", "female", None]
    pyreadstat.write_sav(frame, str(tmp_path / "u.sav"), variable_value_labels=labels)
    with pytest.raises(hr.InputError, match="1 codes of 'sex' have no label"):
        hr.read_table(tmp_path / "u.sav", labels=True)
    read = hr.read_table(tmp_path / "u.sav", labels=True, missing_codes=["9"])
    assert _columns(read)["sex"] == ["male", "female", None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "x"}, "'delimiter' must be one of"),
        ({"decimal": ";"}, "'decimal' must be"),
        ({"thousands": ","}, None),
        ({"thousands": "."}, "must be different signs"),
        ({"quote": "ab"}, "'quote' must be"),
        ({"encoding": "none"}, "'encoding' must name"),
        ({"encoding": "ascii"}, "not valid ascii"),
        ({"sheet": 1}, "'sheet' is an option of a workbook; this is a delimited text"),
        ({"labels": True}, "'labels' is an option of a file of a statistics package"),
        ({"types": {"pay": "money"}}, "must be one of text, whole, number"),
        ({"types": {"gone": "text"}}, "declared for 'gone', but the file has no such column"),
        ({"types": {"name": "number"}}, "Column 'name' cannot be read as number"),
        ({"missing_codes": [9]}, "'missing_codes' must be texts"),
        ({"delimeter": ";"}, "no option 'delimeter' of reading"),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_sentence(tmp_path, options, message):
    """With what to do about it, and no cell in it."""
    file = _write(tmp_path, "name;pay\nCanary é;1\n")
    if message is None:
        assert hr.read_table(file, **options).num_rows == 1
        return
    with pytest.raises(hr.HedgerowError, match=message) as caught:
        hr.read_table(file, **options)
    assert "Canary" not in str(caught.value)


@pytest.mark.parametrize(("text", "options", "message"), [
    ("name;pay\ncanary;1\nb;2\n", {"delimiter": ","}, "cuts no line; ';' makes 2 columns"),
    ("name\tpay\ncanary\t1\nb\t2\n", {"delimiter": ";"}, "cuts no line; tab makes 2 columns"),
    ("name;pay\ncanary;1\nb;2\n", {"header": False}, "looks like names: without it 1 of the columns"),
    ("name;pay\ncanary;1,5\nb;2,5\n", {"decimal": "."}, "'pay' holds numbers with a decimal comma"),
])  # fmt: skip
def test_a_declaration_that_the_file_contradicts_is_refused(tmp_path, text, options, message):
    """Nothing is read as something else in silence; the file is read once the declaration is gone."""
    with pytest.raises(hr.InputError, match=message) as caught:
        hr.read_table(_write(tmp_path, text), **options)
    assert "canary" not in str(caught.value)
    assert hr.read_table(_write(tmp_path, text)).num_rows == 2


def test_declarations_that_fit_stay_possible(tmp_path):
    """One column, rows of texts alone, codes with commas as text, and a first line that looks like a row."""
    assert hr.read_table(_write(tmp_path, "pay\n1\n2\n"), delimiter=";").num_rows == 2
    assert hr.read_table(_write(tmp_path, "a;b\nc;d\n"), header=False).num_rows == 2
    assert hr.read_table(_write(tmp_path, "x;3\nc;4\n"), header=False).num_rows == 2
    codes = hr.read_table(_write(tmp_path, "a;b\n1,5;x\n2,5;y\n"), decimal=".", types={"a": "text"})
    assert _columns(codes)["a"] == ["1,5", "2,5"]
    assert "--no-header" in hr.read_table(_write(tmp_path, "m,3\nf,5\nm,8\n"), header=True).reading["header"]


def test_labels_and_missing_codes_of_stata(tmp_path):
    """Stata's own missing codes are missing, whatever they are called; its labels are read when asked for."""
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": [1, 2, 1], "age": [30.0, "a", 50.0]})
    labels = {"sex": {1: "male", 2: "female"}}
    pyreadstat.write_dta(
        frame, str(tmp_path / "t.dta"), variable_value_labels=labels, missing_user_values={"age": ["a"]}
    )
    assert _columns(hr.read_table(tmp_path / "t.dta")) == {"sex": [1, 2, 1], "age": [30, None, 50]}
    assert _columns(hr.read_table(tmp_path / "t.dta", labels=True))["sex"] == ["male", "female", "male"]


def test_a_table_of_a_live_server():
    """Columns, types and gaps as they are there; a schema before the name; a table that is not there."""
    pgserver, psycopg = pytest.importorskip("pgserver"), pytest.importorskip("psycopg")
    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "data")
        try:
            url = server.get_uri()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE SCHEMA survey")
                connection.execute("CREATE TABLE survey.people (age int, town text, pay numeric(8,2), born date)")
                connection.execute(
                    "INSERT INTO survey.people VALUES (30, 'a', 1.50, '1990-01-02'), (40, NULL, 2.25, '1980-03-04')"
                )
                connection.execute("CREATE VIEW adults AS SELECT age, town FROM survey.people")
            table = hr.read_table(f"{url}#survey.people")
            assert table.names == ("age", "town", "pay", "born")
            assert table.arrow.column("town").to_pylist() == ["a", None]
            assert [float(pay) for pay in table.arrow.column("pay").to_pylist()] == [1.5, 2.25]
            assert str(table.arrow.column("born").to_pylist()[1]) == "1980-03-04"
            assert hr.read_table(f"{url}#adults").num_rows == 2
            with pytest.raises(hr.InputError, match="no such table"):
                hr.read_table(f"{url}#nobody")
        finally:
            server.cleanup()


def test_frames_have_no_options_of_reading():
    """What was read already cannot be read otherwise."""
    with pytest.raises(hr.ParameterError, match="option of reading files"):
        hr.read_table({"a": [1]}, decimal=",")


@pytest.mark.parametrize("name", ["b.parquet", "b.csv"])
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path, name):
    """Whoever opens a pipe waits for its writer; it is refused in memory and in blocks."""
    folder = tmp_path / "table"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1]}), folder / "a.parquet")
    os.mkfifo(folder / name)
    if name == "b.csv":
        (folder / "a.parquet").unlink()
    for read in (hr.read_table, column_names):
        with pytest.raises(hr.InputError):
            read(folder)


def test_codes_keep_their_signs_where_signs_of_numbers_are_declared(tmp_path):
    """01.234 has a leading zero, so it is a code and no number: its point is not taken for one between thousands."""
    text = "code;long;pay\n001.234;20.123.456.789.012.345.678;1.234,5\n1.234;1.234;7\n"
    read = _columns(hr.read_table(_write(tmp_path, text), decimal=",", thousands="."))
    assert read == {"code": ["001.234", "1.234"], "long": ["20.123.456.789.012.345.678", "1.234"], "pay": [1234.5, 7.0]}


@pytest.mark.parametrize("text", ["pay;n\n1{}234;1\n567;2\n", "n\tpay\n1\t1{}234\n2\t0\n"])
@pytest.mark.parametrize(("sign", "other"), [".,", ",."])
def test_signs_that_may_separate_thousands_are_refused(tmp_path, text, sign, other):
    """1.234 beside 567 and 0 is a bit more than one, or than a thousand: nobody but the owner knows."""
    file = _write(tmp_path, text.format(sign))
    with pytest.raises(hr.InputError, match=f"'pay' has exactly three digits behind each '{sign}'") as caught:
        hr.read_table(file)
    assert f"(--decimal {sign}), or decimal='{other}' and thousands='{sign}'" in str(caught.value)
    assert _columns(hr.read_table(file, decimal=sign))["pay"][0] == 1.234
    assert _columns(hr.read_table(file, decimal=other, thousands=sign))["pay"][0] == 1234
    assert _columns(hr.read_table(file, types={"pay": "text"}))["pay"][0] == f"1{sign}234"
    assert _columns(hr.read_table(file, thousands=" "))["pay"][0] == 1.234


def test_another_column_says_which_sign_stands_before_decimals(tmp_path):
    """Where 2,5 is a number 1.234 is none until its sign is declared; where 2.5 is one, so is 1.234."""
    for text, read in (("1.234;2,5", "1.234"), ("1.234;2.5", 1.234), ("1,234;2,5", 1.234), ("1.234;0.567", 1.234)):
        assert _columns(hr.read_table(_write(tmp_path, f"pay;n\n{text}\n")))["pay"] == [read]
    with pytest.raises(hr.InputError, match="'pay' has exactly three digits"):
        hr.read_table(_write(tmp_path, "pay;n;m\n1.234;2,5;2.5\n"))
    codes = _write(tmp_path, "pay;n\n1,5;1\n-;2\n")
    assert _columns(hr.read_table(codes, missing_codes=["-"]))["pay"] == [1.5, None]


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_without_a_mark_is_named(tmp_path, order):
    """Two bytes a sign and nothing that says so: the refusal says what to declare, and then it is read."""
    file = _write(tmp_path, "name;town\nMüller;Köln\n".encode(f"utf-16-{order}"))
    with pytest.raises(hr.InputError, match=f"declare the encoding utf-16-{order}"):
        hr.read_table(file)
    assert _columns(hr.read_table(file, encoding=f"utf-16-{order}")) == {"name": ["Müller"], "town": ["Köln"]}


def test_a_title_above_the_names_is_named(tmp_path):
    """One name and nothing beside it is a title more often than a table of nameless columns."""
    for text in ("Report of 2020;;\na;b;c\n1;2;3\n", "sep=;\na;b\n1;2\n"):
        with pytest.raises(hr.InputError, match="title"):
            hr.read_table(_write(tmp_path, text))
    with pytest.raises(hr.InputError, match=r"Column 2 has no name; name it or remove it\.$"):
        hr.read_table(_write(tmp_path, "a,,c\n1,2,3\n"))


@pytest.mark.parametrize(("kind", "hint"), [("date", "2026-01-31"), ("number", "decimal sign"), ("truth", "true and")])
def test_a_type_that_does_not_fit_says_how_it_is_written(tmp_path, kind, hint):
    """Whoever has dates of another notation learns which one is read."""
    with pytest.raises(hr.InputError, match=hint):
        hr.read_table(_write(tmp_path, "d,n\n31.01.2020,1\n28.02.2021,2\n"), types={"d": kind})


@pytest.mark.parametrize(("values", "read"), [
    (("01234", "56789"), ["01234", "56789"]),
    (("1234", "56789"), [1234, 56789]),
    (("2020-01-01", "x%2Fy"), ["2020-01-01", "x/y"]),
    (("7", "__HIVE_DEFAULT_PARTITION__"), [7, None]),
])  # fmt: skip
def test_names_of_folders_are_typed_like_cells(tmp_path, values, read):
    """A zip code that names a folder keeps its zeros, as it does in a delimited file."""
    for value in values:
        (tmp_path / "t" / f"zip={value}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [1]}), tmp_path / "t" / f"zip={value}" / "part.parquet")
    assert set(_columns(hr.read_table(tmp_path / "t"))["zip"]) == set(read)


def test_folders_that_name_other_columns_are_refused(tmp_path):
    """Rows of one folder would have no zip, and those of the other no town; or two values of one column."""
    folder = tmp_path / "table"
    for other, message in (("town=1", "name different columns"), (".", "different depths"), ("a=1", "hold as well")):
        shutil.rmtree(folder, ignore_errors=True)
        for name in {"zip=1" if other != "a=1" else other, other}:
            (folder / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"a": [1]}), folder / name / "part.parquet")
        with pytest.raises(hr.InputError, match=message):
            hr.read_table(folder)


DAY, NOON = dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2, 12)
DECLARED = {
    "hexadecimal": (["0x1F", "7"], "whole", None),
    "a number of text": (["1e3", "7"], "number", [1000.0, 7.0]),
    "zeros in front": (["007", "8"], "whole", None),
    "truth of text": (["1", "0"], "truth", None),
    "truth of a number": ([7, 0], "truth", None),
    "a time of a number": ([7, 0], "time", None),
    "a number of a time": ([DAY, NOON], "whole", None),
    "a day of times": ([DAY, NOON], "date", None),
    "a day of midnights": ([DAY, None], "date", [DAY.date(), None]),
    "a time of a day": ([DAY.date()], "time", [DAY]),
    "a part of a number": ([1.5, 2.0], "whole", None),
    "a whole float": ([1.0, None], "whole", [1, None]),
    "beyond 2^53": ([2**60 + 1], "number", None),
    "text of anything": ([True, None], "text", ["true", None]),
    "a number of truth": ([True], "number", None),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_declared_type_keeps_what_the_cells_of_a_typed_file_say(tmp_path, name):
    """Arrow's casts read 0x1F as 31 and 7 as true, and make 1970 of whole numbers."""
    cells, kind, read = DECLARED[name]
    pq.write_table(pa.table({"a": cells, "b": list(range(len(cells)))}), tmp_path / "t.parquet")
    if read is None:
        with pytest.raises(hr.InputError, match=f"Column 'a' cannot be read as {kind}"):
            hr.read_table(tmp_path / "t.parquet", types={"a": kind})
    else:
        assert _columns(hr.read_table(tmp_path / "t.parquet", types={"a": kind}))["a"] == read


QUOTES = {
    "backslashes": 'a,b\n1,"say \\"hi\\""\n',
    "behind a closing quote": 'a,b\n1,"x"y\n',
    "an empty cell and more": 'a,b\n1,""x"\n',
    "behind a doubled quote": 'a,b\n1,"x"""y\n',
    "a delimiter before the quote": 'a,b\n1,"x,"y\n',
    "a line before the quote": 'a,b\n1,"x\n"y\n',
}


@pytest.mark.parametrize("text", QUOTES.values(), ids=QUOTES.keys())
def test_text_behind_a_closing_quote_is_refused(tmp_path, text):
    """Arrow would drop the quote and glue both together: a cell that nobody wrote."""
    with pytest.raises(hr.InputError, match=r"Line [23] has text behind a closing quote"):
        hr.read_table(_write(tmp_path, text))


def test_blanks_around_quotes(tmp_path):
    """Behind a quoted cell they are dropped; before it the quotes would be part of the text, which is refused."""
    assert _columns(hr.read_table(_write(tmp_path, 'a,b\n"x" ,1\n"y"\t,2\n'))) == {"a": ["x", "y"], "b": [1, 2]}
    with pytest.raises(hr.InputError, match="Column 'b' has a blank before a quote"):
        hr.read_table(_write(tmp_path, 'a, "b"\n1, "x"\n'))
    kept = hr.read_table(_write(tmp_path, 'a,b\n1, "x"\n'), quote="none")
    assert _columns(kept)["b"] == ['"x"']


def test_a_folder_is_one_table_or_refused(tmp_path, monkeypatch):
    """No row is left out or counted twice in silence, and no whole disk is searched."""
    folder = tmp_path / "table"
    (folder / "year=1").mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), folder / "year=1" / "a.parquet")
    assert hr.read_table(folder).num_rows == 1
    (folder / ".checkpoints").mkdir()
    pq.write_table(pa.table({"x": [1]}), folder / ".checkpoints" / "a.parquet")
    with pytest.raises(hr.InputError, match=r"'\.checkpoints', whose name says that it is hidden"):
        hr.read_table(folder)
    (folder / ".checkpoints" / "a.parquet").rename(tmp_path / "b.parquet")
    (folder / "year=2").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(hr.InputError, match="'year=2' in 'table' is a link to a folder"):
        hr.read_table(folder)
    (folder / "year=2").unlink()
    monkeypatch.setattr("hedgerow.table.checks._MOST_ENTRIES", 2)
    with pytest.raises(hr.InputError, match="more than 2 files and folders"):
        hr.read_table(folder)


def test_a_folder_that_cannot_be_looked_into_is_refused(tmp_path, monkeypatch):
    """Its rows would be missing without a word."""
    look = os.scandir

    def scandir(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path)

    (tmp_path / "closed").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(hr.InputError, match=r"'closed' in .* cannot be read: permission denied"):
        hr.read_table(tmp_path)
