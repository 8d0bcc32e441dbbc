"""A release as files for other programs: CSV, SQLite, Excel, Stata, SPSS. Each also gets the help table and ready SQL.

Guarantee  files are there whole or not at all, and never replace what is there
Cost       the release in memory; of a bundle in parts one part for CSV and SQLite
Limits     SQLite, Stata and SPSS have no decimals, and the last two no whole numbers beyond 2**53: such numbers are
           written to 15 digits, the bounds of the help table rounded outwards
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import BundleError, InputError, ParameterError
from hedgerow.exact import DecimalGrid
from hedgerow.query import help_table, help_table_of_part
from hedgerow.release.bundle import PartedTables
from hedgerow.release.folder import folder_beside, named_folder, put_in_place
from hedgerow.release.forms.example import name_sql
from hedgerow.release.part_tables import numbered_tables, whole_grids
from hedgerow.release.readme import example_of, readme
from hedgerow.table import write_csv
from hedgerow.verify.parts import SHARED

if TYPE_CHECKING:
    from hedgerow.graph.grouped import GroupedGraph
    from hedgerow.release import Release

_EXCEL_ROWS = 1_048_576
_EXCEL_SIGNS = 32_767
_EXACT = 2**53
_LARGEST = 8.9e307
"""Beyond it numbers mean that a value is missing, to Stata and to SPSS."""


@dataclass(frozen=True, eq=False)
class ExportContents:
    """What is written: tables, what is said of them, the page of the bundle, and a question with bounds in SQL.

    `more` gives further rows of the tables, part by part.
    """

    tables: Mapping[str, pa.Table]
    about: Sequence[tuple[str, str]]
    page: str
    sql: str | None
    more: Callable[[], Iterable[Mapping[str, pa.Table]]] = tuple


def export_files(release: Release | GroupedGraph, target: str | Path, kind: str) -> list[Path]:
    """Write a release of a table or a graph into a new folder or file; return the files.

    `kind` is csv, stata or spss (a folder with a file for each table), or sqlite or excel (one file).
    """
    if kind not in KINDS:
        raise ParameterError(f"A release is exported as {', '.join(KINDS)}; not as '{kind}'.")
    place = named_folder(target)
    if kind == "excel" and place.suffix.lower() not in ("", ".xlsx"):
        raise ParameterError(f"A workbook's name must end in .xlsx; got '{place.name}'.")
    if place.suffix.lower() == _ENDINGS.get(kind):
        raise ParameterError(
            f"'{place.name}' would be a folder with a file for each table: name a folder, such as '{place.stem}'."
        )
    if os.path.lexists(place):
        raise BundleError(f"'{place.name}' exists already; choose another name.")
    contents = _contents(release, by_parts=kind in _BY_PARTS)
    with folder_beside(place) as beside:
        written = KINDS[kind](contents, beside)
        if kind in _ONE_FILE:
            (file,) = written
            file.rename(place)
            return [place]
        put_in_place(beside, place, replace=False)
    return [place / file.name for file in written]


def _contents(release: Release | GroupedGraph, *, by_parts: bool) -> ExportContents:
    from hedgerow.graph.grouped import GroupedGraph

    if isinstance(release, GroupedGraph):
        from hedgerow.graph.bundle import example
        from hedgerow.graph.bundle import readme as graph_page

        shown = example(release)
        return ExportContents(
            release.tables, _about(release), graph_page(release), None if shown is None else shown.sql
        )
    if by_parts and isinstance(release.tables, PartedTables):
        grids = whole_grids(release) if release.groups else {}
        parts = functools.partial(_parts, release, grids)
        first = dict(next(parts()))
        # Pages take their examples from the first part.
        described = replace(release, tables={name: table for name, table in first.items() if name != "help"})
        return replace(_describe(described, first), more=lambda: itertools.islice(parts(), 1, None))
    return _describe(release, dict(release.tables) | ({"help": help_table(release)} if release.groups else {}))


def _describe(release: Release, tables: Mapping[str, pa.Table]) -> ExportContents:
    tables = {name: table for name, table in tables.items() if table.num_columns}
    helpers = {name: tables[name] for name in tables if name == "help"}
    return ExportContents(tables, _about(release), readme(release, helpers), example_sql(release, tables))


def _parts(release: Release, grids: Mapping[str, DecimalGrid]) -> Iterator[Mapping[str, pa.Table]]:
    """The tables of each part, groups numbered on; the tables that parts share come with the first."""
    assert isinstance(release.tables, PartedTables)
    first = 0
    for number, part in enumerate(release.tables.parts()):
        shared = {name: table for name, table in part.tables.items() if name in SHARED and not number}
        helper = help_table_of_part(replace(part, grids=grids), release.rows.published) if release.groups else None
        yield numbered_tables(part, helper, first, wide=False) | shared
        first += part.groups
        del part, helper


def example_sql(release: Release, tables: Mapping[str, pa.Table]) -> str | None:
    """Return a question with bounds in plain SQL over tables of these names; None where a form has none."""
    example = example_of(release, tables["help"].column_names if "help" in tables else [])
    return None if example is None else example.sql


def _write_csv(contents: ExportContents, folder: Path) -> list[Path]:
    for name, table in contents.tables.items():
        write_csv(table, folder / f"{name}.csv")
    for piece in contents.more():
        for name in contents.tables.keys() & piece.keys():
            write_csv(piece[name], folder / f"{name}.csv", append=True)
    return _with_words(contents, folder, "csv")


_NOTES = {
    "csv": "\n\nA text that begins with `=`, `+`, `-` or `@` has an apostrophe in front: a spreadsheet would run it.\n"
}


def _with_words(contents: ExportContents, folder: Path, ending: str) -> list[Path]:
    """Add the question and the page of the bundle, with the files' new names."""
    files = [folder / f"{name}.{ending}" for name in contents.tables]
    if ending == "csv" and contents.sql is not None:
        (folder / "question.sql").write_text(
            "-- DuckDB\n" + contents.sql.replace(".parquet'", ".csv'"), encoding="utf-8"
        )
        files.append(folder / "question.sql")
    page = contents.page.split("## How to ask")[0].replace(".parquet`", f".{ending}`")
    page = "\n".join(line for line in page.splitlines() if not line.startswith(("- `manifest.json`", "- `index.html`")))
    (folder / "README.md").write_text(page.rstrip() + _NOTES.get(ending, "\n"), encoding="utf-8")
    return [*files, folder / "README.md"]


