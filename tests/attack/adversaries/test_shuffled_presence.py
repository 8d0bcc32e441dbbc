"""The chance that a combination exists in a scattered group."""

import itertools
import random
from fractions import Fraction

import pytest

from hedgerow.attack.adversaries.presence import presence, presence_at_most
from hedgerow.errors import ParameterError


@pytest.mark.parametrize(("counts", "chance"), [
    ((1, 2), Fraction(2, 5)), ((2, 3), Fraction(9, 10)), ((1, 2, 3), Fraction(6, 25)), ((5, 5), Fraction(1)),
    ((0, 3), Fraction(0)), ((4,), Fraction(1)),
])  # fmt: skip
def test_the_printed_group_of_five(counts, chance):
    """Age 65 and male: 2/5, not the printed 2/25; and the other combinations of five rows."""
    assert presence(counts, 5) == chance


def test_presence_equals_counting_every_arrangement():
    """For small groups the chance is the share of arrangements in which some row has all values."""
    source = random.Random(1)
    for _ in range(60):
        rows = source.randint(1, 5)
        counts = [source.randint(0, rows) for _ in range(source.randint(1, 3))]
        subsets = [list(itertools.combinations(range(rows), count)) for count in counts]
        arrangements = list(itertools.product(*subsets))
        met = sum(bool(set.intersection(*map(set, chosen))) for chosen in arrangements)
        assert presence(counts, rows) == Fraction(met, len(arrangements))
        assert presence(counts, rows) <= presence_at_most(counts, rows)


def test_counts_that_cannot_be_are_refused():
    """More rows than there are, or no column at all."""
    for counts, rows in (((6,), 5), ((), 5), ((1,), 0), ((-1,), 5)):
        with pytest.raises(ParameterError, match="'counts'"):
            presence(counts, rows)
