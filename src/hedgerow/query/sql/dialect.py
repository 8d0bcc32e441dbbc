"""Statements that we print, in the words of another database."""

from __future__ import annotations

import sqlglot

__all__ = ["to_postgres"]


def to_postgres(sql: str, *, pretty: bool = False) -> str:
    """Turn a printed statement into PostgreSQL's words."""
    quiet = sqlglot.ErrorLevel.IGNORE
    return sqlglot.transpile(sql, read="duckdb", write="postgres", unsupported_level=quiet, pretty=pretty)[0]
