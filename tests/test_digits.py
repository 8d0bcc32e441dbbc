"""Numbers as people read them: what is printed of a bound holds as the bound does."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow
from hedgerow.digits import bound_texts, key_text, lower_text, number_text, upper_text


def test_no_percentage_is_written_with_a_power_of_ten():
    """Format `g` made 1e+04% of wide bounds; `number_text` writes all that stands before the point."""
    for file in Path(hedgerow.__file__).parent.rglob("*.py"):
        assert not re.search(r"\.\d?g\}%", file.read_text(encoding="utf-8")), file.name


finite = st.floats(allow_nan=False, allow_infinity=False)


def read(text):
    """The number that a text says."""
    return Fraction(Decimal(text.replace(",", "")))


@given(finite, st.sampled_from([6, 15]))
def test_printed_bounds_enclose_the_bounds(value, digits):
    """A lower bound is never printed above itself nor an upper one below, and neither is off by more than a digit."""
    written = Fraction(Decimal(repr(value)))
    low, high = read(lower_text(value, digits, mark=",")), read(upper_text(value, digits, mark=","))
    assert low <= written <= high
    assert high - low <= abs(written) / 10 ** (digits - 1)


@given(finite, finite, finite)
def test_an_answer_in_a_table_lies_between_its_printed_bounds(one, other, third):
    """Rounding keeps the order of lower bound, expected answer and upper bound, and of the truth between them."""
    lower, expected, upper = sorted([one, other, third])
    low, middle, high = map(read, bound_texts(lower, expected, upper, exact=False))
    assert low <= middle <= high
    assert low <= read(number_text(expected)) <= high


@pytest.mark.parametrize(
    ("value", "lower", "nearest", "upper"),
    [
        (45.36184535573123, "45.3618", "45.3618", "45.3619"),
        (37.97277182235834, "37.9727", "37.9728", "37.9728"),
        (-2 / 3, "-0.666667", "-0.666667", "-0.666666"),
        (1234567.5, "1,234,567", "1,234,568", "1,234,568"),
        (999999.5, "999,999", "1,000,000", "1,000,000"),
        (0.1, "0.1", "0.1", "0.1"),
        (np.float64(0.1), "0.1", "0.1", "0.1"),
        (40.0, "40", "40", "40"),
        (-0.0, "0", "0", "0"),
        (1e22 / 7, "1.42857e+21", "1.42857e+21", "1.42858e+21"),
        (1.7976931348623157e308, "1.79769e+308", "1.79769e+308", "1.7977e+308"),
        (1234567, "1,234,567", "1,234,567", "1,234,567"),
        (None, "NULL", "NULL", "NULL"),
    ],
)
def test_few_digits(value, lower, nearest, upper):
    """Six significant digits, thousands apart, no digit before the point lost."""
    assert (lower_text(value, 6, mark=","), number_text(value), upper_text(value, 6, mark=",")) == (
        lower,
        nearest,
        upper,
    )


def test_an_exact_answer_is_written_with_all_digits():
    """What is called exact is not rounded to six digits, and stands there three times alike."""
    assert bound_texts(1234567.25, 1234567.25, 1234567.25, exact=True) == ("1,234,567.25",) * 3
    assert bound_texts(0.3333333333333333, 1 / 3, 0.33333333333333337, exact=True) == ("0.333333333333333",) * 3
    assert bound_texts(36.92798913043474, 36.9, 36.92798913043482, exact=True) == ("36.927989130435",) * 3
    assert bound_texts(36.927989130431, 36.9, 36.927989130439, exact=True) == ("36.9279891304",) * 3
    assert bound_texts(None, None, None, exact=True) == ("NULL",) * 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(2018, "2018"), (True, "true"), (1234567.5, "1234567.5"), (1234567.25, "1234567.25"), (2.0, "2"), ("a", "a"),
     (None, "NULL")],
)  # fmt: skip
def test_a_key_is_written_as_it_is(value, text):
    """Years have no mark between thousands, truth values are no numbers, and no two keys look alike."""
    assert key_text(value) == text
