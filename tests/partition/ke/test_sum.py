"""`ke_sum`: laws, the worked example, and the exhaustive optimum."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.partition.ke import ke_sum
from tests.support.exhaustive import ke_partitions, total_range
from tests.support.histograms import Histogram, check_ke, histogram, histograms, ranges, tiny_columns


@settings(max_examples=200)
@given(histograms(), st.integers(2, 5), st.sampled_from([0, 1, 3, 0.3, Fraction(1, 3), 2**60]))
def test_every_group_keeps_the_promise(column: Histogram, k: int, e: float) -> None:
    """The groups are (k,e)-anonymous and cover every row, or the promise is infeasible for the whole column."""
    if KE(k, e).feasible(column.positions):
        check_ke(ke_sum(*column, k=k, e=e), column, k=k, e=KE(k, e).e)
    else:
        with pytest.raises(Infeasible):
            ke_sum(*column, k=k, e=e)


@pytest.mark.parametrize(("k", "e"), [(2, 0), (2, 3), (3, 1), (3, "3.5"), (4, 0)])
def test_no_partition_has_a_smaller_total(k: int, e: int | str) -> None:
    """Over all partitions of hundreds of tiny columns the total is least, and of those the groups are most."""
    criterion = KE(k, e)
    for rows in tiny_columns(k, 400):
        column = histogram(rows)
        found = list(ke_partitions(rows, k, criterion.e))
        if not found:
            continue
        pieces = ke_sum(*column, k=k, e=e)
        check_ke(pieces, column, k=k, e=criterion.e)
        least = min(map(total_range, found))
        most = max(len(partition) for partition in found if total_range(partition) == least)
        assert (sum(ranges(pieces, column.positions)), pieces.num_groups) == (least, most), rows


def test_no_partition_of_floats_has_a_smaller_total() -> None:
    """The same on floats off any decimal grid, up to the rounding of the total."""
    for rows in tiny_columns(7, 300, scale=0.1):
        column = histogram(rows)
        found = list(ke_partitions(rows, 2, Fraction(3, 10)))
        if found:
            pieces = ke_sum(*column, k=2, e=0.3)
            check_ke(pieces, column, k=2, e=Fraction(3, 10))
            least = min(map(total_range, found))
            assert abs(sum(ranges(pieces, column.positions)) - least) < Fraction(1, 10**12), rows


def test_the_worked_example_stays_whole() -> None:
    """{1,2,3,5,5,6,6,8} with (4,5) has least total 7: one group."""
    column = histogram([1, 2, 3, 5, 5, 6, 6, 8])
    assert ranges(ke_sum(*column, k=4, e=5), column.positions) == [7]


def test_a_tied_value_ends_one_group_and_starts_the_next() -> None:
    """The total is the same with one group or two; two are better, and need two rows of the middle value."""
    positions = np.array([1, 2, 3])
    assert ke_sum(positions, np.array([1, 2, 1]), k=2, e=1).num_groups == 2
    assert ke_sum(positions, np.array([1, 1, 1]), k=2, e=1).num_groups == 1


def test_parameters_are_checked_at_the_door() -> None:
    """A wrong k is refused before anything else."""
    with pytest.raises(ParameterError, match="'k'"):
        ke_sum(np.array([1, 2]), np.array([1, 1]), k=1, e=0)
