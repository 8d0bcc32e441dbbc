"""Compute expressions in a DuckDB of one's own: locked, in memory, without files, settings or extensions.

Only expressions that `strict` printed come here. An error in one row (a text that is no number, a logarithm of zero)
gives NULL in that row, and so do division by zero and infinite numbers. Whether a row has one of these is an
expression, too, a failure (`defined` asks for it): a second database computes it, where a divisor of zero is an error.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.exact import floats_of
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Constant,
    Expression,
    Kind,
    Lookup,
    Name,
    Part,
    Predicate,
    Scalar,
    children_of,
    kind_of,
)

__all__ = ["DIVISOR", "GROWING", "as_divisor", "compute", "run_over", "scale_of", "type_over", "typed"]

_SETTINGS = (
    "ieee_floating_point_ops = false",
    "error_on_division_by_zero = false",
    # Part of an expression that is computed once for all its places would be computed outside of TRY.
    "disabled_optimizers = 'common_subexpressions,expression_rewriter,statistics_propagation'",
    "memory_limit = '2GB'",
    "threads = 2",
    "TimeZone = 'UTC'",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)
_TYPES = {
    Kind.BOOL: "BOOLEAN",
    Kind.INT: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIME: "TIMESTAMP",
}
_ARROW = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}
_WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)
_MOST_DIGITS = 15
DIVISOR = "divisor"
"""The function that expressions put around what they divide by."""
_DIVISORS = {
    False: f"CREATE MACRO {DIVISOR}(x) AS nullif(x, 0)",
    True: f"CREATE MACRO {DIVISOR}(x) AS CASE WHEN x = 0 THEN CAST(concat(x, ' divides') AS INTEGER) ELSE x END",
}
_TOO_LONG = {False: "NULL", True: "CAST(CAST(concat(x, ' grows') AS INTEGER) AS VARCHAR)"}
"""What comes of a text that would be too long: nothing, or an error."""
_FILLED, _REPLACED = 1_000, 100_000
"""Signs that texts may have, filled up or with parts replaced: a few signs of a question can ask for gigabytes."""
_GROWING = {
    "repeat(x, n)": f"length(x) * n > {_FILLED}",
    "lpad(x, n, y)": f"n > {_FILLED}",
    "rpad(x, n, y)": f"n > {_FILLED}",
    "replace(x, y, z)": f"length(x) * (1 + length(z)) > {_REPLACED}",
    "regexp_replace(x, y, z), (x, y, z, o)": f"(1 + length(x)) * (1 + length(z)) > {_REPLACED}",
    "printf(x, a), (x, a, b), (x, a, b, c), (x, a, b, c, d)": "regexp_matches(x, '%[^a-zA-Z%]*([0-9]{4}|[*])')",
    "format(x, a), (x, a, b), (x, a, b, c), (x, a, b, c, d)": "regexp_matches(x, '[{][^{}]*:[^{}]*([0-9]{4}|[{])')",
}
"""Functions whose texts may grow, and when they would be too long; at most four values are formatted."""
GROWING = tuple(forms.partition("(")[0] for forms in _GROWING)
_lock = threading.Lock()


def as_divisor(node: exp.Expression) -> exp.Expression:
    """Mark what is divided by, unless it is a constant above zero."""
    is_sure = isinstance(node, exp.Literal) and not node.is_string and float(node.this) > 0
    return node if is_sure else exp.Anonymous(this=DIVISOR, expressions=[node])


@functools.cache
def _database(finds_failures: bool = False) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(_DIVISORS[finds_failures])
    for forms, is_long in _GROWING.items():
        connection.execute(_guard(forms, is_long, _TOO_LONG[finds_failures]))
    for setting in _SETTINGS:
        with contextlib.suppress(duckdb.CatalogException):  # older versions lack one, and what it prevents
            connection.execute(f"SET {setting}")
    return connection


def _guard(forms: str, is_long: str, otherwise: str) -> str:
    """A macro in the place of DuckDB's function, for each number of its arguments."""
    name, _, taken = forms.partition("(")
    bodies = [
        f"({taken}) AS CASE WHEN {is_long} THEN {otherwise} ELSE system.main.{name}({taken}) END"
        for taken in taken.rstrip(")").split("), (")
    ]
    return f"CREATE MACRO {name}{', '.join(bodies)}"


def typed(node: Scalar) -> Scalar:
    """Give an expression, whose operands are bound, the kind of what it gives."""
    types = tuple(_type_of(operand) for operand in node.operands)
    kind, _ = _failure(node.sql, types) if node.is_failure else _result(node.sql, types)
    return replace(node, kind=kind)


