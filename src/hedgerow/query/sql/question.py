"""Expressions and conditions as small trees of frozen values: what the parser makes and every engine reads.

The parser leaves column names as `Name`; `bind` replaces them by `Column` and gives constants the kind of what they are
compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.query.sql.joined import Joined

__all__ = [
    "And",
    "Arithmetic",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Compare",
    "Constant",
    "Expression",
    "In",
    "IsNull",
    "Kind",
    "Like",
    "Lookup",
    "Name",
    "Not",
    "Or",
    "Part",
    "Predicate",
    "Scalar",
    "Truth",
    "Value",
    "children_of",
    "columns_of",
    "conjuncts",
    "kind_of",
    "leaves_of",
    "names_of",
]

Value = bool | int | float | Decimal | str | date | datetime


class Kind(StrEnum):
    """What a column or an expression holds."""

    BOOL = "truth value"
    INT = "whole number"
    DECIMAL = "decimal number"
    FLOAT = "floating-point number"
    TEXT = "text"
    DATE = "date"
    TIME = "timestamp"


@dataclass(frozen=True)
class Name:
    """A column name as written; unquoted names match in any case."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Column:
    """A published column; decimals have `digits` in all, `scale` of them after the point."""

    name: str
    kind: Kind
    digits: int = 0
    scale: int = 0


@dataclass(frozen=True)
class Constant:
    """A value in the question; its kind is None until it is bound, its value None is SQL's NULL."""

    value: Value | None
    kind: Kind | None = None


@dataclass(frozen=True)
class Cast:
    """The same value as another kind: whole numbers as floats, dates as timestamps."""

    operand: Expression
    kind: Kind


@dataclass(frozen=True)
class Arithmetic:
    """`+`, `-`, `*` on whole numbers and days stay whole; everything else, and every `/`, is floating point.

    Dividing by zero gives NULL.
    """

    operator: str
    left: Expression
    right: Expression
    kind: Kind | None = None


@dataclass(frozen=True)
class Part:
    """The year, month or day of a date or timestamp."""

    unit: str
    operand: Expression


@dataclass(frozen=True)
class Call:
    """A function from the list that every engine computes alike: see `functions`."""

    function: str
    operands: tuple[Expression, ...]
    kind: Kind | None = None


@dataclass(frozen=True)
class Case:
    """The value that belongs to the first condition that is true, else `otherwise`."""

    branches: tuple[tuple[Predicate, Expression], ...]
    otherwise: Expression
    kind: Kind | None = None


@dataclass(frozen=True)
class Lookup:
    """A column of a table that an analyst brought along, found by what its key must equal; '' tells of a match."""

    source: Joined
    column: str
    operands: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True)
class Scalar:
    """An expression that DuckDB computes: SQL over places a0, a1, ... for its operands."""

    sql: str
    operands: tuple[Expression, ...]
    kind: Kind | None = None


Expression = Name | Column | Constant | Cast | Arithmetic | Part | Call | Case | Lookup | Scalar


@dataclass(frozen=True)
class Truth:
    """A predicate that is the same for every row; None is SQL's unknown."""

    value: bool | None


@dataclass(frozen=True)
class Compare:
    """`=`, `<>`, `<`, `<=`, `>`, `>=`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class In:
    """Membership in a list without NULLs."""

    operand: Expression
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Like:
    """`%` is any text, `_` any character, `escape` makes the next character literal."""

    operand: Expression
    pattern: str
    escape: str = ""


@dataclass(frozen=True)
class IsNull:
    """True where the operand is missing, false where it is not, never unknown."""

    operand: Expression


@dataclass(frozen=True)
class Not:
    """Negation; unknown stays unknown."""

    operand: Predicate


@dataclass(frozen=True)
class And:
    """True where all operands are, false where one is false."""

    operands: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """True where one operand is, false where all are false."""

    operands: tuple[Predicate, ...]


Predicate = Truth | Compare | In | Like | IsNull | Not | And | Or


def kind_of(expression: Expression) -> Kind | None:
    """Return the kind of a bound expression; None is a NULL without a kind of its own."""
    if isinstance(expression, Part):
        return Kind.INT
    return None if isinstance(expression, Name) else expression.kind


def columns_of(node: Predicate | Expression) -> frozenset[str]:
    """Names of the columns that a bound predicate or expression reads."""
    if isinstance(node, Column):
        return frozenset([node.name])
    return frozenset().union(*(columns_of(child) for child in children_of(node)))


def names_of(node: Predicate | Expression) -> frozenset[str]:
    """Names that an unbound expression uses, as written."""
    if isinstance(node, Name):
        return frozenset([node.text])
    return frozenset().union(*(names_of(child) for child in children_of(node)))


def conjuncts(condition: Predicate) -> list[Predicate]:
    """List the conditions that a condition joins by AND; those on one column stay whole, decided once per value."""
    if condition == Truth(True):
        return []
    if isinstance(condition, And) and len(columns_of(condition)) > 1:
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def leaves_of(condition: Predicate) -> Iterator[Predicate]:
    """List the comparisons and tests that AND, OR and NOT join."""
    if isinstance(condition, And | Or):
        for operand in condition.operands:
            yield from leaves_of(operand)
    elif isinstance(condition, Not):
        yield from leaves_of(condition.operand)
    else:
        yield condition


def children_of(node: Predicate | Expression) -> Iterator[Predicate | Expression]:
    """List what a predicate or expression is directly made of."""
    if isinstance(node, And | Or):
        yield from node.operands
    elif isinstance(node, Compare | Arithmetic):
        yield from (node.left, node.right)
    elif isinstance(node, Not | In | Like | IsNull | Cast | Part):
        yield node.operand
    elif isinstance(node, Call | Lookup | Scalar):
        yield from node.operands
    elif isinstance(node, Case):
        yield from (part for branch in node.branches for part in branch)
        yield node.otherwise
