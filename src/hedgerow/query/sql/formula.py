"""Formulas of linear models, `outcome ~ term + term`, as people write them in R and statsmodels.

A factor is a column, C(column), which takes each value as a level, or I(expression), which is SQL over columns. `a:b`
multiplies factors, `a*b` is `a + b + a:b`, `- 1` or `+ 0` drops the intercept. Nothing else is understood.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow.errors import QueryError

__all__ = ["Factor", "Formula", "read_formula"]

_LONGEST = 20_000
_EXAMPLE = "income ~ age + sex + age:sex"
_SIDE = re.compile(r"""(?:^|(?<=~))((?:[^"'~]|"[^"]*"|'[^']*')*)(?=~|$)""")
"""What stands between signs ~; in quotes they are part of a name or a text."""
_TOKEN = re.compile(r'\s*(?:(?P<name>[^\W\d]\w*|"(?:[^"]|"")+")|(?P<number>\d+)|(?P<sign>[-+:*()~]))')


@dataclass(frozen=True)
class Factor:
    """A column or an expression, in SQL; `text` is what was written."""

    sql: str
    text: str
    is_level: bool = False


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A linear model: terms in the order written, after the intercept."""

    outcome: Factor
    terms: tuple[Term, ...]
    has_intercept: bool

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The different factors of all terms."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))


def read_formula(text: str) -> Formula:
    """Read a formula. Raises QueryError for everything that is not understood."""
    sides = _SIDE.findall(text) if isinstance(text, str) and len(text) <= _LONGEST else []
    if len(sides) != 2 or "~".join(sides) != text:
        raise QueryError(f"a formula has an outcome and terms with ~ between them, like: {_EXAMPLE}")
    left, right = sides
    outcome = _Reader(left)
    factor = outcome.factor()
    if not outcome.is_done or factor.is_level:
        raise outcome.refusal(
            'one outcome goes before ~: a column (in double quotes if it is not a plain word: "a-b"), or I(expression)'
        )
    return _Reader(right).terms(factor)


class _Reader:
    """Reads one side of a formula from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def is_done(self) -> bool:
        return not self._text[self._at :].strip()

    def refusal(self, advice: str) -> QueryError:
        return QueryError(f"{advice}; a formula looks like: {_EXAMPLE}")

    def terms(self, outcome: Factor) -> Formula:
        """Read a sum of terms."""
        found: dict[frozenset[Factor], Term] = {}
        has_intercept, is_added = True, self._sign("+") or not self._sign("-")
        while True:
            number = self._match("number")
            if number in ("0", "1"):
                has_intercept = is_added == (number == "1")
            elif number is not None:
                raise self.refusal("the only numbers that a formula may have are 0 and 1")
            elif not is_added:
                raise self.refusal("only the intercept can be dropped: - 1")
            else:
                found |= {frozenset(term): term for term in self._product()}
            if self.is_done:
                break
            is_added = self._sign("+")
            if not is_added and not self._sign("-"):
                raise self.refusal("terms are joined by +, factors by : or *; other arithmetic goes inside I(...)")
        if not found and not has_intercept:
            raise self.refusal("a model needs a term or its intercept")
        return Formula(outcome, tuple(sorted(found.values(), key=len)), has_intercept)

    def _product(self) -> Iterator[Term]:
        """Read factors joined by : and *; a term is the set of its factors."""
        terms: list[Term] = [(self.factor(),)]
        while True:
            if self._sign(":"):
                terms[-1] = tuple(dict.fromkeys((*terms[-1], self.factor())))
            elif self._sign("*"):
                terms.append((self.factor(),))
            else:
                break
        for size in range(1, len(terms) + 1):
            for chosen in itertools.combinations(terms, size):
                yield tuple(dict.fromkeys(factor for term in chosen for factor in term))

    def factor(self) -> Factor:
        """Read a column, C(column) or I(expression)."""
        start = self._at
        name = self._match("name")
        if name is None:
            raise self.refusal("a formula is made of columns, C(column) and I(expression)")
        if not self._sign("("):
            return Factor(name, name.strip('"').replace('""', '"'))
        inner = self._inside()
        if name == "C":
            levels = _Reader(inner)
            column = levels.factor()
            if not levels.is_done:
                raise self.refusal("C takes one column, or an expression as C(I(...))")
            return Factor(column.sql, f"C({column.text})", is_level=True)
        if name == "I":
            return Factor(inner, " ".join(self._text[start : self._at].split()))
        raise self.refusal(
            f"write I({name}(...)) for a function of a column; models other than linear ones are not known"
        )

    def _inside(self) -> str:
        """Take everything up to the bracket that closes, in SQL's way of quoting."""
        depth, start, quote = 1, self._at, ""
        for place in range(self._at, len(self._text)):
            sign = self._text[place]
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            else:
                depth += {"(": 1, ")": -1}.get(sign, 0)
            if depth == 0:
                self._at = place + 1
                return self._text[start:place].strip()
        raise self.refusal("a bracket is not closed")

    def _match(self, kind: str) -> str | None:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[kind] is None:
            return None
        self._at = found.end()
        return str(found[kind])

    def _sign(self, sign: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found["sign"] != sign:
            return False
        self._at = found.end()
        return True