def _type_of(operand: Expression) -> str:
    kind = kind_of(operand)
    if isinstance(operand, Cast | Lookup) and operand.scale is not None:
        return f"DECIMAL({max(18, operand.scale)}, {operand.scale})"
    if kind is Kind.DECIMAL:
        digits, scale = (operand.digits, operand.scale) if isinstance(operand, Column) else (18, 3)
        return f"DECIMAL({digits}, {scale})"
    if kind is None:
        return "INTEGER" if isinstance(operand, Constant) else "VARCHAR"
    return _TYPES[kind]


def scale_of(node: Expression, column: Callable[[Name], Expression]) -> int | None:
    """Digits after the point that DuckDB's type of an expression has; None for types other than decimals.

    The expression is as it was written, before decimals become floats; `column` finds its names.
    """
    if not _may_be_decimal(node, column):
        return None
    try:
        found = re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", _natural_type(node, column))
    except QueryError:
        return None
    return None if found is None else int(found[1])


def _may_be_decimal(node: Predicate | Expression, column: Callable[[Name], Expression]) -> bool:
    """Tell whether something in an expression is a decimal number, or may be one."""
    if isinstance(node, Name):
        found = column(node)
        return kind_of(found) is Kind.DECIMAL or (isinstance(found, Lookup) and found.scale is not None)
    if isinstance(node, Constant):
        return isinstance(node.value, Decimal)
    return isinstance(node, Scalar) or any(_may_be_decimal(child, column) for child in children_of(node))


def _natural_type(node: Expression, column: Callable[[Name], Expression]) -> str:
    """The type that DuckDB gives an expression."""
    if isinstance(node, Name):
        node = column(node)
    if isinstance(node, Column | Lookup | Part):
        return _type_of(node)
    children = [child for child in _values_in(node) if not isinstance(child, Constant)]
    types = tuple(_natural_type(child, column) for child in children)
    if isinstance(node, Scalar):
        return _type_in_database(node.sql, tuple(_natural_type(operand, column) for operand in node.operands))
    printed = [value_sql(c) if isinstance(c, Constant) else f"a{children.index(c)}" for c in _values_in(node)]
    if isinstance(node, Arithmetic) or (isinstance(node, Call) and node.function == "mod"):
        sign = node.operator if isinstance(node, Arithmetic) else "%"
        return _type_in_database(f"{printed[0]} {sign} {printed[1]}", types)
    if isinstance(node, Case):
        whens = "".join(f" WHEN a0 IS NULL THEN {then}" for then in printed[:-1])
        return _type_in_database(f"CASE{whens} ELSE {printed[-1]} END", types) if children else "INTEGER"
    if isinstance(node, Call):
        casts = {"cast to whole": "HUGEINT", "cast to double": "DOUBLE"}
        called = f"{node.function}({', '.join(printed)})"
        return casts.get(node.function) or _type_in_database(called, types)
    return _type_in_database(value_sql(node), ())


def _values_in(node: Expression) -> list[Expression]:
    """The operands of an expression that give values, in their order."""
    if isinstance(node, Case):
        return [*(then for _, then in node.branches), node.otherwise]
    return [child for child in children_of(node) if isinstance(child, Expression)]


@functools.lru_cache(1_000)
def _type_in_database(sql: str, types: tuple[str, ...]) -> str:
    """The type of an expression over places of some types."""
    columns = ", ".join(f"CAST(NULL AS {name}) AS a{place}" for place, name in enumerate(types)) or "1 AS nothing"
    try:
        with _lock:
            made = _database().sql(f"SELECT ({sql}) AS x FROM (SELECT {columns})")
            made.fetchall()  # constants that cannot be read show here, before there is any value
            return str(made.types[0])
    except duckdb.Error as error:
        raise QueryError(_reason(error)) from None


@functools.lru_cache(1_000)
def _result(sql: str, types: tuple[str, ...]) -> tuple[Kind, str]:
    """The kind of a result, and the expression that brings it into a type of that kind."""
    found = _type_in_database(sql, types)
    whole = f"TRY(({sql}))"
    if found in _WHOLE:
        return Kind.INT, f"CAST({whole} AS BIGINT)"
    if found.startswith("DECIMAL"):
        return Kind.FLOAT, whole
    if found in ("FLOAT", "DOUBLE"):
        return Kind.FLOAT, f"CAST({whole} AS DOUBLE)"
    kinds = {"BOOLEAN": Kind.BOOL, "VARCHAR": Kind.TEXT, "DATE": Kind.DATE}
    if found.startswith("TIMESTAMP") and "ZONE" not in found:
        return Kind.TIME, f"CAST({whole} AS TIMESTAMP)"
    if found in kinds:
        return kinds[found], whole
    if found == '"NULL"':
        return Kind.TEXT, "CAST(NULL AS VARCHAR)"
    raise QueryError(
        f"an expression that gives a value of the type {found[:40]} cannot be asked about; cast it to a number, a "
        "text or a date"
    )


