"""The grammar of properties."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.criteria.properties import Relation, Threshold
from hedgerow.errors import ParameterError
from hedgerow.query.sql.property_text import parse_properties, parse_property


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age >= 18", [("age", 18, False)]),
        ("age < 18", [("age", 18, False)]),
        ("age > 18", [("age", 18, True)]),
        ("18 >= age", [("age", 18, True)]),
        ("age = 18", [("age", 18, False), ("age", 18, True)]),
        ("-2 * age + 1 < 5", [("age", -2, True)]),
        ('18 <= "hours-per-week" < 40', [("hours-per-week", 18, False), ("hours-per-week", 40, False)]),
        ("größe between 1.5e2 and 200", [("größe", 150, False), ("größe", 200, True)]),
    ],
)
def test_ranges(text, found):
    """A bare column compared with numbers is one or two thresholds."""
    assert parse_property(text) == tuple(Threshold(c, Fraction(at), after) for c, at, after in found)


@pytest.mark.parametrize(
    ("text", "terms", "bound", "strict"),
    [
        ("x[3] <= x[5]", {3: 1, 5: -1}, 0, False),
        ("x[5] - x[3] > 1", {3: 1, 5: -1}, -1, True),
        ("2 * (x[1] + x[-2]) - 3 < 8 / 2", {-2: 2, 1: 2}, 7, True),
        ("x[0.5] / 4 <= 1", {Fraction(1, 2): Fraction(1, 4)}, 1, False),
        ("x[9] / x[4] <= 2.5", {4: Fraction(-5, 2), 9: 1}, 0, False),
        ("2.5 >= x[9] / x[4]", {4: Fraction(-5, 2), 9: 1}, 0, False),
    ],
)
def test_relations(text, terms, bound, strict):
    """Values in brackets give a linear relation with everything on one side."""
    exact = tuple(sorted((Fraction(v), Fraction(c)) for v, c in terms.items()))
    assert parse_property(text) == (Relation("x", exact, Fraction(bound), strict, positive="x[9]" in text),)


def test_an_equation_is_two_relations():
    """What is equal is neither more nor less."""
    one, other = parse_property("x[1] + x[2] = 3")
    assert one.bound == -other.bound == 3
    assert [c for _, c in one.terms] == [-c for _, c in other.terms]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age",
        "age >",
        "age >= 3 3",
        "age * age < 3",
        "x[3] * x[4] <= 1",
        "a[1] + b[2] < 3",
        "age <= age[3]",
        "(" * 3000 + "age",
        "(" * 60 + "age" + ")" * 60 + " < 3",
        "x[1] - x[1] <= 2",
        "3 < 4",
        "x[y] < 1",
        "age # 3",
        "age / age[1] < 3",
        "x[1] / 0 < 1",
        "x[1] / x[2] / x[3] < 1",
        "x[1] / x[2] <= x[3]",
        "x[1] / (x[2] - x[3]) <= 1",
        "x[1] / (x[2] - x[2]) >= 1",
        "x[1] / (0 * x[2]) >= 1",
        "x[1] / x[2] + 1 <= 3",
        "age between 3",
        "age < 1e9999",
        '"" < 3',
        "age <= 3 OR 1 = 1",
        "age <= 3; DROP TABLE x",
    ],
)
def test_everything_else_is_refused(text):
    """What is not a linear inequality over one column is a wrong parameter, with the reason."""
    with pytest.raises(ParameterError):
        parse_property(text)


def test_semicolons_part_statements_but_not_names():
    """A text may hold several statements, empty ones included; a quoted name keeps its semicolon."""
    found = parse_properties('"a;b" >= 3; x < 4;; "say ""hi;""" > 1 ;')
    assert [kept.column for kept in found] == ["a;b", "x", 'say "hi;"']
    assert parse_properties(" ") == ()


@given(st.text(alphabet='ax[]()<>=+-*/.0123456789" e\n', max_size=40))
def test_any_text_is_read_or_refused(text):
    """No text makes the parser fail in another way."""
    with contextlib.suppress(ParameterError):
        assert parse_property(text)
