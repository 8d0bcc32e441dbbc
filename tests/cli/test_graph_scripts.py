"""Three graphs from the command line: advise, publish, verify, ask, attack, compare, draw, export, certify."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow.graph as hg
from hedgerow.cli import main
from studies.real import data_folder


def run(*arguments: object, code: int = 0) -> str:
    """Run one command, and return what it prints."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def dense() -> hg.BipartiteGraph:
    """Twelve groups of sensors and rooms, one in eight pairs joined."""
    random = np.random.default_rng(4)
    v, w = np.nonzero(random.random((80, 80)) < 0.03)
    sides = ({"sensor": np.arange(80), "floor": np.arange(80) % 5}, {"room": np.arange(80), "wing": np.arange(80) % 3})
    return hg.BipartiteGraph.read(*map(pa.table, sides), pa.table({"sensor": v, "room": w}))


GRAPHS = {
    "authors": (lambda: hg.author_paper_graph(600, 800, 2_000, seed=3), ["-k", 5, "-l", 5], "left.location = 'US'", []),
    "purchases": (
        lambda: hg.purchase_graph(400, 700, 2_500, busiest=0.05, seed=1),
        ["-k", 4, "-l", 4, "--order", "blurred", "--hubs", "apart", "--edge-k", 3],
        "left.segment = 'small'",
        ["--value", "price", "--value", "quantity", "--value", "day"],
    ),
    "dense": (dense, ["-k", 3, "-l", 3, "--order", "degree"], "left.floor = 2", []),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_from_files_to_a_certificate(name: str, tmp_path: Path) -> None:
    """Every verb works on each other's output, and the answer has the truth inside."""
    made, options, condition, values = GRAPHS[name]
    graph = made()
    files = []
    for part, table in graph.to_arrow().items():
        files.append(tmp_path / f"{part}.parquet")
        pq.write_table(table, files[-1])
    named = [*files, "--edge-columns", "left", "right", *values]
    out = tmp_path / "out"
    assert "largest k found" in run("graph", "advise", *named, "-k", 3, "-l", 3)
    text = run("graph", "publish", *named, *options, "--out", out)
    assert "published exactly" in text
    assert "as stated" in run("graph", "verify", out)
    assert "ok  " in run("verify", out)
    text = run("graph", "query", out, f"SELECT count(*) FROM edges WHERE {condition}", "--estimate", "learned")
    assert "learned" in text
    grouped = "SELECT l.{0}, count(*) AS n FROM edges e JOIN left l USING ({1}) GROUP BY l.{0} ORDER BY n DESC"
    column, key = condition.split()[0].partition(".")[2], graph.left_key
    assert "n" in run("graph", "query", out, grouped.format(column, key))
    text = run("graph", "attack", out)
    assert all(word in text for word in ("static", "degrees", "signatures", "items"))
    assert ("edges   " in text) == (name == "purchases")
    assert run("attack", out) == text
    release = hg.open(out)
    assert "outside" in run("graph", "compare", out, *named, "--count", 3)
    originals = [part for file in files for part in ("--original", file)]
    assert "outside" in run("compare", out, *originals)
    assert "largest k found" in run("advise", *files)
    assert "has no roles" in run("advise", *files, "--sensitive", "x", code=2)
    assert "--original" in run("compare", out, code=2)
    assert "one --original" not in run("compare", out, *originals[:2], code=2)
    picture = tmp_path / "graph.png"
    run("graph", "draw", out, "--out", picture)
    assert picture.stat().st_size > 5_000
    for name in ("graph", "graph.jpg"):
        assert ".png, .svg or .pdf" in run("graph", "draw", out, "--out", tmp_path / name, code=2)
    run("graph", "export", out, "--csv", tmp_path / "csv")
    assert {file.name for file in (tmp_path / "csv").iterdir()} == {
        *(f"{table}.csv" for table in release.tables), "README.md", "question.sql"
    }  # fmt: skip
    run("export", out, "--sqlite", tmp_path / "graph.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "graph.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM edges").fetchone() == (release.edges,)
    assert "exists already" in run("export", out, "--sqlite", tmp_path / "graph.sqlite", code=2)
    run("export", out, "--excel", tmp_path / "graph.xlsx")
    for kind, ending in (("stata", "dta"), ("spss", "sav")):
        run("export", out, f"--{kind}", tmp_path / kind)
        assert {f"{table}.{ending}" for table in release.tables} <= {file.name for file in (tmp_path / kind).iterdir()}
    run("certify", out, "--title", "Links", "--publisher", "Elm", "--out", tmp_path / "c")
    run("certify", out, "--check", tmp_path / "c" / "certificate.json")


def test_the_author_paper_graph_of_a_library(tmp_path: Path) -> None:
    """A real graph of 387,368 edges: every verb, and truths inside the bounds; skipped where it is not at hand."""
    folder = data_folder()
    if folder is None or not (folder / "acl" / "edges.parquet").exists():
        pytest.skip("the author-paper graph is not on this machine; set HEDGEROW_DATA")
    tables = {name: pq.read_table(folder / "acl" / f"{name}.parquet") for name in ("authors", "papers", "edges")}
    # First year and home venue of an author follow from links, so that they are left out.
    pq.write_table(tables["authors"].select(["author"]), tmp_path / "authors.parquet")
    files = [tmp_path / "authors.parquet", folder / "acl" / "papers.parquet", folder / "acl" / "edges.parquet"]
    out = tmp_path / "out"
    run("graph", "publish", *files, "-k", 5, "-l", 5, "--out", out)
    assert "as stated" in run("graph", "verify", out)
    years = dict(zip(tables["papers"]["paper"].to_pylist(), tables["papers"]["year"].to_pylist(), strict=True))
    wrote = [years[paper] for paper in tables["edges"]["paper"].to_pylist()]
    counted, average = (
        hg.open(out).ask(f"SELECT {what} FROM edges WHERE right.year >= 2015")
        for what in ("count(*)", "avg(right.year)")
    )
    late = [year for year in wrote if year >= 2015]
    assert counted.lower <= len(late) <= counted.upper
    assert average.lower <= sum(late) / len(late) <= average.upper
    assert "learned" in run(
        "graph", "query", out, "SELECT count(*) FROM edges WHERE right.year < 2000", "--estimate", "learned"
    )
    text = run("graph", "attack", out)
    assert "promised at most 1/5" in text
    assert "outside" in run("graph", "compare", out, *files, "--count", 2)
    run("certify", out, "--title", "Papers", "--publisher", "Elm", "--out", tmp_path / "c")
    run("certify", out, "--check", tmp_path / "c" / "certificate.json")


def test_edges_alone_are_published(tmp_path: Path) -> None:
    """One table of edges, with repetitions counted and dangling ones dropped, is enough."""
    graph = dataclasses.replace(hg.purchase_graph(300, 400, 900, busiest=0.01, seed=2))
    edges = graph.to_arrow()["edges"].select(["left", "right"])
    pq.write_table(edges, tmp_path / "edges.parquet")
    run("graph", "publish", tmp_path / "edges.parquet", "-k", 2, "-l", 2, "--out", tmp_path / "out", code=2)
    options = ["--repeats", "count", "--order", "blurred", "--hubs", "suppress"]
    run("graph", "publish", tmp_path / "edges.parquet", "-k", 2, "-l", 2, *options, "--out", tmp_path / "out")
    assert hg.open(tmp_path / "out").ask("SELECT count(*) FROM edges").exact
