"""`ke_count`: laws, the exhaustive optimum, and the greedy cut on larger columns."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE, latest_start
from hedgerow.errors import Infeasible
from hedgerow.partition.ke import ke_count
from tests.support.exhaustive import is_apart, ke_partitions, total_range
from tests.support.histograms import Histogram, check_ke, histogram, histograms, ranges, tiny_columns


def greedy(column: Histogram, k: int, e: Fraction) -> int:
    """Cut as early as possible, starting the next run at the same value where it is tied."""
    latest = latest_start(column.positions, k=k, e=e)
    groups = start = 0
    for end in range(len(latest)):
        if latest[end] >= start:
            groups, start = groups + 1, end if column.counts[end] > 1 else end + 1
    return groups


@settings(max_examples=200)
@given(histograms(), st.integers(2, 5), st.sampled_from([0, 1, 3, 0.3, Fraction(1, 3), 2**60]))
def test_groups_keep_the_promise_and_are_as_many_as_greedy_cuts(column: Histogram, k: int, e: float) -> None:
    """The groups are (k,e)-anonymous, cover every row, and are as many as cutting early gives."""
    criterion = KE(k, e)
    if criterion.feasible(column.positions):
        pieces = ke_count(*column, k=k, e=e)
        check_ke(pieces, column, k=k, e=criterion.e)
        assert pieces.num_groups == greedy(column, k, criterion.e)
    else:
        with pytest.raises(Infeasible):
            ke_count(*column, k=k, e=e)


@pytest.mark.parametrize(("k", "e", "scale"), [(2, 0, 1), (2, 3, 1), (3, 1, 1), (3, "3.5", 1), (2, 0.3, 0.1)])
def test_no_partition_without_overlap_has_more_groups(k: int, e: float | str, scale: float) -> None:
    """Over all partitions of hundreds of tiny columns the groups are most, and of those the total range is least."""
    criterion = KE(k, e)
    for rows in tiny_columns(k + 10, 300, scale=scale):
        column = histogram(rows)
        found = list(filter(is_apart, ke_partitions(rows, k, criterion.e)))
        if not found:
            continue
        pieces = ke_count(*column, k=k, e=e)
        check_ke(pieces, column, k=k, e=criterion.e)
        most = max(map(len, found))
        least = min(total_range(partition) for partition in found if len(partition) == most)
        assert pieces.num_groups == most, rows
        assert abs(sum(ranges(pieces, column.positions)) - least) < Fraction(1, 10**12), rows


def test_many_rows_do_not_make_groups_overlap() -> None:
    """Two values have one group however often they occur: more groups would have to overlap."""
    assert ke_count(np.array([1, 2]), np.array([1000, 1000]), k=2, e=1).num_groups == 1
