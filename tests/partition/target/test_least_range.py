"""least_range against the printed examples, the definition and exhaustive search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.target import Target, implied_distribution
from hedgerow.errors import ParameterError
from hedgerow.partition.target.least_range import (
    _generalize,
    _units,
    arrays_of_trees,
    least_range,
    least_range_groups,
    node_ranges,
    node_sizes,
)
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform
from tests.support.targets import cheapest_generalization
from tests.support.trees import weighted_trees

UNIFORM_8 = uniform(Hierarchy.binary(range(1, 9)))


def counts_of(values: list[int], tree: Hierarchy) -> np.ndarray:
    """Counts in leaf order."""
    leaves = tree.leaves.to_pylist()
    return np.bincount([leaves.index(value) for value in values], minlength=len(leaves))


def labels_of(published: np.ndarray, tree: Hierarchy) -> dict[str, int]:
    """The published subdomains by label."""
    return {tree.labels[node]: int(published[node]) for node in np.flatnonzero(published)}


@pytest.mark.parametrize(("most", "expected"), [(10, [2, 4, 2]), (3, [0, 0, 0]), (8, [2, 4, 2]), (7, [1, 2, 1])])
def test_printed_allocation(most, expected):
    """The printed allocation of (3,6,5) in the ratio 1:2:1 comes out; smaller limits cut whole ratios."""
    ratio = np.array([1, 2, 1])
    assert (_units(np.array([3, 6, 5]), ratio, np.arange(3, dtype=np.int32), most) * ratio).tolist() == expected


def test_printed_groups_two_and_three():
    """Groups 2 and 3 of the printed table 3.2 come out."""
    tree = uniform(Hierarchy.binary([30, 40, 50, 60]))
    assert labels_of(least_range(counts_of([40, 30, 50], tree), tree), tree) == {"*": 1, "[30, 40]": 1, "[50, 60]": 1}
    assert labels_of(least_range(counts_of([40, 60, 60, 60], tree), tree), tree) == {
        "*": 2,
        "[30, 40]": 1,
        "[50, 60]": 1,
    }


def test_printed_six_values_leave_two_at_the_root():
    """Four values on the left and two on the right of a fair tree leave two at the root."""
    tree = uniform(Hierarchy.binary([30, 40, 50, 60]))
    published = least_range(counts_of([30, 30, 40, 40, 50, 60], tree), tree)
    assert labels_of(published, tree) == {"*": 2, "30": 1, "40": 1, "50": 1, "60": 1}


def test_the_tables_own_distribution_costs_nothing():
    """Under its own shape a table is published value by value."""
    tree = Hierarchy.balanced(range(9), fanout=3).with_target([3, 1, 4, 1, 5, 9, 2, 6, 5])
    published = least_range(np.array([3, 1, 4, 1, 5, 9, 2, 6, 5]), tree)
    assert published[:9].tolist() == [3, 1, 4, 1, 5, 9, 2, 6, 5]
    assert published[9:].sum() == 0


def test_coarse_ratios_keep_everything_at_the_root():
    """A ratio of 1000:1001 cannot be cut into 200 values."""
    tree = Hierarchy.binary([0, 1]).with_target([1000, 1001])
    assert least_range(np.array([100, 100]), tree).tolist() == [0, 0, 200]


@given(weighted_trees(most_leaves=9), st.data())
@settings(max_examples=150)
def test_mass_property(tree, data):
    """For random tables, trees and weights, zeros included, the implied distribution equals the target exactly."""
    counts = np.array(data.draw(st.lists(st.integers(0, 12), min_size=tree.num_leaves, max_size=tree.num_leaves)))
    counts[0] += not counts.any()
    published = least_range(counts, tree)
    assert published.sum() == counts.sum()
    assert implied_distribution(published, tree) == tree.target()
    prefix = np.append(0, np.cumsum(counts))
    inside = np.array([published[[n for n in range(tree.num_nodes) if _under(tree, n, node)]].sum()
                       for node in range(tree.num_nodes)])  # fmt: skip
    assert (inside <= prefix[tree.high] - prefix[tree.low]).all()  # Hall: each subdomain has a value of its own


def _under(tree, node, top):
    return tree.low[top] <= tree.low[node] and tree.high[node] <= tree.high[top] and node <= top


@given(weighted_trees(most_leaves=6), st.data())
@settings(max_examples=80)
def test_equals_exhaustive_search(tree, data):
    """No generalization that keeps the target is cheaper, in ranges or in numbers of values."""
    rows = data.draw(st.lists(st.integers(0, tree.num_leaves - 1), min_size=1, max_size=6))
    counts = np.bincount(rows, minlength=tree.num_leaves)
    published = least_range(counts, tree)
    for costs in (node_ranges(tree)[0], node_sizes(tree)):
        assert costs @ published == cheapest_generalization(counts, tree, costs)


@given(st.lists(weighted_trees(most_leaves=8), min_size=1, max_size=4), st.data())
@settings(max_examples=60)
def test_groups_in_one_pass_equal_groups_one_by_one(trees, data):
    """Many groups with their own trees and repeated entries give what each gives alone, compiled or not."""
    trees += [tree.with_target([1] * tree.num_leaves) for tree in trees]  # trees that share a shape
    which = data.draw(st.lists(st.integers(0, len(trees) - 1), min_size=1, max_size=5))
    rows = [data.draw(st.lists(st.integers(0, trees[t].num_leaves - 1), max_size=8)) for t in which]
    leaves = np.array([leaf for own in rows for leaf in own], np.int32)
    offsets = np.append(0, np.cumsum([len(one) for one in rows]))
    args = (leaves, np.ones(len(leaves), np.int64), offsets, arrays_of_trees(trees), np.array(which, np.int32))
    together = least_range_groups(*args)
    for g, (t, own) in enumerate(zip(which, rows, strict=True)):
        alone = least_range(np.bincount(np.array(own, int), minlength=trees[t].num_leaves), trees[t])
        part = slice(together.offsets[g], together.offsets[g + 1])
        assert np.array_equal(
            alone, np.bincount(together.nodes[part], together.counts[part], minlength=trees[t].num_nodes)
        )
        if own:
            assert Target(trees[t]).holds(alone)
    assert together.values().tolist() == [len(own) for own in rows]


def test_compiled_equals_plain(monkeypatch):
    """The compiled kernel gives what the plain loop gives."""
    generator = np.random.default_rng(5)
    tree = Hierarchy.balanced(range(60), fanout=3).with_target(generator.integers(0, 4, 60).tolist())
    leaves = generator.integers(0, 60, 3000).astype(np.int32)
    args = (leaves, np.ones(3000, np.int64), np.arange(0, 3001, 250), arrays_of_trees([tree]), np.zeros(12, np.int32))
    plain = least_range_groups(*args)
    monkeypatch.setattr("hedgerow.partition.target.least_range._generalize", _generalize.compiled)
    compiled = least_range_groups(*args)
    assert np.array_equal(plain.nodes, compiled.nodes)
    assert np.array_equal(plain.counts, compiled.counts)


def test_a_tree_without_weights_is_refused():
    """A hierarchy without weights is no target."""
    with pytest.raises(ParameterError, match="with_target"):
        least_range(np.array([1, 1]), Hierarchy.binary([0, 1]))
