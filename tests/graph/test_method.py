"""Publishing: what leaves keeps its promise, carries nothing else, and is refused where it would undo another."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.datasets.printed import authors_and_papers
from hedgerow.errors import BrokenPromise, BundleError, Infeasible, ParameterError, SchemaError
from hedgerow.graph.method import Ledger
from tests.support.graph_worlds import worlds

GRAPH = hg.BipartiteGraph.read(*authors_and_papers())


def _true_edges(graph: hg.BipartiteGraph) -> set[tuple[object, object]]:
    left, right = graph.left[graph.left_key].to_pylist(), graph.right[graph.right_key].to_pylist()
    return {(left[v], right[w]) for v, w in zip(graph.left_ends, graph.right_ends, strict=True)}


def test_the_truth_is_one_of_the_graphs_that_fit() -> None:
    """One assignment of entities to nodes gives the graph that came in."""
    release = hg.SafeGrouping(2, 3).publish(GRAPH)
    graphs = [{(a["author"], b["paper"]) for a, b in world} for world in worlds(release)]
    sizes = [*release.left.sizes, *release.right.sizes]
    assert len(graphs) == math.prod(math.factorial(int(size)) for size in sizes)
    assert _true_edges(GRAPH) in graphs


def test_entities_come_out_as_they_went_in() -> None:
    """Rows of both tables survive, in another order, with a group."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH)
    assert release.tables["left"].drop_columns(["group"]).sort_by("author").equals(GRAPH.left)
    assert release.tables["right"].drop_columns(["group"]).sort_by("paper").equals(GRAPH.right)


def test_every_assignment_inside_a_group_is_equally_likely() -> None:
    """Over many releases an entity is each of its group's nodes equally often (chi-square at 1 in 10,000)."""
    graph = hg.BipartiteGraph.read({"v": list(range(4))}, {"w": [0]}, {"v": [2], "w": [0]})
    linked = np.zeros((4, 4), int)
    for seed in range(640):
        release = hg.SafeGrouping(4, 1).publish(graph, seed=seed)
        node = release.tables["edges"]["left_node"][0].as_py()
        row = release.tables["left"]["v"].to_pylist().index(2)
        linked[row, node] += 1
    assert ((linked - 40) ** 2 / 40).sum() < 44.3


def test_a_column_of_degrees_is_refused() -> None:
    """Structure among the entities would undo the masking."""
    table = GRAPH.left.append_column("papers", pa.array(GRAPH.by_left.degrees))
    with pytest.raises(SchemaError, match=r"'papers'.*number of edges"):
        hg.SafeGrouping(2, 2).publish(dataclasses.replace(GRAPH, left=table))


@pytest.mark.parametrize(("k", "l"), [(0, 2), (2, True), ("2", 2), (2.0, 2), (1, 1)])
def test_parameters_are_checked_at_the_door(k, l) -> None:  # noqa: E741
    """Sizes are whole numbers, and one of them hides somebody."""
    with pytest.raises(ParameterError):
        hg.SafeGrouping(k, l)


def test_too_large_groups_are_refused_with_what_works() -> None:
    """The printed graph has safe groups of three, not of four."""
    with pytest.raises(Infeasible, match="The largest l found is 3"):
        hg.SafeGrouping(2, 4).publish(GRAPH)


def test_the_guarantee_says_what_is_not_hidden() -> None:
    """A side of single nodes is named."""
    assert "left side is published as it is" in hg.SafeGrouping(1, 3).guarantee().promise
    assert "one of 5" in hg.SafeGrouping(3, 5).guarantee().promise
    assert any("second" in sentence for sentence in hg.SafeGrouping(3, 5).guarantee().not_promised)


def test_a_bundle_comes_back_and_verifies(tmp_path: Path) -> None:
    """What is read is what was written, and carries no more."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH)
    release.save(tmp_path / "out")
    again = hg.open(tmp_path / "out")
    assert all(again.tables[name].equals(table) for name, table in release.tables.items())
    assert again.guarantee == release.guarantee
    assert len(hg.verify_bundle(tmp_path / "out").checks) == 9
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["counts"] == {
        "left": 6,
        "right": 6,
        "edges": 11,
        "left_groups": release.left.groups,
        "right_groups": release.right.groups,
    }
    assert "11 links" in (tmp_path / "out" / "README.md").read_text()


def test_an_edited_bundle_is_refused(tmp_path: Path) -> None:
    """A changed byte in a table or in the manifest shows."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH)
    for name in ("edges.parquet", "manifest.json"):
        release.save(tmp_path / name)
        file = tmp_path / name / name
        file.write_bytes(file.read_bytes().replace(b"2", b"3", 1))
        with pytest.raises(BundleError):
            hg.open(tmp_path / name)


