"""What a database may decide before array code does: parts of a question that are replaced by columns.

A condition or an expression on open columns becomes a column that the database computes. A column that shows up in one
condition and nowhere else is itself replaced by the truth of that condition: what is known of its values per group
then is how many satisfy it. Truth is three-valued, so a placeholder may be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hedgerow.query.sql.question import (
    SLOT,
    And,
    Bound,
    Call,
    Column,
    Compare,
    Constant,
    Expression,
    Kind,
    Lookup,
    Not,
    Or,
    Predicate,
    Scalar,
    Truth,
    children_of,
    columns_of,
)

__all__ = ["Placeholders", "is_portable", "placeholders_of"]

_FOREIGN = ("lower", "upper")
"""Functions that depend on a database's language settings; array code computes them on the distinct values."""


@dataclass(frozen=True)
class Placeholders:
    """A question with placeholders, and what they stand for: new columns, `computed`, and columns that are `decided`.

    `read` are the published columns that the question still reads as they are.
    """

    bound: Bound
    computed: dict[str, Predicate | Expression]
    decided: dict[str, Predicate]

    @property
    def read(self) -> frozenset[str]:
        """Published columns whose values are needed."""
        bound = self.bound
        names = _named(bound).union(*(columns_of(part) for part in (bound.known, bound.hidden, bound.mixed)))
        return names - frozenset(self.computed) - frozenset(self.decided)


def placeholders_of(bound: Bound, *, closed: frozenset[str], single: frozenset[str]) -> Placeholders:
    """Replace what reads no `closed` column by computed columns, and `single` columns of one use by its truth."""
    computed: dict[str, Predicate | Expression] = {}

    def is_open(node: Predicate | Expression) -> bool:
        names = columns_of(node)
        return bool(names) and not names & closed and is_portable(node)

    def flag(node: Predicate) -> Predicate:
        name = next((name for name, known in computed.items() if known == node), f"{SLOT}{len(computed)}")
        computed[name] = node
        return _is_true(name)

    known, mixed = (_replaced(part, is_open, flag) for part in (bound.known, bound.mixed))
    computed |= {name: expression for name, expression in bound.derived.items() if is_open(expression)}
    derived = {name: expression for name, expression in bound.derived.items() if name not in computed}
    return _decided(replace(bound, known=known, mixed=mixed, derived=derived), computed, single)


def _decided(bound: Bound, computed: dict[str, Predicate | Expression], single: frozenset[str]) -> Placeholders:
    conditions = (bound.known, bound.hidden, bound.mixed)
    uses = [part for whole in conditions for part in _largest(whole)]
    number = Counter(name for part in uses for name in columns_of(part))
    loose = {name for name in single - _named(bound) if number[name] == 1}
    decided = {
        name: part for part in uses if len(columns_of(part)) == 1 and is_portable(part) for name in columns_of(part)
    }
    decided = {name: part for name, part in decided.items() if name in loose}

    def is_decided(node: Predicate) -> bool:
        return node in decided.values()

    known, hidden, mixed = (
        _replaced(part, is_decided, lambda node: _is_true(*columns_of(node))) for part in conditions
    )
    return Placeholders(replace(bound, known=known, hidden=hidden, mixed=mixed), computed, decided)


def _named(bound: Bound) -> frozenset[str]:
    """Published columns that are grouped by or aggregated, also inside expressions."""
    arguments = [side for item in bound.aggregates for side in (item.column, item.other)]
    columns = [*bound.groups, *(side for side in arguments if isinstance(side, Column))]
    names = {column.name for column in columns if column.name not in bound.derived}
    return frozenset(names).union(*(columns_of(expression) for expression in bound.derived.values()))


def _replaced(
    node: Predicate, is_replaced: Callable[[Predicate], bool], by: Callable[[Predicate], Predicate]
) -> Predicate:
    """Replace the largest parts that can be."""
    if is_replaced(node):
        return by(node)
    if isinstance(node, And | Or):
        return type(node)(tuple(_replaced(operand, is_replaced, by) for operand in node.operands))
    return Not(_replaced(node.operand, is_replaced, by)) if isinstance(node, Not) else node


def _largest(node: Predicate) -> Iterator[Predicate]:
    """The largest parts that read one column; comparisons that read more come whole."""
    if isinstance(node, And | Or) and len(columns_of(node)) > 1:
        for operand in node.operands:
            yield from _largest(operand)
    elif isinstance(node, Not) and len(columns_of(node)) > 1:
        yield from _largest(node.operand)
    elif not isinstance(node, Truth):
        yield node


def _is_true(name: str) -> Predicate:
    return Compare("=", Column(name, Kind.BOOL), Constant(True, Kind.BOOL))


def is_portable(node: Predicate | Expression) -> bool:
    """Tell whether every database computes it alike."""
    if isinstance(node, Lookup | Scalar) or (isinstance(node, Call) and node.function in _FOREIGN):
        return False
    return all(is_portable(child) for child in children_of(node))