def _write_sqlite(contents: ExportContents, folder: Path) -> list[Path]:
    file = folder / "release.sqlite"
    connection = sqlite3.connect(file)
    try:
        _fill_sqlite(connection, contents.tables)
        for piece in contents.more():
            _fill_sqlite(connection, piece, is_new=False)
        connection.execute("CREATE TABLE about (topic TEXT, text TEXT)")
        connection.executemany("INSERT INTO about VALUES (?, ?)", contents.about)
        for name, columns in (("help", ("group", "hits")), ("edges", ("left_node",)), ("edges", ("right_node",))):
            if name in contents.tables and set(columns) <= set(contents.tables[name].column_names):
                index = f"{name}_by_{columns[0]}"
                connection.execute(f"CREATE INDEX {index} ON {name} ({', '.join(map(name_sql, columns))})")
        if contents.sql is not None:
            connection.execute("CREATE VIEW example AS " + _for_sqlite(contents.sql))
        connection.commit()
    except sqlite3.Error as error:
        raise InputError(f"SQLite refuses this release: {error}.") from None
    finally:
        connection.close()
    return [file]


def _fill_sqlite(connection: sqlite3.Connection, tables: Mapping[str, pa.Table], *, is_new: bool = True) -> None:
    """Make a table of each, with the nearest types that SQLite has, or add rows to those that are there."""
    for name, table in tables.items():
        columns = [
            _simple(column, table.field(place).name, name == "help") for place, column in enumerate(table.columns)
        ]
        named = ", ".join(
            f"{name_sql(field)} {_sqlite_type(column.type)}"
            for field, column in zip(table.column_names, columns, strict=True)
        )
        if is_new:
            connection.execute(f"CREATE TABLE {name_sql(name)} ({named})")
        marks = ", ".join("?" * len(columns))
        rows = zip(*(_plain(column) for column in columns), strict=True)
        connection.executemany(f"INSERT INTO {name_sql(name)} VALUES ({marks})", rows)


