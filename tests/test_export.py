"""Files for other programs: every form, the same rows, and the same bounds without hedgerow."""

import random
import sqlite3
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyreadstat
import pytest
from click.testing import CliRunner
from python_calamine import CalamineWorkbook

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import BundleError, ParameterError
from hedgerow.export import KINDS, example_sql, export_files
from hedgerow.query import help_table
from hedgerow.release.bundle import write
from tests.support.every_form import EVERY_FORM, sample_of


@pytest.fixture(params=EVERY_FORM)
def release(request):
    """A small release of each form."""
    return sample_of(request.param, random.Random(request.param), rows=60).release


def plain(row):
    """A row with dates as texts and every number alike, as far as SQLite tells them apart."""
    return [
        str(cell) if hasattr(cell, "year") else cell if cell is None or isinstance(cell, str) else float(cell)
        for cell in row
    ]


def same(ours, theirs):
    """Rows are equal whatever their order: DuckDB puts gaps last, SQLite first."""
    mine, others = (sorted(map(plain, rows), key=lambda row: str(row[:-2])) for rows in (ours, theirs))
    assert len(mine) == len(others)
    for one, two in zip(mine, others, strict=True):
        assert one == [pytest.approx(cell) if isinstance(cell, float) else cell for cell in two]


def test_sqlite_answers_like_duckdb(release, tmp_path):
    """The view of the database gives what the README's question gives on the bundle."""
    tables = {"help": help_table(release)} if release.groups else {}
    write(release, tmp_path / "out", helpers=tables, allow_insecure=True)
    export_files(release, tmp_path / "release.sqlite", "sqlite")
    sql = example_sql(release, tables)
    if sql is None:
        pytest.skip("this form has no question")
    for name in (*release.tables, "help"):
        sql = sql.replace(f"'{name}.parquet'", f"'{tmp_path}/out/{name}.parquet'")
    with sqlite3.connect(tmp_path / "release.sqlite") as connection:
        found = connection.execute("SELECT * FROM example").fetchall()
    same(duckdb.sql(sql).fetchall(), found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_as_every_kind(release, tmp_path, kind):
    """Files are written, once; a second time is refused, and nothing is left beside them."""
    files = export_files(release, tmp_path / "out", kind)
    assert all(file.is_file() for file in files)
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    with pytest.raises(BundleError, match="exists"):
        export_files(release, tmp_path / "out", kind)


@pytest.fixture
def hours():
    """A release with a column whose name no statistics program takes, and a cell that looks like a formula."""
    table = {"home town, 1994": ["=1+1", "b", "c", "d"], "hours per week!": [10, 20, 30, 40]}
    schema = hr.Schema(quasi="home town, 1994", sensitive="hours per week!")
    return hr.KEAnonymity(k=2, e=1).publish(table, schema, seed=1)


def test_csv_comes_with_help_and_a_question_that_runs(hours, tmp_path, monkeypatch):
    """The question of the folder gives hedgerow's bounds."""
    export_files(hours, tmp_path / "files", "csv")
    monkeypatch.chdir(tmp_path / "files")
    assert {file.name for file in (tmp_path / "files").iterdir()} == {
        "release.csv",
        "help.csv",
        "question.sql",
        "README.md",
    }
    assert "an apostrophe in front" in (tmp_path / "files" / "README.md").read_text()
    found = duckdb.sql((tmp_path / "files" / "question.sql").read_text()).fetchall()
    result = hours.sql(
        'SELECT "home town, 1994" AS known, sum("hours per week!") AS total FROM release GROUP BY 1 ORDER BY 1'
    )
    assert sorted(row[1:] for row in found) == sorted(
        (answer.lower, answer.upper) for answer in result.answers("total")
    )


def test_statistics_programs_get_names_that_they_take(hours, tmp_path):
    """Names are shortened, labels are the true ones, values are kept."""
    for kind, read, ending in (("stata", pyreadstat.read_dta, "dta"), ("spss", pyreadstat.read_sav, "sav")):
        export_files(hours, tmp_path / kind, kind)
        frame, about = read(str(tmp_path / kind / f"release.{ending}"))
        assert about.column_labels == hours.to_arrow().column_names
        assert frame["hours_per_week_"].tolist() == hours.to_arrow()["hours per week!"].to_pylist()


def test_a_workbook_has_the_ending_of_one(hours, tmp_path):
    """With another one, such as .csv, no program reads it."""
    with pytest.raises(ParameterError, match=r"must end in \.xlsx"):
        export_files(hours, tmp_path / "release.csv", "excel")


def test_excel_runs_nothing(hours, tmp_path):
    """A text that looks like a formula is a text."""
    (file,) = export_files(hours, tmp_path / "release.xlsx", "excel")
    book = CalamineWorkbook.from_path(file)
    assert book.sheet_names == ["about", "release", "help"]
    cells = [row[0] for row in book.get_sheet_by_name("release").to_python()]
    assert sorted(cells) == ["=1+1", "b", "c", "d", "home town, 1994"]


def test_bounds_are_rounded_outwards():
    """A decimal that no double holds becomes a bound that still holds."""
    from hedgerow.export import _simple

    for text in ("0.1", "0.7", "123456789012345678.9"):
        column = pa.chunked_array([pa.array([Decimal(text)])])
        lower, upper = (_simple(column, f"sum_{side}", True)[0].as_py() for side in ("lower", "upper"))
        assert Decimal(lower) < Decimal(text) < Decimal(upper)


def test_unknown_kinds_and_two_places_are_refused(hours, tmp_path):
    """One sentence, and nothing written."""
    with pytest.raises(ParameterError, match="csv, sqlite"):
        export_files(hours, tmp_path / "out", "word")
    hours.save(tmp_path / "bundle", allow_insecure=True)
    words = ["export", str(tmp_path / "bundle"), "--csv", str(tmp_path / "a"), "--sqlite", str(tmp_path / "b")]
    assert CliRunner().invoke(main, words).exit_code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["bundle"]


@pytest.mark.parametrize("kind", ["stata", "spss"])
def test_numbers_that_mean_missing_are_written_as_texts(tmp_path, kind):
    """Stata and SPSS take the largest floats for missing values; one of them ended in an error without a type."""
    table = pa.table({"q": [1.7976931348623157e308, -1.7976931348623157e308, 1.0, 2.0], "s": [1, 2, 3, 4]})
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi="q", sensitive="s"))
    files = export_files(release, tmp_path / "out", kind)
    read = pyreadstat.read_dta if kind == "stata" else pyreadstat.read_sav
    frame, _ = read(next(file for file in files if "q" in read(file)[0].columns))
    assert sorted(map(float, frame["q"])) == sorted(table["q"].to_pylist())


