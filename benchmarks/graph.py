"""Safe groupings and bounded questions on an author-paper graph of DBLP's size, against sorting and DuckDB's joins."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.measure import peak_beyond, seconds, show, sized
from hedgerow.graph import BipartiteGraph, SafeGrouping, author_paper_graph
from hedgerow.graph.adjacency import ORDERS
from hedgerow.graph.safe_grouping import group_both_sides

_SETUP = """
from benchmarks.graph import dblp
from hedgerow.graph import author_paper_graph
from hedgerow.graph.safe_grouping import group_both_sides
small = author_paper_graph(5000, 6000, 15000)
group_both_sides(small.by_left, small.by_right, sizes=(20, 20))
graph = dblp()
"""
_WORK = """
group_both_sides(graph.by_left, graph.by_right, sizes=(20, 20), strict=True)
"""
_CONDITION = "location = 'US' AND venue = 'venue 1'"
_QUESTIONS = {
    "COUNT(*)": (
        "SELECT count(*) FROM edges WHERE " + _CONDITION,
        "SELECT count(*) FROM wrote JOIN authors USING (author) JOIN papers USING (paper) WHERE " + _CONDITION,
    ),
    "COUNT(DISTINCT)": (
        "SELECT count(DISTINCT right) FROM edges WHERE " + _CONDITION,
        "SELECT count(DISTINCT paper) FROM wrote JOIN authors USING (author) JOIN papers USING (paper) WHERE "
        + _CONDITION,
    ),
}


def dblp() -> BipartiteGraph:
    """As many authors, papers and edges as DBLP had in June 2007."""
    return author_paper_graph(sized(402_023), sized(543_065), sized(1_401_349))


def both_sides(graph: BipartiteGraph, order: str) -> None:
    group_both_sides(graph.by_left, graph.by_right, sizes=(20, 20), order=order, strict=True)


def groupings(graph: BipartiteGraph) -> list[tuple[str, float, str]]:
    """Strict 20-groupings of both sides over sorting the edge list."""
    pairs = seconds(lambda: np.lexsort((graph.right_ends, graph.left_ends)), runs=5)
    packed = graph.left_ends.astype(np.int64) * graph.right.num_rows + graph.right_ends
    whole = seconds(lambda: np.sort(packed), runs=5)
    rows = []
    for order in ORDERS:
        took = seconds(lambda order=order: both_sides(graph, order), runs=5)
        rows.append((f"both sides, {order} order / sorting pairs (np.lexsort)", took / pairs, "x"))
        rows.append((f"both sides, {order} order / sorting packed 64-bit edges (np.sort)", took / whole, "x"))
    return rows


def questions(graph: BipartiteGraph) -> list[tuple[str, float, str]]:
    """Type-2 questions over the release against DuckDB's joins of the original tables."""
    release = SafeGrouping(20, 20).publish(graph)
    connection = duckdb.connect()
    edges = pa.table({"author": graph.left_ends.astype(np.int64), "paper": graph.right_ends.astype(np.int64)})
    for name, table in (("authors", graph.left), ("papers", graph.right), ("wrote", edges)):
        connection.register(f"arrow_{name}", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
    rows = []
    for name, (bounded, plain) in _QUESTIONS.items():
        ours = seconds(lambda bounded=bounded: release.ask(bounded), runs=7)
        theirs = seconds(lambda plain=plain: connection.execute(plain).fetchall(), runs=7)
        rows.append((f"{name} with bounds / DuckDB join on the original tables", ours / theirs, "x"))
    rows.append(("publish, audited", seconds(lambda: SafeGrouping(20, 20).publish(graph), runs=2), "s"))
    return rows


def main() -> None:
    graph = dblp()
    _ = graph.by_left, graph.by_right
    rows = groupings(graph) + questions(graph)
    memory = peak_beyond(_SETUP, _WORK) / (8 * graph.edges)
    rows.append(("peak memory of both sides, with adjacency / edge list of 8 bytes an edge", memory, "x"))
    show(f"safe groupings, {graph.left.num_rows:,} x {graph.right.num_rows:,} nodes, {graph.edges:,} edges", rows)
