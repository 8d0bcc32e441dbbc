"""Pieces: the statistics of their groups, and the even split of shared values."""

import numpy as np

from hedgerow.partition.ke.runs import Pieces, from_memberships

PIECES = Pieces(
    np.array([0, 1, 1, 2, 3], np.int32), np.array([1, 0, 1, 0, 1], np.int32), np.array([4, 1, 2, 5, 1], np.int64)
)


def test_statistics_of_groups_come_from_the_pieces() -> None:
    """Groups, distinct values, least and greatest rank, and rows are read off."""
    assert PIECES.num_groups == 2
    assert PIECES.distinct().tolist() == [2, 3]
    assert PIECES.lowest().tolist() == [1, 0]
    assert PIECES.highest().tolist() == [2, 3]
    assert PIECES.rows().tolist() == [6, 7]


def test_a_shared_value_is_split_evenly() -> None:
    """Each group gets half, the first the odd row, and at least one."""
    pieces = from_memberships(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.array([3, 5, 2]))
    assert pieces.counts.tolist() == [3, 3, 2, 2]
    pair = from_memberships(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.array([3, 2, 2]))
    assert pair.counts.tolist() == [3, 1, 1, 2]
