"""Smaller groups for neighbours of hubs: what is promised of each node, found by enumeration and checked by verify."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.errors import BrokenPromise, Infeasible, ParameterError, SchemaError
from hedgerow.graph.adjacency import ORDERS
from hedgerow.graph.attack import static_attack
from hedgerow.graph.hubs import Lowered, lowered_costs, wanted_sizes
from hedgerow.verify.graph_words import graph_words
from tests.graph.test_edge_values import hub_graph
from tests.support.graph_worlds import is_safe, tiny_graph, worlds


def tiny_hub(seed: int) -> hg.BipartiteGraph:
    """A tiny graph in which one right node is joined with nearly everybody."""
    graph = tiny_graph(seed, density=0.12)
    joined = {*zip(graph.left_ends.tolist(), graph.right_ends.tolist(), strict=True)}
    joined |= {(v, 0) for v in range(graph.left.num_rows - 1)}
    v, w = np.array(sorted(joined), np.int32).T
    return dataclasses.replace(graph, left_ends=v.copy(), right_ends=w.copy())


def released(seed: int) -> hg.GroupedGraph | None:
    """A release with lowered groups, or None where there is none."""
    method = hg.SafeGrouping(2 + seed % 2, 2, ORDERS[seed % 4], hubs="lower")
    try:
        return method.publish(tiny_hub(seed), seed=seed)
    except (Infeasible, SchemaError):
        return None


def test_no_link_is_surer_than_promised_in_any_graph_that_fits() -> None:
    """The chance of each pair over all assignments is at most one of min(k, l), and groups are as large as promised."""
    lowered = 0
    for seed in range(60):
        release = released(seed)
        if release is None:
            continue
        release.verify()
        every = list(worlds(release))
        joined = Counter((a["v"], b["w"]) for world in every for a, b in world)
        assert max(joined.values()) * release.hidden_among <= len(every)
        assert static_attack(release).surest == Fraction(max(joined.values()), len(every))
        assert static_attack(release).holds
        parameters = release.guarantee.parameters
        if "left_slack" not in parameters:
            continue
        lowered += 1
        for side, other, letter, slack in (("left", "right", "k", "left_slack"), ("right", "left", "l", "right_slack")):
            part = getattr(release, side)
            edges = list(zip(part.neighbours.ends.tolist(), part.neighbours.neighbours.tolist(), strict=True))
            assert is_safe(part.node_groups.tolist(), edges)
            for node in range(len(part.node_groups)):
                mine = part.neighbours.neighbours[part.neighbours.offsets[node] : part.neighbours.offsets[node + 1]]
                degrees = getattr(release, other).degrees
                busiest = max((int(degrees[far]) for far in mine), default=0)
                least = parameters[letter]
                if parameters[slack] and busiest:
                    least = max(1, min(least, len(part.node_groups) // (parameters[slack] * busiest)))
                assert part.sizes[part.node_groups[node]] >= least
    assert lowered > 15


def test_every_link_of_a_hub_is_published(tmp_path: Path) -> None:
    """Where three quarters bought one product, nothing is lost; the guarantee says who hides among fewer."""
    graph = hub_graph()
    release = hg.SafeGrouping(3, 3, hubs="lower").publish(graph)
    assert release.edges == graph.edges
    parameters = release.guarantee.parameters
    assert parameters["left_lowered"] >= 50
    assert parameters["right_slack"] == parameters["right_lowered"] == 0
    assert "divided by" in release.guarantee.promise
    assert any("Small groups" in sentence for sentence in release.guarantee.not_promised)
    release.save(tmp_path / "out")
    checks = hg.verify_bundle(tmp_path / "out").checks
    assert any("one end of each link" in check for check in checks)
    assert hg.open(tmp_path / "out").hidden_among == 3
    answer = release.ask("SELECT count(*) FROM edges WHERE left.person > 40")
    chosen = graph.left["person"].to_numpy() > 40
    assert answer.lower <= chosen[graph.left_ends].sum() <= answer.upper


def test_costs_of_lowering_are_counted_before() -> None:
    """Shares of entities and links whose groups are smaller; the fewer the slack, the fewer they are."""
    costs = lowered_costs(hub_graph(), 3, 3)
    assert costs[0].left_lowered == pytest.approx(61 / 80)  # the hub has 61 neighbours
    assert costs[0].links_open == 0.0
    assert [cost.left_lowered for cost in costs] == sorted(cost.left_lowered for cost in costs)
    graph = hub_graph()
    assert wanted_sizes(graph.by_left, graph.by_right, 3, 1).min() == 1


def test_hubs_on_both_sides_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both ends of a link would be in small groups nothing is published, and the audit would find it."""
    left, right = pa.table({"a": np.arange(20)}), pa.table({"b": np.arange(20)})
    v = np.append(np.zeros(15, np.int64), np.arange(1, 16))
    w = np.append(np.arange(15), np.zeros(15, np.int64))
    graph = hg.BipartiteGraph.read(left, right, pa.table({"a": v, "b": w}))
    with pytest.raises(Infeasible, match="at both ends"):
        hg.SafeGrouping(3, 3, hubs="lower").publish(graph, seed=1)  # one grouping in eighty happens to be large enough
    monkeypatch.setattr(Lowered, "check_links", lambda self, graph: None)
    with pytest.raises(BrokenPromise, match="at both ends"):
        [hg.SafeGrouping(3, 3, hubs="lower").publish(graph, seed=seed) for seed in range(20)]
    with pytest.raises(ParameterError, match="at least 2"):
        hg.SafeGrouping(3, 1, hubs="lower")


def forged(release: hg.GroupedGraph, **parameters: int) -> hg.GroupedGraph:
    """The release with other parameters, worded as they must be."""
    said = {**release.guarantee.parameters, **parameters}
    promise, adversary, missing = graph_words(said)
    guarantee = dataclasses.replace(
        release.guarantee, parameters=said, promise=promise, adversary=adversary, not_promised=missing
    )
    return dataclasses.replace(release, guarantee=guarantee)


def test_verify_finds_promises_that_are_not_kept() -> None:
    """Stated numbers, sizes by degree and full ends are derived again."""
    release = hg.SafeGrouping(3, 3, hubs="lower").publish(hub_graph(), seed=1)
    lowered = release.guarantee.parameters["left_lowered"]
    forged(release).verify()
    with pytest.raises(BrokenPromise, match="not the one stated"):
        forged(release, left_lowered=lowered - 1).verify()
    with pytest.raises(BrokenPromise, match="where there is none"):
        forged(release, left_slack=0).verify()
    with pytest.raises(BrokenPromise, match="fewer than 3 nodes"):
        forged(release, left_slack=0, right_slack=1).verify()
    with pytest.raises(BrokenPromise, match="at least 2"):
        forged(release, l=1).verify()
    with pytest.raises(BrokenPromise, match="below their promise"):
        _split(release, "left").verify()


def _split(release: hg.GroupedGraph, side: str) -> hg.GroupedGraph:
    """Every node of a side in a group of its own, and the guarantee states that."""
    tables = dict(release.tables)
    nodes = tables[f"{side}_nodes"].num_rows
    groups = pa.array(np.arange(nodes, dtype=np.int32))
    tables[f"{side}_nodes"] = tables[f"{side}_nodes"].set_column(1, "group", groups)
    tables[side] = tables[side].set_column(tables[side].column_names.index("group"), "group", groups)
    stated = {f"{side}_lowered": nodes, f"{side}_known": nodes}
    return forged(dataclasses.replace(release, tables=tables), **stated)
