"""The fake-value program against the printed examples and against trying every fake."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.partition.target.fake_values import _program, fake_values, work
from hedgerow.partition.target.least_range import least_range, node_ranges
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform
from tests.support.targets import cheapest_fakes
from tests.support.trees import weighted_trees


def numbers(values, size):
    """Counts of 1..size and the uniform binary tree over them, with its ranges."""
    tree = uniform(Hierarchy.binary(range(1, size + 1)))
    return np.bincount(np.array(values) - 1, minlength=size), tree, node_ranges(tree)[0]


@pytest.mark.parametrize(
    ("values", "costs"),
    [([1, 3, 5], [13, 4, 11]), ([1, 3, 5, 7], [4, 11, 10, 17, 0]), ([1, 2, 3, 5, 6, 7, 7], [None, None, 7])],
)
def test_printed_costs(values, costs):
    """The costs by number of fakes are those of the examples, and adding more fakes can cost more."""
    counts, tree, ranges = numbers(values, 8)
    found = fake_values(counts, tree, ranges, most=len(costs) - 1).costs.tolist()
    assert [a for a, b in zip(found, costs, strict=True) if b is not None] == [b for b in costs if b is not None]


def test_printed_counterexample_to_balancing():
    """On the 17-value example one fake on the fuller side costs 38; every fake on the emptier side costs 44."""
    counts, tree, ranges = numbers([1, 1, 1, 2, 3, 4, 5, 6, 7, 9, 9, 11, 11, 13, 13, 15, 15], 16)
    found = fake_values(counts, tree, ranges, most=1)
    assert np.flatnonzero(found.counts).tolist() == [7]
    assert found.costs.tolist()[1] == 38
    right = [int(ranges @ least_range(counts + np.eye(16, dtype=int)[leaf], tree)) for leaf in range(8, 16)]
    assert min(right) == 44


def test_printed_group_gets_sixty():
    """The printed group 40, 30, 50 becomes exact with the fake 60."""
    tree = uniform(Hierarchy.binary([30, 40, 50, 60]))
    found = fake_values(np.array([1, 1, 1, 0]), tree, node_ranges(tree)[0], most=2)
    assert found.counts.tolist() == [0, 0, 0, 1]
    assert found.costs[1] == 0


@given(weighted_trees(most_leaves=7), st.data())
@settings(max_examples=60)
def test_equals_trying_every_fake(tree, data):
    """For each number of fakes the cost is the least over all multisets of that many, and the fakes given reach it."""
    rows = data.draw(st.lists(st.integers(0, tree.num_leaves - 1), min_size=1, max_size=10))
    counts, ranges = np.bincount(rows, minlength=tree.num_leaves), node_ranges(tree)[0]
    found = fake_values(counts, tree, ranges, most=3)
    assert found.costs.tolist() == cheapest_fakes(counts, tree, ranges, 3)
    assert found.number == int(np.argmin(found.costs))
    assert ranges @ least_range(counts + found.counts, tree) == found.costs.min()


@given(weighted_trees(most_leaves=7), st.data())
@settings(max_examples=40)
def test_blocks_are_multiples_and_never_beat_single_fakes(tree, data):
    """Fakes in blocks of two come in pairs, cost what they say, and are never cheaper than free ones."""
    rows = data.draw(st.lists(st.integers(0, tree.num_leaves - 1), min_size=1, max_size=12))
    counts, ranges = np.bincount(rows, minlength=tree.num_leaves), node_ranges(tree)[0]
    pairs, single = (fake_values(counts, tree, ranges, most=4, block=b) for b in (2, 1))
    assert not (pairs.counts % 2).any()
    assert ranges @ least_range(counts + pairs.counts, tree) == pairs.costs.min() >= single.costs.min()


def test_compiled_equals_plain(monkeypatch):
    """The compiled program gives what the plain one gives."""
    generator = np.random.default_rng(3)
    tree = Hierarchy.balanced(range(20), fanout=3).with_target(generator.integers(0, 4, 20).tolist())
    counts, ranges = generator.integers(0, 9, 20), node_ranges(tree)[0]
    monkeypatch.setattr("hedgerow.partition.target.fake_values._PLAIN", work(counts, tree, 6) + 1)
    plain = fake_values(counts, tree, ranges, most=6)
    monkeypatch.setattr("hedgerow.partition.target.fake_values._PLAIN", 0)
    compiled = fake_values(counts, tree, ranges, most=6)
    assert plain.costs.tolist() == compiled.costs.tolist()
    assert plain.counts.tolist() == compiled.counts.tolist()
    assert _program.plain is not _program.compiled


def test_no_fakes_is_least_range():
    """With no fakes allowed the cost is that of least_range."""
    counts, tree, ranges = numbers([1, 1, 4, 6, 8, 8, 8], 8)
    found = fake_values(counts, tree, ranges, most=0)
    assert found.number == 0
    assert found.costs.tolist() == [ranges @ least_range(counts, tree)]


@pytest.mark.parametrize(("most", "block"), [(-1, 1), (3, 0), (10**6, 1)])
def test_refusals(most, block):
    """Negative numbers and programs that would not fit are refused."""
    counts, tree, ranges = numbers(list(range(1, 9)) * 20, 8)
    with pytest.raises(ParameterError):
        fake_values(counts, tree, ranges, most=most, block=block)