def _for_sqlite(sql: str) -> str:
    """Read tables instead of files, by functions that SQLite has."""
    sql = re.sub(r"'(\w+)\.parquet'( AS \1)?", r'"\1"', sql)
    return sql.replace("greatest(", "max(").replace("least(", "min(")


def _sqlite_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


def _simple(column: pa.ChunkedArray, name: str, is_help: bool) -> pa.ChunkedArray:
    """Turn decimals into whole numbers where they are, else into the nearest numbers; bounds outwards."""
    if not pa.types.is_decimal(column.type):
        return column
    numbers = [None if value is None else value for value in column.to_pylist()]
    if all(value is None or (value == int(value) and abs(value) < 2**63) for value in numbers):
        return pa.chunked_array([pa.array([None if value is None else int(value) for value in numbers], pa.int64())])
    side = -np.inf if is_help and name.endswith("lower") else np.inf if is_help and name.endswith("upper") else None
    return pa.chunked_array(
        [pa.array([None if value is None else _near(value, side) for value in numbers], pa.float64())]
    )


def _near(value: Decimal, side: float | None) -> float:
    near = float(value)
    misses = side is not None and ((side > 0 and Decimal(near) < value) or (side < 0 and Decimal(near) > value))
    return float(np.nextafter(near, side)) if misses and side is not None else near


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Values as SQLite takes them: dates and times as ISO text, truth as 0 and 1."""
    if pa.types.is_temporal(column.type):
        return [None if value is None else _iso(value) for value in column.to_pylist()]
    return [int(value) if isinstance(value, bool) else value for value in column.to_pylist()]


def _about(release: Release | GroupedGraph) -> list[tuple[str, str]]:
    said = release.guarantee
    return [
        ("method", release.made.method),
        ("promise", said.promise),
        ("against", said.adversary),
        *(("not promised", sentence) for sentence in said.not_promised),
    ]


def _write_excel(contents: ExportContents, folder: Path) -> list[Path]:
    try:
        import xlsxwriter
    except ImportError:
        raise InputError("Excel files need xlsxwriter: pip install 'hedgerow[files]'.") from None
    long = [name for name, table in contents.tables.items() if table.num_rows >= _EXCEL_ROWS]
    if long:
        raise InputError(f"A sheet holds {_EXCEL_ROWS - 1:,} rows; '{long[0]}' has more. Export as csv or sqlite.")
    _refuse_texts(contents.tables, _is_longer_than_a_cell, f"A cell of Excel holds {_EXCEL_SIGNS:,} characters")
    file = folder / "release.xlsx"
    # Texts stay texts: neither formulas nor links are made of them.
    options = {
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "constant_memory": True,
    }
    with xlsxwriter.Workbook(str(file), options) as book:
        about = book.add_worksheet("about")
        for row, line in enumerate(contents.about):
            about.write_row(row, 0, line)
        day, time = (book.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"))
        for name, table in contents.tables.items():
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, table.column_names)
            columns = [_for_excel(column) for column in table.columns]
            for row, cells in enumerate(zip(*columns, strict=True), start=1):
                for place, cell in enumerate(cells):
                    _write_cell(sheet, (row, place), cell, day, time)
    return [file]


def _refuse_texts(tables: Mapping[str, pa.Table], is_lost: Callable[[str], bool], why: str) -> None:
    """Refuse texts that the library would cut off in silence."""
    for table in tables.values():
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_string(column.type) and any(map(is_lost, column.unique().drop_null().to_pylist())):
                raise InputError(f"{why}; '{name}' has texts that would be cut off. Export as csv or sqlite.")


def _is_longer_than_a_cell(text: str) -> bool:
    return len(text) > _EXCEL_SIGNS // 2 and len(text.encode("utf-16-le")) > 2 * _EXCEL_SIGNS


def _for_excel(column: pa.ChunkedArray) -> list[Any]:
    """Values as sheets hold them; all are texts where one would be rounded in silence, or cannot be shown by Excel."""
    values: list[Any] = column.to_pylist()
    if not any(map(_is_beyond_excel, values)):
        return values
    return [None if value is None else _iso(value) for value in values]


def _is_beyond_excel(value: Any) -> bool:
    """Whole numbers and decimals of more than 15 digits, days before 1900, and times finer than milliseconds."""
    if isinstance(value, int | Decimal):
        return len(str(value).lstrip("-").replace(".", "")) > 15
    return isinstance(value, date) and (value.year < 1900 or _is_fine(value))


def _is_fine(value: date | None) -> bool:
    """Tell whether a time has a fraction of a millisecond, which Excel and Stata drop and SPSS changes."""
    return isinstance(value, datetime) and value.microsecond % 1000 > 0


def _iso(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _write_cell(sheet: Any, place: tuple[int, int], cell: Any, day: Any, time: Any) -> None:
    if cell is None:
        return
    if isinstance(cell, datetime):
        sheet.write_datetime(*place, cell, time)
    elif isinstance(cell, date):
        sheet.write_datetime(*place, cell, day)
    elif isinstance(cell, bool):
        sheet.write_boolean(*place, cell)
    elif isinstance(cell, str):
        sheet.write_string(*place, cell)
    else:
        sheet.write_number(*place, float(cell))


def _write_stata(contents: ExportContents, folder: Path) -> list[Path]:
    return _write_statistics(contents, folder, "dta")


def _write_spss(contents: ExportContents, folder: Path) -> list[Path]:
    return _write_statistics(contents, folder, "sav")


def _write_statistics(contents: ExportContents, folder: Path, ending: str) -> list[Path]:
    """Write with pyreadstat: names that the program takes, the true ones as labels."""
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:
        raise InputError(
            "Stata and SPSS files need pyreadstat and pandas: pip install 'hedgerow[files]' pandas."
        ) from None
    _refuse_texts(contents.tables, lambda text: "\0" in text, "A NUL ends texts in files of this kind")
    write = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
    for name, table in contents.tables.items():
        frame = pd.DataFrame(
            {
                short: _for_statistics(column, long, name == "help")
                for short, long, column in zip(
                    _short_names(table.column_names), table.column_names, table.columns, strict=True
                )
            }
        )
        try:
            write(frame, str(folder / f"{name}.{ending}"), column_labels=[long[:80] for long in table.column_names])
        except pyreadstat.ReadstatError as error:
            raise InputError(f"Files of this kind cannot hold '{name}': {error}.") from None
    return _with_words(contents, folder, ending)


def _for_statistics(column: pa.ChunkedArray, name: str, is_help: bool) -> Any:
    column = _simple(column, name, is_help)
    if pa.types.is_timestamp(column.type) and any(map(_is_fine, column.to_pylist())):
        column = pa.chunked_array([pa.array(_plain(column), pa.string())])
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        is_exact = ends["min"] is None or (ends["min"] >= -_EXACT and ends["max"] <= _EXACT)
        column = column.cast(pa.float64() if is_exact else pa.string())
    if pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0.0) > _LARGEST:
        column = column.cast(pa.string())
    return column.to_pandas()


_RESERVED = re.compile(
    r"byte|double|float|if|in|int|long|str[l\d]+|using|with|all|and|by|eq|ge|gt|le|lt|ne|not|or|to", re.IGNORECASE
)
"""Words of Stata and of SPSS that name no variable."""


def _short_names(names: list[str]) -> list[str]:
    """Names of at most 32 letters, digits and underscores, each once, that are no words of the program's."""
    taken: dict[str, None] = {}
    for name in names:
        short = re.sub(r"\W", "_", name, flags=re.ASCII)[:28] or "column"
        short = short if short[0].isalpha() else f"c{short}"[:28]
        short += "_" if _RESERVED.fullmatch(short) else ""
        number, found = 1, short
        while found.lower() in taken:
            number += 1
            found = f"{short}_{number}"
        taken[found.lower()] = None
    return list(taken)


KINDS: Mapping[str, Callable[[ExportContents, Path], list[Path]]] = {
    "csv": _write_csv,
    "sqlite": _write_sqlite,
    "excel": _write_excel,
    "stata": _write_stata,
    "spss": _write_spss,
}
"""How a release is written, by the name of the program."""

_ENDINGS = {"csv": ".csv", "stata": ".dta", "spss": ".sav"}
"""Of files in a folder: a folder is not named like one of them."""
_ONE_FILE = ("sqlite", "excel")
_BY_PARTS = ("csv", "sqlite")
