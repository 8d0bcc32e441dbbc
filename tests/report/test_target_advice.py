"""Advice before publishing: what shift and fakes would cost."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.report.target_advice import advise, draw_tree
from hedgerow.schema.target import normal, uniform

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")
PAYS = [min(int(2 ** (i / 20)), 15) for i in range(120)]
SKEWED = pa.table({"age": [i % 5 for i in range(120)], "pay": PAYS})
TREE = uniform(hr.Hierarchy.binary(range(16)))


def test_cost_falls_with_shift_and_with_fakes(tmp_path):
    """The sum of ranges falls along both axes, and the widths of AVG with the shift; the figure exists."""
    advice = advise(hr.TargetDistribution(TREE), SKEWED, SCHEMA)
    table = advice.table.to_pandas()
    shifts, fakes = table[table.fakes == 0], table[table["shift"] == 0]
    assert shifts.sum_of_ranges.is_monotonic_decreasing
    assert fakes.sum_of_ranges.is_monotonic_decreasing
    assert shifts.avg_width.iloc[-1] < shifts.avg_width.iloc[0]
    assert (table.avg_width_tenth >= table.avg_width).all()
    assert "distance" in str(advice)
    assert advice.figure(tmp_path).exists()


def test_advice_is_what_a_release_costs():
    """The width for everybody is the width of the release's own AVG."""
    advice = advise(hr.TargetDistribution(TREE), SKEWED, SCHEMA, shifts=("0",), fakes=("0.1",))
    widths = advice.table["avg_width"].to_pylist()
    for parameters, width in zip(({}, {"fakes": "0.1"}), widths, strict=True):
        answer = hr.TargetDistribution(TREE, **parameters).publish(SKEWED, SCHEMA).ask("SELECT avg(pay) FROM release")
        assert answer.upper - answer.lower == pytest.approx(width)


def test_distance_is_total_variation():
    """A table that is all zeros is 15/16 away from sixteen equal values; its own shape is no distance away."""
    zeros = pa.table({"age": [1, 2, 3], "pay": [0, 0, 0]})
    assert advise(hr.TargetDistribution(TREE), zeros, SCHEMA, fakes=()).distance == pytest.approx(15 / 16)
    assert advise(hr.TargetDistribution("source", parts="age"), SKEWED, SCHEMA, fakes=()).distance < 1e-12


def test_categories_have_no_widths():
    """For texts there is a cost, but no average."""
    table = pa.table({"age": [1, 2, 3], "pay": ["a", "b", "b"]})
    advice = advise(hr.TargetDistribution("uniform"), table, SCHEMA, shifts=("0", "0.5"), fakes=())
    assert advice.table["avg_width"].to_pylist() == [None, None]
    assert "0.50" in str(advice)


@pytest.mark.parametrize("leaves", [2, 11, 500])
def test_trees_are_drawn(tmp_path, leaves):
    """Small trees whole, large ones down to the level that can be read."""
    tree = normal(hr.Hierarchy.binary(np.arange(leaves).tolist()))
    assert draw_tree(tree, tmp_path, f"tree_{leaves}").stat().st_size > 1000
