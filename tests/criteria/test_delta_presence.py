"""delta-presence: the share of members between two bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from hedgerow.criteria.groupwise import groups_of, require
from hedgerow.criteria.shares import DeltaPresence
from hedgerow.errors import Infeasible, ParameterError
from tests.support.groups import check_unions, grouped_codes, histograms


@pytest.mark.parametrize(("low", "high"), [("0.2", "0.6"), ("1/3", "1/2"), (0, 1), (0, "0.5")])
@pytest.mark.parametrize("member", [0, 1])
def test_definition(low, high, member):
    """Both bounds are inclusive and exact, and unions of good groups are good."""
    criterion = DeltaPresence(low, high, member)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(grouped_codes(most_values=2))
    def law(drawn):
        labels, codes = drawn
        held = criterion.holds(groups_of(labels, codes, np.bincount(codes)))
        shares = [Fraction(counts[member], counts.total()) for counts in histograms(labels, codes)]
        assert held.tolist() == [Fraction(low) <= share <= Fraction(high) for share in shares]
        check_unions(criterion, labels, codes, held)

    law()


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 2), ("0.5", "0.4"), ("x", 1), (None, 1)])
def test_bad_bounds_are_refused(low, high):
    """Each is one sentence."""
    with pytest.raises(ParameterError, match=r"'low'|'high'"):
        DeltaPresence(low, high)


def test_three_values_are_refused_and_infeasible_names_the_share():
    """Membership has two values; the column's own share must lie between the bounds."""
    with pytest.raises(ParameterError, match="two values"):
        DeltaPresence(0, 1).limits(np.array([1, 1, 1]))
    with pytest.raises(Infeasible, match="around 1/4"):
        require([DeltaPresence("0.3", 1)], [np.array([3, 1])])
