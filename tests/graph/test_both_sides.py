"""Both sides of a graph grouped at once."""

import numpy as np
import pytest

from hedgerow.errors import Infeasible
from hedgerow.graph import author_paper_graph
from hedgerow.graph.adjacency import adjacency, count_unsafe
from hedgerow.graph.safe_grouping import group_both_sides, safe_grouping
from hedgerow.randomness import seeded_keys


def test_two_threads_find_safe_groups_of_the_sizes_asked(monkeypatch):
    """Neither side sees the other's work."""
    monkeypatch.setattr("hedgerow.graph.adjacency._WORTH_A_THREAD", 0)
    graph = author_paper_graph(3000, 4000, 10_000, seed=1)
    near, far = graph.by_left, graph.by_right
    for order in ("random", "degree", "neighbourhood", "blurred"):
        left, right = group_both_sides(near, far, sizes=(5, 7), order=order)
        assert (left.sizes.min(), right.sizes.min()) >= (5, 7)
        assert count_unsafe(left.groups, far) == count_unsafe(right.groups, near) == 0


def test_a_seed_gives_what_one_side_after_the_other_gives(monkeypatch):
    """Keys of a seeded source are drawn in one order, whatever the size of the graph."""
    monkeypatch.setattr("hedgerow.graph.adjacency._WORTH_A_THREAD", 0)
    graph = author_paper_graph(300, 400, 1000, seed=1)
    near, far = graph.by_left, graph.by_right
    keys = seeded_keys(4)
    wanted = safe_grouping(near, far, k=3, keys=keys).groups, safe_grouping(far, near, k=4, keys=keys).groups
    found = group_both_sides(near, far, sizes=(3, 4), keys=seeded_keys(4))
    assert all(np.array_equal(side.groups, groups) for side, groups in zip(found, wanted, strict=True))


def test_the_side_that_cannot_be_grouped_is_named(monkeypatch):
    """A star has no safe pair of leaves."""
    monkeypatch.setattr("hedgerow.graph.adjacency._WORTH_A_THREAD", 0)
    leaves, hub = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    star = adjacency(leaves, hub, 5, 1), adjacency(hub, leaves, 1, 5)
    with pytest.raises(Infeasible, match="k"):
        group_both_sides(*star, sizes=(2, 1))
