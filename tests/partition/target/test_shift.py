"""The shift factor: shares within s of the target, the most values that can go down."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.target import Target, implied_distribution, implied_weights
from hedgerow.errors import ParameterError
from hedgerow.partition.target.least_range import least_range, node_counts, node_ranges, spread_out
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform
from tests.support.trees import weighted_trees

SHIFTS = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 3), Fraction(1)])


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), min_size=2, max_size=3), st.integers(0, 15), SHIFTS)
@settings(max_examples=200)
def test_most_values_go_down(parts, most, s):
    """No allowed choice of whole numbers sends more values down, and the one given is allowed."""
    counts, weights = ([part[i] for part in parts] for i in (0, 1))
    total = sum(weights)

    def allowed(chosen):
        values = sum(chosen)
        return values <= most and all(
            (n == 0 or w > 0) and (values == 0 or abs(Fraction(n, values) - Fraction(w, total or 1)) <= s)
            for n, w in zip(chosen, weights, strict=True)
        )

    found = spread_out(counts, weights, most, s)
    assert sum(found) == max(sum(c) for c in product(*(range(n + 1) for n in counts)) if allowed(c))
    assert allowed(found)
    assert all(n <= count for n, count in zip(found, counts, strict=True))


@given(weighted_trees(most_leaves=9), st.data(), SHIFTS)
@settings(max_examples=120)
def test_the_implied_target_is_followed_exactly(tree, data, s):
    """A shifted group is private for the target that it implies, and that target is within s at every branch."""
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=tree.num_leaves, max_size=tree.num_leaves)))
    counts[0] += not counts.any()
    published = node_counts(counts, tree, shift=s)
    assert published.sum() == counts.sum()
    assert Target(tree, s).holds(published)
    own = implied_weights(published, tree)
    assert implied_distribution(published, own) == own.target()


def test_no_shift_is_least_range():
    """A shift of zero changes nothing."""
    tree = uniform(Hierarchy.balanced(range(9), fanout=3))
    counts = np.array([1, 5, 2, 3, 3, 3, 9, 1, 4])
    assert node_counts(counts, tree, shift=0).tolist() == least_range(counts, tree).tolist()


def test_a_full_shift_publishes_values_as_they_are():
    """A shift of one allows every distribution over values that the target allows."""
    tree = uniform(Hierarchy.binary(range(8)))
    counts = np.array([0, 5, 2, 0, 0, 3, 9, 1])
    assert node_counts(counts, tree, shift=1)[:8].tolist() == counts.tolist()


def test_more_shift_costs_less_on_a_skewed_table():
    """On a skewed table the sum of ranges falls as the shift grows."""
    tree = uniform(Hierarchy.binary(range(64)))
    counts = np.random.default_rng(1).geometric(0.1, 64) * np.linspace(0, 20, 64).astype(int)
    costs = [int(node_ranges(tree)[0] @ node_counts(counts, tree, shift=s)) for s in ("0", "0.1", "0.2", "0.3", "0.5")]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0] / 4


def test_a_million_values_need_few_steps():
    """Large counts, heavy weights and many children take no time to speak of."""
    found = spread_out([10**6] * 30 + [5], [10**9 + i for i in range(31)], 10**7, Fraction(1, 100))
    assert sum(found) > 0
    assert max(abs(Fraction(n, sum(found)) - Fraction(1, 31)) for n in found) < Fraction(11, 1000)


@pytest.mark.parametrize("shift", [-0.1, 1.5, "x", None, float("nan"), True])
def test_refusals(shift):
    """A shift is a number from 0 to 1."""
    with pytest.raises(ParameterError, match="shift"):
        node_counts(np.array([1, 1]), uniform(Hierarchy.binary([0, 1])), shift=shift)
