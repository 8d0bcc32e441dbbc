"""Four senses of l-diversity against their definitions in fractions and whole numbers."""

from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.criteria.groupwise import groups_of, one_group, require
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from hedgerow.errors import Infeasible, ParameterError
from tests.support.groups import check_criterion


def _has_entropy(counts, l):  # noqa: E741
    """N^N * den^N >= num^N * product of c^c, in whole numbers of any length."""
    rows = counts.total()
    return rows**rows * l.denominator**rows >= l.numerator**rows * prod(c**c for c in counts.values())


def _is_recursive(counts, c, l):  # noqa: E741
    ordered = sorted(counts.values(), reverse=True)
    return ordered[0] < c * sum(ordered[l - 1 :])


@pytest.mark.parametrize("l", [2, 3, 5])
def test_distinct(l):  # noqa: E741
    """At least l different values."""
    check_criterion(DistinctDiversity(l), lambda counts, _: len(counts) >= l)


@pytest.mark.parametrize("l", [2, 3, 5])
def test_frequency(l):  # noqa: E741
    """No value in more than 1/l of the rows; equality is allowed."""
    check_criterion(FrequencyDiversity(l), lambda counts, _: l * max(counts.values()) <= counts.total())


@pytest.mark.parametrize("l", ["1.5", 2, "2.5", 3, "3.7"])
def test_entropy(l):  # noqa: E741
    """Decided exactly, also where N^N equals l^N times the product."""
    check_criterion(EntropyDiversity(l), lambda counts, _: _has_entropy(counts, Fraction(l)))


@pytest.mark.parametrize(("c", "l"), [(1, 2), (2, 2), ("0.5", 2), (3, 3), ("2/3", 3), ("1.41421356237", 2)])
def test_recursive(c, l):  # noqa: E741
    """The most frequent value stays strictly below c times the rest from the l-th on."""
    check_criterion(RecursiveDiversity(c, l), lambda counts, _: _is_recursive(counts, Fraction(c), l))


@pytest.mark.parametrize("l", [2, 3, 50])
@pytest.mark.parametrize("times", [1, 7, 10**6])
def test_uniform_groups_lie_on_the_border_of_entropy(l, times):  # noqa: E741
    """l values equally often have entropy log l exactly; one row more of any of them has less."""
    even = np.full(l, times)
    assert EntropyDiversity(l).holds(one_group(even))[0]
    even[0] += 1
    assert not EntropyDiversity(l).holds(one_group(even))[0]


def test_entropy_on_the_border_without_being_uniform():
    """Counts (4, 1, 1, 1, 1) have entropy log 4 exactly: 8^8 = 4^8 * 4^4."""
    counts = np.array([4, 1, 1, 1, 1])
    assert EntropyDiversity(4).holds(one_group(counts))[0]
    assert not EntropyDiversity("4.0000000000000000000001").holds(one_group(counts))[0]
    assert EntropyDiversity("3.9999999999999999999999").holds(one_group(counts))[0]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6), st.fractions(1, 6, max_denominator=50))
def test_entropy_of_larger_groups(counts, l):  # noqa: E741
    """Floats, decimals and factors together say what whole numbers say."""
    if l > 1:
        expected = _has_entropy(Counter(dict(enumerate(counts))), l)
        assert EntropyDiversity(l).holds(one_group(np.array(counts)))[0] == expected


@pytest.mark.parametrize("kind", [DistinctDiversity, FrequencyDiversity])
@pytest.mark.parametrize("l", [0, 1, 2.5, True, "3", None, float("nan")])
def test_bad_l_is_refused(kind, l):  # noqa: E741
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="'l' must be"):
        kind(l)


@pytest.mark.parametrize(("c", "l"), [(0, 2), (-1, 2), ("x", 2), (float("inf"), 2), (1, 1), (1, None), (True, 2)])
def test_bad_recursive_parameters_are_refused(c, l):  # noqa: E741
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="must be"):
        RecursiveDiversity(c, l)


@pytest.mark.parametrize(("criterion", "says"), [
    (DistinctDiversity(4), "largest l that works is 3"),
    (FrequencyDiversity(3), "largest l that works is 2"),
    (EntropyDiversity(3), "about 2.8"),
    (RecursiveDiversity(1, 3), "works for c above 2"),
    (RecursiveDiversity(9, 4), "needs 4 distinct values"),
])  # fmt: skip
def test_infeasible_names_what_works(criterion, says):
    """A column of counts 4, 3, 2 tells how far it could go."""
    with pytest.raises(Infeasible, match=says):
        require([criterion], [np.array([4, 3, 2])], ["pay"])


def test_many_values_and_groups_are_linear():
    """A million distinct values in a hundred thousand groups take moments."""
    labels = np.repeat(np.arange(100_000, dtype=np.int32), 10)
    codes = np.random.default_rng(1).permutation(1_000_000).astype(np.int32)
    groups = groups_of(labels, codes, np.ones(1_000_000, np.int64))
    for criterion in (
        DistinctDiversity(10),
        FrequencyDiversity(10),
        EntropyDiversity("9.99"),
        RecursiveDiversity(1, 9),
    ):
        assert criterion.holds(groups).all()


def test_no_groups_have_no_verdicts():
    """Of no groups none is judged, by any diversity."""
    none = groups_of(np.empty(0, np.int32), np.empty(0, np.int32), np.array([2, 2]))
    for criterion in (
        DistinctDiversity(2),
        EntropyDiversity(2),
        FrequencyDiversity(2),
        RecursiveDiversity(Fraction(2), 2),
    ):
        assert len(criterion.holds(none)) == 0
