"""Conditions that need both what is known of a row and its hidden value, such as `age < 30 OR salary > 100`.

Once the known parts of such a condition are decided for a row, what is left speaks of the hidden value alone. Rows for
which the same is left form a branch. Where it is open how a part is decided for a row, the row is possible in several.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Protocol

from hedgerow.errors import QueryError
from hedgerow.query.evidence.rows import Chosen
from hedgerow.query.sql.question import And, Not, Or, Predicate, Truth, columns_of

__all__ = ["Chooser", "branches"]

_MOST = 5


class Chooser(Protocol):
    """What tells which rows satisfy a condition on open columns."""

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which the condition is true, or false, or unknown."""


def branches(source: Chooser, condition: Predicate, hidden: frozenset[str]) -> Iterator[tuple[Chosen, Predicate]]:
    """Rows, and what is left of the condition for them; rows for which nothing is left to be true are left out."""
    parts = list(dict.fromkeys(_known(condition, hidden)))
    if len(parts) > _MOST:
        raise QueryError(
            f"a condition that mixes '{min(hidden)}' with other columns by OR may have {_MOST} parts on the others; "
            "ask about each alternative and add the answers"
        )
    found = [{value: source.choose(part, value) for value in (True, False, None)} for part in parts]
    for values in itertools.product((True, False, None), repeat=len(parts)):
        chosen = functools.reduce(Chosen.both, (each[value] for each, value in zip(found, values, strict=True)))
        left = _decided(condition, dict(zip(parts, values, strict=True)))
        if chosen.possible.any() and left not in (Truth(False), Truth(None)):
            yield chosen, left


def _known(node: Predicate, hidden: frozenset[str]) -> Iterator[Predicate]:
    """The largest parts that say nothing of a hidden column."""
    if not hidden & columns_of(node):
        yield node
    elif isinstance(node, And | Or):
        for operand in node.operands:
            yield from _known(operand, hidden)
    elif isinstance(node, Not):
        yield from _known(node.operand, hidden)


def _decided(node: Predicate, values: dict[Predicate, bool | None]) -> Predicate:
    """Put the values of the known parts in their places, and cut what no longer matters."""
    if node in values:
        return Truth(values[node])
    if isinstance(node, Not):
        inner = _decided(node.operand, values)
        return Truth(None if inner.value is None else not inner.value) if isinstance(inner, Truth) else Not(inner)
    if not isinstance(node, And | Or):
        return node
    operands = tuple(_decided(operand, values) for operand in node.operands)
    settles = isinstance(node, Or)
    if Truth(settles) in operands:
        return Truth(settles)
    rest = tuple(operand for operand in operands if operand != Truth(not settles))
    if all(operand == Truth(None) for operand in rest):
        return Truth(None) if rest else Truth(not settles)
    return rest[0] if len(rest) == 1 else type(node)(rest)
