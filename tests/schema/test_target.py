"""Target distributions: exact shares, small ratios, and the distance between asked and used."""

import datetime
import math
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import distance, histogram, normal, population, quantize, uniform, zipf
from tests.support.trees import weighted_trees

TREE = Hierarchy.balanced(range(1, 10), fanout=3)


def first_ratios(tree):
    """The shares of the root's first branch, and of the first branches of its two children, in percent."""
    target, size = tree.target(), tree.num_leaves
    quarters = [sum(target[size * i // 4 : size * (i + 1) // 4]) for i in range(4)]
    halves = [quarters[0] + quarters[1], quarters[2] + quarters[3]]
    return [round(100 * float(x)) for x in (halves[0], quarters[0] / halves[0], quarters[2] / halves[1])]


def test_uniform_gives_every_value_the_same_share():
    """Uneven trees get uneven weights so that the values come out even."""
    assert set(uniform(Hierarchy.binary(range(7))).target()) == {Fraction(1, 7)}


@pytest.mark.parametrize(("divisor", "printed"), [(4, [50, 29, 71]), (20, [50, 0, 100])])
def test_printed_normal_ratios(divisor, printed):
    """With a standard deviation of range/r the first two levels are those of the printed table 3.5, to a percent."""
    tree = Hierarchy.binary(range(4096))
    assert first_ratios(normal(tree, spread=Fraction(4095, divisor))) == pytest.approx(printed, abs=1)


def test_printed_zipf_ratios():
    """1/k with the largest value first has the first two levels of the printed table 3.5, to a percent."""
    assert first_ratios(zipf(Hierarchy.binary(range(4096)), s=1, most_likely="high")) == pytest.approx(
        [8, 41, 9], abs=1
    )


def test_zipf_is_exact_for_whole_exponents_and_near_for_others():
    """Shares are in the ratio of 1/k^s."""
    target = zipf(TREE, s=2).target()
    assert target[0] / target[2] == 9
    broken = zipf(TREE, s="0.1").target()
    assert float(broken[0] / broken[8]) == pytest.approx(9**0.1)
    assert len(set(zipf(TREE, s=0).target())) == 1


def test_normal_is_symmetric_around_its_mean():
    """The default bell is centred; dates have one, too."""
    target = normal(TREE).target()
    assert target == target[::-1]
    days = [datetime.date(2020, 1, day) for day in range(1, 8)]
    assert normal(Hierarchy.binary(days), mean=days[0].toordinal(), spread=1).target()[0] > Fraction(1, 3)


def test_histogram_by_value_or_in_order():
    """Counts give their own shape; a value that is not named has no share."""
    assert histogram(TREE, {1: 3, 9: 1}).target()[0] == Fraction(3, 4)
    assert histogram(TREE, [0] * 8 + [5]).target()[8] == 1
    with pytest.raises(SchemaError, match="1 value "):
        histogram(TREE, {99: 1})


def test_population_counts_a_column_of_another_table():
    """The shape of a population comes from its table."""
    frame = pd.DataFrame({"pay": [1, 1, 2, 9, None], "x": range(5)})
    assert population(TREE, frame, "pay").target()[:2] == (Fraction(1, 2), Fraction(1, 4))
    with pytest.raises(SchemaError):
        population(TREE, pd.DataFrame({"pay": [77]}), "pay")


def test_quantize_turns_thousand_to_thousand_and_one_into_one_to_one():
    """The distance between asked and used is exact."""
    asked = Hierarchy.binary([0, 1]).with_target([1000, 1001])
    used = quantize(asked)
    assert used.hierarchy.weights == (1, 1, 1)
    assert used.distance == Fraction(1, 2) - Fraction(1000, 2001) == distance(asked, used.hierarchy)


@given(weighted_trees(most_leaves=10), st.integers(2, 12))
@settings(max_examples=80)
def test_quantize_keeps_the_support_and_small_ratios(tree, most):
    """Ratios are small, zero stays zero, positive stays positive, and the distance is the total variation."""
    used = quantize(tree, most=most)
    for node in range(tree.num_leaves, tree.num_nodes):
        below = tree.children(node).tolist()
        ratios = [used.hierarchy.weights[child] for child in below]
        assert sum(ratios) <= max(most, sum(ratio > 0 for ratio in ratios))
    pairs = list(zip(tree.target(), used.hierarchy.target(), strict=True))
    assert all((a == 0) == (b == 0) for a, b in pairs)
    assert used.distance == sum(abs(a - b) for a, b in pairs) / 2


@given(st.lists(st.integers(1, 50), min_size=2, max_size=2), st.integers(2, 10))
def test_quantize_is_the_best_of_its_size(weights, most):
    """Among all pairs of whole numbers with a sum up to `most` none is nearer."""
    asked = Hierarchy.binary([0, 1]).with_target(weights)
    share = Fraction(weights[0], sum(weights))
    best = min(abs(share - Fraction(a, a + b)) for a in range(1, most) for b in range(1, most - a + 1))
    assert quantize(asked, most=most).distance == best


def test_finer_ratios_come_closer_on_a_bell():
    """More room for ratios brings the used distribution nearer to the asked one."""
    bell = normal(Hierarchy.binary(range(64)))
    gaps = [quantize(bell, most=most).distance for most in (2, 10, 100)]
    assert gaps == sorted(gaps, reverse=True)
    assert math.isclose(gaps[2], 0, abs_tol=0.02)


def test_refusals():
    """Parameters are checked by name."""
    with pytest.raises(ParameterError, match="spread"):
        normal(TREE, spread=0)
    with pytest.raises(ParameterError, match="'s'"):
        zipf(TREE, s=-1)
    with pytest.raises(ParameterError, match="most_likely"):
        zipf(TREE, most_likely="middle")
    with pytest.raises(ParameterError, match="most"):
        quantize(uniform(TREE), most=1)
    with pytest.raises(ParameterError, match="mean"):
        normal(TREE, mean="x")
    with pytest.raises(SchemaError, match="numbers"):
        normal(Hierarchy.binary(["a", "b"]))
    with pytest.raises(SchemaError, match="same values"):
        distance(uniform(TREE), uniform(Hierarchy.binary([1, 2])))
