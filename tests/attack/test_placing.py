"""Where people may be."""

import numpy as np
import pytest

from hedgerow.attack.candidates import CandidateColumn, CandidateRows, place_people


def _seen(first, second, groups, weights=None):
    columns = [np.array(values, float) for values in (first, second)]
    made = tuple(CandidateColumn(f"c{n}", 0, one, one, np.isnan(one)) for n, one in enumerate(columns))
    return CandidateRows(
        made, np.array(groups), np.ones(len(groups), np.int64) if weights is None else np.array(weights)
    )


def test_rows_that_fit_are_alike():
    """Two rows of one group and one of another: both groups, two to one by rows."""
    where = place_people(_seen([1, 1, 1, 2], [5, 5, 5, 5], [0, 0, 1, 1]), np.array([[1.0], [5.0]]), columns_apart=False)
    assert np.bincount(where.groups[0], where.weights[0]).tolist() == [2, 1]
    assert where.is_fit.tolist() == [True]


def test_shuffled_columns_are_weighed_by_expected_rows():
    """Of four rows one has 1 and two have 5: half a row is expected; of two rows one and one: half a row, too."""
    seen = _seen([1, 2, 2, 2, 1, 3], [5, 5, 6, 6, 5, 7], [0, 0, 0, 0, 1, 1])
    where = place_people(seen, np.array([[1.0], [5.0]]), columns_apart=True)
    assert where.groups[0].tolist() == [0, 1]
    assert where.weights[0] == pytest.approx([0.5, 0.5])


def test_somebody_with_a_value_of_no_group_fits_nowhere():
    """No group has both values, so there is nowhere to be."""
    where = place_people(_seen([1, 2], [5, 6], [0, 1]), np.array([[1.0], [6.0]]), columns_apart=True)
    assert where.groups[0].tolist() == []
    assert where.is_fit.tolist() == [False]
