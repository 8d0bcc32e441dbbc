"""`ke_max_overlap`: laws, the worked example, and the exhaustive optimum over all partitions."""

import functools
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.partition.ke import ke_max, ke_max_overlap
from hedgerow.partition.ke.max_overlap import Window
from tests.support.exhaustive import ke_partitions, largest_range
from tests.support.histograms import Histogram, check_ke, histogram, histograms, ranges, tiny_columns


@settings(max_examples=200)
@given(histograms(), st.integers(2, 6), st.sampled_from([0, 1, 3, 7, 0.3, Fraction(1, 3), 2**60]))
def test_groups_keep_the_promise_within_half_of_the_range_without_overlap(column: Histogram, k: int, e: float) -> None:
    """The groups are (k,e)-anonymous, cover every row, and are between half and all as wide as without overlap."""
    if not KE(k, e).feasible(column.positions):
        with pytest.raises(Infeasible):
            ke_max_overlap(*column, k=k, e=e)
        return
    pieces = ke_max_overlap(*column, k=k, e=e)
    check_ke(pieces, column, k=k, e=KE(k, e).e)
    exact, apart = (max(ranges(p, column.positions)) for p in (pieces, ke_max(*column, k=k, e=e)))
    assert exact <= apart <= 2 * exact


@pytest.mark.parametrize(
    ("k", "e", "scale"), [(2, 0, 1), (2, 3, 1), (3, 1, 1), (3, "3.5", 1), (4, 0, 1), (4, 5, 1), (3, 0.3, 0.1)]
)
def test_no_partition_has_a_smaller_largest_range(k: int, e: float | str, scale: float) -> None:
    """Over all partitions of hundreds of tiny columns the largest range is least."""
    criterion = KE(k, e)
    for rows in tiny_columns(k + 30, 300, scale=scale):
        column = histogram(rows)
        least = min((float(largest_range(p)) for p in ke_partitions(rows, k, criterion.e)), default=None)
        if least is not None:
            pieces = ke_max_overlap(*column, k=k, e=e)
            check_ke(pieces, column, k=k, e=criterion.e)
            assert float(max(ranges(pieces, column.positions))) == least, rows


def least_by_remainder(column: Histogram, k: int, e: int) -> int:
    """The least largest range by trying every first group of what is left: reaches further than listing partitions."""
    positions = column.positions.tolist()

    @functools.cache
    def least(left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        best, lowest = 10**9, next(i for i, count in enumerate(left) if count)
        for taken in itertools.product(*(range(count + 1) for count in left)):
            members = [i for i, count in enumerate(taken) if count]
            width = positions[members[-1]] - positions[members[0]] if len(members) >= k else -1
            if taken[lowest] and e <= width < best:
                best = min(best, max(width, least(tuple(map(int.__sub__, left, taken)))))
        return best

    return least(tuple(column.counts.tolist()))


def test_chains_of_overlapping_groups_are_best() -> None:
    """Up to twelve rows, where three and more groups overlap in a chain, the largest range is least."""
    source = random.Random(5)
    chains = 0
    for _ in range(250):
        positions = np.array(sorted(source.sample(range(20), source.randint(6, 9))))
        column = Histogram(positions, np.array([source.choice([1, 1, 1, 2]) for _ in positions]))
        k, e = source.choice([(2, 3), (2, 6), (3, 0), (3, 6)])
        if column.counts.sum() > 12 or not KE(k, e).feasible(positions):
            continue
        pieces = ke_max_overlap(*column, k=k, e=e)
        check_ke(pieces, column, k=k, e=Fraction(e))
        widest = max(ranges(pieces, positions))
        assert widest == least_by_remainder(column, k, e), column
        chains += pieces.num_groups >= 3 and widest < max(ranges(ke_max(*column, k=k, e=e), positions))
    assert chains >= 10


@given(st.integers(2, 14), st.integers(0, 2**32))
def test_the_sliding_window_is_its_definition(size: int, seed: int) -> None:
    """Whatever the credits and however the window moves up, it gives the largest credit for each covered value."""
    source = np.random.default_rng(seed)
    credit = np.triu(source.integers(0, 50, (size, size))).astype(np.uint16)
    lows, lasts = (np.sort(source.integers(-1, np.arange(1, size))) for _ in range(2))
    window = Window(size)
    for end, low, last in zip(range(1, size), np.maximum(lows, 0).tolist(), lasts.tolist(), strict=True):
        window.add(credit, end - 1)
        expected = credit[low : last + 1, low:end].max(axis=0, initial=0)
        assert window.slide(low, last, end).tolist() == expected.tolist()


def test_the_worked_example_has_its_only_best_partition() -> None:
    """{1,2,3,5,5,6,6,8} with (4,5): {1,2,5,6} and {3,5,6,8}."""
    column = histogram([1, 2, 3, 5, 5, 6, 6, 8])
    pieces = ke_max_overlap(*column, k=4, e=5)
    groups = [set(column.positions[pieces.values[pieces.groups == group]].tolist()) for group in (0, 1)]
    assert groups == [{1, 2, 5, 6}, {3, 5, 6, 8}]
    assert pieces.counts.tolist() == [1] * 8


def test_rows_beyond_two_change_nothing_but_the_counts() -> None:
    """A value that occurs a thousand times is shared like one that occurs twice."""
    column = Histogram(np.array([1, 2, 3, 5, 6, 8]), np.array([1, 1, 1, 1000, 7, 1]))
    pieces = ke_max_overlap(*column, k=4, e=5)
    check_ke(pieces, column, k=4, e=Fraction(5))
    assert ranges(pieces, column.positions) == [5, 5]


def test_no_overlap_is_made_where_it_gains_nothing() -> None:
    """Where groups apart are as good, they are what comes back."""
    column = histogram([1, 2, 10, 11])
    assert ke_max_overlap(*column, k=2, e=1).groups.tolist() == [0, 0, 1, 1]


def test_too_many_distinct_values_are_refused_with_an_alternative() -> None:
    """The square of the number of distinct values must fit into memory; the message proposes what does."""
    with pytest.raises(ParameterError, match="ke_max"):
        ke_max_overlap(np.arange(10_001), np.ones(10_001, np.int64), k=2, e=0)
