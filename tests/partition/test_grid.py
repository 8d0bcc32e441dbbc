"""Grids: what is published prints as the exact decimal that was meant."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.exact import as_fraction
from hedgerow.partition.grid import grid_of

DAY = datetime.date(2001, 2, 3)


@pytest.mark.parametrize(
    ("values", "whole", "unit", "kind"),
    [
        ([1, 2, 5], True, Fraction(1), pa.int64()),
        ([1, 2, 5], False, Fraction(1, 10**8), pa.float64()),
        ([0.25, 3.5], True, Fraction(1, 10**8), pa.float64()),
        ([Decimal("1.25"), Decimal("3.50")], True, Fraction(1, 100), pa.decimal128(3, 2)),
        ([DAY, DAY + datetime.timedelta(9)], True, Fraction(1), pa.date32()),
    ],
)
def test_each_type_has_its_unit_and_keeps_its_values(values, whole, unit, kind):
    """Whole numbers, decimals and dates keep unit and type; floats get a billionth of their range."""
    domain = pa.array(values)
    grid = grid_of("x", domain, whole=whole)
    assert (grid.unit, grid.type) == (unit, kind)
    assert grid.values(grid.ticks(domain)).to_pylist() == values


def test_a_declared_step_is_the_unit():
    """Values in steps of 5 from 3 stay on that grid."""
    domain = pa.array([3, 8, 23])
    grid = grid_of("x", domain, whole=True, step=5, low=3)
    assert grid.ticks(domain).tolist() == [0, 1, 4]
    assert grid.values(np.array([2, 3])).to_pylist() == [13, 18]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=8, unique=True))
def test_floats_ascend_and_print_exactly(values):
    """Ticks ascend with the values, stay near them, and what is published is the decimal of its tick."""
    values = sorted({value + 0.0 for value in values})
    grid = grid_of("x", pa.array(values), whole=True)
    ticks = grid.ticks(pa.array(values))
    assert (np.diff(ticks) >= 0).all()
    for value, tick, published in zip(values, ticks.tolist(), grid.values(ticks).to_pylist(), strict=True):
        assert abs(as_fraction(value) - tick * grid.unit) <= grid.unit * Fraction(6, 10)
        assert as_fraction(published) == tick * grid.unit


def test_too_wide_a_column_is_refused():
    """Ticks must leave room for sums in 64 bits."""
    with pytest.raises(SchemaError, match="too many units"):
        grid_of("x", pa.array([0, 2**60]), whole=True)


@pytest.mark.parametrize("step", [Fraction(1, 10**10), Fraction(1, 10**12)])
def test_cents_in_fine_steps_are_measured_in_money(step):
    """What spans too many steps is refused by the values themselves, not by the whole numbers they are stored as."""
    column = pa.array([Decimal("0.00"), Decimal("9000000.00")])
    if step.denominator == 10**10:
        assert grid_of("pay", column, whole=True, step=step, low=0).unit == step
    else:
        with pytest.raises(SchemaError, match="too many units"):
            grid_of("pay", column, whole=True, step=step, low=0)


def test_the_widest_column_that_fits():
    """Ticks stay below 2**57, which is the first that is refused."""
    assert grid_of("x", pa.array([0, 2**57 - 1]), whole=True).unit == 1
    with pytest.raises(SchemaError, match="too many units"):
        grid_of("x", pa.array([0, 2**57]), whole=True)
