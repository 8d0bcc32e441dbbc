"""Numbers as exact integers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.exact import (
    as_fraction,
    column_line,
    decimal_places,
    float_above,
    float_below,
    fraction_text,
    line,
    ticks,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("2.50", Fraction(5, 2)),
        (3, Fraction(3)),
        (Decimal("1e-3"), Fraction(1, 1000)),
        (np.int64(4), Fraction(4)),
    ],
)
def test_numbers_are_read_as_the_decimal_they_print(number, exact):
    """A float is the decimal that a person sees, not its binary neighbour."""
    assert as_fraction(number) == exact


@pytest.mark.parametrize("number", [float("nan"), float("inf"), "three", None, True, [1], "nan", "1e999999999"])
def test_what_is_no_finite_number_is_refused(number):
    """Anything but a finite number raises ValueError."""
    with pytest.raises(ValueError, match="number"):
        as_fraction(number)


@given(st.fractions())
def test_rounding_goes_outwards_and_no_further(number):
    """float_below and float_above enclose a fraction, with no float strictly between."""
    low, high = float_below(number), float_above(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert high in (low, np.nextafter(low, np.inf))


def test_rounding_beyond_the_largest_float():
    """What no float reaches is enclosed by infinity."""
    assert float_above(Fraction(10) ** 400) == float("inf")
    assert float_below(Fraction(10) ** 400) == np.finfo(float).max


@given(st.lists(st.integers(-(10**8), 10**8), min_size=1), st.integers(0, 6))
def test_decimals_are_found(numbers, places):
    """Floats that print with few decimals lie exactly on their decimal grid."""
    floats = np.array([n / 10**places for n in numbers])
    where = line(floats)
    assert [int(p) * where.unit for p in where.positions] == [Fraction(n, 10**places) for n in numbers]


def test_computed_floats_stay_floats():
    """A third has no decimal unit, so positions are the floats themselves."""
    assert decimal_places(np.array([1 / 3])) is None
    assert line(np.array([1 / 3])).positions.dtype == np.float64


@given(st.lists(st.floats(-1e250, 1e250, allow_subnormal=False), min_size=1).filter(
    lambda xs: all(x == 0 or abs(x) > 1e-200 for x in xs)))  # fmt: skip
def test_ticks_enclose(values):
    """Every value lies between its two ticks, and they are at most three steps apart."""
    low, high, unit = ticks(np.array(values))
    for value, below, above in zip(values, low.tolist(), high.tolist(), strict=True):
        readings = {Fraction(value), as_fraction(value)}
        assert any(below * unit <= reading <= above * unit for reading in readings)
        assert above - below <= 3


def test_integers_beyond_the_line_are_refused():
    """Differences must fit 64 bits, so huge whole numbers are refused with a way out."""
    with pytest.raises(SchemaError, match="larger units"):
        line(np.array([2**62]))


def test_columns_of_every_numeric_type():
    """Decimals, dates, integers and floats all find their place on the line."""
    import datetime

    decimals = column_line(pa.array([Decimal("-1.50"), Decimal("2.25")]))
    assert (decimals.positions.tolist(), decimals.unit) == ([-150, 225], Fraction(1, 100))
    sliced = column_line(pa.array([Decimal("9.99"), Decimal("2.25")])[1:])
    assert sliced.positions.tolist() == [225]
    assert column_line(pa.array([datetime.date(1970, 1, 3)])).positions.tolist() == [2]
    with pytest.raises(SchemaError, match="'town' holds string"):
        column_line(pa.array(["a"]), "town")


def test_long_decimals_are_refused():
    """Decimals of more than 18 digits do not fit a 64-bit tick."""
    with pytest.raises(SchemaError, match="18 digits"):
        column_line(pa.array([Decimal("12345678901234567890.5")]))


@given(st.fractions() | st.decimals(-(10**40), 10**40, places=20).map(Fraction))
def test_written_numbers_read_back(number):
    """A threshold in a manifest is the threshold that was asked for."""
    assert Fraction(fraction_text(number)) == number
