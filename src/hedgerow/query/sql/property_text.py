"""Properties as SQL-like text: linear inequalities over one column, read by sqlglot through an allow-list.

    age >= 18                          every value stays on its side of 18
    18 <= "hours-per-week" < 40        two of these; also  age BETWEEN 18 AND 65
    age[40] - age[30] >= 8             what 40 becomes stays at least 8 above what 30 becomes
    age[20] + age[30] <= 55            sums;  age[60] / age[30] <= 2.5  ratios;  age[30] <= age[40]  order

A side is made of numbers, names, `name[number]`, + - * / and parentheses. A name that is no plain word stands in double
quotes. A side is linear: products and quotients need a plain number on one side, except that one side may be a quotient
of two references that is compared with a number. Every other node of the parsed text, and every other argument of a
node, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.criteria.properties import Property, Threshold, relation
from hedgerow.errors import ParameterError
from hedgerow.query.sql.parse import quiet
from hedgerow.query.sql.strict import is_set

__all__ = ["parse_properties", "parse_property"]

_LONGEST = 2000
_DEEPEST = 50
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "="}
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.LTE: "<=",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.GT: ">",
    exp.EQ: "=",
}
_BINARY = ("this", "expression")
_NODES: dict[type[exp.Expression], tuple[str, ...]] = {
    **dict.fromkeys((*_COMPARISONS, exp.Add, exp.Sub, exp.Mul), _BINARY),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.Between: ("this", "low", "high"),
    exp.Neg: ("this",),
    exp.Paren: ("this",),
    exp.Bracket: ("this", "expressions"),
    exp.Column: ("this",),
    exp.Identifier: ("this", "quoted"),
    exp.Literal: ("this",),
}
"""Nodes that are understood, each with the arguments that are read; a literal that is a string has one more."""

_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")

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

    def scale(self, factor: Fraction) -> _Side:
        return _Side({r: c * factor for r, c in self.terms.items()}, self.constant * factor, self.under)

    def plus(self, other: _Side) -> _Side:
        terms = dict(self.terms)
        for reference, coefficient in other.terms.items():
            terms[reference] = terms.get(reference, Fraction(0)) + coefficient
        return _Side(terms, self.constant + other.constant)


def parse_properties(text: str) -> tuple[Property, ...]:
    """Read statements that are parted by semicolons; one in a quoted name parts nothing."""
    return tuple(kept for tree in _trees(text) for kept in _Statement(text).properties(tree))


def parse_property(text: str) -> tuple[Property, ...]:
    """Read a statement as properties; raises ParameterError with the reason."""
    if len(text) > _LONGEST:
        raise ParameterError(f"A property must have at most {_LONGEST} characters; got {len(text)}.")
    trees = _trees(text)
    if len(trees) != 1:
        raise _wrong(text, f"one statement must stand there, not {len(trees)}")
    return _Statement(text).properties(trees[0])


def _wrong(text: str, reason: str) -> ParameterError:
    return ParameterError(f"The property {text!r} cannot be read: {reason}.")


def _trees(text: str) -> list[Any]:
    """Parse in the dialect that leaves the numbers in brackets as they are; others count them from 1."""
    try:
        with quiet():
            trees = [tree for tree in sqlglot.parse(text) if tree is not None]
    except SqlglotError as error:
        where = next((f" near line {e['line']}, column {e['col']}" for e in getattr(error, "errors", []) or []), "")
        raise _wrong(text, f"it is no comparison{where}") from None
    except RecursionError:
        raise _wrong(text, "it nests too deeply") from None
    for tree in trees:
        for node in tree.walk():
            _check(text, node)
    return trees


def _check(text: str, node: Any) -> None:
    if type(node) not in _NODES:
        raise _wrong(text, f"{node.key.upper()} is not understood")
    if any(is_set(content) and name not in _NODES[type(node)] for name, content in node.args.items()):
        raise _wrong(text, f"a part of {node.key.upper()} is not understood")
    if node.comments:
        raise _wrong(text, "a comment stands in it")


@dataclass(frozen=True)
class _Statement:
    """One comparison, or a chain of them; `text` is what messages show."""

    text: str

    def properties(self, tree: exp.Expression) -> tuple[Property, ...]:
        """Read a parsed statement."""
        *pieces, last = self.chain(tree)
        if not pieces:
            raise self.wrong("a comparison (<=, >=, <, >, =, BETWEEN) is expected there")
        lefts, signs = pieces[::2], pieces[1::2]
        sides = [self.side(piece, 0) for piece in (*lefts, last) if isinstance(piece, exp.Expression)]
        triples = zip(sides[:-1], (sign for sign in signs if isinstance(sign, str)), sides[1:], strict=True)
        return tuple(kept for left, sign, right in triples for kept in self.compare(left, sign, right))

    def chain(self, tree: exp.Expression) -> Iterator[exp.Expression | str]:
        """The sides of a chain of comparisons with the signs between them, in the order of the text."""
        if type(tree) in _COMPARISONS:
            yield from self.chain(tree.this)
            yield _COMPARISONS[type(tree)]
            yield from self.chain(tree.expression)
        elif isinstance(tree, exp.Between):
            yield from (tree.args["low"], "<=", tree.this, "<=", tree.args["high"])
        else:
            yield tree

    def compare(self, left: _Side, sign: str, right: _Side) -> tuple[Property, ...]:
        """Turn `left sign right` into properties of one column."""
        if right.under is not None:
            left, sign, right = right, _MIRRORED[sign], left
        under = left.under
        if under is not None:
            if not right.is_number:
                raise self.wrong("a ratio must be compared with a number")
            left, right = _Side(left.terms, left.constant), under.scale(right.constant)
        whole = left.plus(right.scale(Fraction(-1)))
        if len({column for column, _ in whole.terms}) != 1:
            raise self.wrong("it must name exactly one column; a name that is not a plain word goes in double quotes")
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

    def side(self, node: exp.Expression, depth: int) -> _Side:
        """Read one side of a comparison."""
        if depth > _DEEPEST:
            raise self.wrong("it nests too deeply")
        if isinstance(node, exp.Paren):
            return self.side(node.this, depth + 1)
        if isinstance(node, exp.Neg):
            return self.side(node.this, depth + 1).scale(Fraction(-1))
        if isinstance(node, exp.Literal):
            return _Side(constant=self.number(node))
        if isinstance(node, exp.Column):
            return _Side({(self.name(node), None): Fraction(1)})
        if isinstance(node, exp.Bracket):
            return _Side({(self.name(node.this), self.original(node)): Fraction(1)})
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
            return self.combine(node, *(self.side(operand, depth + 1) for operand in (node.this, node.expression)))
        raise self.wrong("each side needs a number or a column")

    def combine(self, node: exp.Expression, one: _Side, other: _Side) -> _Side:
        """Add, subtract, multiply or divide two sides."""
        if isinstance(node, exp.Mul | exp.Div):
            return self.times(one, other) if isinstance(node, exp.Mul) else self.over(one, other)
        if one.under is not None or other.under is not None:
            raise self.wrong("a ratio must stand alone on its side")
        return one.plus(other.scale(Fraction(1 if isinstance(node, exp.Add) else -1)))

    def times(self, one: _Side, other: _Side) -> _Side:
        if not (one.is_number or other.is_number):
            raise self.wrong("a product needs a plain number on one side")
        return other.scale(one.constant) if one.is_number else one.scale(other.constant)

    def over(self, one: _Side, other: _Side) -> _Side:
        if other.is_number:
            if other.constant == 0:
                raise self.wrong("it divides by zero")
            return one.scale(1 / other.constant)
        if one.under is not None or other.under is not None or other.constant or one.constant:
            raise self.wrong("a ratio must be one reference over another")
        if any(c <= 0 for c in other.terms.values()) or any(value is None for _, value in other.terms):
            raise self.wrong("the denominator of a ratio must be a sum of references in brackets")
        return _Side(one.terms, under=other)

    def name(self, node: exp.Expression) -> str:
        """Read the name of a column."""
        name = node.this.this if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) else ""
        if not name:
            raise self.wrong("the name of a column is expected there")
        return str(name)

    def original(self, node: exp.Bracket) -> Fraction:
        """Read an original value in brackets."""
        inner = node.expressions[0] if len(node.expressions) == 1 else None
        literal = inner.this if isinstance(inner, exp.Neg) else inner
        if not isinstance(literal, exp.Literal):
            raise self.wrong("brackets must hold a number, an original value of the column")
        return self.number(literal) * (-1 if isinstance(inner, exp.Neg) else 1)

    def number(self, node: exp.Literal) -> Fraction:
        """Read a number as it is written."""
        if node.is_string or not _NUMBER.fullmatch(node.this):
            raise self.wrong("numbers are written like 12, 1.5 or 2e6")
        return Fraction(node.this)

    def wrong(self, reason: str) -> ParameterError:
        """Say why the text is refused."""
        return _wrong(self.text, reason)


def _relations(whole: _Side, sign: str, *, positive: bool) -> tuple[Property, ...]:
    (column, _), *_ = whole.terms
    factors = {"<=": [1], "<": [1], ">=": [-1], ">": [-1], "=": [1, -1]}[sign]
    kept = []
    for factor in factors:
        terms = [(value, factor * c) for (_, value), c in whole.terms.items() if value is not None]
        kept.append(relation(column, terms, -factor * whole.constant, strict=sign in "<>", positive=positive))
    return tuple(kept)
