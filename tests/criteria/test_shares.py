"""Fractions with small denominators, which decide in whole numbers what shares decide."""

from fractions import Fraction

import pytest

from hedgerow.criteria.proximity import absolute, one_sided, relative
from hedgerow.criteria.shares import floor_fraction
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
