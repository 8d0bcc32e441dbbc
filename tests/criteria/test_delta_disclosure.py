"""delta-disclosure: every value everywhere, about as often as in the column."""

import math
from fractions import Fraction

import pytest

from hedgerow.criteria.shares import DeltaDisclosure
from hedgerow.errors import ParameterError
from tests.support.groups import check_criterion


@pytest.mark.parametrize("delta", ["0.01", "0.3", "0.5", 1, 2, 1000])
def test_definition(delta):
    """The logarithm of every ratio of shares stays below delta; a missing value is infinitely far."""

    def good(counts, overall):
        ratios = [Fraction(counts[v] * overall.total(), counts.total() * overall[v]) for v in overall]
        return all(ratio > 0 and abs(math.log(ratio)) < float(delta) for ratio in ratios)

    check_criterion(DeltaDisclosure(delta), good)


@pytest.mark.parametrize("delta", [0, -1, "x", None, float("inf"), True])
def test_bad_delta_is_refused(delta):
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="'delta' must be"):
        DeltaDisclosure(delta)
