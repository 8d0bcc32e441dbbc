"""Print bound expressions and predicates as SQL that means the same in every row, fully typed and parenthesized."""

from __future__ import annotations

from datetime import date, datetime

from hedgerow.query.sql.question import (
    FLOATING,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Kind,
    Like,
    Lookup,
    Not,
    Or,
    Part,
    Predicate,
    Scalar,
    Truth,
    kind_of,
)

__all__ = ["literal", "predicate_sql", "quote", "select_sql", "value_sql"]

_TYPES = {Kind.FLOAT: "DOUBLE", Kind.TIME: "TIMESTAMP"}


def quote(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def select_sql(columns: list[str], source: str, verb: str = "SELECT") -> str:
    """Print a select list and where it comes from, one column a line."""
    return f"{verb}\n    " + ",\n    ".join(columns) + f"\nFROM {source}"


def predicate_sql(node: Predicate) -> str:
    """Print a predicate."""
    if isinstance(node, Truth):
        return "CAST(NULL AS BOOLEAN)" if node.value is None else str(node.value).upper()
    if isinstance(node, Not):
        return f"NOT ({predicate_sql(node.operand)})"
    if isinstance(node, And | Or):
        word = " AND " if isinstance(node, And) else " OR "
        return "(" + word.join(predicate_sql(operand) for operand in node.operands) + ")"
    if isinstance(node, Compare):
        return f"{value_sql(node.left)} {node.operator} {value_sql(node.right)}"
    return _test(node, value_sql(node.operand))


def _test(node: In | Like | IsNull, operand: str) -> str:
    if isinstance(node, IsNull):
        return f"({operand} IS NULL)"
    if isinstance(node, In):
        return f"{operand} IN ({', '.join(value_sql(value) for value in node.values)})"
    escape = node.escape or _no_escape(node.pattern)
    return f"{operand} LIKE {literal(node.pattern)}" + (f" ESCAPE {literal(escape)}" if escape else "")


def _no_escape(pattern: str) -> str:
    """Some databases take a backslash for an escape unless told another; name one that the pattern does not have."""
    return next(sign for sign in "!~^|#@&" + chr(1) if sign not in pattern) if "\\" in pattern else ""


def value_sql(node: Expression) -> str:
    """Print an expression."""
    if isinstance(node, Column):
        return quote(node.name)
    if isinstance(node, Constant):
        return _constant(node)
    if isinstance(node, Cast) and node.scale is not None:
        return value_sql(node.spelled)
    if isinstance(node, Cast):
        return f"CAST({value_sql(node.operand)} AS {_TYPES[node.kind]})"
    if isinstance(node, Part):
        return f"EXTRACT({node.unit} FROM {value_sql(node.operand)})"
    if isinstance(node, Case):
        whens = "".join(f" WHEN {predicate_sql(when)} THEN {value_sql(then)}" for when, then in node.branches)
        return f"CASE{whens} ELSE {value_sql(node.otherwise)} END"
    if isinstance(node, Lookup):
        # Never sent to a database: it tells derived columns apart.
        return f"lookup_{node.source.number}({', '.join([literal(node.column), *map(value_sql, node.operands)])})"
    if isinstance(node, Scalar):
        # Nor is this.
        name = "failure" if node.is_failure else "scalar"
        return f"{name}({', '.join([literal(node.sql), *map(value_sql, node.operands)])})"
    if isinstance(node, Call):
        called = _call(node.function, [value_sql(operand) for operand in node.operands])
        return f"CAST({called} AS BIGINT)" if node.function in FLOATING and node.kind is Kind.INT else called
    assert isinstance(node, Arithmetic)
    left, right = value_sql(node.left), value_sql(node.right)
    if node.operator == "/":
        return f"({left} / NULLIF({right}, 0))"
    if node.kind is Kind.DATE and kind_of(node.right) is Kind.INT:
        right = f"CAST({right} AS INTEGER)"
    return f"({left} {node.operator} {right})"


def _call(function: str, operands: list[str]) -> str:
    if function == "mod":
        return f"({operands[0]} % NULLIF({operands[1]}, 0))"
    if function == "round":
        # Some databases round halves to even, some away from zero; the rest after the point doubles without an error.
        whole = f"trunc({operands[0]})"
        return f"({whole} + trunc(({operands[0]} - {whole}) * 2))"
    return f"{function}({', '.join(operands)})"


def _constant(node: Constant) -> str:
    if node.value is None:
        return "NULL"
    if isinstance(node.value, float):
        return f"CAST('{node.value!r}' AS DOUBLE)"
    if isinstance(node.value, str):
        return literal(node.value)
    if isinstance(node.value, datetime):
        return f"TIMESTAMP '{node.value.isoformat(' ')}'"
    if isinstance(node.value, date):
        return f"DATE '{node.value.isoformat()}'"
    return f"{node.value:f}" if node.kind is Kind.DECIMAL else str(node.value).upper()
