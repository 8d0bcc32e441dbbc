"""Histograms of groups, combinations of criteria, caps as short fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.criteria.groupwise import All, KAnonymity, groups_of, merge_values, one_group
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity
from hedgerow.criteria.shares import floor_fraction
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.errors import ParameterError
from tests.support.groups import check_criterion, grouped_codes, histograms


@given(grouped_codes())
def test_groups_hold_what_counting_one_by_one_finds(drawn):
    """Sizes, values and counts of every group."""
    labels, codes = drawn
    groups = groups_of(labels, codes, np.bincount(codes))
    for g, counts in enumerate(histograms(labels, codes)):
        end = groups.starts[g] + groups.distinct[g]
        seen = slice(groups.starts[g], end)
        assert dict(zip(groups.values[seen].tolist(), groups.counts[seen].tolist(), strict=True)) == counts
        assert groups.sizes[g] == counts.total()


@given(grouped_codes(), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_merging_values_is_counting_classes(drawn, classes):
    """Replacing values by classes before or after counting is the same."""
    labels, codes = drawn
    _, dense = np.unique(np.array(classes)[: codes.max() + 1], return_inverse=True)
    early = groups_of(labels, dense[codes].astype(np.int32), np.bincount(dense[codes]))
    late = merge_values(groups_of(labels, codes, np.bincount(codes)), dense)
    for field in ("sizes", "starts", "values", "counts", "overall"):
        assert np.array_equal(getattr(early, field), getattr(late, field))


def test_combinations_ask_every_criterion():
    """All says yes where all of its parts do, and its limits are the strictest."""
    both = All(KAnonymity(4), FrequencyDiversity(3), DistinctDiversity(2))
    check_criterion(both, lambda c, _: c.total() >= 4 and len(c) >= 2 and 3 * max(c.values()) <= c.total())
    assert both.monotone
    assert not both.relative
    assert All(KAnonymity(2), TCloseness("0.5")).relative
    assert not All(KAnonymity(2), EntropyDiversity(2)).limits(np.array([3, 3])).whole
    with pytest.raises(ParameterError, match="at least one"):
        All()


def test_a_combination_blames_the_part_that_fails():
    """The sentence is that of the criterion which cannot be kept."""
    overall = np.array([5, 1])
    assert "no l works" in All(KAnonymity(2), FrequencyDiversity(2)).nearest(overall)
    assert not All(KAnonymity(2), FrequencyDiversity(2)).holds(one_group(overall))[0]


@given(st.fractions(0, 3), st.integers(1, 40))
def test_short_fractions_decide_like_long_ones(number, most):
    """No fraction with a denominator of at most `most` lies strictly between the short one and the number."""
    short = floor_fraction(number, most)
    assert short.denominator <= most
    assert short == max(Fraction(int(number * d), d) for d in range(1, most + 1))
