"""From properties in a column's own terms to rows over ticks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import Infeasible
from hedgerow.exact import as_fraction
from hedgerow.partition.walk.plan import WalkSettings, plan_column
from hedgerow.query.sql.property_text import parse_property
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Domain
from hedgerow.table.encode import encode


def _plan(values, *texts, declared=None, share=0.1, segment=4, whole=True):
    given = [p for text in texts for p in parse_property(text)]
    settings = WalkSettings(share, segment, "runs", whole)
    return plan_column(
        "x", encode(pa.array(values)), declared or Domain.numeric(), given, settings, keys=seeded_keys(1)
    )


def test_relations_become_whole_rows():
    """Fractions are cleared, strict limits step down by one, and a declared step shifts and scales."""
    values = [1, 4, 7, 10, 13, 16]
    strict, loose = _plan(values, "x[7] / 2 - x[4] / 3 < 3", "x[16] - x[1] <= 15.9").relations
    assert (strict.variables, strict.coefficients, strict.bound) == ((1, 2), (-2, 3), 17)
    assert (loose.variables, loose.coefficients, loose.bound) == ((0, 5), (-1, 1), 15)
    (stepped,) = _plan(values, "x[7] + x[4] < 12", declared=Domain.numeric(1, 31, step=3)).relations
    assert (stepped.variables, stepped.coefficients, stepped.bound) == ((1, 2), (1, 1), 3)


def test_bounds_are_declared_or_seen():
    """Cells end at the declared bounds, rounded inwards to the grid, else at the least and greatest value."""
    seen = _plan([1, 4, 7]).segments
    assert (seen.lows.min(), seen.highs.max()) == (1, 7)
    declared = _plan([1, 4, 7], declared=Domain.numeric(-0.5, 9.5)).segments
    assert (declared.lows.min(), declared.highs.max()) == (0, 9)


@pytest.mark.parametrize(
    ("text", "first"), [("x >= 5", 5), ("x > 5", 6), ("x > 4.5", 5), ("x <= 4.5", 5), ("x < 5", 5)]
)
def test_thresholds_part_the_grid(text, first):
    """The first tick above a threshold is the least that satisfies, or ends, the condition."""
    cut = _plan([1, 4, 7, 10], text).segments
    assert cut.highs[cut.values < first].max() == first - 1
    assert cut.lows[cut.values >= first].min() == first


WILD = [-2e5 / 3, -1e-11, 0.0, 1e-12, 1 / 3, 1e5 + 1 / 3]


@pytest.mark.parametrize("text", ["x > 0", "x >= 0", "x < 1e-12", "x <= 0", "x < 100000.33333333333", "x > -1e-11"])
def test_rounding_carries_no_value_over_a_threshold(text):
    """Values closer to a threshold than a step of the grid, and all that they may become, stay on their side of it."""
    (threshold,) = parse_property(text)
    plan = _plan(WILD, text)
    before = [as_fraction(value) for value in WILD]
    cut = plan.segments
    for ticks in (cut.values, cut.lows, cut.highs):
        may = [plan.grid.unit * tick for tick in ticks[cut.variables].tolist()]
        assert [_above(value, threshold) for value in may] == [_above(value, threshold) for value in before]


def _above(value, threshold):
    return value > threshold.at if threshold.after else value >= threshold.at


def test_bounds_that_lie_between_two_steps_of_the_grid_take_the_values_in():
    """A value that equals a declared bound of 17 digits is read as the next number inside."""
    values = [0.12345678901234561, 0.4, 0.98765432109876549]
    plan = _plan(values, declared=Domain.numeric(values[0], values[-1]))
    cut = plan.segments
    assert plan.grid.unit * int(cut.lows.min()) >= as_fraction(values[0])
    assert plan.grid.unit * int(cut.highs.max()) <= as_fraction(values[-1])
    assert ((cut.lows <= cut.values) & (cut.values <= cut.highs)).all()


def test_thresholds_closer_than_the_grid_are_refused():
    """Two of them around a value leave it no number of 15 digits."""
    with pytest.raises(Infeasible, match="no place on its grid"):
        _plan(WILD, "x < 1e-12", "x >= 1e-13", "x >= 1e-12", "x > 1e-12")


@pytest.mark.parametrize("text", ["x >= 1e300", "x >= -1e300", "x < 1e22"])
def test_thresholds_far_outside_change_nothing(text):
    """A condition that no value can reach leaves the bounds as they are."""
    one, other = _plan([1, 4, 7, 10], text).segments, _plan([1, 4, 7, 10]).segments
    assert np.array_equal(one.lows, other.lows)
    assert np.array_equal(one.highs, other.highs)


def test_missing_values_have_no_variable():
    """Only rows with a value are planned."""
    plan = _plan([5, None, 9, 1, None])
    assert plan.rows.tolist() == [0, 2, 3]
    assert plan.segments.values[plan.segments.variables].tolist() == [5, 9, 1]


def test_a_single_place_is_refused():
    """A segment of one whole number between its neighbours has nowhere to go."""
    with pytest.raises(Infeasible, match="single place"):
        _plan(np.arange(6), segment=1)
