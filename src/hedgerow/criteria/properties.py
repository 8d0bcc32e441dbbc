"""Linear properties of a column that hold in the original and must hold for the substituted values.

Source     [Xue 2011], section 2
Guarantee  a property is stated in exact fractions, about the new values of original values
Deviates   a bound may be any number, not only a positive one; a range applies to every value of the column

`Relation` relates a few values: sum of coefficient * (new value of an original one) <= bound. `Threshold` keeps every
value on its side of a number, so that the condition selects the same rows before and after. Both can be written as
text, see `query/sql/property_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from hedgerow.errors import ParameterError
from hedgerow.exact import as_fraction, fraction_text


@dataclass(frozen=True)
class Threshold:
    """Values below `at` stay below and the others stay at or above; with `after`, `at` itself counts as below."""

    column: str
    at: Fraction
    after: bool = False

    def __str__(self) -> str:
        return f"{_quote(self.column)} {'>' if self.after else '>='} {fraction_text(self.at)}"


@dataclass(frozen=True)
class Relation:
    """Sum of coefficient * (what the original value becomes) <= bound, or < if `strict`.

    `positive` says that the relation was a ratio, which is linear only if everything published is above zero.
    """

    column: str
    terms: tuple[tuple[Fraction, Fraction], ...]
    bound: Fraction
    strict: bool = False
    positive: bool = False

    def holds(self) -> bool:
        """Whether the original values themselves satisfy it."""
        total = sum((value * coefficient for value, coefficient in self.terms), Fraction(0))
        return total < self.bound if self.strict else total <= self.bound

    def __str__(self) -> str:
        parts = (f"{fraction_text(c)}*{_quote(self.column)}[{fraction_text(v)}]" for v, c in self.terms)
        return f"{' + '.join(parts)} {'<' if self.strict else '<='} {fraction_text(self.bound)}"


Property = Relation | Threshold


def relation(
    column: str,
    terms: Iterable[tuple[Fraction, Fraction]],
    bound: Fraction,
    *,
    strict: bool = False,
    positive: bool = False,
) -> Relation:
    """Add up the terms of each value and drop those that vanish; without any the relation says nothing."""
    sums: dict[Fraction, Fraction] = {}
    for value, coefficient in terms:
        sums[value] = sums.get(value, Fraction(0)) + coefficient
    left = tuple(sorted((value, coefficient) for value, coefficient in sums.items() if coefficient))
    if not left:
        raise ParameterError(f"A property of '{column}' must mention at least one value; its terms cancel out.")
    return Relation(column, left, bound, strict, positive)


def between(column: str, low: object = None, high: object = None) -> tuple[Property, ...]:
    """Values from `low` to `high` stay there, values outside stay outside on their side."""
    _require_bound(column, low, high, "'low' or 'high'")
    bounds = (("low", low, False), ("high", high, True))
    return tuple(Threshold(column, _number(name, at), after) for name, at, after in bounds if at is not None)


def order(column: str, *values: object) -> tuple[Property, ...]:
    """What the given values become stays in the given order, lowest first; equal is allowed."""
    steps = [_number("values", value) for value in values]
    if len(steps) < 2:
        raise ParameterError(f"An order of '{column}' must have at least 2 values; got {len(steps)}.")
    return tuple(
        relation(column, [(low, Fraction(1)), (high, Fraction(-1))], Fraction(0)) for low, high in pairwise(steps)
    )


def difference(
    column: str, high: object, low: object, *, at_least: object = None, at_most: object = None
) -> tuple[Property, ...]:
    """What `high` becomes minus what `low` becomes stays within the bounds."""
    terms = [(_number("high", high), Fraction(1)), (_number("low", low), Fraction(-1))]
    return _within(column, terms, at_least, at_most)


def total(
    column: str, values: Iterable[object], *, at_least: object = None, at_most: object = None
) -> tuple[Property, ...]:
    """The sum of what the values become stays within the bounds; a value that is listed twice counts twice."""
    terms = [(_number("values", value), Fraction(1)) for value in values]
    return _within(column, terms, at_least, at_most)


def ratio(
    column: str, over: object, under: object, *, at_least: object = None, at_most: object = None
) -> tuple[Property, ...]:
    """What `over` becomes divided by what `under` becomes stays within the bounds."""
    _require_bound(column, at_least, at_most)
    top, bottom = _number("over", over), _number("under", under)
    bounds = ((1, at_most), (-1, at_least))
    return tuple(
        relation(column, [(top, Fraction(sign)), (bottom, -sign * _number("bound", bound))], Fraction(0), positive=True)
        for sign, bound in bounds
        if bound is not None
    )


def _within(
    column: str, terms: Sequence[tuple[Fraction, Fraction]], at_least: object, at_most: object
) -> tuple[Property, ...]:
    _require_bound(column, at_least, at_most)
    kept: list[Property] = []
    if at_most is not None:
        kept.append(relation(column, terms, _number("at_most", at_most)))
    if at_least is not None:
        kept.append(relation(column, [(v, -c) for v, c in terms], -_number("at_least", at_least)))
    return tuple(kept)


def _require_bound(column: str, low: object, high: object, names: str = "'at_least' or 'at_most'") -> None:
    if low is None and high is None:
        raise ParameterError(f"A property of '{column}' must have a bound; give {names}.")


def _quote(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _number(name: str, given: object) -> Fraction:
    try:
        return as_fraction(given)
    except ValueError:
        raise ParameterError(f"'{name}' of a property must be a finite number; got {type(given).__name__}.") from None
