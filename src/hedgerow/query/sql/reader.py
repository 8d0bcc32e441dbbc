"""Conditions and expressions of SQL to trees of our own: what `strict` lets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.question import (
    And,
    Arithmetic,
    Call,
    Case,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Name,
    Not,
    Or,
    Part,
    Predicate,
    Truth,
)
from hedgerow.query.sql.strict import AGGREGATE_NODES, NODES, PREDICATES, is_foreign, is_set, refusal, scalar_of

__all__ = ["DEEPEST", "Reader", "number"]

DEEPEST = 60
_MOST_DIGITS = 400
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_PARTS: dict[type[exp.Expression], str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day"}
_CALLS: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", ("this",)),
    exp.Floor: ("floor", ("this",)),
    exp.Ceil: ("ceil", ("this",)),
    exp.Round: ("round", ("this",)),
    exp.Lower: ("lower", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Left: ("left", ("this", "expression")),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Mod: ("mod", ("this", "expression")),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
}
_CONDITIONS = "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT"
_EXPRESSIONS = (
    "expressions are made of columns, constants, + - * / %, CASE, DATE '2020-12-31', YEAR(x), MONTH(x), DAY(x), ABS, "
    "FLOOR, CEIL, ROUND, LOWER, UPPER, LENGTH, LEFT, SUBSTRING, COALESCE"
)


@dataclass(frozen=True)
class Reader:
    """Reads conditions and expressions; `aggregate` turns the call of an aggregate into a name, where these may be."""

    tables: frozenset[str]
    aggregate: Callable[[exp.Expression], Name | None] = lambda _: None

    def predicate(self, node: exp.Expression, depth: int = 0) -> Predicate:
        """Read a condition."""
        _check_depth(depth)
        if isinstance(node, exp.Paren):
            return self.predicate(node.this, depth + 1)
        if isinstance(node, exp.And | exp.Or):
            operands = tuple(self.predicate(side, depth + 1) for side in _chain(node))
            return And(operands) if isinstance(node, exp.And) else Or(operands)
        if isinstance(node, exp.Not):
            return Not(self.predicate(node.this, depth + 1))
        if isinstance(node, exp.Boolean):
            return Truth(bool(node.this))
        if isinstance(node, exp.Null):
            return Truth(None)
        if is_foreign(node) and not _has_aggregates(node):
            return Compare("=", scalar_of(node, self._named), Constant(True))
        return _comparison(node, lambda side: self.expression(side, depth + 1))

    def expression(self, node: Any, depth: int = 0) -> Expression:
        """Read a value."""
        _check_depth(depth)
        if isinstance(node, exp.Expression) and (slot := self.aggregate(node)) is not None:
            return slot
        if depth == 0 and isinstance(node, exp.Expression) and is_foreign(node) and not _has_aggregates(node):
            return scalar_of(node, self._named)
        if isinstance(node, exp.Column):
            return self._named(node)
        if isinstance(node, PREDICATES) and not isinstance(node, exp.Boolean):
            truth = self.predicate(node, depth + 1)
            return Case(((truth, Constant(True)), (Not(truth), Constant(False))), Constant(None))
        if isinstance(node, exp.Paren):
            return self.expression(node.this, depth + 1)
        if isinstance(node, exp.Neg):
            return _negative(self.expression(node.this, depth + 1))
        if type(node) in _ARITHMETIC:
            left, right = (self.expression(side, depth + 1) for side in (node.this, node.expression))
            return Arithmetic(_ARITHMETIC[type(node)], left, right)
        if isinstance(node, exp.Case):
            return self._case(node, depth)
        if type(node) in _CALLS:
            return self._call(node, depth)
        return self._part(node, depth) or _constant(node)

    def _part(self, node: Any, depth: int) -> Part | None:
        if type(node) in _PARTS:
            return Part(_PARTS[type(node)], self.expression(node.this, depth + 1))
        if isinstance(node, exp.Extract) and node.name.lower() in _PARTS.values():
            return Part(node.name.lower(), self.expression(node.expression, depth + 1))
        return None

    def _call(self, node: exp.Expression, depth: int) -> Call:
        function, parts = _CALLS[type(node)]
        if any(is_set(content) for part, content in node.args.items() if part not in NODES[type(node)]):
            raise refusal(node, f"{function.upper()} takes fewer arguments here; {_EXPRESSIONS}")
        found = [node.args.get(part) for part in parts]
        flat = [item for part in found for item in (part if isinstance(part, list) else [part]) if item is not None]
        if not flat:
            raise QueryError(f"{function.upper()} needs a column or a constant in its parentheses")
        return Call(function, tuple(self.expression(item, depth + 1) for item in flat))

    def _case(self, node: exp.Case, depth: int) -> Case:
        subject = self.expression(node.this, depth + 1) if node.this is not None else None
        branches: list[tuple[Predicate, Expression]] = []
        for branch in node.args["ifs"]:
            value = self.expression(branch.args["true"], depth + 1)
            if subject is None:
                branches.append((self.predicate(branch.this, depth + 1), value))
            else:
                branches.append((Compare("=", subject, self.expression(branch.this, depth + 1)), value))
        default = node.args.get("default")
        return Case(tuple(branches), Constant(None) if default is None else self.expression(default, depth + 1))

    def _named(self, node: Any) -> Name:
        return self.name(node, "write column names alone")

    def name(self, node: Any, advice: str) -> Name:
        """Read the name of a column."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise refusal(node, advice)
        if any(is_set(content) for part, content in node.args.items() if part not in NODES[exp.Column]):
            raise refusal(node, "write column names alone, in double quotes where they contain dots")
        if node.table and node.table.lower() not in self.tables:
            raise QueryError("columns belong to the table 'release'; write a name with a dot in double quotes")
        return Name(node.this.this, bool(node.this.quoted))


