"""Rates and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hedgerow.attack.finding import Rate, alike_trials, percent, wilson


@given(st.integers(1, 500), st.data())
def test_wilson_equals_scipy(trials, data):
    """The interval is the one that SciPy computes."""
    hits = data.draw(st.integers(0, trials))
    expected = stats.binomtest(hits, trials).proportion_ci(0.95, method="wilson")
    assert wilson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert wilson(hits, trials)[0] <= hits / trials <= wilson(hits, trials)[1]


def test_a_rate_prints_with_interval_and_baseline():
    """A reader sees how sure the rate is and what guessing gives."""
    assert str(Rate(5, 10, 0.001)) == "50.0% (23.7% to 76.3%; 0.1% by guessing)"
    assert str(Rate(0, 10, 0.00003)).endswith("0.003% by guessing)")


def test_groups_that_hit_together_count_once():
    """Ten groups of five that hit as one are ten trials; alternating hits inside groups are all of their own."""
    groups = np.repeat(np.arange(20), 5)
    together = np.repeat(np.arange(20) % 2 == 0, 5)
    assert alike_trials(together, groups) == pytest.approx(5 * 20 / 19)
    assert alike_trials(np.arange(100) % 5 == 0, groups) == 1
    assert alike_trials(np.ones(100, bool), groups) == 5
    assert wilson(50, 100, alike=5) == pytest.approx(wilson(10, 20))


def test_nearly_all_is_not_all():
    """A share below one is never printed as 100 %: one person who is not guessed is the whole difference."""
    assert percent(0.99996) == ">99.9%"
    assert percent(1.0) == "100.0%"
    assert percent(0.9994) == "99.9%"
