"""`ke_random`: laws, the scan in a known order, and its randomness."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE, latest_start
from hedgerow.errors import Infeasible
from hedgerow.partition.ke import ke_random
from hedgerow.partition.ke.runs import close_early
from hedgerow.randomness import seeded_keys
from tests.support.histograms import Histogram, check_ke, histograms


def in_order(count: int, /) -> np.ndarray:
    """Keys that draw the rows in the order in which they are."""
    return np.zeros(count, np.uint64)


@settings(max_examples=200)
@given(histograms(), st.integers(2, 5), st.sampled_from([0, 1, 3, 0.3, Fraction(1, 3), 2**60]), st.integers(0, 99))
def test_every_group_keeps_the_promise(column: Histogram, k: int, e: float, seed: int) -> None:
    """The groups are (k,e)-anonymous and cover every row, or the promise is infeasible for the whole column."""
    if KE(k, e).feasible(column.positions):
        check_ke(ke_random(*column, k=k, e=e, keys=seeded_keys(seed)), column, k=k, e=KE(k, e).e)
    else:
        with pytest.raises(Infeasible):
            ke_random(*column, k=k, e=e)


def test_a_group_closes_as_soon_as_it_qualifies() -> None:
    """Drawn in order, 1 1 2 closes, 3 4 closes, and 5 is left and joins the last group."""
    pieces = ke_random(np.array([1, 2, 3, 4, 5]), np.array([2, 1, 1, 1, 1]), k=2, e=1, keys=in_order)
    assert pieces.groups.tolist() == [0, 0, 1, 1, 1]
    assert pieces.counts.tolist() == [2, 1, 1, 1, 1]


def test_the_range_counts_as_well() -> None:
    """Two distinct values are not enough while they lie closer than e."""
    pieces = ke_random(np.array([1, 2, 3, 4, 5, 6]), np.ones(6, np.int64), k=2, e=2, keys=in_order)
    assert pieces.groups.tolist() == [0, 0, 0, 1, 1, 1]


def test_every_partner_is_equally_likely() -> None:
    """Over 3,000 runs on four values in pairs, the first value meets each other value a third of the time."""
    keys = seeded_keys(11)
    partners = np.zeros(4)
    for _ in range(3000):
        groups = ke_random(np.arange(4), np.ones(4, np.int64), k=2, e=0, keys=keys).groups
        partners[1 + np.flatnonzero(groups[1:] == groups[0])] += 1
    # Chi-square with two degrees of freedom: 13.8 is exceeded once in a thousand.
    assert ((partners[1:] - 1000) ** 2 / 1000).sum() < 13.8


def test_the_default_is_the_operating_system() -> None:
    """Two runs without keys do not group alike."""
    column = Histogram(np.arange(500), np.ones(500, np.int64))
    assert not np.array_equal(ke_random(*column, k=2, e=1).groups, ke_random(*column, k=2, e=1).groups)


def test_plain_and_compiled_agree() -> None:
    """The two speeds of the scan find the same groups from the same keys."""
    counts = np.random.default_rng(3).integers(1, 9, 400)
    values = np.repeat(np.arange(400, dtype=np.int32), counts)
    offsets, wide = np.cumsum(counts) - counts, latest_start(np.arange(400), k=2, e=30)
    keys = seeded_keys(1)(len(values))
    plain, compiled = (run(values.copy(), keys, offsets, wide, 4) for run in (close_early.plain, close_early.compiled))
    assert np.array_equal(plain, compiled)
    assert plain.max() > 10
