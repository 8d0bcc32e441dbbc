"""The largest retention probability."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.proximity import Reach, absolute, largest_retention, retention_risk
from hedgerow.errors import Infeasible
from hedgerow.exact import line


def _ring(size, width):
    """A domain without borders: every value has `width` neighbours."""
    first = np.clip(np.arange(size) - width // 2, 0, size - width)
    return Reach(first.astype(np.int32), (first + width - 1).astype(np.int32))


def test_uniform_values():
    """Uniform values with neighbourhoods of a fifth: m = 4 allows p = 1/16, m = 5 only p = 0, m = 6 nothing."""
    counts = np.ones(100, np.int64)
    assert largest_retention(_ring(100, 20), counts, m=4) == Fraction(1, 16)
    assert largest_retention(_ring(100, 20), counts, m=5) == 0
    with pytest.raises(Infeasible, match="largest m that works is 5"):
        largest_retention(_ring(100, 20), counts, m=6)


def test_no_risk_to_keep():
    """A risk of at most 1 lets every value be published."""
    assert largest_retention(_ring(10, 3), np.ones(10, np.int64), m=1) == 1


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=12).filter(any),
    st.integers(0, 4),
    st.integers(2, 5),
)
def test_largest_by_definition(counts, eps, m):
    """The risk is kept around every value that occurs and would be exceeded around one by any larger p."""
    rows, values = sum(counts), len(counts)
    reach = absolute(eps).reach(line(np.arange(values)))
    around = [
        (
            Fraction(sum(counts[max(0, v - eps) : v + eps + 1]), rows),
            Fraction(min(values - 1, v + eps) - max(0, v - eps) + 1, values),
        )
        for v in range(values)
        if counts[v]
    ]
    feasible = all(inside * m <= 1 for inside, _ in around)
    if not feasible:
        with pytest.raises(Infeasible):
            largest_retention(reach, np.array(counts), m=m)
        return
    p = largest_retention(reach, np.array(counts), m=m)
    assert all(retention_risk(p, inside, width) <= Fraction(1, m) for inside, width in around)
    more = p + Fraction(1, 10**9)
    assert any(retention_risk(more, inside, width) > Fraction(1, m) for inside, width in around)


def test_neighbourhoods_that_agree_in_nine_digits():
    """Floats cannot tell which of them limits p; fractions can, and it is the fullest one."""
    most = 10**10 + 3
    counts = np.array([10**10, most, 10**10 + 1, 10**10 + 2], np.int64)
    rows, reach = int(counts.sum()), Reach(np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32))
    p = largest_retention(reach, counts, m=2)
    assert retention_risk(p, Fraction(most, rows), Fraction(1, 4)) == Fraction(1, 2)
    assert all(retention_risk(p, Fraction(int(c), rows), Fraction(1, 4)) <= Fraction(1, 2) for c in counts)
