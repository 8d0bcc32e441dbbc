"""What a database may decide before array code does: parts of a question that are replaced by columns.

A condition or an expression on open columns becomes a column that the database computes. A column that shows up in one
condition and nowhere else is itself replaced by the truth of that condition: what is known of its values per group
then is how many satisfy it. Truth is three-valued, so a placeholder may be missing.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.query.evidence.view import view_of
from hedgerow.query.sql.digits import fits
from hedgerow.query.sql.question import (
    FLOATING,
    LARGEST,
    MOST_FLOAT,
    SLOT,
    And,
    Arithmetic,
    Bound,
    Call,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    Kind,
    Lookup,
    Not,
    Or,
    Part,
    Predicate,
    Scalar,
    Truth,
    children_of,
    columns_of,
    kind_of,
)
from hedgerow.verify.names import tables_with

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["Limits", "Placeholders", "is_portable", "placeholders_of", "whole_limits"]

Limits = Callable[[str], tuple[int, int]]
"""The least and the greatest whole number of a column."""

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
        names = _columns_named(bound).union(*(columns_of(part) for part in (bound.known, bound.hidden, bound.mixed)))
        return names - frozenset(self.computed) - frozenset(self.decided)


def placeholders_of(bound: Bound, *, closed: frozenset[str], single: frozenset[str], limits: Limits) -> Placeholders:
    """Replace what reads no `closed` column by computed columns, and `single` columns of one use by its truth."""
    computed: dict[str, Predicate | Expression] = {}

    def is_open(node: Predicate | Expression) -> bool:
        names = columns_of(node)
        return bool(names) and not names & closed and is_portable(node, limits)

    def flag(node: Predicate) -> Predicate:
        name = next((name for name, known in computed.items() if known == node), f"{SLOT}{len(computed)}")
        computed[name] = node
        return _is_true(name)

    known, mixed = (_replace_parts(part, is_open, flag) for part in (bound.known, bound.mixed))
    computed |= {name: expression for name, expression in bound.derived.items() if is_open(expression)}
    derived = {name: expression for name, expression in bound.derived.items() if name not in computed}
    return _decide(replace(bound, known=known, mixed=mixed, derived=derived), computed, single, limits)


def _decide(
    bound: Bound, computed: dict[str, Predicate | Expression], single: frozenset[str], limits: Limits
) -> Placeholders:
    conditions = (bound.known, bound.hidden, bound.mixed)
    uses = [part for whole in conditions for part in _largest(whole)]
    number = Counter(name for part in uses for name in columns_of(part))
    loose = {name for name in single - _columns_named(bound) if number[name] == 1}
    decided = {
        name: part
        for part in uses
        if len(columns_of(part)) == 1 and is_portable(part, limits)
        for name in columns_of(part)
    }
    decided = {name: part for name, part in decided.items() if name in loose}

    def is_decided(node: Predicate) -> bool:
        return node in decided.values()

    known, hidden, mixed = (
        _replace_parts(part, is_decided, lambda node: _is_true(*columns_of(node))) for part in conditions
    )
    return Placeholders(replace(bound, known=known, hidden=hidden, mixed=mixed), computed, decided)


def _columns_named(bound: Bound) -> frozenset[str]:
    """Published columns that are grouped by or aggregated, also inside expressions."""
    arguments = [side for item in bound.aggregates for side in (item.column, item.other)]
    columns = [*bound.groups, *(side for side in arguments if isinstance(side, Column))]
    names = {column.name for column in columns if column.name not in bound.derived}
    return frozenset(names).union(*(columns_of(expression) for expression in bound.derived.values()))


def _replace_parts(
    node: Predicate, is_replaced: Callable[[Predicate], bool], by: Callable[[Predicate], Predicate]
) -> Predicate:
    """Replace the largest parts that can be."""
    if is_replaced(node):
        return by(node)
    if isinstance(node, And | Or):
        return type(node)(tuple(_replace_parts(operand, is_replaced, by) for operand in node.operands))
    return Not(_replace_parts(node.operand, is_replaced, by)) if isinstance(node, Not) else node


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


def is_portable(node: Predicate | Expression, limits: Limits) -> bool:
    """Tell whether every database computes it alike: no text of a language, no whole number beyond 64 bits.

    Databases stop at those, or compute them after all where they rewrite `x + 1 > 0`; array code always refuses.
    """
    if isinstance(node, Lookup | Scalar) or (isinstance(node, Call) and node.function in _FOREIGN):
        return False
    if isinstance(node, Arithmetic | Call) and node.kind is Kind.INT:
        ends = _range(node, limits)
        most = MOST_FLOAT if isinstance(node, Call) and node.function in FLOATING else LARGEST
        if ends is None or max(map(abs, ends)) > most:
            return False
    if isinstance(node, Cast) and node.scale is not None and not fits(node, lambda part: _largest_size(part, limits)):
        return False
    return all(is_portable(child, limits) for child in children_of(node))


def _largest_size(node: Expression, limits: Limits) -> float:
    """The greatest size of a whole or decimal number, or more; infinite where it is open."""
    if isinstance(node, Column) and node.kind is Kind.DECIMAL:
        return 10.0 ** (node.digits - node.scale)
    if kind_of(node) is Kind.INT:
        ends = _range(node, limits)
        return math.inf if ends is None else float(max(map(abs, ends)))
    sizes = [_largest_size(part, limits) for part in _operands(node)]
    is_near = isinstance(node, Cast) or (isinstance(node, Call) and len(sizes) == 1)
    return sizes[0] + 1.0 if is_near else math.inf


def whole_limits(release: Release) -> Limits:
    """The least and the greatest whole number of each published column."""

    def limits(name: str) -> tuple[int, int]:
        columns = [table.column(name) for table in tables_with(release.tables, name)]
        if not columns or not pa.types.is_integer(columns[0].type):
            return (-(2**63), 2**63 - 1)
        ends = pc.min_max(columns[0]).as_py()
        return (ends["min"] or 0, ends["max"] or 0)

    return lambda name: view_of(release).remember(f"limits of {name}", lambda: limits(name))


def _range(node: Expression, limits: Limits) -> tuple[int, int] | None:
    """Two whole numbers around what an expression gives; None where some step may leave 64 bits."""
    if isinstance(node, Constant):
        return (int(node.value or 0),) * 2 if isinstance(node.value, int) or node.value is None else None
    if isinstance(node, Part) or Kind.DATE in map(kind_of, (node, *_operands(node))):
        return (-(2**31), 2**31)
    if isinstance(node, Column):
        return limits(node.name)
    parts = [_range(part, limits) for part in _operands(node)]
    ends = [part for part in parts if part is not None]
    if len(ends) < len(parts) or not ends:
        return None
    if isinstance(node, Arithmetic):
        work = {"+": operator.add, "-": operator.sub, "*": operator.mul}.get(node.operator)
        found = [work(one, other) for one in ends[0] for other in ends[1]] if work else []
    elif isinstance(node, Call) and node.function == "length":
        found = [0, 2**31]
    else:
        # A choice of one of them, a remainder, a size: no further from zero than the furthest.
        most = max(abs(end) for part in ends for end in part)
        found = [-most, most]
    return (min(found), max(found)) if found and max(map(abs, found)) < 2**63 else None


def _operands(node: Expression) -> list[Expression]:
    return [part for part in children_of(node) if not isinstance(part, Predicate)]
