"""Shared neighbours, and what permuting edges does to them."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from hedgerow.datasets.printed import authors_and_papers
from hedgerow.graph import BipartiteGraph, SafeGrouping, author_paper_graph
from hedgerow.graph.picture import draw
from studies.coauthors import permuted_edges, shared_neighbours


def test_pairs_are_counted_as_by_hand() -> None:
    """Every pair of authors is counted by the number of papers that it shares."""
    graph = author_paper_graph(60, 80, 260, seed=1)
    papers = [graph.left_ends[graph.right_ends == w].tolist() for w in range(80)]
    pairs = Counter(pair for authors in papers for pair in itertools.combinations(sorted(authors), 2))
    by_hand = Counter(pairs.values())
    counts = shared_neighbours(graph.by_right)
    assert {n: int(count) for n, count in enumerate(counts) if count} == by_hand


def test_permuting_keeps_degrees_and_loses_pairs() -> None:
    """Half-edges stay, who shares papers changes; a grouped graph keeps the frequencies exactly."""
    graph = author_paper_graph(400, 500, 1500, seed=2)
    permuted = permuted_edges(graph, np.arange(500), np.array([500]))
    assert np.array_equal(permuted.degrees, graph.by_right.degrees)
    assert np.array_equal(np.bincount(permuted.neighbours, minlength=400), graph.by_left.degrees)
    assert shared_neighbours(permuted)[2:].sum() < shared_neighbours(graph.by_right)[2:].sum()
    release = SafeGrouping(3, 3).publish(graph)
    assert np.array_equal(shared_neighbours(release.right.neighbours), shared_neighbours(graph.by_right))


def test_groups_of_one_change_nothing() -> None:
    """Permuting inside single papers is the identity."""
    graph = author_paper_graph(60, 80, 260, seed=1)
    permuted = permuted_edges(graph, np.arange(80), np.ones(80, np.int64))
    assert np.array_equal(shared_neighbours(permuted), shared_neighbours(graph.by_right))


def test_small_releases_can_be_drawn() -> None:
    """A picture of a small release has every group's entities beside it; of a large one no entity, but all groups."""
    figure = draw(SafeGrouping(3, 2).publish(BipartiteGraph.read(*authors_and_papers())))
    words = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(name in words for name in ("a1", "a6", "p1", "p6"))
    large = draw(SafeGrouping(3, 2).publish(author_paper_graph(60, 80, 200)))
    assert not large.axes[0].texts
    assert "200 edges" in large.axes[0].get_title()
