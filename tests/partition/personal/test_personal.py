"""Personalized privacy: every heuristic keeps every wish, and none is cheaper than the exhaustive optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.target import Respect, possible_node
from hedgerow.partition.personal import (
    Bundle,
    Wishes,
    maximal_nodes,
    merge_groups,
    one_group,
    personal_bottom_up,
    personal_top_down,
    total_cost,
)
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform
from tests.support.personal import cheapest_group, cheapest_grouping
from tests.support.trees import weighted_trees


def merged(wishes):
    """Bottom-up, then merged."""
    return merge_groups(personal_bottom_up(wishes), wishes)


PARTITIONS = (one_group, personal_top_down, personal_bottom_up, merged)
FOUR_ONES = (8, [(1, 1, 8)] * 4 + [(v, v, v) for v in range(2, 9)])
TWO_ENDS = (16, [(1, 1, 16), (16, 1, 16), *((v, 5, 8) for v in range(5, 9)), *((v, 9, 12) for v in range(9, 13))])
TWO_FOURS = (8, [(1, 1, 8), (3, 3, 4), (4, 3, 4), (4, 3, 4), (5, 5, 6), (8, 7, 8)])


def problem(size, people):
    """The uniform binary tree over 1..size, leaf codes and nodes of (value, low, high)."""
    tree = uniform(Hierarchy.binary(range(1, size + 1)))
    spans = {(int(a) + 1, int(b)): node for node, (a, b) in enumerate(zip(tree.low, tree.high, strict=True))}
    return tree, [value - 1 for value, _, _ in people], [spans[low, high] for _, low, high in people]


def wishes_of(tree, leaves, nodes):
    """One wish per person."""
    return Wishes.of(tree, leaves, nodes, [1] * len(leaves))


@st.composite
def problems(draw, most=8, most_leaves=8):
    """A weighted tree and people, each with a node above their value."""
    tree = draw(weighted_trees(most_leaves=most_leaves))
    leaves = draw(st.lists(st.integers(0, tree.num_leaves - 1), min_size=1, max_size=most))
    nodes = []
    for leaf in leaves:
        path = [leaf]
        while path[-1] != tree.root:
            path.append(tree.parent(path[-1]))
        nodes.append(draw(st.sampled_from(path)))
    return tree, leaves, nodes


@pytest.mark.parametrize(
    ("example", "best", "costs"),
    [(FOUR_ONES, 23, [32, 32, 23, 23]), (TWO_ENDS, 24, [64, 24, 24, 24]), (TWO_FOURS, 10, [24, 14, 10, 10])],
)
def test_printed_examples(example, best, costs):
    """The printed optima come out of the exhaustive search, and bottom-up reaches all of them."""
    tree, leaves, nodes = problem(*example)
    assert cheapest_grouping(tree, leaves, nodes) == best
    assert [total_cost(partition(wishes_of(tree, leaves, nodes)), tree) for partition in PARTITIONS] == costs


def test_printed_table_can_do_better_than_printed():
    """The printed people in three groups cost 4; the two with 30 and 40 together cost one less and are respected."""
    tree = uniform(Hierarchy.binary([30, 40, 50, 60]))
    leaves, nodes = [3, 1, 0], [3, tree.parent(0), 0]
    assert total_cost(personal_bottom_up(wishes_of(tree, leaves, nodes)), tree) == 3
    assert cheapest_grouping(tree, leaves, nodes) == 3


@given(problems(most=12, most_leaves=10))
@settings(max_examples=120)
def test_every_wish_is_respected_and_everybody_is_placed_once(case):
    """For random trees and weights every group of every partition respects its members' nodes, by the definition."""
    tree, leaves, nodes = case
    wishes = wishes_of(tree, leaves, nodes)
    for partition in PARTITIONS:
        bundles = partition(wishes)
        placed = np.zeros(len(leaves), int)
        for bundle in bundles:
            published = np.zeros(tree.num_nodes, np.int64)
            for node, count in bundle.published.items():
                published[node] = count
            assert Respect(tree).holds(published, possible_node(tree)[[nodes[w] for w in bundle.members]].tolist())
            assert published.sum() == sum(bundle.members.values())
            assert _fits(tree, published, [leaves[w] for w, n in bundle.members.items() for _ in range(n)])
            for wish, people in bundle.members.items():
                placed[wish] += people * bundle.times
        assert (placed == 1).all()


def _fits(tree, published, values):
    """Hall's condition on a laminar family: no node publishes more subdomains below it than it has values."""
    inside = np.array([sum(tree.low[n] <= v < tree.high[n] for v in values) for n in range(tree.num_nodes)])
    total = published.copy()
    for node in range(tree.root):
        total[tree.parents[node]] += total[node]
    return bool((total <= inside).all())


@given(problems(most=7))
@settings(max_examples=60)
def test_no_partition_beats_the_optimum(case):
    """The exhaustive optimum is a lower bound for all of them."""
    tree, leaves, nodes = case
    best = cheapest_grouping(tree, leaves, nodes)
    costs = [total_cost(partition(wishes_of(tree, leaves, nodes)), tree) for partition in PARTITIONS]
    assert min(costs) >= best


@given(problems(most=5, most_leaves=5))
@settings(max_examples=60)
def test_one_group_is_optimal_for_one_group(case):
    """Splitting at maximal nodes and least_range in each is what trying every generalization gives."""
    tree, leaves, nodes = case
    assert total_cost(one_group(wishes_of(tree, leaves, nodes)), tree) == cheapest_group(tree, leaves, nodes)


@given(problems(most=9))
@settings(max_examples=60)
def test_merging_never_costs_more(case):
    """Merged groups cost at most what they cost apart, whichever partition they come from."""
    wishes = wishes_of(*case)
    for partition in PARTITIONS[:3]:
        bundles = partition(wishes)
        assert total_cost(merge_groups(bundles, wishes), case[0]) <= total_cost(bundles, case[0])


def test_merging_helps_where_the_searches_looked_back_too_late():
    """Single people become the groups that they should have been."""
    tree, leaves, nodes = problem(8, [(v, 1, 8) for v in range(1, 9)])
    alone = [Bundle({i: 1}, {nodes[i]: 1}) for i in range(8)]
    assert total_cost(alone, tree) == 64
    assert total_cost(merge_groups(alone, wishes_of(tree, leaves, nodes)), tree) == 8


def test_counts_and_repetition_agree():
    """A thousand people with few different wishes cost a thousand times what few people cost."""
    tree, leaves, nodes = problem(*TWO_ENDS)
    many = Wishes.of(tree, leaves, nodes, [100] * len(leaves))
    for partition in PARTITIONS[1:]:
        once = total_cost(partition(wishes_of(tree, leaves, nodes)), tree)
        assert total_cost(partition(many), tree) <= 100 * once


def test_maximal_nodes_are_disjoint_and_cover():
    """Nested and equal nodes collapse into the widest."""
    tree, leaves, nodes = problem(8, [(1, 1, 2), (2, 1, 4), (3, 3, 3), (8, 7, 8), (7, 7, 8)])
    assert [tree.labels[n] for n in maximal_nodes(wishes_of(tree, leaves, nodes))] == ["[1, 4]", "[7, 8]"]


def test_too_many_people_are_refused():
    """The exhaustive search says when it would never end."""
    tree, leaves, nodes = problem(8, [(1, 1, 8)] * 13)
    with pytest.raises(ValueError, match="12"):
        cheapest_grouping(tree, leaves, nodes)
