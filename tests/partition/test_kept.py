"""From properties in a column's own terms to rows over ticks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.criteria.property_text import parse_property
from hedgerow.errors import Infeasible
from hedgerow.partition.kept import Settings, plan_column
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Domain
from hedgerow.table.encode import encode


def _plan(values, *texts, declared=None, share=0.1, segment=4, whole=True):
    given = [p for text in texts for p in parse_property(text)]
    settings = Settings(share, segment, "runs", whole)
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


def test_missing_values_have_no_variable():
    """Only rows with a value are planned."""
    plan = _plan([5, None, 9, 1, None])
    assert plan.rows.tolist() == [0, 2, 3]
    assert plan.segments.values[plan.segments.variables].tolist() == [5, 9, 1]


def test_a_single_place_is_refused():
    """A segment of one whole number between its neighbours has nowhere to go."""
    with pytest.raises(Infeasible, match="single place"):
        _plan(np.arange(6), segment=1)
