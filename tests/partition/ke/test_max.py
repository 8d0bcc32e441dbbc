"""`ke_max`: laws, the worked example, and the exhaustive optimum without overlap."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE, latest_start
from hedgerow.errors import Infeasible
from hedgerow.partition.ke import ke_max
from hedgerow.partition.ke.runs import least_largest
from tests.support.exhaustive import is_apart, ke_partitions, largest_range
from tests.support.histograms import Histogram, check_ke, histogram, histograms, ranges, tiny_columns


@settings(max_examples=200)
@given(histograms(), st.integers(2, 5), st.sampled_from([0, 1, 3, 0.3, Fraction(1, 3), 2**60]))
def test_every_group_keeps_the_promise(column: Histogram, k: int, e: float) -> None:
    """The groups are (k,e)-anonymous and cover every row, or the promise is infeasible for the whole column."""
    if KE(k, e).feasible(column.positions):
        check_ke(ke_max(*column, k=k, e=e), column, k=k, e=KE(k, e).e)
    else:
        with pytest.raises(Infeasible):
            ke_max(*column, k=k, e=e)


@pytest.mark.parametrize(
    ("k", "e", "scale"), [(2, 0, 1), (2, 3, 1), (3, 1, 1), (3, "3.5", 1), (4, 0, 1), (2, 0.3, 0.1)]
)
def test_no_partition_without_overlap_has_a_smaller_largest_range(k: int, e: float | str, scale: float) -> None:
    """Over all partitions of hundreds of tiny columns the largest range is least, and of those the groups are most."""
    criterion = KE(k, e)
    for rows in tiny_columns(k + 20, 300, scale=scale):
        column = histogram(rows)
        found = list(filter(is_apart, ke_partitions(rows, k, criterion.e)))
        if not found:
            continue
        pieces = ke_max(*column, k=k, e=e)
        check_ke(pieces, column, k=k, e=criterion.e)
        # Ranges of floats are compared as rounded differences: that is as fine as floats can be told apart.
        least = min(float(largest_range(partition)) for partition in found)
        most = max(len(partition) for partition in found if float(largest_range(partition)) == least)
        assert (float(max(ranges(pieces, column.positions))), pieces.num_groups) == (least, most), rows


@settings(max_examples=100)
@given(histograms(max_values=25), st.integers(2, 4), st.sampled_from([0, 2, 0.3]))
def test_the_queue_finds_what_the_full_recurrence_finds(column: Histogram, k: int, e: float) -> None:
    """The linear program equals the quadratic one on columns that are too long for exhaustive search."""
    positions, tied = column.positions, column.counts > 1
    if not KE(k, e).feasible(positions):
        return
    latest = latest_start(positions, k=k, e=e)
    best: dict[int, float] = {}
    for i in range(len(positions)):
        entries = [
            (d, best.get(d) if shared else 0 if d == 0 else best.get(d - 1))
            for d in range(latest[i] + 1)
            for shared in ({False, bool(tied[d])})
        ]
        widths = [max(entry, positions[i] - positions[d]) for d, entry in entries if entry is not None]
        if widths:
            best[i] = min(widths)
    assert least_largest.plain(positions, latest, tied) == best[len(positions) - 1]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_plain_and_compiled_agree(kind: type) -> None:
    """The two speeds of the kernel find the same width."""
    source = np.random.default_rng(4)
    positions = np.sort(source.choice(12_000, 2000, replace=False)).astype(kind)
    arguments = (positions, latest_start(positions, k=5, e=20), source.random(2000) < 0.3)
    assert least_largest.plain(*arguments) == least_largest.compiled(*arguments)


def test_the_worked_example_needs_seven() -> None:
    """{1,2,3,5,5,6,6,8} with (4,5): without overlap, even with tied ends shared, only one group of range 7."""
    column = histogram([1, 2, 3, 5, 5, 6, 6, 8])
    assert ranges(ke_max(*column, k=4, e=5), column.positions) == [7]


def test_a_value_with_one_row_is_not_shared() -> None:
    """Sharing the middle value would halve the range, but takes two rows."""
    positions = np.array([1, 2, 3])
    assert max(ranges(ke_max(positions, np.array([1, 1, 1]), k=2, e=1), positions)) == 2
    assert max(ranges(ke_max(positions, np.array([1, 2, 1]), k=2, e=1), positions)) == 1
