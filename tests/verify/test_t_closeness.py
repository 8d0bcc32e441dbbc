"""The audit of t-closeness counts exactly, however many rows there are."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import BrokenPromise
from hedgerow.verify.groupwise import Counted, check_t


def _counted(groups):
    """A column whose groups have these counts of each value."""
    table = np.array(groups, np.int64)
    owners, codes = np.nonzero(table)
    return Counted(
        "pay", pa.array(range(table.shape[1])), table.sum(1), owners, codes, table[owners, codes], table.sum(0)
    )


def _farthest(groups):
    """The largest ordered distance by its definition, in fractions."""
    overall, rows = [sum(column) for column in zip(*groups, strict=True)], sum(map(sum, groups))
    farthest = Fraction(0)
    for group in groups:
        gaps = [Fraction(a, sum(group)) - Fraction(b, rows) for a, b in zip(group, overall, strict=True)]
        moved = sum((abs(sum(gaps[: place + 1], Fraction(0))) for place in range(len(gaps))), Fraction(0))
        farthest = max(farthest, moved / (len(gaps) - 1))
    return farthest


@pytest.mark.parametrize("scale", [1, 1_000, 100_003, 100_000_007])
def test_ordered_distances_are_exact_at_any_size(scale):
    """Accepted at exactly the distance, refused a hair below it, from a few rows to as many as a table may have."""
    groups = [[3 * scale, scale, 2 * scale], [scale, scale + 1, 4 * scale], [scale, 0, scale]]
    column, t = _counted(groups), _farthest(groups)
    check_t(column, {"t": str(t), "distance": "ordered"})
    with pytest.raises(BrokenPromise, match="farther than t"):
        check_t(column, {"t": str(t - Fraction(1, 10**40)), "distance": "ordered"})
