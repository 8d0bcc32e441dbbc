"""Properties by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hedgerow.criteria.properties import Relation, Threshold, between, difference, order, ratio, total
from hedgerow.errors import ParameterError
from hedgerow.query.sql.property_text import parse_property


@pytest.mark.parametrize(
    ("named", "text"),
    [
        (lambda: between("age", 18, 65), "age BETWEEN 18 AND 65"),
        (lambda: between("age", low=18), "age >= 18"),
        (lambda: order("age", 20, 30, 40), "age[20] <= age[30] <= age[40]"),
        (lambda: difference("age", 60, 30, at_least=20, at_most="35.5"), "35.5 >= age[60] - age[30] >= 20"),
        (lambda: total("pay", [1, 1, 2], at_most=0.3), "2 * pay[1] + pay[2] <= 0.3"),
        (lambda: ratio("pay", 3, 2, at_most=1.5), "pay[3] / pay[2] <= 1.5"),
        (lambda: ratio("pay", 3, 2, at_least=Fraction(4, 3)), "pay[3] / pay[2] >= 4 / 3"),
    ],
)
def test_names_and_texts_say_the_same(named, text):
    """Each constructor builds what its text reads as."""
    assert named() == parse_property(text)


def test_a_relation_knows_whether_it_holds():
    """Strict and non-strict relations are decided exactly on the original values."""
    terms = ((Fraction(1, 10), Fraction(3)),)
    assert Relation("x", terms, Fraction(3, 10)).holds()
    assert not Relation("x", terms, Fraction(3, 10), strict=True).holds()


def test_what_is_not_said_of_a_property_is_not_so():
    """A relation is neither strict nor for positive numbers, and a threshold counts as above, unless one says so."""
    (step,) = order("x", 1, 2)
    assert step == Relation("x", ((Fraction(1), Fraction(1)), (Fraction(2), Fraction(-1))), Fraction(0), False, False)
    assert str(step) == '1*"x"[1] + -1*"x"[2] <= 0'
    assert str(Threshold("x", Fraction(1))) == '"x" >= 1'


def test_wrong_parameters_are_refused():
    """A bound is needed, numbers are numbers, and terms may not cancel out."""
    with pytest.raises(ParameterError, match="must have a bound"):
        difference("age", 60, 30)
    with pytest.raises(ParameterError, match="must have a bound; give 'low' or 'high'"):
        between("age")
    with pytest.raises(ParameterError, match="must have a bound"):
        ratio("age", 60, 30)
    with pytest.raises(ParameterError, match="at least 2 values; got 1"):
        order("age", 60)
    with pytest.raises(ParameterError, match="'low' of a property must be a finite number; got str"):
        between("age", "young")
    with pytest.raises(ParameterError, match="cancel out"):
        difference("age", 30, 30, at_most=1)


def test_properties_print_as_text_that_reads_back():
    """What a report shows can be pasted back."""
    for given in (*between("hours per week", 10.5, 40), *order("age", 1, 2), *total("x", [1, 2.5], at_most=-3)):
        assert parse_property(str(given)) == (given,)
    assert str(Threshold('a "b"', Fraction(1))) == '"a ""b""" >= 1'
