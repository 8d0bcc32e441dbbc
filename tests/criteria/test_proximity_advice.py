"""The advisor: the largest m for an eps, the bound on eps for an m, and whether both work."""

import random
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.proximity import EpsBound, achievable, eps_below, m_for
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import line

SALARIES = np.array([1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000])


def column(rows):
    """A column as the advisor sees it."""
    values, counts = np.unique(np.array(rows), return_counts=True)
    return line(values), counts.astype(np.int64)


def test_the_printed_salaries():
    """m = 3 needs an eps below 20: at most 19 in whole dollars."""
    where, counts = column(SALARIES)
    assert eps_below(where, counts, m=3) == EpsBound(Fraction(20), Fraction(19))
    assert m_for(where, counts, eps=20) == 2
    assert achievable(where, counts, eps=19, m=3)
    assert not achievable(where, counts, eps=20, m=3)


def test_one_allows_anything_and_more_than_the_rows_is_refused():
    """m = 1 has no bound; m above the rows has no groups."""
    where, counts = column(SALARIES)
    assert eps_below(where, counts, m=1) == EpsBound(None, None)
    assert eps_below(where, counts, m=1, is_relative=True) == EpsBound(None, Fraction(1))
    assert achievable(where, counts, eps=10**9, m=1)
    for ask in (lambda: eps_below(where, counts, m=9), lambda: achievable(where, counts, eps=0, m=9)):
        with pytest.raises(Infeasible, match="needs groups of 9 rows"):
            ask()
    with pytest.raises(ParameterError, match="'m'"):
        eps_below(where, counts, m=0)


def test_a_value_that_is_too_frequent_leaves_no_eps():
    """The bound is 0, which no eps is below."""
    assert eps_below(*column([5, 5, 5, 9]), m=2) == EpsBound(Fraction(0), None)


def test_the_bound_is_strict_and_tight():
    """On random columns m works just below the bound and fails at it, for absolute and relative neighbourhoods."""
    source = random.Random(7)
    for _ in range(400):
        scale = source.choice([1, 0.01])
        rows = [source.randint(-12, 12) * scale for _ in range(source.randint(1, 12))]
        where, counts = column(rows)
        m = source.randint(1, len(rows))
        for is_relative in (False, True):
            bound = eps_below(where, counts, m=m, is_relative=is_relative)
            works = lambda eps, r=is_relative: m <= m_for(where, counts, eps=eps, is_relative=r)  # noqa: B023, E731
            if bound.below is None:
                assert works(1) if is_relative else works(10**6)
                continue
            assert bound.below > 1 or not works(bound.below)
            assert bound.below == 0 or works(bound.below * Fraction(999_999, 1_000_000))
            if bound.largest is not None and bound.below > 0:
                assert works(bound.largest)


def test_the_relative_bound_of_positive_values_is_the_farther_ones_share():
    """100 reaches 90 at a tenth; 90 reaches 100 only at a ninth."""
    assert eps_below(*column([90, 100]), m=2, is_relative=True).below == Fraction(1, 10)
    assert eps_below(*column([-5, 5]), m=2, is_relative=True) == EpsBound(None, Fraction(1))
