"""Neighbourhoods as reaches: compared exactly, for any sign, on grids and on floats."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.proximity import absolute, general, one_sided, relative, same_value
from hedgerow.errors import ParameterError
from hedgerow.exact import line

EPS = st.sampled_from(["0", "1", "0.5", "2.25", "1/3", "7"])
SHARES = st.sampled_from(["0", "0.1", "1/3", "0.5", "1"])
WHOLE = st.sets(st.one_of(st.integers(-20, 20), st.integers(-(2**61), 2**61)), min_size=1, max_size=12)
TENTHS = st.sets(st.integers(-30, 30).map(lambda n: n * 0.1), min_size=1, max_size=12)

ENDS = st.sets(
    st.sampled_from(
        [sign * size for sign in (1, -1) for size in (1.7976931348623157e308, 1.7e308, 1e308, 1.5, 5e-324)]
    ),
    min_size=1,
)


def plain_reach(values, ends):
    """Compare every pair as fractions."""
    reached = [[j for j, other in enumerate(values) if ends(v)[0] <= other <= ends(v)[1]] for v in values]
    return [r[0] for r in reached], [r[-1] for r in reached]


@settings(max_examples=150, deadline=None)
@given(st.one_of(WHOLE, TENTHS, ENDS), EPS, EPS, SHARES)
def test_reach_is_what_fractions_say(values, below, above, share):
    """Absolute, one-sided, relative and the same by a function: every end is decided exactly."""
    where = line(np.array(sorted(values)))
    exact = [Fraction(position) * where.unit for position in where.positions.tolist()]
    e1, e2, part = Fraction(below), Fraction(above), Fraction(share)
    for neighbourhood, ends in (
        (absolute(e1), lambda v: (v - e1, v + e1)),
        (one_sided(e1, e2), lambda v: (v - e1, v + e2)),
        (relative(part), lambda v: (v - part * abs(v), v + part * abs(v))),
    ):
        first, last = plain_reach(exact, ends)
        for reach in (neighbourhood.reach(where), general(ends).reach(where)):
            assert reach.first.tolist() == first
            assert reach.last.tolist() == last


def test_values_on_an_end_are_inside():
    """0.3 lies 0.2 from 0.1, and 110 one tenth above 100, although floats and logarithms say otherwise."""
    assert absolute("0.2").reach(line(np.array([0.1, 0.3]))).last.tolist() == [1, 1]
    assert relative("0.1").reach(line(np.array([100, 110]))).last.tolist() == [1, 1]
    assert relative("0.1").reach(line(np.array([-110, -100]))).first.tolist() == [0, 0]


def test_relative_neighbourhoods_of_negative_values_are_not_empty():
    """The printed interval [s(1-eps), s(1+eps)] is empty for s < 0; ours mirrors the positive side."""
    ours = relative("0.5").reach(line(np.array([-4, -2, -1, 1, 2, 4])))
    assert ours.first.tolist() == [0, 1, 2, 3, 3, 4]
    assert ours.last.tolist() == [1, 2, 2, 3, 4, 5]


def test_a_value_may_be_near_itself_alone():
    """Which makes proximity the frequency of values."""
    assert same_value(3).first.tolist() == same_value(3).last.tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", [
    lambda: absolute(-1), lambda: absolute("much"), lambda: absolute(float("nan")), lambda: absolute(True),
    lambda: relative("1.01"), lambda: relative(-1), lambda: one_sided(0, -1), lambda: general(3),
])  # fmt: skip
def test_bad_parameters_are_refused(make):
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match=r"'(eps|e1|e2|ends)' must be"):
        make()


def test_general_ends_must_not_decrease():
    """Ends that fall, or that leave the value outside, are refused."""
    for ends in (lambda v: (-v, v + 10), lambda v: (v + 1, v + 2)):
        with pytest.raises(ParameterError, match="never decrease"):
            general(ends).reach(line(np.array([1, 2])))