def _moments():
    days = [date(1, 2, 28), date(1899, 12, 31), date(1900, 1, 1), date(9999, 12, 31)]
    times = [datetime(1850, 1, 1), datetime(2020, 1, 1, 1, 2, 3, 1), datetime.max, datetime(2020, 1, 1, 5, 6, 7, 8000)]
    table = pa.table({"day": days, "time": pa.array(times, pa.timestamp("us")), "s": [1, 2, 3, 4]})
    return hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["day", "time"], sensitive="s"))


def _as_text(value):
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def test_excel_gets_days_before_1900_and_fine_times_as_texts(tmp_path):
    """Days were numbers below zero, which Excel shows as ####; microseconds were dropped. A column has one type."""
    release = _moments()
    (file,) = export_files(release, tmp_path / "release.xlsx", "excel")
    rows = CalamineWorkbook.from_path(file).get_sheet_by_name("quasi").to_python()[1:]
    for name in ("day", "time"):
        cells = [row[release.tables["quasi"].column_names.index(name)] for row in rows]
        assert [_as_text(cell) for cell in cells] == [_as_text(v) for v in release.tables["quasi"][name].to_pylist()]
        assert all(isinstance(cell, str) for cell in cells)


def test_excel_gets_a_column_as_numbers_or_as_texts(tmp_path):
    """Numbers of more than 15 digits stood as texts among numbers, and a sum in the sheet left them out in silence."""
    table = {"id": [2**53 + 1, 5, None, 7], "small": [1, 2, None, 4], "ill": ["x", "y", "x", "y"]}
    schema = hr.Schema(quasi=["id", "small"], sensitive="ill", missing={"id": "value", "small": "value"})
    (file,) = export_files(hr.Anatomy(l=2).publish(table, schema), tmp_path / "release.xlsx", "excel")
    head, *rows = CalamineWorkbook.from_path(file).get_sheet_by_name("quasi").to_python()
    kinds = {name: {type(row[place]) for row in rows if row[place] != ""} for place, name in enumerate(head)}
    assert (kinds["id"], kinds["small"]) == ({str}, {float})


