"""Links that somebody has learned: what follows from them, judged by every graph that fits."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.graph import learned_links as module
from hedgerow.graph.learned_links import learned_links
from tests.support.graph_worlds import tiny_graph, worlds

Links = frozenset[tuple[object, object]]


def _fitting(release: hg.GroupedGraph, links: set[tuple[object, object]]) -> list[tuple[Links, frozenset]]:
    """Every graph that fits the release and the links, with who is on which node."""
    left, right = release.keys
    edges = list(zip(*(end.tolist() for end in release.ends), strict=True))
    found = []
    for world in worlds(release):
        names = [(a[left], b[right]) for a, b in world]
        if links <= set(names):
            found.append((frozenset(names), frozenset(zip(names, edges, strict=True))))
    return found


def _judge(release: hg.GroupedGraph, links: set[tuple[object, object]]) -> tuple[int, Fraction, Fraction]:
    """By enumeration: further certain links, the surest other link of a learned entity, and the surest of others."""
    graphs = [names for names, _ in _fitting(release, links)]
    counts = Counter(link for graph in graphs for link in graph)
    certain = {link for link, count in counts.items() if count == len(graphs)} - links
    known = [{link[n] for link in links} for n in (0, 1)]
    exposed = others = Fraction(0)
    for link, count in counts.items():
        chance = Fraction(count, len(graphs))
        if link[0] not in known[0] and link[1] not in known[1]:
            others = max(others, chance)
        elif link not in links and chance < 1:
            exposed = max(exposed, chance)
    return len(certain), exposed, others


def compare(seed: int) -> bool:
    """Compare one tiny graph with enumeration; False where it has no grouping."""
    graph = tiny_graph(seed)
    random = np.random.default_rng(seed)
    try:
        release = hg.SafeGrouping(*((2, 2), (2, 1), (3, 2), (1, 2), (2, 3))[seed % 5]).publish(graph, seed=seed)
    except (Infeasible, SchemaError):
        return False
    truth = [(f"v{v}", f"w{w}") for v, w in zip(graph.left_ends, graph.right_ends, strict=True)]
    chosen = random.choice(len(truth), min(len(truth), 1 + seed % 3), replace=False)
    links = {truth[n] for n in chosen}
    found = learned_links(release, links)
    assert found.is_complete
    assert (found.inferred, found.exposed, found.surest) == _judge(release, links)
    assert found.holds
    return True


def test_what_follows_is_what_enumeration_finds() -> None:
    """Certain links, chances of learned entities and of others: none is missed, none is wrong."""
    assert sum(compare(seed) for seed in range(250)) > 90


def test_the_last_pair_of_two_groups_is_certain() -> None:
    """v0-w0, v1-w1, k = l = 2: who learns one link knows the other, although nobody's node is found."""
    sides = pa.table({"v": [0, 1]}), pa.table({"w": [0, 1]})
    release = hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.read(*sides, pa.table({"v": [0, 1], "w": [0, 1]})))
    found = learned_links(release, [(0, 0)])
    assert (found.found_left, found.found_right, found.inferred) == (0, 0, 1)


def test_other_links_of_a_found_person_are_counted() -> None:
    """With k = 6 and l = 2 the other link of somebody who is found has a chance of 1/2, not of 1/5."""
    edges = {"v": [0, 0, 1, 2, 3, 4, 5], "w": [0, 2, 4, 6, 8, 10, 1]}
    graph = hg.BipartiteGraph.read({"v": range(6)}, {"w": range(12)}, edges)
    releases = (hg.SafeGrouping(6, 2, strict=True).publish(graph, seed=seed) for seed in range(50))
    release = next(release for release in releases if learned_links(release, [(0, 0)]).found_left)
    found = learned_links(release, [(0, 0)])
    assert found.surest <= found.promised == Fraction(1, 5)
    assert found.exposed == Fraction(1, 2) == _judge(release, {(0, 0)})[1]


def test_too_many_placements_are_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit what is found is sound, and the answer says that there may be more."""
    monkeypatch.setattr(module, "MOST_PLACES", 0)
    unsound = 0
    for seed in range(60):
        graph = tiny_graph(seed)
        try:
            release = hg.SafeGrouping(2, 2).publish(graph, seed=seed)
        except (Infeasible, SchemaError):
            continue
        link = (f"v{graph.left_ends[0]}", f"w{graph.right_ends[0]}")
        found = learned_links(release, [link])
        certain, exposed, others = _judge(release, {link})
        assert not found.is_complete
        unsound += (
            found.inferred > certain or found.exposed > max(exposed, Fraction(certain > 0)) or found.surest < others
        )
    assert unsound == 0
