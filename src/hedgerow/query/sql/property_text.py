"""Properties as SQL-like text: a small grammar for linear inequalities over one column.

    age >= 18                          every value stays on its side of 18
    18 <= "hours-per-week" < 40        two of these; also  age BETWEEN 18 AND 65
    age[40] - age[30] >= 8             what 40 becomes stays at least 8 above what 30 becomes
    age[20] + age[30] <= 55            sums;  age[60] / age[30] <= 2.5  ratios;  age[30] <= age[40]  order

    statement   side (comparison side)+  |  side BETWEEN side AND side
    side        product (('+' | '-') product)*
    product     factor (('*' | '/') factor)*
    factor      number | '-' factor | '(' side ')' | name | name '[' ['-'] number ']'

A name is a word or stands in double quotes. A side is linear: products and quotients need a plain number on one side,
except that one side may be a quotient of two references that is compared with a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from hedgerow.criteria.properties import Property, Threshold, relation
from hedgerow.errors import ParameterError

__all__ = ["parse_properties", "parse_property"]

_TOKEN = re.compile(
    r'\s*(?:(\d+\.?\d*(?:[eE][+-]?\d{1,3})?|\.\d+)|("(?:[^"]|"")+"|[^\W\d]\w*)|(<=|>=|[-+*/()<>=\[\]]))'
)
_STATEMENT = re.compile(r'(?:[^";]|"[^"]*"?)+')
_LONGEST = 2000
_DEEPEST = 50
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "="}

Reference = tuple[str, Fraction | None]
"""A column, and the original value in brackets if there is one."""


@dataclass(frozen=True)
class _Side:
    """A linear expression; `under` is what it is divided by, where that is not a number."""

    terms: dict[Reference, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    under: _Side | None = None

    @property
    def is_number(self) -> bool:
        return not self.terms and self.under is None

    def scaled(self, factor: Fraction) -> _Side:
        return _Side({r: c * factor for r, c in self.terms.items()}, self.constant * factor, self.under)

    def plus(self, other: _Side) -> _Side:
        terms = dict(self.terms)
        for reference, coefficient in other.terms.items():
            terms[reference] = terms.get(reference, Fraction(0)) + coefficient
        return _Side(terms, self.constant + other.constant)


def parse_properties(text: str) -> tuple[Property, ...]:
    """Read statements that are parted by semicolons; one in a quoted name parts nothing."""
    statements = [statement for statement in _STATEMENT.findall(text) if statement.strip()]
    return tuple(kept for statement in statements for kept in parse_property(statement))


def parse_property(text: str) -> tuple[Property, ...]:
    """Read a statement as properties; raises ParameterError with the reason."""
    if len(text) > _LONGEST:
        raise ParameterError(f"A property must have at most {_LONGEST} characters; got {len(text)}.")
    return _Parser(text).statement()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0
        self.depth = 0

    def statement(self) -> tuple[Property, ...]:
        sides, signs = [self.side()], list[str]()
        if self.word("between"):
            low = self.side()
            if not self.word("and"):
                raise self.wrong("BETWEEN needs two numbers with AND between them")
            sides, signs = [low, sides[0], self.side()], ["<=", "<="]
        while not signs or self.peek() in _MIRRORED:
            signs.append(self.take_comparison())
            sides.append(self.side())
        if self.place < len(self.tokens):
            raise self.wrong("it goes on after the comparison")
        triples = zip(sides[:-1], signs, sides[1:], strict=True)
        return tuple(kept for left, sign, right in triples for kept in self.compared(left, sign, right))

    def compared(self, left: _Side, sign: str, right: _Side) -> tuple[Property, ...]:
        """Turn `left sign right` into properties of one column."""
        if right.under is not None:
            left, sign, right = right, _MIRRORED[sign], left
        under = left.under
        if under is not None:
            if not right.is_number:
                raise self.wrong("a ratio must be compared with a number")
            left, right = _Side(left.terms, left.constant), under.scaled(right.constant)
        whole = left.plus(right.scaled(Fraction(-1)))
        if len({column for column, _ in whole.terms}) != 1:
            raise self.wrong("it must speak of exactly one column; a name that is no plain word goes in double quotes")
        if any(value is None for _, value in whole.terms):
            return self.thresholds(whole, sign)
        return _relations(whole, sign, positive=under is not None)

    def thresholds(self, whole: _Side, sign: str) -> tuple[Property, ...]:
        (column, _), coefficient = next(iter(whole.terms.items()))
        if len(whole.terms) > 1 or coefficient == 0:
            raise self.wrong("a column without brackets can only be compared with a number")
        at = -whole.constant / coefficient
        sign = sign if coefficient > 0 else _MIRRORED[sign]
        afters = {">=": [False], "<": [False], ">": [True], "<=": [True], "=": [False, True]}[sign]
        return tuple(Threshold(column, at, after) for after in afters)

    def side(self) -> _Side:
        result = self.product()
        while (sign := self.peek()) in ("+", "-"):
            self.place += 1
            other = self.product()
            if result.under is not None or other.under is not None:
                raise self.wrong("a ratio must stand alone on its side")
            result = result.plus(other.scaled(Fraction(1 if sign == "+" else -1)))
        return result

    def product(self) -> _Side:
        result = self.factor()
        while (sign := self.peek()) in ("*", "/"):
            self.place += 1
            result = (self.times if sign == "*" else self.over)(result, self.factor())
        return result

    def times(self, one: _Side, other: _Side) -> _Side:
        if not (one.is_number or other.is_number):
            raise self.wrong("a product needs a plain number on one side")
        return other.scaled(one.constant) if one.is_number else one.scaled(other.constant)

    def over(self, one: _Side, other: _Side) -> _Side:
        if other.is_number:
            if other.constant == 0:
                raise self.wrong("it divides by zero")
            return one.scaled(1 / other.constant)
        if one.under is not None or other.under is not None or other.constant or one.constant:
            raise self.wrong("a ratio must be one reference over another")
        if any(c <= 0 for c in other.terms.values()) or any(value is None for _, value in other.terms):
            raise self.wrong("a ratio must have references in brackets, added up, below its line")
        return _Side(one.terms, under=other)

    def factor(self) -> _Side:
        token = self.take()
        if token == "-":
            return self.nested(self.factor).scaled(Fraction(-1))
        if token == "(":
            inner = self.nested(self.side)
            self.expect(")")
            return inner
        if _is_number(token):
            return _Side(constant=Fraction(token))
        if token[0] == '"' or token[0].isidentifier():
            return _Side({(_name(token), self.bracket()): Fraction(1)})
        raise self.wrong("a number or a column must stand there")

    def nested(self, inner: Callable[[], _Side]) -> _Side:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong("its parentheses nest too deeply")
        result = inner()
        self.depth -= 1
        return result

    def bracket(self) -> Fraction | None:
        if self.peek() != "[":
            return None
        self.place += 1
        sign = -1 if self.peek() == "-" else 1
        self.place += sign < 0
        token = self.take()
        if not _is_number(token):
            raise self.wrong("brackets must hold a number, an original value of the column")
        self.expect("]")
        return sign * Fraction(token)

    def word(self, wanted: str) -> bool:
        found = self.peek().lower() == wanted
        self.place += found
        return found

    def take_comparison(self) -> str:
        token = self.take()
        if token not in _MIRRORED:
            raise self.wrong("a comparison (<=, >=, <, >, =, BETWEEN) must stand there")
        return token

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        if self.place >= len(self.tokens):
            raise self.wrong("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, token: str) -> None:
        if self.peek() != token:
            raise self.wrong(f"'{token}' must stand there")
        self.place += 1

    def wrong(self, reason: str) -> ParameterError:
        return ParameterError(f"The property {self.text!r} cannot be read at token {self.place + 1}: {reason}.")


def _relations(whole: _Side, sign: str, *, positive: bool) -> tuple[Property, ...]:
    (column, _), *_ = whole.terms
    factors = {"<=": [1], "<": [1], ">=": [-1], ">": [-1], "=": [1, -1]}[sign]
    kept = []
    for factor in factors:
        terms = [(value, factor * c) for (_, value), c in whole.terms.items() if value is not None]
        kept.append(relation(column, terms, -factor * whole.constant, strict=sign in "<>", positive=positive))
    return tuple(kept)


def _tokens(text: str) -> list[str]:
    tokens, place, end = [], 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise ParameterError(f"The property {text!r} has a sign that does not belong at position {place + 1}.")
        tokens.append(found.group().strip())
        place = found.end()
    return tokens


def _is_number(token: str) -> bool:
    return token[0].isdigit() or token[0] == "."


def _name(token: str) -> str:
    return token[1:-1].replace('""', '"') if token[0] == '"' else token
