"""Respect for the node that a person names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.target import Respect, is_exact, possible_node
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform
from tests.support.targets import generalizations
from tests.support.trees import weighted_trees

TREE = uniform(Hierarchy.binary([1, 2, 3, 4]))


def group(tree=TREE, **counts):
    """Subdomains by label."""
    published = np.zeros(tree.num_nodes, np.int64)
    for label, count in counts.items():
        published[tree.labels.index(label)] = count
    return published


@pytest.mark.parametrize(
    ("counts", "label", "respected"),
    [
        ({"[1, 2]": 2, "3": 1, "4": 1}, "[3, 4]", True),
        ({"[1, 2]": 2, "3": 1, "4": 1}, "*", True),
        ({"[1, 2]": 1, "3": 1, "4": 1}, "[3, 4]", True),
        ({"[1, 2]": 1, "3": 1, "4": 1}, "*", False),
        ({"3": 2, "4": 1}, "[3, 4]", False),
        ({"3": 2, "4": 1}, "3", True),
        ({"[3, 4]": 1}, "[3, 4]", True),
        ({"1": 1, "2": 1, "[3, 4]": 1}, "[3, 4]", True),
    ],
)
def test_examples(counts, label, respected):
    """Inside the node the ratios must be the target's; outside it anything goes."""
    assert Respect(TREE).holds(group(**counts), [TREE.labels.index(label)]) is respected


def test_unequal_targets():
    """Under 2:1 two 1 and one 2 respect their pair; one and one do not."""
    tree = Hierarchy.binary([1, 2, 3, 4]).with_target([2, 1, 0, 1])
    pair = tree.labels.index("[1, 2]")
    assert Respect(tree).holds(group(tree, **{"1": 2, "2": 1}), [pair])
    assert not Respect(tree).holds(group(tree, **{"1": 1, "2": 1}), [pair])
    assert not Respect(tree).holds(group(tree, **{"3": 1}), [pair])


@given(weighted_trees(most_leaves=5), st.data())
@settings(max_examples=40)
def test_respecting_a_node_respects_the_nodes_below(tree, data):
    """A group that respects a node respects every node under it."""
    rows = data.draw(st.lists(st.integers(0, tree.num_leaves - 1), min_size=1, max_size=3))
    criterion = Respect(tree)
    for published in generalizations(np.bincount(rows, minlength=tree.num_leaves), tree):
        for node in range(tree.num_leaves, tree.num_nodes):
            if criterion.holds(published, [node]):
                assert criterion.holds(published, tree.children(node).tolist())


def test_nodes_without_a_chance_are_raised():
    """A node that the target excludes stands for the lowest one above it that it does not."""
    tree = Hierarchy.binary([1, 2, 3, 4]).with_target([1, 1, 0, 0])
    assert [tree.labels[n] for n in possible_node(tree)] == ["1", "2", "*", "*", "[1, 2]", "*", "*"]


def test_nodes_that_hide_nothing():
    """A node with one possible value is as exact as a leaf."""
    tree = Hierarchy.binary([1, 2, 3, 4]).with_target([1, 1, 1, 0])
    assert [label for label, exact in zip(tree.labels, is_exact(tree), strict=True) if exact] == [
        "1", "2", "3", "4", "[3, 4]",
    ]  # fmt: skip
