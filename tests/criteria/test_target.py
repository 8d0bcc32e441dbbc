"""P-privacy by its definition."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.target import (
    Target,
    below,
    implied_distribution,
    implied_weights,
    node_probabilities,
    read_shift,
)
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform

TREE = uniform(Hierarchy.binary([30, 40, 50, 60]))


def published(tree=TREE, **counts):
    """Counts by node label."""
    result = np.zeros(tree.num_nodes, np.int64)
    for label, count in counts.items():
        result[tree.labels.index(label)] = count
    return result


@pytest.mark.parametrize(
    ("counts", "private"),
    [
        ({"30": 1, "40": 1, "50": 1, "60": 1}, True),
        ({"[30, 40]": 2, "50": 1, "60": 1}, True),
        ({"*": 3}, True),
        ({"*": 1, "[30, 40]": 1, "[50, 60]": 1}, True),
        ({"[30, 40]": 1, "50": 1, "60": 1}, False),
        ({"30": 1}, False),
        ({"30": 2, "40": 1, "50": 1, "60": 2}, False),
    ],
)
def test_printed_generalizations(counts, private):
    """Exactly the generalizations whose subdomains mix to the target are private."""
    assert Target(TREE).holds(published(**counts)) is private


def test_weights_change_what_is_private():
    """Under 2:1 the pair [30, 40] stands for two thirds 30."""
    tree = Hierarchy.binary([30, 40, 50, 60]).with_target([2, 1, 0, 3])
    assert implied_distribution(published(tree, **{"[30, 40]": 1}), tree) == (Fraction(2, 3), Fraction(1, 3), 0, 0)
    assert Target(tree).holds(published(tree, **{"[30, 40]": 1, "60": 1}))


def test_a_subdomain_without_chance_is_never_private():
    """What the target excludes may not be published."""
    tree = Hierarchy.binary([30, 40, 50, 60]).with_target([1, 1, 0, 0])
    assert implied_distribution(published(tree, **{"50": 1}), tree) is None
    assert not Target(tree).holds(published(tree, **{"50": 1}))
    assert not Target(tree, 1).holds(published(tree, **{"50": 1, "30": 1}))


@pytest.mark.parametrize(("shift", "near"), [("0.1", False), ("0.25", True), ("0.24999999", False), (1, True)])
def test_shift_is_compared_exactly(shift, near):
    """Three against one is a quarter away from one half, not a hair more or less."""
    assert Target(TREE, shift).holds(published(**{"[30, 40]": 3, "[50, 60]": 1})) is near


def test_a_union_of_private_groups_is_private():
    """The criterion is monotone."""
    one, two = published(**{"[30, 40]": 2, "50": 1, "60": 1}), published(**{"*": 5})
    assert Target.monotone
    assert Target(TREE).holds(one + two)


def test_sums_over_subtrees():
    """Counts and probabilities of a node are those of everything below it."""
    assert below(published(**{"30": 2, "*": 1}), TREE)[[4, 6]].tolist() == [2, 3]
    assert node_probabilities(TREE)[4:] == [Fraction(1, 2), Fraction(1, 2), 1]


def test_a_target_needs_weights():
    """A hierarchy without weights is no criterion."""
    with pytest.raises(SchemaError, match="weights"):
        Target(Hierarchy.binary([1, 2]))


def test_every_branch_must_be_near():
    """Of three branches one has exactly its share; the two others are a sixth away."""
    tree = uniform(Hierarchy.balanced(["a", "b", "c"], fanout=3))
    counts = published(tree, a=2, b=3, c=1)
    assert Target(tree, Fraction(1, 6)).holds(counts)
    assert not Target(tree, Fraction(1, 7)).holds(counts)


@pytest.mark.parametrize(("given", "exact"), [
    (0, 0), (1, 1), (0.1, Fraction(1, 10)), ("0.25", Fraction(1, 4)), ("1/3", Fraction(1, 3)),
    (Fraction(2, 7), Fraction(2, 7)),
])  # fmt: skip
def test_shifts_are_read_as_they_are_written(given, exact):
    """A float means the decimal that it prints as."""
    assert read_shift(given) == exact


@pytest.mark.parametrize("given", [-0.1, 1.1, "1/0", "x", "4/3", None])
def test_shifts_out_of_range(given):
    """From 0 to 1."""
    with pytest.raises(ParameterError):
        read_shift(given)


def test_a_split_node_follows_the_groups_own_ratios():
    """Three of four values below one child and one below the other; what is not split keeps the target's weights."""
    tree = uniform(Hierarchy.binary((1, 2, 3, 4)))
    published = np.zeros(len(tree.parents), np.int64)
    published[[0, 1, 2]] = 2, 1, 1
    found = implied_weights(published, tree)
    assert found.target() == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), Fraction(0))
