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
from hedgerow.partition.walk.segments import grid_of
from hedgerow.schema import Domain

DAY = datetime.date(2001, 2, 3)
OPEN = Domain.numeric()


@pytest.mark.parametrize(
    ("values", "whole", "unit", "kind"),
    [
        ([1, 2, 5], True, Fraction(1), pa.int64()),
        ([1, 2, 5], False, Fraction(1, 10**8), pa.float64()),
        ([1.0, 2.0, 5.0], True, Fraction(1), pa.float64()),
        ([1.0, 2.0, 5.0], False, Fraction(1, 10**8), pa.float64()),
        ([0.25, 3.5], True, Fraction(1, 10**8), pa.float64()),
        ([Decimal("1.25"), Decimal("3.50")], True, Fraction(1, 100), pa.decimal128(3, 2)),
        ([DAY, DAY + datetime.timedelta(9)], True, Fraction(1), pa.date32()),
    ],
)
def test_each_type_has_its_unit_and_keeps_its_values(values, whole, unit, kind):
    """Whole numbers, of whatever type, decimals and dates keep unit and type; others get a billionth of their range."""
    domain = pa.array(values)
    grid = grid_of("x", domain, Domain.of(kind), whole=whole)
    assert (grid.unit, grid.type) == (unit, kind)
    assert grid.values(grid.ticks(domain)).to_pylist() == values


def test_a_declared_step_is_the_unit():
    """Values in steps of 5 from 3 stay on that grid."""
    domain = pa.array([3, 8, 23])
    grid = grid_of("x", domain, Domain.numeric(3, step=5), whole=True)
    assert grid.ticks(domain).tolist() == [0, 1, 4]
    assert grid.values(np.array([2, 3])).to_pylist() == [13, 18]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=8, unique=True))
def test_floats_ascend_and_print_exactly(values):
    """Ticks ascend with the values, stay near them, and what is published is the decimal of its tick."""
    values = sorted({value + 0.0 for value in values})
    grid = grid_of("x", pa.array(values), OPEN, whole=True)
    ticks = grid.ticks(pa.array(values))
    assert (np.diff(ticks) >= 0).all()
    for value, tick, published in zip(values, ticks.tolist(), grid.values(ticks).to_pylist(), strict=True):
        assert abs(as_fraction(value) - tick * grid.unit) <= grid.unit * Fraction(6, 10)
        assert as_fraction(published) == tick * grid.unit


def test_too_wide_a_column_is_refused():
    """Ticks must leave room for sums in 64 bits."""
    with pytest.raises(SchemaError, match="too many units"):
        grid_of("x", pa.array([0, 2**60]), OPEN, whole=True)


@pytest.mark.parametrize(("scale", "most", "fits"), [(10, 9_000_000, True), (12, 2_000_000, False)])
def test_money_in_fine_steps_is_measured_in_money(scale, most, fits):
    """What spans too many steps is refused by the values themselves, not by the whole numbers they are stored as."""
    column = pa.array([Decimal(0), Decimal(most)], pa.decimal128(19, scale))
    fine = Domain.numeric(0, step=Fraction(1, 10**scale))
    if fits:
        assert grid_of("pay", column, fine, whole=True).unit == fine.step
    else:
        with pytest.raises(SchemaError, match="too many units"):
            grid_of("pay", column, fine, whole=True)


def test_the_widest_column_that_fits():
    """Ticks stay below 2**57, which is the first that is refused."""
    assert grid_of("x", pa.array([0, 2**57 - 1]), OPEN, whole=True).unit == 1
    with pytest.raises(SchemaError, match="too many units"):
        grid_of("x", pa.array([0, 2**57]), OPEN, whole=True)


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        ([0, 7], Domain.numeric(0, 300, step=0.5)),
        ([0.0, 7.0], Domain.numeric(0, 300, step=Fraction(1, 3))),
        ([Decimal("0.00"), Decimal("7.25")], Domain.numeric(0, 300, step=0.001)),
    ],
)
def test_steps_that_the_type_cannot_hold_are_refused(values, declared):
    """Halves of whole numbers, thirds in decimals and tenths of cents would be cut off when they are published."""
    with pytest.raises(SchemaError, match=r"steps that its type .* cannot hold"):
        grid_of("x", pa.array(values), declared, whole=True)


@pytest.mark.parametrize("whole", [True, False])
def test_a_domain_beyond_the_ticks_is_refused(whole):
    """Whatever lies within the declared bounds may be published, so the bounds have to fit, too."""
    with pytest.raises(SchemaError, match=r"'x' spans too many units|domain of 'x' is too wide"):
        grid_of("x", pa.array([17, 90]), Domain.numeric(0, 10**25), whole=whole)
    with pytest.raises(SchemaError, match="domain of 'x' is too wide to print its values in 15 digits"):
        grid_of("x", pa.array([0.25, 90.5]), Domain.numeric(0, 1e14), whole=whole)


def test_a_wide_domain_makes_the_unit_coarser():
    """Every number between the bounds prints in 15 digits, not only the values of the column."""
    grid = grid_of("x", pa.array([17, 90]), Domain.numeric(-1e9, 1e9), whole=False)
    assert grid.unit == Fraction(1, 10**5)


def test_decimals_get_the_digits_that_their_bounds_need():
    """A column of three digits whose domain ends at 100 is published with five."""
    column = pa.array([Decimal("1.25"), Decimal("3.50")])
    grid = grid_of("x", column, Domain.numeric(0, 100), whole=True)
    assert grid.type == pa.decimal128(5, 2)
    assert grid.values(np.array([10_000])).to_pylist() == [Decimal("100.00")]


def test_dates_may_have_declared_bounds():
    """A declared first day does not move the grid of days."""
    column = pa.array([DAY, DAY + datetime.timedelta(9)])
    grid = grid_of("day", column, Domain.date(DAY - datetime.timedelta(30), None), whole=True)
    assert grid.values(grid.ticks(column)).to_pylist() == column.to_pylist()


def test_tiny_numbers_have_a_tiny_unit():
    """Numbers far below 1e-15 stay apart and print exactly."""
    values = [1.5e-20, 2.25e-20, 7.0e-19]
    grid = grid_of("x", pa.array(values), OPEN, whole=True)
    assert grid.values(grid.ticks(pa.array(values))).to_pylist() == values


def test_steps_of_huge_floats_are_counted_from_their_origin():
    """Floats beyond 15 digits have no decimal grid of their own; a declared one still starts at its low end."""
    column = pa.array([1e15, 1e15 + 10, 1e15 + 70])
    grid = grid_of("x", column, Domain.numeric(10**15, step=10), whole=True)
    assert grid.ticks(column).tolist() == [0, 1, 7]
    assert grid.values(np.array([0, 1, 7])).to_pylist() == column.to_pylist()