@pytest.mark.parametrize("kind", ["stata", "spss"])
def test_statistics_programs_get_names_that_are_no_words_of_theirs(tmp_path, kind):
    """Columns may be called as commands are; the true names are the labels."""
    words = ["int", "if", "str8", "BY", "to", "using", "all"]
    table = {word: [1, 2, 1, 2] for word in words} | {"ill": ["x", "y", "x", "y"]}
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=words, sensitive="ill"))
    files = export_files(release, tmp_path / "out", kind)
    read = pyreadstat.read_dta if kind == "stata" else pyreadstat.read_sav
    _, about = read(next(file for file in files if file.name.startswith("quasi.")))
    assert about.column_names[: len(words)] == [f"{word.lower()}_" for word in words]
    assert about.column_labels[: len(words)] == words


@pytest.mark.parametrize("kind", ["stata", "spss"])
def test_statistics_programs_get_fine_times_as_texts(tmp_path, kind):
    """Stata dropped a microsecond, SPSS made two of it, and the last moment could not be read back."""
    release = _moments()
    files = export_files(release, tmp_path / "out", kind)
    read = pyreadstat.read_dta if kind == "stata" else pyreadstat.read_sav
    frame, _ = read(next(file for file in files if file.name.startswith("quasi.")))
    for name in ("day", "time"):
        wanted = [_as_text(value) for value in release.tables["quasi"][name].to_pylist()]
        assert [_as_text(value) for value in frame[name]] == wanted


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("x" * 32_768, ["excel"]), ("\U0001f600" * 16_384, ["excel"]), ("a\0b", ["stata", "spss"])],
)
def test_texts_that_would_be_cut_off_are_refused(tmp_path, text, kinds):
    """A cell of Excel holds 32,767 characters of 16 bits, and a NUL ends a text for Stata and SPSS."""
    for shorter in (False, True):
        told = text.replace("\0", "")[1:] if shorter else text
        table = {"note": [told, "b", "c", "d"], "ill": ["x", "y", "x", "y"]}
        release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi="note", sensitive="ill"))
        for kind in kinds:
            if shorter:
                export_files(release, tmp_path / f"{kind}.xlsx", kind)
            else:
                with pytest.raises(hr.InputError, match="'note' has texts that would be cut off"):
                    export_files(release, tmp_path / f"{kind}.xlsx", kind)
                assert not (tmp_path / f"{kind}.xlsx").exists()


@pytest.mark.parametrize(("kind", "name"), [("csv", "out.csv"), ("stata", "out.dta"), ("spss", "out.SAV")])
def test_a_folder_of_files_is_not_named_like_one_of_them(hours, tmp_path, kind, name):
    """Whoever names a file expects a file; a folder called out.dta would not open."""
    with pytest.raises(ParameterError, match="a folder with a file for each table"):
        export_files(hours, tmp_path / name, kind)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["stata", "spss"])
def test_columns_may_be_called_like_words_of_the_program(tmp_path, kind):
    """Stata refused a column called `long`, and SPSS has no use for one called `by`."""
    names = ["byte", "If", "long", "str5", "strL", "using", "with", "by", "TO", "to_", "str", "b"]
    columns = {name: [number % (place + 2) for number in range(12)] for place, name in enumerate(names)}
    table = pa.table(columns | {"pay": [1.0, 2.0, 3.0] * 4})
    release = hr.Mondrian(k=3, form="permuted").publish(table, hr.Schema(quasi=names, sensitive="pay"))
    file = next(file for file in export_files(release, tmp_path / "out", kind) if file.stem == "release")
    read = pyreadstat.read_dta if kind == "stata" else pyreadstat.read_sav
    found, about = read(file, output_format="dict")
    assert [name.rstrip("_2") for name in found][:-2] == [name.lower().rstrip("_") for name in names]
    assert about.column_labels == [*names, "pay", "group"]
