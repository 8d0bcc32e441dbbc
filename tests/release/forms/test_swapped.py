"""Rank swapping."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.swapped import _pair_ranks, swapped_rows, window_for


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 70), st.integers(0, 2**32))
def test_values_move_at_most_a_window(values, window, seed):
    """Every value is published once, and no rank lies further than the window from the true one."""
    codes = np.unique(values, return_inverse=True)[1].astype(np.int32)
    sources = swapped_rows(codes, window=window, keys=seeded_keys(seed))
    assert sorted(sources.tolist()) == list(range(len(values)))
    assert np.array_equal(sources[sources], np.arange(len(values)))
    ascending = np.sort(codes)
    for mine, got in zip(codes.tolist(), codes[sources].tolist(), strict=True):
        first, last = np.searchsorted(ascending, [mine, mine + 1])
        reachable = ascending[max(0, first - window) : last + window]
        assert got in reachable


def test_partners_are_equally_likely():
    """With room for all, the first rank swaps with each other rank equally often."""
    keys = seeded_keys(11)
    seen = Counter(int(_pair_ranks(keys(5), 4)[0]) for _ in range(8000))
    expected = 2000
    assert set(seen) == {1, 2, 3, 4}
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 21.1


def test_plain_and_compiled_agree():
    """The compiled loop pairs as the plain one does."""
    keys = seeded_keys(2)(500)
    assert np.array_equal(_pair_ranks.plain(keys, 20), _pair_ranks.compiled(keys, 20))


def test_equal_values_have_secret_ranks():
    """Of two rows with the same value either may come first."""
    codes, keys = np.array([0, 1, 1], np.int32), seeded_keys(3)
    seen = {tuple(swapped_rows(codes, window=1, keys=keys).tolist()) for _ in range(100)}
    assert seen == {(1, 0, 2), (2, 1, 0)}


@pytest.mark.parametrize(("k", "e", "window"), [(2, 0, 1), (3, 0, 2), (2, 3, 3), (5, 0, 4), (6, 0, None), (2, 9, None)])
def test_window_for_k_and_e(k, e, window):
    """The least window in which k values spread over e lie around every row."""
    assert window_for(np.arange(5), np.ones(5, np.int64), k=k, e=Fraction(e)) == window
