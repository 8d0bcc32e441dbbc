"""Edges with columns of their own, repeated edges, and hubs: published, verified and attacked."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.errors import BrokenPromise, Infeasible, InputError, ParameterError, SchemaError
from hedgerow.graph.attack import degree_attack, edge_attack
from hedgerow.graph.hubs import hub_costs


def shop(seed: int = 0, *, people: int = 60, products: int = 80, edges: int = 200) -> dict[str, pa.Table]:
    """Purchases with a price, a day and a till; some are repeated."""
    random = np.random.default_rng(seed)
    v, w = random.integers(0, people, edges), random.integers(0, products, edges)
    days = [date(2024, 1, 1 + int(day)) for day in random.integers(0, 28, edges)]
    return {
        "left": pa.table({"person": np.arange(people), "town": random.choice(["x", "y"], people)}),
        "right": pa.table({"product": np.arange(products), "kind": random.choice(["a", "b"], products)}),
        "edges": pa.table(
            {
                "person": v,
                "product": w,
                "price": random.integers(1, 100, edges) / 4,
                "day": pa.array(days),
                "till": random.choice(["1", "2", "3"], edges),
            }
        ),
    }


def read(tables: dict[str, pa.Table], **reading) -> hg.BipartiteGraph:
    """The three tables as a graph."""
    return hg.BipartiteGraph.read(tables["left"], tables["right"], tables["edges"], **reading)


VALUES = ["price", "day", "till"]


def test_columns_of_edges_are_not_lost_in_silence() -> None:
    """Without a word about them a table with further columns is refused; () leaves them out."""
    tables = shop()
    with pytest.raises(InputError, match=r"columns beside their ends \(3\)"):
        read(tables)
    with pytest.raises(InputError, match="more than once"):
        read(tables, values=())
    assert read(tables, values=(), repeats="drop").values is None
    assert read(tables, values=(), repeats="count").rows == 200
    with pytest.raises(SchemaError, match="'values'"):
        read(tables, values=["nobody"])
    with pytest.raises(ParameterError, match="dropped"):
        read(tables, values=["price"], drop_duplicates=True)


def test_edges_come_out_with_their_columns(tmp_path: Path) -> None:
    """Every edge is published once with its values, in an order that says nothing, and the bundle verifies."""
    graph = read(shop(), values=VALUES)
    release = hg.SafeGrouping(2, 2).publish(graph)
    release.save(tmp_path / "out")
    again = hg.open(tmp_path / "out")
    assert again.edge_columns == tuple(VALUES)
    assert again.edges == 200
    for name in VALUES:
        assert sorted(again.tables["edges"][name].to_pylist()) == sorted(graph.values.columns[name].to_pylist())
    left, right = again.ends
    assert (np.diff(left.astype(np.int64) * 1000 + right) >= 0).all()
    assert len(hg.verify_bundle(tmp_path / "out").checks) == 10
    assert any("Columns and repetitions of links" in sentence for sentence in release.guarantee.not_promised)


def test_the_value_of_a_pair_stays_with_the_pair() -> None:
    """With k = 1 and l = 2 the left node of every value is the right one."""
    tables = shop(3, edges=60)
    tables["edges"] = tables["edges"].set_column(2, "price", pa.array(np.arange(60) * 1.0))
    release = hg.SafeGrouping(1, 2).publish(read(tables, values=["price"]))
    people = release.tables["left"]["person"].to_pylist()
    published = {row["price"]: people[row["left_node"]] for row in release.tables["edges"].to_pylist()}
    assert published == dict(zip(range(60), tables["edges"]["person"].to_pylist(), strict=True))


def test_a_declared_k_is_reached_by_intervals_and_checked() -> None:
    """Each combination of values has edges of three left and three right nodes; true values are in their intervals."""
    graph = read(shop(1, edges=400, products=400, people=300), values=VALUES)
    release = hg.SafeGrouping(2, 2, edge_k=3).publish(graph)
    edges = release.tables["edges"]
    assert release.edge_columns == ("till", "price_from", "price_to", "day_from", "day_to")
    classes: dict[tuple, list[set[int]]] = {}
    for row in edges.to_pylist():
        ends = classes.setdefault(tuple(row[name] for name in release.edge_columns), [set(), set()])
        ends[0].add(row["left_node"])
        ends[1].add(row["right_node"])
        assert row["price_from"] <= row["price_to"]
    assert min(min(map(len, ends)) for ends in classes.values()) >= 3
    assert "shared by links of at least 3 left" in release.guarantee.promise
    assert len(classes) > 20
    honest, declared = edge_attack(hg.SafeGrouping(2, 2).publish(graph)), edge_attack(release)
    assert declared.share < 0.2 < honest.share
    assert max(declared.found) <= max(honest.found)
    total = sum(graph.values.columns["price"].to_pylist())
    assert sum(edges["price_from"].to_pylist()) <= total <= sum(edges["price_to"].to_pylist())


def test_a_class_of_edges_that_too_few_have_is_a_broken_promise() -> None:
    """Verify counts the nodes of each combination itself."""
    release = hg.SafeGrouping(2, 2).publish(read(shop(), values=VALUES))
    lie = {**release.guarantee.parameters, "edge_k": 2}
    with pytest.raises(BrokenPromise, match="shared by fewer than 2"):
        dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, parameters=lie)).verify()


def test_texts_that_few_edges_have_are_left_out() -> None:
    """A till of one edge is missing in the release, and enough others with it."""
    tables = shop(2, edges=200)
    tills = ["rare", *tables["edges"]["till"].to_pylist()[1:]]
    tables["edges"] = tables["edges"].set_column(4, "till", pa.array(tills))
    edges = hg.SafeGrouping(2, 2, edge_k=4).publish(read(tables, values=["till"])).tables["edges"]
    published = edges["till"].to_pylist()
    assert "rare" not in published
    assert published.count(None) >= 4


def test_dangling_edges_are_counted_and_dropped_on_request() -> None:
    """Edges that name nobody are refused with the way out, or left out and counted."""
    edges = {"v": [1, 9, None], "w": [5, 5, 5]}
    with pytest.raises(InputError, match="dangling='drop'"):
        hg.BipartiteGraph.read({"v": [1]}, {"w": [5]}, edges)
    graph = hg.BipartiteGraph.read({"v": [1]}, {"w": [5]}, edges, dangling="drop")
    assert (graph.edges, graph.dropped) == (1, 2)


def test_a_list_of_edges_alone_is_a_graph() -> None:
    """Entities are whoever has an edge."""
    graph = hg.BipartiteGraph.from_edges(shop()["edges"], values=["price"])
    assert graph.left.column_names == ["person"]
    assert graph.rows == 200
    assert graph.by_left.degrees.min() > 0


def test_a_degree_in_disguise_is_refused_and_noticed() -> None:
    """Degrees as floats, texts, doubled, shifted or negated are refused, and so are they in a bundle."""
    graph = hg.author_paper_graph(200, 300, 700, seed=1)
    degrees = graph.by_left.degrees
    disguises = {
        "float": degrees.astype(float),
        "text": [str(d) for d in degrees],
        "doubled": 2 * degrees,
        "shifted": degrees + 7,
        "negated": -degrees,
        "busy": (degrees > 3).astype(int),
    }
    for name, column in disguises.items():
        table = graph.left.append_column(name, pa.array(column))
        with pytest.raises(SchemaError, match=f"'{name}'"):
            hg.SafeGrouping(3, 2).publish(dataclasses.replace(graph, left=table))
    release = hg.SafeGrouping(3, 2).publish(graph)
    for name in ("float", "text", "doubled"):
        known = release.left.degrees
        column = {"float": known.astype(float), "text": [str(d) for d in known], "doubled": 2 * known}[name]
        tables = {**release.tables, "left": release.tables["left"].append_column(name, pa.array(column))}
        with pytest.raises(BrokenPromise, match="apart"):
            dataclasses.replace(release, tables=tables).verify()


def test_what_groups_by_degree_reveal_is_stated() -> None:
    """The guarantee, the audit and the attack name how many numbers of links are certain, and agree."""
    graph = hg.author_paper_graph(2_000, 3_000, 7_000, seed=1)
    shares = {}
    for order in ("random", "degree", "blurred"):
        release = hg.SafeGrouping(5, 5, order).publish(graph, seed=1)
        left, right = degree_attack(release)
        assert release.guarantee.parameters["left_known"] == left.certain
        assert release.guarantee.parameters["right_known"] == right.certain
        assert any(f"of {left.certain:,} left" in sentence for sentence in release.guarantee.not_promised)
        shares[order] = left.share
        assert left.mean >= left.baseline
    assert shares["degree"] > 0.5 > 0.1 > shares["blurred"] >= 0
    assert shares["random"] < 0.1


def test_degrees_that_are_certain_cannot_be_understated() -> None:
    """Verify counts them itself."""
    release = hg.SafeGrouping(2, 2).publish(hg.author_paper_graph(20, 30, 40, seed=1))
    lie = {**release.guarantee.parameters, "left_known": 1 + release.guarantee.parameters["left_known"]}
    with pytest.raises(BrokenPromise, match="certain"):
        dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, parameters=lie)).verify()


def hub_graph(values: bool = False) -> hg.BipartiteGraph:
    """A product that three quarters of the people bought, among others that few did."""
    tables = shop(5, people=80, products=120, edges=120)
    extra = {
        name: pa.array([0] * 60, column.type) if name != "person" else pa.array(np.arange(60))
        for name, column in zip(
            tables["edges"].column_names, tables["edges"].select(["person", "product"]).columns, strict=False
        )
    }
    ends = pa.concat_tables([tables["edges"].select(["person", "product"]), pa.table(extra)])
    if not values:
        return hg.BipartiteGraph.read(tables["left"], tables["right"], ends, repeats="drop")
    ends = ends.append_column("price", pa.array(np.arange(180)))
    return hg.BipartiteGraph.read(tables["left"], tables["right"], ends, values=["price"])


@pytest.mark.parametrize("values", [False, True])
def test_hubs_are_set_aside_and_counted(tmp_path: Path, values: bool) -> None:
    """One product forbids groups; without it there are some, and the guarantee says what is missing."""
    graph = hub_graph(values)
    with pytest.raises(Infeasible):
        hg.SafeGrouping(3, 3).publish(graph)
    for choice in ("suppress", "apart"):
        release = hg.SafeGrouping(3, 3, hubs=choice).publish(graph)
        counts = release.guarantee.parameters
        assert counts["right_hubs"] >= 1
        assert release.left.neighbours.edges == graph.edges - counts["hub_links"]
        assert any("set aside" in sentence for sentence in release.guarantee.not_promised)
        release.save(tmp_path / choice)
        hg.verify_bundle(tmp_path / choice)
        again = hg.open(tmp_path / choice)
        assert ("right_hubs" in again.tables) == (choice == "apart")
    hubs = again.tables["right_hubs"]
    assert hubs.column_names == ["product", "kind", "links"]
    assert max(hubs["links"].to_pylist()) >= 60
    assert 0 not in again.tables["right"]["product"].to_pylist()


def test_the_cost_of_hubs_is_told_before() -> None:
    """Each tightness costs more links and allows larger groups by counting."""
    costs = hub_costs(hub_graph(), 3, 3)
    assert (costs[0].links_lost, costs[0].most_k) == (0.0, 1)
    assert costs[1].right_hubs == 1
    assert costs[1].most_k >= 3
    assert all(a.links_lost <= b.links_lost and a.most_k <= b.most_k for a, b in itertools.pairwise(costs))


def test_weights_of_other_libraries_stay() -> None:
    """Data of edges of networkx, igraph and scipy.sparse become columns, and go back."""
    networkx = pytest.importorskip("networkx")
    sparse = pytest.importorskip("scipy.sparse")
    graph = read(shop(edges=90), values=["price", "till"])
    again = hg.BipartiteGraph.from_networkx(graph.to_networkx())
    assert again.rows == 90
    for name in ("price", "till"):
        assert sorted(again.values.columns[name].to_pylist()) == sorted(graph.values.columns[name].to_pylist())
    simple = networkx.Graph()
    simple.add_nodes_from([0, 1], bipartite=0)
    simple.add_nodes_from([2, 3], bipartite=1)
    simple.add_weighted_edges_from([(0, 2, 5.0), (1, 3, 7.0)])
    weighted = hg.BipartiteGraph.from_networkx(simple)
    assert weighted.values.columns["weight"].to_pylist() == [5.0, 7.0]
    matrix = sparse.coo_array(([2, 1, 4], ([0, 1, 1], [0, 0, 2])), shape=(2, 3))
    assert hg.BipartiteGraph.from_sparse(matrix).values.columns["weight"].to_pylist() == [2, 1, 4]
    assert (hg.BipartiteGraph.from_sparse(matrix).to_sparse() != matrix.tocsr()).nnz == 0


def test_igraph_comes_and_goes() -> None:
    """Types, names, columns and data of edges survive."""
    pytest.importorskip("igraph")
    graph = read(shop(edges=90), values=["price"])
    again = hg.BipartiteGraph.from_igraph(graph.to_igraph())
    assert (again.left.num_rows, again.right.num_rows, again.rows) == (60, 80, 90)
    assert sorted(again.values.columns["price"].to_pylist()) == sorted(graph.values.columns["price"].to_pylist())


def test_frames_go_out() -> None:
    """Edges by keys with their columns, for pandas and polars."""
    graph = read(shop(edges=50), values=["price"])
    pandas, polars = graph.to_pandas(), graph.to_polars()
    assert list(pandas["edges"].columns) == polars["edges"].columns == ["left", "right", "price"]
    again = hg.BipartiteGraph.read(
        polars["left"], polars["right"], polars["edges"], edge_columns=("left", "right"), values=["price"]
    )
    assert again.rows == 50
