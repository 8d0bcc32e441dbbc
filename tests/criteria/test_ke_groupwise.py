"""(k,e)-anonymity on histograms of groups."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.criteria.groupwise import groups_of
from hedgerow.criteria.ke import KE, GroupwiseKE

POSITIONS = np.array([0, 1, 4, 9, 20])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30),
    st.integers(2, 4),
    st.integers(0, 12),
)
def test_histograms_are_judged_like_lists_of_values(rows, k, e):
    """A group is good if and only if its values are k different ones at least e apart."""
    numbers = {old: new for new, old in enumerate(sorted({group for group, _ in rows}))}
    labels = np.array([numbers[group] for group, _ in rows], np.int32)
    codes = np.array([code for _, code in rows], np.int32)
    overall = np.bincount(codes, minlength=5)
    criterion = GroupwiseKE(KE(k, e), POSITIONS)
    values = [set(POSITIONS[codes[labels == group]].tolist()) for group in range(len(numbers))]
    expected = [len(one) >= k and max(one) - min(one) >= e for one in values]
    assert criterion.holds(groups_of(labels, codes, overall)).tolist() == expected
    kept = criterion.limits(overall).hold(groups_of(labels, codes, overall)).tolist()
    assert all(limit for limit, good in zip(kept, expected, strict=True) if good)
    if e == 0:
        assert criterion.limits(overall).whole
        assert kept == expected
