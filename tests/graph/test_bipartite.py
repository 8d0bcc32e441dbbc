"""Graphs come in from three tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from hedgerow.datasets.printed import authors_and_papers
from hedgerow.errors import InputError, SchemaError
from hedgerow.graph import BipartiteGraph

TABLES = authors_and_papers()
PAIRS = set(zip(TABLES.edges["author"].to_pylist(), TABLES.edges["paper"].to_pylist(), strict=True))


def pairs_of(graph: BipartiteGraph) -> set[tuple[object, object]]:
    """The edges as pairs of keys."""
    left, right = graph.left[graph.left_key].to_pylist(), graph.right[graph.right_key].to_pylist()
    return {(left[v], right[w]) for v, w in zip(graph.left_ends.tolist(), graph.right_ends.tolist(), strict=True)}


@pytest.mark.parametrize(
    "convert", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_frames_of_every_kind_give_the_same_graph(convert) -> None:
    """Three frames of one library make the printed graph."""
    graph = BipartiteGraph.read(*(convert(table) for table in TABLES))
    assert pairs_of(graph) == PAIRS
    assert graph.by_left.degrees.tolist() == [2, 2, 2, 1, 2, 2]
    assert graph.by_right.degrees.tolist() == [1, 2, 2, 2, 2, 2]


def test_files_give_the_same_graph(tmp_path: Path) -> None:
    """Three CSV files make the printed graph."""
    for name, table in TABLES._asdict().items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    graph = BipartiteGraph.read(*(tmp_path / f"{name}.csv" for name in ("left", "right", "edges")))
    assert pairs_of(graph) == PAIRS


def test_columns_may_be_named() -> None:
    """Keys and ends need not come first."""
    left = TABLES.left.select(["location", "author"])
    edges = TABLES.edges.rename_columns(["who", "what"]).select(["what", "who"])
    graph = BipartiteGraph.read(left, TABLES.right, edges, left_key="author", edge_columns=("who", "what"))
    assert pairs_of(graph) == PAIRS


def test_both_sides_may_use_one_name_for_their_key() -> None:
    """Without names the first two columns of the edges are the ends."""
    nodes = pa.table({"id": [1, 2]})
    graph = BipartiteGraph.read(nodes, nodes, pa.table({"id": [1, 2], "to": [2, 2]}))
    assert pairs_of(graph) == {(1, 2), (2, 2)}


def test_entities_without_edges_are_nodes() -> None:
    """A node of degree 0 stays."""
    graph = BipartiteGraph.read({"v": [1, 2]}, {"w": [5]}, {"v": [2], "w": [5]})
    assert graph.by_left.degrees.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("left", "edges", "words"),
    [
        ({"v": [1, 1]}, {"v": [1], "w": [5]}, "unique in every row"),
        ({"v": ["a", "a\u200b"]}, {"v": ["a"], "w": [5]}, "unique in every row"),
        ({"v": [1, None]}, {"v": [1], "w": [5]}, "missing"),
        ({"v": [1]}, {"v": [9], "w": [5]}, "1 edge names an entity"),
        ({"v": [1]}, {"v": ["1"], "w": [5]}, "but the key"),
        ({"v": [1]}, {"v": [1, 1], "w": [5, 5]}, "more than once"),
        ({"v": [1, 2]}, {"v": [1, None], "w": [5, 5]}, "no left end"),
    ],
)
def test_what_is_not_a_graph_is_refused_in_a_sentence(left, edges, words) -> None:
    """Broken keys and broken edges are input errors that name no cell."""
    with pytest.raises(InputError, match=words) as refusal:
        BipartiteGraph.read(left, {"w": [5]}, edges)
    assert "9" not in str(refusal.value)


def test_columns_that_are_not_there_are_refused() -> None:
    """Named keys and ends must exist."""
    with pytest.raises(SchemaError, match="'left_key'"):
        BipartiteGraph.read(*TABLES, left_key="nobody")
    with pytest.raises(SchemaError, match="'edge_columns'"):
        BipartiteGraph.read(*TABLES, edge_columns=("author", "nobody"))


def test_repeated_edges_count_once_on_request() -> None:
    """`drop_duplicates` keeps one of each."""
    edges = pd.DataFrame({"v": [1, 1, 2], "w": [5, 5, 5]})
    graph = BipartiteGraph.read({"v": [1, 2]}, {"w": [5]}, edges, drop_duplicates=True)
    assert pairs_of(graph) == {(1, 5), (2, 5)}


def test_nothing_of_a_cell_is_in_the_text_form() -> None:
    """The text form has counts alone."""
    assert repr(BipartiteGraph.read(*TABLES)) == "BipartiteGraph(6 left, 6 right, 11 edges)"


def test_a_graph_goes_to_networkx_and_back() -> None:
    """Nodes, columns and edges survive."""
    graph = BipartiteGraph.from_networkx(BipartiteGraph.read(*TABLES).to_networkx())
    assert pairs_of(graph) == PAIRS
    assert graph.left.drop_columns(["left"]).equals(TABLES.left.drop_columns(["author"]))


def test_networkx_graphs_need_sides() -> None:
    """A node without a side, or an edge inside one, is refused."""
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InputError, match="'bipartite'"):
        BipartiteGraph.from_networkx(networkx.path_graph(3))
    inside = networkx.Graph()
    inside.add_nodes_from([1, 2], bipartite=0)
    inside.add_edge(1, 2)
    with pytest.raises(InputError, match="joins a left node"):
        BipartiteGraph.from_networkx(inside)


def test_a_graph_goes_to_a_sparse_matrix_and_back() -> None:
    """The matrix has a one for each edge, and explicit zeros are no edges."""
    graph = BipartiteGraph.read(*TABLES)
    matrix = graph.to_sparse()
    assert matrix.shape == (6, 6)
    assert matrix.sum() == 11
    assert matrix[0, 1] == 1
    matrix.data[0] = 0
    again = BipartiteGraph.from_sparse(matrix)
    assert again.edges == 10
    assert np.array_equal(again.by_right.degrees, np.asarray((matrix != 0).sum(axis=0)).ravel())


def test_tables_that_were_swapped_are_named() -> None:
    """Every edge would be left out, or refused one by one; keys that both sides have in part are no sign of it."""
    people, things, edges = {"p": ["a", "b"]}, {"t": ["x", "y", "z"]}, {"p": ["a", "b"], "t": ["x", "z"]}
    for dangling in ("refuse", "drop"):
        with pytest.raises(InputError, match="0 of 2 edges name entities of both tables, but 2 do if"):
            BipartiteGraph.read(things, people, edges, edge_columns=("p", "t"), dangling=dangling)
    with pytest.raises(InputError, match="the other way round"):
        BipartiteGraph.read({"t": [1, 2]}, people, {"p": ["a"], "t": [1]}, edge_columns=("p", "t"))
    with pytest.raises(InputError, match="1 edge names an entity"):
        BipartiteGraph.read({"v": [1, 2]}, {"w": [1, 2]}, {"v": [1, 3], "w": [2, 2]})
    shared = BipartiteGraph.read({"v": [1]}, {"w": [1, 2]}, {"v": [1, 2], "w": [2, 1]}, dangling="drop")
    assert (shared.edges, shared.dropped) == (1, 1)
    assert BipartiteGraph.read({"v": [1]}, {"w": [2]}, {"v": [3], "w": [4]}, dangling="drop").dropped == 1
