"""Adversaries of grouped graphs, judged by every graph that fits and by the paper's example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import hedgerow.graph as hg
from hedgerow.attack.finding import Rate
from hedgerow.datasets.printed import authors_and_papers
from hedgerow.errors import Infeasible, InputError, ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.attack import (
    class_sizes,
    join_releases,
    processing_order,
    signatures,
    static_attack,
)
from hedgerow.graph.learned_links import learned_links
from tests.support.graph_worlds import World, worlds

GRAPH = hg.BipartiteGraph.read(*authors_and_papers())


def _links(world: World) -> frozenset[tuple[object, object]]:
    return frozenset((a["author"], b["paper"]) for a, b in world)


def _classes(signs, names) -> set[frozenset[str]]:
    return {
        frozenset(name for name, sign in zip(names, signs, strict=True) if sign == wanted)
        for wanted in set(signs.tolist())
    }


def score_pairs(pairs: Sequence[tuple[int, int]], side: Adjacency, opposite: Adjacency) -> Rate:
    """Count the guessed pairs that share a neighbour; the baseline is an upper bound for pairs drawn at random."""
    near = [set(side.neighbours[side.offsets[v] : side.offsets[v + 1]].tolist()) for v in range(side.nodes)]
    hits = sum(bool(near[u] & near[v]) for u, v in pairs)
    together = float((opposite.degrees * (opposite.degrees - 1.0)).sum()) / 2
    return Rate(hits, len(pairs), min(1.0, together / max(1.0, side.nodes * (side.nodes - 1.0) / 2)))


def test_signatures_of_the_printed_graph() -> None:
    """After two rounds a4, a5, p1 and p5 are alone, and the others are alike on each side."""
    lefts, rights = signatures(GRAPH.by_left, GRAPH.by_right, rounds=2)
    assert _classes(lefts, GRAPH.left["author"].to_pylist()) == {
        frozenset({"a1", "a2", "a3", "a6"}),
        frozenset({"a4"}),
        frozenset({"a5"}),
    }
    assert _classes(rights, GRAPH.right["paper"].to_pylist()) == {
        frozenset({"p2", "p3", "p4", "p6"}),
        frozenset({"p1"}),
        frozenset({"p5"}),
    }


def _slow_signatures(graph: hg.BipartiteGraph, rounds: int) -> list[int]:
    """Colour refinement by tuples and a table of names."""
    near = [
        graph.by_left.neighbours[a:b].tolist()
        for a, b in zip(graph.by_left.offsets, graph.by_left.offsets[1:], strict=False)
    ]
    far = [
        graph.by_right.neighbours[a:b].tolist()
        for a, b in zip(graph.by_right.offsets, graph.by_right.offsets[1:], strict=False)
    ]
    left, right = [0] * len(near), [0] * len(far)
    for _ in range(rounds):
        first = [(left[v], tuple(sorted(right[w] for w in near[v]))) for v in range(len(near))]
        second = [(right[w], tuple(sorted(left[v] for v in far[w]))) for w in range(len(far))]
        left, right = ([sorted(set(signs)).index(sign) for sign in signs] for signs in (first, second))
    return left


def test_hashed_signatures_part_nodes_as_sorted_ones_do() -> None:
    """Hashes and sorted tuples give the same classes in every round."""
    for seed in range(25):
        graph = hg.author_paper_graph(40, 50, 110, seed=seed)
        for rounds in range(5):
            fast, _ = signatures(graph.by_left, graph.by_right, rounds=rounds)
            slow = _slow_signatures(graph, rounds)
            assert len(set(fast.tolist())) == len(set(slow)) == len(set(zip(fast.tolist(), slow, strict=True)))
            assert class_sizes(fast).tolist() == [Counter(slow)[sign] for sign in slow]


def test_no_static_guess_is_surer_than_promised() -> None:
    """The surest link of the attack is the surest one over all graphs that fit, and at most 1 / max(k, l)."""
    for seed in range(6):
        release = hg.SafeGrouping(2, 3).publish(GRAPH, seed=seed)
        graphs = [_links(world) for world in worlds(release)]
        counts = Counter(link for graph in graphs for link in graph)
        found = static_attack(release)
        assert found.surest == Fraction(max(counts.values()), len(graphs)) <= found.promised == Fraction(1, 3)
        assert found.holds
        assert found.baseline == pytest.approx(11 / 36)


def test_one_learned_link_leaves_others_at_most_one_in_k_minus_one() -> None:
    """Over all graphs that fit and have the link, no link of two other entities is surer than the attack says."""
    for seed in range(12):
        release = hg.SafeGrouping(3, 3).publish(GRAPH, seed=seed)
        graphs = [_links(world) for world in worlds(release)]
        for link in (("a1", "p2"), ("a4", "p5")):
            fitting = [graph for graph in graphs if link in graph]
            others = Counter(
                other for graph in fitting for other in graph if other[0] != link[0] and other[1] != link[1]
            )
            found = learned_links(release, [link])
            assert Fraction(max(others.values()), len(fitting)) <= found.surest <= Fraction(1, 2)
            assert found.holds


def test_what_is_called_found_is_so_in_every_graph_that_fits() -> None:
    """Two learned links: inferred links are in every graph that has both."""
    inferred = 0
    for seed in range(25):
        release = hg.SafeGrouping(2, 2).publish(GRAPH, seed=seed)
        links = [("a1", "p2"), ("a3", "p4")]
        fitting = [graph for graph in map(_links, worlds(release)) if set(links) <= graph]
        certain = frozenset.intersection(*fitting) - set(links)
        found = learned_links(release, links)
        assert found.inferred <= len(certain)
        inferred += found.inferred
    assert inferred > 0


def test_links_that_cannot_be_are_refused() -> None:
    """Unknown keys and links that no assignment allows are input errors."""
    release = hg.SafeGrouping(2, 2).publish(GRAPH)
    with pytest.raises(InputError, match="does not have"):
        learned_links(release, [("nobody", "p1")])
    sparse = hg.BipartiteGraph.read({"v": [0, 1, 2, 3]}, {"w": [0, 1, 2, 3]}, {"v": [0], "w": [0]})
    release = hg.SafeGrouping(2, 2).publish(sparse)
    left, right = release.tables["left"].to_pylist(), release.tables["right"].to_pylist()
    group = {row["v"]: row["group"] for row in left}[0]
    impossible = next(row["v"] for row in left if row["group"] != group), right[0]["w"]
    with pytest.raises(InputError, match="not in the graph"):
        learned_links(release, [impossible])


def test_two_releases_give_links_away() -> None:
    """(1, l) and (k, 1) of one graph, joined by signatures, make most links of an author-paper graph certain."""
    graph = hg.author_paper_graph(400, 500, 1400, seed=2)
    first, second = hg.SafeGrouping(1, 4).publish(graph), hg.SafeGrouping(4, 1).publish(graph)
    found = join_releases(first, second)
    assert found.rate > 0.5
    with pytest.raises(ParameterError, match="same graph"):
        join_releases(first, hg.SafeGrouping(4, 1).publish(hg.author_paper_graph(400, 500, 1400, seed=3)))
    with pytest.raises(ParameterError, match="left_named"):
        join_releases(second, first)


def _in_table_order(graph: hg.BipartiteGraph, k: int) -> list[int]:
    """First fit in the order of the table: the fault that the attack feeds on."""
    near = [
        set(graph.by_left.neighbours[a:b].tolist())
        for a, b in zip(graph.by_left.offsets, graph.by_left.offsets[1:], strict=False)
    ]
    groups: list[list[int]] = []
    labels = []
    for node in range(len(near)):
        fits = (n for n, g in enumerate(groups) if len(g) < k and not any(near[node] & near[other] for other in g))
        number = next(fits, len(groups))
        if number == len(groups):
            groups.append([])
        groups[number].append(node)
        labels.append(number)
    return labels


def test_table_order_gives_pairs_away_and_a_secret_order_does_not() -> None:
    """Replaying first fit finds true pairs in a grouping by rows; in a release its guesses are mere chance."""
    hits = trials = 0
    secret_hits = secret_trials = chance = 0.0
    for seed in range(8):
        graph = hg.author_paper_graph(300, 350, 1200, seed=seed)
        open_pairs = processing_order(_in_table_order(graph, 5), k=5)
        release = hg.SafeGrouping(5, 1).publish(graph)
        groups = dict(zip(*(release.tables["left"][name].to_pylist() for name in ("author", "group")), strict=True))
        secret_pairs = processing_order([groups[author] for author in graph.left["author"].to_pylist()], k=5)
        found = score_pairs(open_pairs, graph.by_left, graph.by_right) if open_pairs else None
        hits, trials = hits + (found.hits if found else 0), trials + len(open_pairs)
        secret = score_pairs(secret_pairs, graph.by_left, graph.by_right)
        secret_hits, secret_trials = secret_hits + secret.hits, secret_trials + secret.trials
        chance += secret.baseline / 8
    assert hits == trials > 5
    assert secret_hits / secret_trials < 1.3 * chance


def test_a_star_cannot_be_published() -> None:
    """A graph that the static adversary reads off is refused, not published."""
    star = hg.BipartiteGraph.read({"v": list(range(5))}, {"w": [0]}, {"v": list(range(5)), "w": [0] * 5})
    with pytest.raises(Infeasible, match="Only k = 1 works"):
        hg.SafeGrouping(2, 1).publish(star)
    assert np.array_equal(star.by_right.degrees, [5])
