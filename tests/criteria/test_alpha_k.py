"""(alpha,k)-anonymity: rows and shares."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.shares import AlphaK
from hedgerow.errors import Infeasible, ParameterError
from tests.support.groups import check_criterion


@pytest.mark.parametrize(("alpha", "k"), [("0.5", 2), ("1/3", 3), ("0.333333333333333333", 2), (1, 4), ("0.4", 5)])
def test_definition(alpha, k):
    """At least k rows, no value in more than alpha of them, decided exactly."""
    wanted = Fraction(alpha)
    check_criterion(AlphaK(alpha, k), lambda c, _: c.total() >= k and Fraction(max(c.values()), c.total()) <= wanted)


@pytest.mark.parametrize(("alpha", "k"), [(0, 2), (1.1, 2), ("x", 2), (None, 2), (0.5, 1), (0.5, 2.5)])
def test_bad_parameters_are_refused(alpha, k):
    """Each is one sentence that says what it must be."""
    with pytest.raises(ParameterError, match="must be"):
        AlphaK(alpha, k)


def test_infeasible_names_what_works():
    """The column's own largest share is the least alpha."""
    with pytest.raises(Infeasible, match="alpha from 3/5"):
        require([AlphaK("0.5", 2)], [np.array([3, 2])])
