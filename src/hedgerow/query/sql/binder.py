"""Bind names, conditions and expressions: columns by name, constants by the kind of what they meet.

After binding both sides of a comparison are of one kind, and constants are of the column's own grid (`x < 2.5` on whole
numbers is `x <= 2`), so that engines with different rules for mixed types cannot disagree.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hedgerow.errors import QueryError
from hedgerow.query.sql.kinds import alike, arithmetic, call, case, compare_constant, on_column
from hedgerow.query.sql.question import (
    And,
    Arithmetic,
    Call,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Kind,
    Like,
    Name,
    Not,
    Or,
    Part,
    Predicate,
    Truth,
    kind_of,
)

__all__ = ["Binder"]

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Binder:
    """Binds to the columns that it knows."""

    columns: Mapping[str, Column]

    def column(self, name: Name) -> Column:
        """Find a column: exactly as written, or in any case where that is unambiguous and the name is not quoted."""
        if name.text in self.columns:
            return self.columns[name.text]
        loose = [column for text, column in self.columns.items() if text.lower() == name.text.lower()]
        if len(loose) == 1 and not name.quoted:
            return loose[0]
        raise QueryError(f"there is no column '{name.text}'; {self._suggestion(name.text)}")

    def _suggestion(self, text: str) -> str:
        lowered = {name.lower(): name for name in self.columns if name.isprintable()}
        close = [lowered[match] for match in difflib.get_close_matches(text.lower(), lowered, n=3)]
        close += [
            name for name in lowered.values() if len(text) > 1 and text.lower() in name.lower() and name not in close
        ]
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in close[:3] or list(lowered.values())[:20])
        return f"did you mean {names}?" if close else f"the columns are {names}"

    def predicate(self, node: Predicate) -> Predicate:
        """Bind a predicate and all below it."""
        if isinstance(node, And | Or):
            return type(node)(tuple(self.predicate(operand) for operand in node.operands))
        if isinstance(node, Not):
            return Not(self.predicate(node.operand))
        binders: dict[type, Callable[..., Predicate]] = {
            Compare: self._compare,
            In: self._in,
            Like: self._like,
            IsNull: self._is_null,
        }
        return binders[type(node)](node) if type(node) in binders else node

    def _compare(self, node: Compare) -> Predicate:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(left, Constant):
            return compare_constant(_FLIPPED[node.operator], right, left)
        if isinstance(right, Constant):
            return compare_constant(node.operator, left, right)
        return Compare(node.operator, *alike(left, right))

    def _in(self, node: In) -> Predicate:
        operand = self.expression(node.operand)
        if isinstance(operand, Constant):
            return Or((Truth(False), *(compare_constant("=", operand, value) for value in node.values)))
        values = tuple(fitted for value in node.values if (fitted := on_column(operand, value)) is not None)
        # A list of which nothing fits the column is false where the column is known and unknown where it is missing.
        return In(operand, values) if values else Compare("<>", operand, operand)

    def _like(self, node: Like) -> Predicate:
        operand = self.expression(node.operand)
        if kind_of(operand) is not Kind.TEXT:
            raise QueryError("LIKE needs a column of text; compare numbers and dates with <, = and BETWEEN")
        if len(node.escape) > 1:
            raise QueryError("ESCAPE takes a single character")
        if node.escape and node.pattern.replace(2 * node.escape, "").endswith(node.escape):
            raise QueryError("a LIKE pattern cannot end in its escape character")
        return replace(node, operand=operand)

    def _is_null(self, node: IsNull) -> Predicate:
        operand = self.expression(node.operand)
        return Truth(operand.value is None) if isinstance(operand, Constant) else IsNull(operand)

    def expression(self, node: Expression) -> Expression:
        """Bind an expression; constants keep no kind until they meet a column."""
        if isinstance(node, Name):
            return self.column(node)
        if isinstance(node, Arithmetic):
            return arithmetic(node.operator, self.expression(node.left), self.expression(node.right))
        if isinstance(node, Part):
            operand = self.expression(node.operand)
            if kind_of(operand) not in (Kind.DATE, Kind.TIME):
                raise QueryError(f"{node.unit.upper()} needs a column of dates or timestamps")
            return Part(node.unit, operand)
        if isinstance(node, Call):
            return call(node.function, [self.expression(operand) for operand in node.operands])
        if isinstance(node, Case):
            branches = [(self.predicate(when), self.expression(then)) for when, then in node.branches]
            return case(branches, self.expression(node.otherwise))
        return node
