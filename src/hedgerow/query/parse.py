"""SQL text to a `Question`: the only module that touches sqlglot.

Everything is an allow-list. What is not named here is refused with the reason and a way to say it that works. Nothing
of the text ever reaches a database, because engines print their own SQL from the `Question`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.question import (
    Aggregate,
    And,
    Arithmetic,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Key,
    Like,
    Name,
    Not,
    Or,
    Part,
    Predicate,
    Question,
    Truth,
)

__all__ = ["parse"]

_LONGEST = 200_000
_DEEPEST = 60
_EXAMPLE = "SELECT avg(x) FROM release WHERE a BETWEEN 1 AND 2"
_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
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
_ADVICE = {
    "having": "HAVING cannot be decided on bounds; ask without it and filter the result",
    "order": "the result is already in the order of its GROUP BY columns; leave out ORDER BY",
    "limit": "a result cannot be cut; leave out LIMIT",
    "offset": "a result cannot be cut; leave out OFFSET",
    "distinct": "leave out DISTINCT; GROUP BY already gives one row per combination",
    "joins": "only the table 'release' can be asked; join the result with other tables afterwards",
    "with_": "WITH is not understood; ask the inner question directly",
    "windows": "window functions have no bounds; use GROUP BY",
}


def parse(sql: str) -> Question:
    """Read one SELECT statement. Raises QueryError for everything that is not understood."""
    if not isinstance(sql, str):
        raise QueryError(f"a question is SQL text; got {type(sql).__name__}. For example: {_EXAMPLE}")
    if len(sql) > _LONGEST:
        raise QueryError(f"a question may have {_LONGEST:,} characters; got {len(sql):,}")
    try:
        return _question(_statement(sql))
    except RecursionError:
        raise QueryError(f"the question is nested deeper than {_DEEPEST} levels; flatten it") from None


def _statement(sql: str) -> exp.Select:
    try:
        statements = [tree for tree in sqlglot.parse(sql, read="duckdb") if tree is not None]
    except SqlglotError as error:
        where = next((f" near line {e['line']}, column {e['col']}" for e in getattr(error, "errors", []) or []), "")
        raise QueryError(f"this is not SQL that can be read{where}; a question looks like: {_EXAMPLE}") from None
    if len(statements) != 1:
        raise QueryError(f"ask one SELECT statement at a time; got {len(statements)}")
    if not isinstance(statements[0], exp.Select):
        raise _refusal(statements[0], f"only a single SELECT can be asked, like: {_EXAMPLE}")
    return statements[0]


def _question(tree: exp.Select) -> Question:
    for clause, content in tree.args.items():
        if content and clause not in {"expressions", "from_", "where", "group"}:
            raise QueryError(_ADVICE.get(clause, f"the clause {clause.upper()} is not understood; leave it out"))
    names = _table_names(tree.args.get("from_"))
    where = tree.args.get("where")
    condition = _predicate(where.this, names, 0) if where else Truth(True)
    groups = _groups(tree.args.get("group"), names)
    select = tuple(_item(item, names) for item in tree.expressions)
    if not any(isinstance(item, Aggregate) for item in select):
        raise QueryError("select at least one of COUNT, SUM, AVG, MIN, MAX; single rows have no bounds")
    return Question(select, condition, groups)


def _table_names(source: exp.Expression | None) -> frozenset[str]:
    """Names by which columns may be qualified: the table's and its alias's."""
    table = source.this if source is not None else None
    extras = {part for part, content in table.args.items() if content} if table is not None else set()
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or extras - {"this", "alias"}:
        raise QueryError("there is one table to ask: write FROM release")
    if table.name.lower() != "release":
        raise QueryError("there is one table to ask, and it is called 'release': write FROM release")
    return frozenset({"release", table.alias_or_name.lower()})


def _groups(group: exp.Expression | None, tables: frozenset[str]) -> tuple[Name, ...]:
    if group is None:
        return ()
    if not group.expressions or any(content for part, content in group.args.items() if part != "expressions"):
        raise _refusal(group, "GROUP BY takes column names: GROUP BY a, b")
    return tuple(_name(item, tables, "GROUP BY takes column names: GROUP BY a, b") for item in group.expressions)


def _item(item: exp.Expression, tables: frozenset[str]) -> Key | Aggregate:
    alias = item.alias if isinstance(item, exp.Alias) else ""
    inner = item.this if isinstance(item, exp.Alias) else item
    if isinstance(inner, exp.Column):
        name = _name(inner, tables, "select columns by name")
        return Key(name, alias)
    if type(inner) not in _AGGREGATES:
        raise _refusal(
            inner, "select GROUP BY columns and COUNT, SUM, AVG, MIN or MAX of one column, and compute on the result"
        )
    return Aggregate(_AGGREGATES[type(inner)], _argument(inner, tables), alias)


def _argument(call: exp.Expression, tables: frozenset[str]) -> Name | None:
    if any(content for part, content in call.args.items() if part not in {"this", "big_int"}):
        raise _refusal(call, "an aggregate takes one column: sum(x)")
    inner = call.this
    is_all = inner is None or isinstance(inner, exp.Star) or (isinstance(inner, exp.Literal) and not inner.is_string)
    if isinstance(call, exp.Count) and is_all:
        return None
    return _name(inner, tables, "an aggregate takes one column as published: sum(x)")


def _name(node: Any, tables: frozenset[str], advice: str) -> Name:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise _refusal(node, advice)
    if any(content for part, content in node.args.items() if part not in {"this", "table"}):
        raise _refusal(node, "write column names alone, in double quotes where they contain dots")
    if node.table and node.table.lower() not in tables:
        raise QueryError("columns belong to the table 'release'; write a name with a dot in double quotes")
    return Name(node.this.this, bool(node.this.quoted))


def _predicate(node: exp.Expression, tables: frozenset[str], depth: int) -> Predicate:
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(node, exp.Paren):
        return _predicate(node.this, tables, depth + 1)
    if isinstance(node, exp.And | exp.Or):
        operands = tuple(_predicate(side, tables, depth + 1) for side in _chain(node))
        return And(operands) if isinstance(node, exp.And) else Or(operands)
    if isinstance(node, exp.Not):
        return Not(_predicate(node.this, tables, depth + 1))
    if isinstance(node, exp.Boolean):
        return Truth(bool(node.this))
    if isinstance(node, exp.Null):
        return Truth(None)
    return _comparison(node, lambda side: _expression(side, tables, depth + 1))


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
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        operand = value(node.this)
        low, high = value(node.args["low"]), value(node.args["high"])
        return And((Compare(">=", operand, low), Compare("<=", operand, high)))
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        return _membership(node, value)
    if isinstance(node, exp.Is):
        return _is(node, value)
    if isinstance(node, exp.Escape) and isinstance(node.this, exp.Like):
        return Like(value(node.this.this), _text(node.this.expression), _text(node.expression))
    if isinstance(node, exp.Like):
        return Like(value(node.this), _text(node.expression))
    if isinstance(node, exp.Column):
        return Compare("=", value(node), Constant(True))
    raise _refusal(node, "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT")


def _membership(node: exp.In, value: Callable[[Any], Expression]) -> Predicate:
    items = [value(item) for item in node.expressions]
    constants = tuple(item for item in items if isinstance(item, Constant))
    if len(constants) != len(items):
        raise QueryError("IN takes a list of constants; write comparisons with OR for anything else")
    known = In(value(node.this), tuple(c for c in constants if c.value is not None))
    return known if len(known.values) == len(constants) else Or((known, Truth(None)))


def _is(node: exp.Is, value: Callable[[Any], Expression]) -> Predicate:
    if isinstance(node.expression, exp.Null):
        return IsNull(value(node.this))
    if isinstance(node.expression, exp.Boolean):
        operand = value(node.this)
        return And((Not(IsNull(operand)), Compare("=", operand, Constant(bool(node.expression.this)))))
    raise _refusal(node, "IS goes with NULL, NOT NULL, TRUE or FALSE")


def _expression(node: Any, tables: frozenset[str], depth: int) -> Expression:
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(node, exp.Column):
        return _name(node, tables, "write column names alone")
    if isinstance(node, exp.Paren):
        return _expression(node.this, tables, depth + 1)
    if isinstance(node, exp.Neg):
        return _negative(_expression(node.this, tables, depth + 1))
    if type(node) in _ARITHMETIC:
        left, right = (_expression(side, tables, depth + 1) for side in (node.this, node.expression))
        return Arithmetic(_ARITHMETIC[type(node)], left, right)
    if type(node) in _PARTS:
        return Part(_PARTS[type(node)], _expression(node.this, tables, depth + 1))
    if isinstance(node, exp.Extract) and node.name.lower() in _PARTS.values():
        return Part(node.name.lower(), _expression(node.expression, tables, depth + 1))
    return _constant(node)


def _negative(operand: Expression) -> Expression:
    if isinstance(operand, Constant) and isinstance(operand.value, int | Decimal):
        return Constant(-operand.value)
    return Arithmetic("-", Constant(0), operand)


def _constant(node: Any) -> Constant:
    if isinstance(node, exp.Literal):
        return Constant(node.this) if node.is_string else Constant(_number(node.this))
    if isinstance(node, exp.Null):
        return Constant(None)
    if isinstance(node, exp.Boolean):
        return Constant(bool(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return Constant(_moment(node.this.this, str(node.to.this)))
    if isinstance(node, exp.Interval) and node.text("unit").upper() in {"DAY", "DAYS"}:
        return Constant(_number(node.name))
    raise _refusal(
        node, "expressions are made of columns, constants, + - * /, DATE '2020-12-31', YEAR(x), MONTH(x), DAY(x)"
    )


def _number(text: str) -> int | Decimal:
    try:
        return int(text) if text.isdecimal() and len(text) <= 40 else Decimal(text)
    except InvalidOperation:
        raise QueryError("numbers are written like 12, 1.5 or 2e6") from None


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
    raise _refusal(node, "LIKE takes a pattern in single quotes: x LIKE 'ab%'")


def _refusal(node: Any, advice: str) -> QueryError:
    what = type(node).__name__ if isinstance(node, exp.Expression) else "this"
    names = {"Subquery": "a sub-query", "Select": "a sub-query", "Union": "UNION", "Anonymous": "an unknown function"}
    return QueryError(f"{names.get(what, what)} cannot be answered with a bound here; {advice}")