def _has_aggregates(node: exp.Expression) -> bool:
    return node.find(*AGGREGATE_NODES) is not None


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise RecursionError


def _chain(node: exp.Expression) -> list[exp.Expression]:
    """Operands of a chain of one connective: long chains lean left, and recursion would follow them down."""
    operands: list[exp.Expression] = []
    while type(node) is type(node.this):
        operands.append(node.expression)
        node = node.this
    return [node.this, node.expression, *reversed(operands)]


def _comparison(node: exp.Expression, value: Callable[[Any], Expression]) -> Predicate:
    if type(node) in _COMPARISONS:
        return Compare(_COMPARISONS[type(node)], value(node.this), value(node.expression))
    if isinstance(node, exp.Between):
        operand = value(node.this)
        low, high = value(node.args["low"]), value(node.args["high"])
        inside = And((Compare(">=", operand, low), Compare("<=", operand, high)))
        if not node.args.get("symmetric"):
            return inside
        return Or((inside, And((Compare(">=", operand, high), Compare("<=", operand, low)))))
    if isinstance(node, exp.In) and node.expressions:
        return _membership(node, value)
    if isinstance(node, exp.Is):
        return _is(node, value)
    if isinstance(node, exp.Escape) and isinstance(node.this, exp.Like):
        return _like(node.this, value, _text(node.expression))
    if isinstance(node, exp.Like):
        return _like(node, value)
    if isinstance(node, exp.Column | exp.Case):
        return Compare("=", value(node), Constant(True))
    raise refusal(node, _CONDITIONS)


def _membership(node: exp.In, value: Callable[[Any], Expression]) -> Predicate:
    items = [value(item) for item in node.expressions]
    operand = value(node.this)
    constants = tuple(item for item in items if isinstance(item, Constant) and item.value is not None)
    # NULL in the list leaves open what is not a member; anything but constants is compared one by one.
    others: list[Predicate] = [Truth(None) for item in items if isinstance(item, Constant) and item.value is None]
    others += [Compare("=", operand, item) for item in items if not isinstance(item, Constant)]
    known = [In(operand, constants)] if constants or not others else []
    parts: tuple[Predicate, ...] = (*known, *others)
    return parts[0] if len(parts) == 1 else Or(parts)


def _like(node: exp.Like, value: Callable[[Any], Expression], escape: str = "") -> Predicate:
    return _negated(Like(value(node.this), _text(node.expression), escape), node)


def _negated(predicate: Predicate, node: exp.Expression) -> Predicate:
    """Some negations are nodes of their own, others a flag of the node that they negate."""
    return Not(predicate) if node.args.get("negate") else predicate


def _is(node: exp.Is, value: Callable[[Any], Expression]) -> Predicate:
    if isinstance(node.expression, exp.Null):
        return _negated(IsNull(value(node.this)), node)
    if isinstance(node.expression, exp.Boolean):
        operand = value(node.this)
        equal = Compare("=", operand, Constant(bool(node.expression.this)))
        return _negated(And((Not(IsNull(operand)), equal)), node)
    raise refusal(node, "IS goes with NULL, NOT NULL, TRUE or FALSE")


def _negative(operand: Expression) -> Expression:
    if isinstance(operand, Constant) and isinstance(operand.value, int | Decimal):
        return Constant(-operand.value)
    return Arithmetic("-", Constant(0), operand)


def _constant(node: Any) -> Constant:
    if isinstance(node, exp.Literal):
        return Constant(node.this) if node.is_string else Constant(number(node.this))
    if isinstance(node, exp.Null):
        return Constant(None)
    if isinstance(node, exp.Boolean):
        return Constant(bool(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return Constant(_moment(node.this.this, str(node.to.this)))
    if isinstance(node, exp.Interval) and node.text("unit").upper() in {"DAY", "DAYS"}:
        return Constant(number(node.name))
    raise refusal(node, _EXPRESSIONS)


def number(text: str) -> int | Decimal:
    """Read a number as it is written; beyond every column its sign and "huge" or "tiny" is all that matters."""
    if len(text) > _MOST_DIGITS:
        raise QueryError(f"a number may have {_MOST_DIGITS} digits; got {len(text):,}")
    try:
        if text.isdecimal() and len(text) <= 40:
            return int(text)
        exact = Decimal(text)
    except (InvalidOperation, ValueError):
        raise QueryError("numbers are written like 12, 1.5 or 2e6") from None
    if exact and abs(exact.adjusted()) > _MOST_DIGITS:
        return Decimal((0, (1,), _MOST_DIGITS if exact.adjusted() > 0 else -_MOST_DIGITS))
    return exact


def _moment(text: str, kind: str) -> date | datetime:
    kinds: dict[str, Callable[[str], date | datetime]] = {"DATE": date.fromisoformat}
    kinds |= dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), datetime.fromisoformat)
    try:
        return kinds[kind.removeprefix("DType.").upper()](text.strip())
    except (KeyError, ValueError):
        raise QueryError("dates are written DATE '2020-12-31', moments TIMESTAMP '2020-12-31 23:59:59'") from None


def _text(node: Any) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise refusal(node, "LIKE takes a pattern in single quotes: x LIKE 'ab%'")
