"""Forms that have shortcuts: a known factor times a hidden one, and a comparison of a known with a hidden side.

`weight * income` and `CASE WHEN sex = 'F' THEN income END` are products, `income > 1000 * age` is a comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.query.sql.question import (
    Arithmetic,
    Case,
    Cast,
    Compare,
    Constant,
    Expression,
    Kind,
    Or,
    Predicate,
    columns_of,
    kind_of,
)

__all__ = ["Comparison", "Product", "alternatives_of", "comparison_of", "product_of"]

_ONE = Constant(1, Kind.INT)


@dataclass(frozen=True)
class Product:
    """What a row gives, and what its hidden value gives; the product is missing where either is.

    With `is_whole` that holds only where no hidden value is missing.
    """

    known: Expression
    hidden: Expression
    is_whole: bool = False


def product_of(expression: Expression | None, sensitive: frozenset[str]) -> Product | None:
    """Split an expression into its two factors; None where it has no such form."""
    if expression is None:
        return None
    names = columns_of(expression)
    if not names & sensitive:
        return None
    if names <= sensitive:
        return Product(_ONE, expression)
    if isinstance(expression, Arithmetic) and expression.operator == "*":
        return _of_sides(expression, sensitive)
    if isinstance(expression, Cast) and expression.scale is None:
        inner = product_of(expression.operand, sensitive)
        return None if inner is None else Product(inner.known, Cast(inner.hidden, expression.kind), inner.is_whole)
    return _of_case(expression, sensitive) if isinstance(expression, Case) else None


def alternatives_of(condition: Predicate, sensitive: frozenset[str]) -> tuple[Predicate, Predicate] | None:
    """Split `known OR hidden` into the two; None where a part of it reads columns of both kinds."""
    if not isinstance(condition, Or):
        return None
    hidden = tuple(part for part in condition.operands if columns_of(part) and columns_of(part) <= sensitive)
    known = tuple(part for part in condition.operands if not columns_of(part) & sensitive)
    if not known or not hidden or len(known) + len(hidden) < len(condition.operands):
        return None
    return Or(known), Or(hidden)


def _of_sides(node: Arithmetic, sensitive: frozenset[str]) -> Product | None:
    left, right = (_factors(side, sensitive) for side in (node.left, node.right))
    if left is None or right is None:
        return None
    known, hidden = _times([left.known, right.known]), _times([left.hidden, right.hidden])
    return Product(known, hidden, left.is_whole or right.is_whole)


def _factors(side: Expression, sensitive: frozenset[str]) -> Product | None:
    return product_of(side, sensitive) if columns_of(side) & sensitive else Product(side, _ONE)


def _times(factors: list[Expression]) -> Expression:
    factors = [factor for factor in factors if factor != _ONE]
    if not factors:
        return _ONE
    left, *rest = factors
    for right in rest:
        is_whole = kind_of(left) is Kind.INT and kind_of(right) is Kind.INT
        kind = Kind.INT if is_whole else Kind.FLOAT
        left = Arithmetic("*", _as(left, kind), _as(right, kind), kind)
    return left


def _as(node: Expression, kind: Kind) -> Expression:
    if kind_of(node) is kind:
        return node
    if isinstance(node, Constant) and isinstance(node.value, int):
        return Constant(float(node.value), kind)
    return Cast(node, kind)


def _of_case(node: Case, sensitive: frozenset[str]) -> Product | None:
    """One branch that a known condition opens; otherwise zero or nothing."""
    if len(node.branches) != 1 or not isinstance(node.otherwise, Constant) or node.otherwise.value not in (0, None):
        return None
    ((when, then),) = node.branches
    inner = product_of(then, sensitive)
    if inner is None or columns_of(when) & sensitive:
        return None
    kind = kind_of(inner.known)
    nothing = None if node.otherwise.value is None else 0.0 if kind is Kind.FLOAT else 0
    # Where the condition is not met, zero counts beside a missing value, too.
    known = Case(((when, inner.known),), Constant(nothing, kind), kind)
    return Product(known, inner.hidden, inner.is_whole or nothing is not None)


@dataclass(frozen=True)
class Comparison:
    """A hidden side that must be above a known one, or below it, or at least (at most) equal to it."""

    known: Expression
    hidden: Expression
    is_below: bool
    is_equal: bool


def comparison_of(condition: Predicate, sensitive: frozenset[str]) -> Comparison | None:
    """Read a condition as one comparison of a known with a hidden side; None where it is something else."""
    if not isinstance(condition, Compare) or condition.operator not in ("<", "<=", ">", ">="):
        return None
    names = [columns_of(side) for side in (condition.left, condition.right)]
    is_below, is_equal = condition.operator.startswith("<"), condition.operator.endswith("=")
    if names[0] and names[1] and names[0] <= sensitive and not names[1] & sensitive:
        return Comparison(condition.right, condition.left, is_below, is_equal)
    if names[0] and names[1] and names[1] <= sensitive and not names[0] & sensitive:
        return Comparison(condition.left, condition.right, not is_below, is_equal)
    return None
