"""Groups of near rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import Infeasible
from hedgerow.partition.microaggregate import _cuts, _grouped_blocks, microaggregate
from hedgerow.randomness import seeded_keys


def _squares(points, labels):
    return sum(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels.tolist()))


def _least(values, k):
    """The best cut of sorted values into runs of at least k, by trying all."""
    values, best = np.sort(values), np.inf
    for count in range(len(values) // k):
        for cuts in itertools.combinations(range(1, len(values)), count):
            runs = np.split(values, cuts)
            if min(map(len, runs)) >= k:
                best = min(best, sum(((run - run.mean()) ** 2).sum() for run in runs))
    return best


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=4, max_size=11), st.integers(2, 4))
def test_one_column_is_optimal(values, k):
    """No grouping of one column has a smaller sum of squared deviations."""
    points = np.array(values, float)[:, None]
    labels = microaggregate(points, k=k)
    assert np.bincount(labels).min() >= k
    assert _squares(points, labels) == pytest.approx(_least(points[:, 0], k), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(6, 200), st.integers(1, 4), st.integers(0, 2**32), st.booleans())
def test_every_group_has_k_to_2k_rows(k, rows, columns, seed, ties):
    """Groups have k to 2k-1 rows, in one block or many, with ties or without."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (rows, columns)).astype(float) if ties else rng.normal(size=(rows, columns))
    sizes = np.bincount(microaggregate(points, k=k, block=24, keys=seeded_keys(seed)))
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


def test_near_rows_come_together():
    """Far-apart clouds of k rows are the groups."""
    clouds = np.repeat(np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]]), 5, axis=0)
    points = clouds + np.random.default_rng(1).normal(scale=0.1, size=clouds.shape)
    labels = microaggregate(points, k=5)
    assert all(len(set(labels[start : start + 5].tolist())) == 1 for start in range(0, 20, 5))


def test_plain_and_compiled_agree():
    """The compiled loops group as the plain ones do."""
    rng = np.random.default_rng(4)
    points = rng.normal(size=(120, 2))
    given = points, np.arange(120), np.array([0, 60, 120]), 5
    assert np.array_equal(_grouped_blocks.plain(*given), _grouped_blocks.compiled(*given))
    values = np.sort(rng.normal(size=80))
    sums, squares = np.append(0, np.cumsum(values)), np.append(0, np.cumsum(values**2))
    assert np.array_equal(_cuts.plain(sums, squares, 4), _cuts.compiled(sums, squares, 4))


def test_blocks_cost_little():
    """Looking inside blocks of 256 loses at most a fifth against looking at all rows."""
    points = np.random.default_rng(8).normal(size=(2000, 3))
    assert _squares(points, microaggregate(points, k=5)) < 1.2 * _squares(
        points, microaggregate(points, k=5, block=2000)
    )


def test_equal_rows_are_taken_in_secret_order():
    """Which of equal rows go together is not decided by their order."""
    points = np.zeros((4, 2))
    seen = {tuple((labels == labels[0]).tolist()) for _ in range(60) if len(labels := microaggregate(points, k=2))}
    assert len(seen) == 3


def test_too_few_rows():
    """Fewer rows than k cannot be grouped."""
    with pytest.raises(Infeasible, match="at least as many"):
        microaggregate(np.zeros((2, 1)), k=3)
