"""Fractions with small denominators, which decide in whole numbers what shares decide."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.l_diversity import _factors
from hedgerow.criteria.proximity import absolute, one_sided, relative
from hedgerow.criteria.shares import DeltaPresence, floor_fraction
from hedgerow.verify.parameters import is_columns


@pytest.mark.parametrize("most", [1, 2, 3, 7, 12])
def test_the_largest_fraction_below_is_the_one_that_counting_finds(most):
    """Of all with a denominator up to the most."""
    numbers = {Fraction(top, bottom) for bottom in (1, 5, 13, 29, 64) for top in range(0, 2 * bottom, 3)}
    for number in numbers:
        wanted = max(Fraction(number.numerator * size // number.denominator, size) for size in range(1, most + 1))
        assert floor_fraction(number, most) == wanted


def test_neighbourhoods_of_nothing_are_allowed():
    """A distance of 0 protects the value itself; less than that is no distance."""
    assert absolute(0) == one_sided(0, 0)
    assert one_sided("0.5", 0) != one_sided(0, "0.5")
    assert relative(0) is not None


@pytest.mark.parametrize("text", ['["a", 1]', '[1, "a"]', "[]", '"a"', "{}", "null", "[", '[["a"]]', 1, None])
def test_lists_of_columns_hold_names_alone(text):
    """All of them."""
    assert not is_columns(text)
    assert is_columns('["a", "b"]')


@pytest.mark.parametrize(("member", "share"), [(0, "3/8"), (1, "5/8"), (2, "0/8")])
def test_the_share_of_members_is_named(member, share):
    """Whichever of the two values they have, and 0 where nobody has it."""
    assert share in DeltaPresence("0.1", "0.2", member).nearest(np.array([3, 5]))


@pytest.mark.parametrize("number", [1, 2, 4, 12, 49, 97, 360, 2 * 97**2])
def test_factors_multiply_to_the_number(number):
    """And all of them are prime."""
    factors = _factors(number)
    assert math.prod(prime**times for prime, times in factors.items()) == number
    assert all(prime % d for prime in factors for d in range(2, prime))
