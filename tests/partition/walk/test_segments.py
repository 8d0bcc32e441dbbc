"""Segments: who belongs where, and what each may become."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.partition.walk.segments import deal_to_segments, keep_sides, runs
from hedgerow.randomness import seeded_keys

columns = st.lists(st.integers(-30, 30), min_size=1, max_size=60).map(np.array)


def _encoded(column):
    distinct, codes = np.unique(column, return_inverse=True)
    return distinct, codes.astype(np.int32)


@given(columns, st.integers(1, 7))
def test_runs_stand_in_cells_that_do_not_overlap(column, segment):
    """Runs are short, differ by at most one in length, and their cells follow each other without overlap."""
    distinct, codes = _encoded(column)
    cut = runs(distinct, codes, segment=segment, low=-40, high=40)
    sizes = np.diff(cut.offsets)
    assert sizes.max() <= segment
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(cut.values[cut.variables], column)
    assert (cut.lows <= cut.values).all()
    assert (cut.values <= cut.highs).all()
    firsts = cut.offsets[1:-1]
    assert (cut.highs[firsts - 1] < cut.lows[firsts]).all()
    assert (cut.lows[0], cut.highs[-1]) == (-40, 40)


@given(columns, st.integers(1, 7), st.integers(0, 2**32))
def test_scattered_rows_keep_their_value_and_fill_segments_evenly(column, segment, seed):
    """Every row stands for its own value, and no segment takes more rows than asked."""
    distinct, codes = _encoded(column)
    cut = deal_to_segments(distinct, codes, segment=segment, low=-40, high=40, keys=seeded_keys(seed))
    assert np.array_equal(cut.values[cut.variables], column)
    home = np.searchsorted(cut.offsets, cut.variables, side="right") - 1
    rows = np.bincount(home, minlength=len(cut.offsets) - 1)
    assert rows.max() <= segment
    assert rows.max() - rows.min() <= 1
    for start, end in zip(cut.offsets[:-1], cut.offsets[1:], strict=True):
        assert (np.diff(cut.values[start:end]) > 0).all()


def test_scattering_is_uniform():
    """Over many draws two given rows share a segment as often as chance says."""
    keys, together = seeded_keys(8), 0
    column = np.arange(12)
    for _ in range(3000):
        cut = deal_to_segments(column, column.astype(np.int32), segment=4, low=0, high=11, keys=keys)
        home = np.searchsorted(cut.offsets, cut.variables, side="right")
        together += int(home[0] == home[1])
    assert abs(together / 3000 - 3 / 11) < 4 * np.sqrt(3 / 11 * 8 / 11 / 3000)


@given(columns, st.lists(st.integers(-35, 35), max_size=3))
def test_thresholds_keep_every_value_on_its_side(column, firsts):
    """Whatever a value may become lies on the same side of each threshold as the value itself."""
    distinct, codes = _encoded(column)
    cut = keep_sides(runs(distinct, codes, segment=5, low=-40, high=40), np.array(firsts, np.int64))
    for first in firsts:
        assert np.array_equal(cut.lows >= first, cut.values >= first)
        assert np.array_equal(cut.highs >= first, cut.values >= first)