def test_a_seeded_release_is_stamped_and_not_written(tmp_path: Path) -> None:
    """Reproducible means undoable."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH, seed=1)
    with pytest.raises(BundleError, match="seed"):
        release.save(tmp_path / "out")
    release.save(tmp_path / "out", allow_insecure=True)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["reproducible_insecure"]
    assert hg.SafeGrouping(2, 2).publish(GRAPH, seed=1).tables["edges"].equals(release.tables["edges"])


def test_a_taken_name_for_the_group_is_left_alone() -> None:
    """Entities may have a column called group."""
    table = GRAPH.left.append_column("group", pa.array(["x"] * 6))
    release = hg.SafeGrouping(2, 2).publish(dataclasses.replace(GRAPH, left=table))
    assert release.group_columns == ("_group", "group")
    assert release.ask("SELECT count(*) FROM left WHERE left.\"group\" = 'x'").lower == 6


def _changed(release: hg.GroupedGraph, **tables: pa.Table) -> hg.GroupedGraph:
    return dataclasses.replace(release, tables={**release.tables, **tables})


def _int32(values: list[int]) -> pa.Array:
    return pa.array(values, pa.int32())


def test_the_audit_catches_what_the_search_could_get_wrong() -> None:
    """Small groups, shared neighbours, lost nodes, strange columns and metadata all break the promise."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH, seed=3)
    left, nodes, edges = (release.tables[name] for name in ("left", "left_nodes", "edges"))
    lonely = _int32([0, 1, 1, 1, 2, 2])
    merged = _int32([0] * 6)
    broken = {
        "fewer than 2": {
            "left": left.set_column(2, "group", lonely),
            "left_nodes": nodes.set_column(1, "group", lonely),
        },
        "share a neighbour": {
            "left": left.set_column(2, "group", merged),
            "left_nodes": nodes.set_column(1, "group", merged),
        },
        "as many entities": {"left_nodes": nodes.set_column(1, "group", lonely)},
        "not published": {"edges": edges.set_column(0, "left_node", _int32([77] * 11))},
        "published twice": {"edges": pa.concat_tables([edges.slice(0, 1), edges])},
        "order of their nodes": {"edges": pa.concat_tables([edges, edges.slice(0, 1)])},
        "numbered from 0": {"left_nodes": nodes.set_column(0, "node", _int32([5, 4, 3, 2, 1, 0]))},
        "carries metadata": {"edges": edges.replace_schema_metadata({"path": "secret"})},
        "published columns are not": {"edges": edges.append_column("weight", _int32([1] * 11))},
        "group after group": {"left": left.take([5, 0, 1, 2, 3, 4])},
    }
    for words, tables in broken.items():
        with pytest.raises(BrokenPromise, match=words):
            _changed(release, **tables).verify()
    assert len(release.verify().checks) == 8


def test_the_ledger_refuses_what_would_undo_a_release(tmp_path: Path) -> None:
    """(k, 1) beside (1, l) is refused for good; any second release unless asked for; another graph is fine."""
    ledger = tmp_path / "ledger.json"
    hg.SafeGrouping(2, 1).publish(GRAPH, ledger=ledger)
    with pytest.raises(Infeasible, match="links become certain"):
        hg.SafeGrouping(1, 2).publish(GRAPH, ledger=ledger, again=True)
    with pytest.raises(Infeasible, match="published before"):
        hg.SafeGrouping(2, 2).publish(GRAPH, ledger=ledger)
    hg.SafeGrouping(2, 2).publish(GRAPH, ledger=ledger, again=True)
    fewer = dataclasses.replace(GRAPH, left_ends=GRAPH.left_ends[1:], right_ends=GRAPH.right_ends[1:])
    hg.SafeGrouping(1, 2).publish(fewer, ledger=ledger)
    assert len(Ledger.open(ledger).entries) == 3
    assert ledger.stat().st_mode & 0o077 == 0


def test_the_ledger_knows_a_graph_in_any_order_and_tells_nothing(tmp_path: Path) -> None:
    """Rows in another order are the same graph, and no key is in the file."""
    ledger = tmp_path / "ledger.json"
    hg.SafeGrouping(2, 2).publish(GRAPH, ledger=ledger)
    tables = authors_and_papers()
    turned = hg.BipartiteGraph.read(*(table.take(list(range(len(table)))[::-1]) for table in tables))
    with pytest.raises(Infeasible, match="published before"):
        hg.SafeGrouping(2, 2).publish(turned, ledger=ledger)
    assert "a1" not in [entry.graph for entry in Ledger.open(ledger).entries]


def test_a_refused_release_is_not_recorded(tmp_path: Path) -> None:
    """A ledger that cannot be read stops the release; an infeasible one leaves no entry."""
    ledger = tmp_path / "ledger.json"
    with pytest.raises(Infeasible):
        hg.SafeGrouping(2, 4).publish(GRAPH, ledger=ledger)
    assert not ledger.exists()
    ledger.write_text("{}")
    with pytest.raises(BundleError, match="ledger"):
        hg.SafeGrouping(2, 2).publish(GRAPH, ledger=ledger)


def test_nothing_of_the_input_order_survives() -> None:
    """Published positions of entities and of their nodes do not follow the input's rows."""
    graph = hg.author_paper_graph(300, 300, 600, seed=0)
    release = hg.SafeGrouping(3, 3).publish(graph)
    positions = np.argsort(release.tables["left"]["author"].to_numpy())
    assert abs(np.corrcoef(positions, np.arange(300))[0, 1]) < 0.3
