"""m-uniqueness and kept signatures, against sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.criteria.m_invariance import MInvariance, count_broken_signatures

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=20)


def _dense(pairs):
    numbers = {group: place for place, group in enumerate(sorted({group for group, _ in pairs}))}
    return [(numbers[group], code) for group, code in pairs]


@given(PAIRS, st.integers(2, 4))
def test_a_group_is_broken_if_a_value_is_twice_or_there_are_too_few(pairs, m):
    """The vectorized check counts the groups that sets count."""
    pairs = _dense(pairs)
    by_group = {}
    for group, code in pairs:
        by_group.setdefault(group, []).append(code)
    expected = sum(len(codes) < m or len(set(codes)) < len(codes) for codes in by_group.values())
    groups, codes = np.array(pairs, np.int64).T
    assert MInvariance(m).count_broken(groups, codes) == expected


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=4),
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=3),
    st.data(),
)
def test_a_signature_is_kept_if_the_sets_are_equal(groups, signatures, data):
    """The vectorized check counts the people whose group shows another set than their signature."""
    people = data.draw(
        st.lists(
            st.tuples(st.integers(0, len(groups) - 1), st.integers(-1, len(signatures) - 1)), min_size=1, max_size=12
        )
    )
    expected = sum(s >= 0 and groups[g] != signatures[s] for g, s in people)
    rows, known = np.array(people, np.int64).T
    owners = np.array([g for g, values in enumerate(groups) for _ in values], np.int64)
    codes = np.array([value for values in groups for value in values], np.int64)
    members = np.array([value for values in signatures for value in sorted(values)], np.int32)
    offsets = np.append(0, np.cumsum([len(values) for values in signatures]))
    assert count_broken_signatures(rows, known, owners, codes, offsets, members) == expected


def test_eligibility_is_exact():
    """A value may fill exactly 1/m of the rows, and no more."""
    assert MInvariance(3).is_eligible(np.array([2, 2, 2]))
    assert not MInvariance(3).is_eligible(np.array([3, 2, 3]))
    assert "largest m that works is 2" in MInvariance(3).nearest(np.array([3, 2, 3]))


@pytest.mark.parametrize("m", [1, 0, -1, True, 2.0, "3", None])
def test_m_is_checked_at_the_door(m):
    """m is a whole number of at least two."""
    with pytest.raises(hr.ParameterError, match="'m' must be an integer of at least 2"):
        MInvariance(m)


@pytest.mark.parametrize(
    ("counts", "told"),
    [([1, 1, 1], "works is 3."), ([2, 1, 1], "works is 2."), ([3, 1], "no m works."), ([2, 2, 2], "is 3.")],
)
def test_the_largest_m_that_works(counts, told):
    """All rows over the most frequent value; of 1 nothing would be promised."""
    assert told in MInvariance(9).nearest(np.array(counts))
