"""Neighbourhoods as the auditor finds them, against fractions compared one by one."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.verify.proximity import _ends

WIDTHS = st.fractions(0, 9, max_denominator=12)
UNITS = st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5, 2)])
WHOLE = st.sets(st.integers(-(10**6), 10**6) | st.integers(-9, 9), min_size=1, max_size=12)
FLOATS = st.sets(st.floats(-1e3, 1e3) | st.sampled_from([0.1, 0.3, 2.0, 1e-300]), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    st.tuples(WHOLE, UNITS) | st.tuples(FLOATS, st.just(Fraction(1))),
    WIDTHS,
    WIDTHS,
    st.fractions(0, 1, max_denominator=7),
)
def test_ends_are_those_of_fractions(column, below, above, share):
    """Whole numbers in any unit, floats of any size, widths of any denominator."""
    positions, unit = sorted(column[0]), column[1]
    values = [Fraction(position) * unit for position in positions]
    lows, highs = _ends(positions, unit, below, above, share)
    assert lows.tolist() == [sum(w < v - below - share * abs(v) for w in values) for v in values]
    assert highs.tolist() == [sum(w <= v + above + share * abs(v) for w in values) for v in values]
