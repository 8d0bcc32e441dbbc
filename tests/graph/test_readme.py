"""The page in a graph's bundle, and its exports: every statement and script runs and says what hedgerow says."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow.graph as hg
from hedgerow.cli import main
from hedgerow.export import export_files
from hedgerow.graph.bundle import readme
from hedgerow.verify.graph import verify_graph_bundle
from tests.graph.test_edge_values import hub_graph


def odd() -> hg.BipartiteGraph:
    """Columns of the right side alone, with an awkward name, missing values and one called like the groups."""
    left = pa.table({"a": range(12)})
    right = pa.table({"b": range(14), 'it\'s "odd"': [None, "x", "y", "x", None, "z", "x"] * 2, "group": range(14)})
    edges = pa.table({"a": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "b": [0, 2, 4, 6, 8, 10, 12, 1, 3, 5]})
    return hg.BipartiteGraph.read(left, right, edges)


GRAPHS = {
    "authors": lambda: hg.SafeGrouping(3, 3).publish(hg.author_paper_graph(60, 80, 150, seed=1)),
    "purchases": lambda: hg.SafeGrouping(2, 2, "blurred", hubs="apart", edge_k=2).publish(
        hg.purchase_graph(80, 120, 220, busiest=0.1, seed=2)
    ),
    "lowered": lambda: hg.SafeGrouping(3, 2, hubs="lower").publish(hub_graph(values=True)),
    "odd": lambda: hg.SafeGrouping(2, 3).publish(odd()),
}


def key_of(value: object) -> str | None:
    """A key as text; SQLite has 0 and 1 for truth."""
    return None if pd.isna(value) else str(int(value)) if isinstance(value, bool | np.bool_) else str(value)


def rows_of(frame: pd.DataFrame) -> dict[object, tuple[int, int]]:
    """Bounds by key; missing keys are one key, and what is surely nothing is left out."""
    found = {key_of(row["known"]): (int(row["lower"]), int(row["upper"])) for row in frame.to_dict("records")}
    return {key: bounds for key, bounds in found.items() if bounds[1]}


@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_run_and_agree(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB, pandas and SQLite give the bounds of hedgerow."""
    release = GRAPHS[name]()
    release.save(tmp_path / "out")
    export_files(release, tmp_path / "graph.sqlite", "sqlite")
    monkeypatch.chdir(tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    code = dict(re.findall(r"^```(\w+)\n(.*?)^```$", page, re.S | re.M))
    for command in code["sh"].splitlines():
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    question = shlex.split(code["sh"].splitlines()[0])[4]
    ours = {key_of(row["known"]): (row["total"].lower, row["total"].upper) for row in release.ask(question)}
    assert ours
    assert rows_of(duckdb.sql(code["sql"]).df()) == ours
    scope: dict[str, pd.DataFrame] = {}
    exec(code["python"], scope)
    assert rows_of(scope["answer"]) == ours
    with contextlib.closing(sqlite3.connect(tmp_path / "graph.sqlite")) as database:
        assert rows_of(pd.read_sql_query("SELECT * FROM example", database)) == ours
        assert database.execute("SELECT count(*) FROM about WHERE topic = 'promise'").fetchone() == (1,)
    html = (tmp_path / "out" / "index.html").read_text()
    assert "row_number() OVER" in html
    listed = set(re.findall(r"`([\w]+\.\w+)`", page.partition("## How to ask")[0]))
    assert listed >= {file.name for file in (tmp_path / "out").iterdir()} - {"README.md"}


def test_csv_files_have_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SQL beside CSV files gives the bounds of hedgerow."""
    release = GRAPHS["authors"]()
    export_files(release, tmp_path / "csv", "csv")
    monkeypatch.chdir(tmp_path / "csv")
    found = rows_of(duckdb.sql((tmp_path / "csv" / "question.sql").read_text()).df())
    asked = release.ask("SELECT left.location AS known, count(*) AS total FROM edges GROUP BY left.location")
    assert found == {row["known"]: (row["total"].lower, row["total"].upper) for row in asked}


def test_without_columns_there_is_no_question() -> None:
    """Edges alone have nothing to group by, and the page says how to ask hedgerow."""
    edges = pa.table({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]})
    page = readme(hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.from_edges(edges)))
    assert "avg(degree)" in page
    assert "```sql" not in page


def test_the_view_of_a_database_gives_the_bounds(url: str, tmp_path: Path) -> None:
    """PostgreSQL answers the question of the page from the exported tables."""
    psycopg = pytest.importorskip("psycopg")
    release = GRAPHS["authors"]()
    release.save(tmp_path / "out")
    done = CliRunner().invoke(
        main, ["export", str(tmp_path / "out"), "--to", url, "--schema", "graph_page", "--overwrite"]
    )
    assert done.exit_code == 0, done.output
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT known, lower, upper FROM graph_page.example").fetchall()
        connection.execute("DROP SCHEMA graph_page CASCADE")
    asked = release.ask("SELECT left.location AS known, count(*) AS total FROM edges GROUP BY left.location")
    ours = {(row["known"], row["total"].lower, row["total"].upper) for row in asked}
    assert {(known, int(lower), int(upper)) for known, lower, upper in rows if upper} == ours


@pytest.mark.parametrize(
    "name", ["x\n\n<!--", "a ` <b>", "![](http://example.org/seen.png)", "x\n```\n<img src=y>", "\x1b[2J"]
)
def test_hostile_names_are_text(name: str, tmp_path: Path) -> None:
    """Whatever a column is called, the page verifies: names hide and fetch nothing."""
    left = pa.table({"a": range(12), name: ["x", "y", "z"] * 4})
    right = pa.table({"b": range(14)})
    edges = pa.table({"a": range(10), "b": [0, 2, 4, 6, 8, 10, 12, 1, 3, 5]})
    hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.read(left, right, edges)).save(tmp_path / "out")
    verify_graph_bundle(tmp_path / "out")


def test_columns_that_differ_in_case_alone_have_no_plain_sql() -> None:
    """A database reads the first of them for both."""
    for names, is_shown in ((("Town", "town"), False), (("town",), True)):
        left = pa.table({"a": range(12), **{name: ["x", "y", "z"] * 4 for name in names}})
        edges = pa.table({"a": range(10), "b": [0, 2, 4, 6, 8, 10, 12, 1, 3, 5]})
        release = hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.read(left, pa.table({"b": range(14)}), edges))
        assert ("```sql" in readme(release)) is is_shown