def _failure(sql: str, types: tuple[str, ...]) -> tuple[Kind, str]:
    """Whether an expression stops, or gives no finite number."""
    stops = f"TRY(({sql}) IS NULL) IS NULL"
    is_float = _type_in_database(sql, types) in ("FLOAT", "DOUBLE")
    return Kind.BOOL, f"coalesce(NOT isfinite(TRY(({sql}))), {stops})" if is_float else stops


def _reason(error: duckdb.Error) -> str:
    """Say what does not fit, in the analyst's words; no value of a table is near, for there was none."""
    found = re.search(r"argument types '(\w+)\(([^']*)\)'", str(error))
    if found is not None:
        taken = found[2].replace("_LITERAL", "").lower() or "nothing"
        return f"{found[1].upper()} does not take {taken} here; cast the column first: x::DOUBLE, x::VARCHAR, x::DATE"
    return "this expression does not fit the kinds of its columns; cast them first: x::DOUBLE, x::VARCHAR, x::DATE"


def compute(node: Scalar, operands: Sequence[pa.Array], length: int) -> pa.Array:
    """The value of an expression in each of `length` rows."""
    types = tuple(_type_of(operand) for operand in node.operands)
    kind, sql = _failure(node.sql, types) if node.is_failure else _result(node.sql, types)
    columns = {
        f"a{place}": _cast(column, operand)
        for place, (column, operand) in enumerate(zip(operands, node.operands, strict=True))
    }
    casts = "".join(f"CAST(a{place} AS {name}) AS a{place}, " for place, name in enumerate(types))
    table = pa.table({**columns, "row_number": pa.array(range(length), pa.int64())})
    try:
        with _lock:
            database = _database(node.is_failure)  # a cursor would not have its settings
            database.register("given", table)
            query = f"SELECT {sql} AS x FROM (SELECT {casts}row_number FROM given) ORDER BY row_number"
            chunks = database.sql(query).to_arrow_table().column(0)
            database.unregister("given")
    except duckdb.Error:
        # The database's message may quote values; ours does not.
        raise QueryError(
            "an expression of the question leaves the range of what can be computed; write decimals"
        ) from None
    found = pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)
    if pa.types.is_decimal(found.type):
        _check_digits(found)
    found = floats_of(found) if kind is Kind.FLOAT else found.cast(_ARROW[kind])
    return pc.if_else(pc.is_finite(found), found, pa.scalar(None, pa.float64())) if kind is Kind.FLOAT else found


def _cast(column: pa.Array | pa.Scalar, operand: Expression) -> pa.Array:
    kind = kind_of(operand)
    if kind is Kind.FLOAT:
        return floats_of(column)
    return column if kind is None or kind is Kind.DECIMAL else column.cast(_ARROW[kind])


def _check_digits(found: pa.Array) -> None:
    largest = pc.max(pc.abs(found)).as_py()
    if largest is not None and largest >= 10 ** (_MOST_DIGITS - found.type.scale):
        raise QueryError(f"an expression of the question has more than {_MOST_DIGITS} digits; round it")


def type_over(columns: Iterable[Column], tables: Mapping[str, pa.Table], query: Any) -> str:
    """The type of the first column of a parsed query over the release and tables of one's own; '' if there is none."""
    empty = {column.name: pa.array([], _arrow_type(column)) for column in columns}
    given = {"release": pa.table(empty), **{name: table.slice(0, 0) for name, table in tables.items()}}
    if not empty or len({name.lower() for name in empty}) < len(empty):
        return ""
    with _lock:
        database = _database()
        for name, table in given.items():
            database.register(name, table)
        try:
            return str(database.sql(query.sql(dialect=QuestionSQL)).types[0])
        except duckdb.Error:
            return ""
        finally:
            for name in given:
                database.unregister(name)


def _arrow_type(column: Column) -> pa.DataType:
    return pa.decimal128(column.digits, column.scale) if column.kind is Kind.DECIMAL else _ARROW[column.kind]


def run_over(tables: Mapping[str, pa.Table], query: Any) -> pa.Table:
    """The rows of a query, a parsed SELECT, over tables of one's own; nothing else can be reached."""
    query = query.copy()
    for division in query.find_all(exp.Div, exp.IntDiv, exp.Mod):
        division.set("expression", as_divisor(division.expression.copy()))
    try:
        with _lock:
            database = _database(finds_failures=True)
            for name, table in tables.items():
                database.register(name, table)
            try:
                return database.sql(query.sql(dialect=QuestionSQL)).to_arrow_table()
            finally:
                for name in tables:
                    database.unregister(name)
    except duckdb.Error:
        raise QueryError(
            "the sub-query over your own table cannot be computed; it is a SELECT that names its columns, looks at "
            "no rows of the question around it, and divides by nothing that is zero"
        ) from None
