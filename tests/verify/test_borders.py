"""Borders that no small release meets: ragged floats at the threshold, numbers at the ends of 32 and 64 bits."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.verify.boxes import _check_ends, _check_sets, _listed_sets, _set_texts
from hedgerow.verify.graph import _FEW, _repeats
from hedgerow.verify.ke import _check_cap, _count_narrow, group_starts
from hedgerow.verify.manifest import _parse
from hedgerow.verify.parts import is_wide

TINY = Fraction(1, 10**30)


@pytest.mark.parametrize(("low", "high"), [(0.1, 1 / 3), (-1 / 3, 2e10), (-7.7, -0.001)])
def test_ranges_of_ragged_floats_are_exact_at_the_threshold(low, high):
    """A range of e is wide enough, and one that lacks less than any float can say is not."""
    lows, highs = np.array([low, low]), np.array([high, high])
    e = Fraction(high) - Fraction(low)
    assert [_count_narrow(lows, highs, wanted) for wanted in (e - TINY, e, e + TINY)] == [0, 0, 2]


@pytest.mark.parametrize(("values", "starts", "fits"), [
    ([1, 2, 3, 3, 4, 5], [0, 2], True), ([1, 1, 2, 3, 4, 5], [0, 2], False), ([1, 2, 3, 3, 3, 5], [0, 2], False),
    ([1, 2, 3, 4, 4, 5], [0, 4], True), ([1, 2, 3, 4, 5, 5], [0, 4], False),
])  # fmt: skip
def test_a_cap_is_that_of_the_values_own_group(values, starts, fits):
    """Two of four rows are a half, two of two are not, whichever group comes first."""
    try:
        _check_cap(np.array(values), np.array(starts), 2)
    except BrokenPromise:
        assert not fits
    else:
        assert fits


@pytest.mark.parametrize(
    "numbers", [[0, 0, 2, 2], [1, 1, 2, 2], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, -1]]
)
def test_groups_are_numbered_one_after_the_other(numbers):
    """A gap, a wrong beginning and a way back are refused, also where there are as many groups as declared."""
    release = SimpleNamespace(group_column="group", groups=2)
    with pytest.raises(BrokenPromise):
        group_starts(pa.table({"group": numbers}), release)
    assert group_starts(pa.table({"group": [0, 0, 1, 1]}), release).tolist() == [0, 2]


def test_ends_may_be_missing_where_values_are():
    """And there alone."""
    none, some = pa.nulls(1, pa.int64()), pa.array([1])
    _check_ends("x", none, none, np.array([True]))
    _check_ends("x", some, some, np.array([False]))
    for low, high, gap in ((none, none, False), (none, some, True), (some, none, True), (pa.array([2]), some, False)):
        with pytest.raises(BrokenPromise):
            _check_ends("x", low, high, np.array([gap]))


def test_labels_list_six_values():
    """From the seventh on they are counted."""
    sets = pa.table({"column": ["x"] * 14, "set": [0] * 6 + [1] * 7 + [2], "value": list("abcdef" + "abcdefg" + "a")})
    texts = ["{a, b, c, d, e, f}", "{a, b, c, d, e, f, ... (7 values)}", "a"]
    assert _set_texts(_listed_sets(sets, "x")).to_pylist() == texts


def test_numbers_of_groups_take_64_bits_from_2_to_the_31_on():
    """Not before."""
    assert [is_wide(rows) for rows in (2**31 - 1, 2**31)] == [False, True]


def test_numbers_of_a_manifest_have_at_most_nineteen_digits():
    """And a sign."""
    assert _parse(json.dumps({"x": 1 - 2**63}).encode()) == {"x": 1 - 2**63}
    with pytest.raises(BundleError):
        _parse(b'{"x": -10000000000000000000}')


@pytest.mark.parametrize("width", [1, 2, 3])
def test_many_edges_to_few_nodes(width):
    """Pairs are cut where 32 bits end, which the narrowest of them never do."""
    first = np.arange(_FEW + width, dtype=np.int32)
    second = (first % width).astype(np.int32)
    assert _repeats(first, second) == 0
    again = np.minimum(first, _FEW)
    assert _repeats(again, np.zeros_like(second)) == width - 1


def test_sets_may_be_missing_where_values_are():
    """And there alone; each is listed, and no other."""
    sets = pa.table({"column": ["x", "x", "y"], "set": pa.array([0, 0, 0], pa.int32()), "value": ["a", "b", "a"]})
    listed = _listed_sets(sets, "x")
    _check_sets("x", listed, pa.array([0, None], pa.int32()), np.array([False, True]))
    for numbers, gaps in (([0, None], [False, False]), ([1, None], [True, True]), ([None, None], [True, True])):
        with pytest.raises(BrokenPromise):
            _check_sets("x", listed, pa.array(numbers, pa.int32()), np.array(gaps))
