"""A question asked of a release and of the table behind it: the truth is inside, and equal where bounds say exact."""

from __future__ import annotations

import atexit
import functools
import math
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query import Answer, Session
from hedgerow.query.answer import Result

__all__ = ["contradiction", "contradiction_of", "database_of", "fetch_rows", "is_inside", "original_of", "true_answers"]


def true_answers(table: pa.Table, text: str) -> list[dict[str, Any]]:
    """What DuckDB says about the table, row by row."""
    with original_of(table) as database:
        return fetch_rows(database, text)


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all: opening it takes as long as twenty questions. Each cursor has its own tables and settings."""
    return duckdb.connect(config={"threads": 1})


atexit.register(_database.cache_clear)


def database_of(**tables: pa.Table) -> duckdb.DuckDBPyConnection:
    """Tables by their names in a database, with the settings that DuckDB comes with."""
    database = _database().cursor()
    for name, table in tables.items():
        database.register(name, table)
    return database


def original_of(table: pa.Table) -> duckdb.DuckDBPyConnection:
    """The table behind a release, to be asked several questions."""
    return database_of(release=table)


def fetch_rows(database: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, Any]]:
    """The rows of a question; at rows that its conditions leave out DuckDB does not stop."""
    try:
        return _fetch(database, text)
    except duckdb.InvalidInputException as error:
        if "Division by zero" not in str(error):
            raise
    # DuckDB stops at rows that the rest of a condition leaves out as well; NULL there leaves them out, too.
    database.execute("SET error_on_division_by_zero = false")
    try:
        return _fetch(database, text)
    finally:
        database.execute("RESET error_on_division_by_zero")


def _fetch(database: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, Any]]:
    found = database.execute(text)
    names = [column[0] for column in found.description or []]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def is_inside(lower: Any, number: Any, upper: Any) -> bool:
    """With room for the last digits of floats."""
    if isinstance(number, str | date):
        return bool(lower <= number <= upper)
    room = 1e-9 * max(1.0, abs(float(lower)), abs(float(upper)), abs(float(number)))
    return float(lower) - room <= float(number) <= float(upper) + room


def contradiction(session: Session, table: pa.Table, text: str) -> str | None:
    """Say how an answer contradicts the table behind the release; None if it does not, or is refused.

    Results of the question must have names, so that the two sides can be compared.
    """
    try:
        result = session.answers(text)
    except QueryError:
        return None
    with original_of(table) as original:
        return contradiction_of(result, original, text)


def contradiction_of(result: Result, original: duckdb.DuckDBPyConnection, text: str) -> str | None:
    """Say how an answer contradicts the table in a database; None if it does not."""
    if not all(found.is_bounded for found in result.estimates.values()):
        return None  # changed values: keys and numbers are estimates
    try:
        truth = fetch_rows(original, text)
    except (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException) as error:
        return f"answered, but no SQL to DuckDB: {error}"
    except duckdb.Error as error:
        return f"answered, but DuckDB stops: {error}"
    return _compared(result.keys, {name: found.answers for name, found in result.estimates.items()}, truth)


def _compared(keys: dict[str, pa.Array], answers: dict[str, list[Answer]], truth: list[dict[str, Any]]) -> str | None:
    rows = list(zip(*(_plain(array) for array in keys.values()), strict=True))
    cells = range(len(rows) if keys else max((len(column) for column in answers.values()), default=0))
    listed = {rows[cell] if keys else (): cell for cell in cells}
    for row in truth:
        key = tuple(_value(row[name]) for name in keys)
        if key not in listed:
            return f"{key} is in the truth and not in the answer"
        for name, column in answers.items():
            problem = _judgement(column[listed[key]], row[name])
            if problem:
                return f"{name} of {key}: {problem}"
    true_keys = {tuple(_value(row[name]) for name in keys) for row in truth}
    for key, cell in listed.items():
        # A group that may be empty is listed; what is zero in it wherever it is there is nobody's.
        if key not in true_keys and any(a[cell].exact and a[cell].lower not in (None, 0) for a in answers.values()):
            return f"{key} is listed with an exact answer, and the truth does not have it"
    return None


def _judgement(answer: Answer, truth: Any) -> str | None:
    if not answer.bounded or (answer.exact and answer.lower is None and truth is None):
        return None
    if truth is None:
        return "exact, and the truth is NULL" if answer.exact else None
    if isinstance(truth, float) and math.isnan(truth) and answer.exact and answer.lower is None:
        return None  # CORR and REGR_SLOPE of numbers that are all equal: NaN in DuckDB, NULL in SQL's standard
    if isinstance(truth, float) and not math.isfinite(truth):
        # A quotient of results whose divisor may be zero speaks of the tables in which it is not.
        return f"exact, and the truth is {truth}" if answer.exact else None
    if answer.lower is None or answer.upper is None:
        return f"NULL, and the truth is {truth}"
    if not is_inside(answer.lower, truth, answer.upper):
        return f"{answer} does not contain {truth}"
    if answer.exact and not is_inside(answer.expected, truth, answer.expected):
        return f"{answer} is not {truth}"
    return None


def _plain(array: pa.Array) -> list[Any]:
    return [_value(value) for value in array.to_pylist()]


def _value(value: Any) -> Any:
    """What an engine gives as a float may be a decimal number in the database; missing numbers are no numbers there."""
    if isinstance(value, float | Decimal):
        return None if math.isnan(value) else float(value)
    return value
