"""Discernibility and average class size."""

import numpy as np

from hedgerow.utility.measures import average_class_size, discernibility

LABELS = np.array([0, 0, 0, 1, 1, -1], np.int32)


def test_discernibility():
    """Groups are charged their squared sizes, a suppressed row the whole table."""
    assert discernibility(LABELS) == 9 + 4 + 6
    assert discernibility(np.zeros(0, np.int32)) == 0


def test_average_class_size():
    """Rows per group over k; nothing suppressed counts."""
    assert average_class_size(LABELS) == 2.5
    assert average_class_size(LABELS, k=2) == 1.25
    assert np.isnan(average_class_size(np.array([-1], np.int32)))
