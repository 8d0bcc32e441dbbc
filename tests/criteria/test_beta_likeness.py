"""beta-likeness: relative gains, with and without the logarithm."""

import math
from fractions import Fraction

import pytest

from hedgerow.criteria.shares import BetaLikeness
from hedgerow.errors import ParameterError
from tests.support.groups import check_criterion


def _gain(counts, overall, value):
    share, base = Fraction(counts[value], counts.total()), Fraction(overall[value], overall.total())
    return (share - base) / base, base


@pytest.mark.parametrize("beta", ["0.1", "1/4", "0.5", 1, 3])
def test_basic(beta):
    """No value gains more than beta times its share, decided exactly."""
    check_criterion(
        BetaLikeness(beta, enhanced=False),
        lambda counts, overall: all(_gain(counts, overall, value)[0] <= Fraction(beta) for value in counts),
    )


@pytest.mark.parametrize("beta", ["0.1", "0.5", 1, 3, 100])
def test_enhanced(beta):
    """Nor more than minus the logarithm of its share; shares of small columns never come near that border."""

    def good(counts, overall):
        gains = (_gain(counts, overall, value) for value in counts)
        return all(gain <= min(Fraction(beta), Fraction(-math.log(base))) for gain, base in gains)

    check_criterion(BetaLikeness(beta), good)


@pytest.mark.parametrize("beta", [0, -1, "x", None, float("inf"), True])
def test_bad_beta_is_refused(beta):
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="'beta' must be"):
        BetaLikeness(beta)
