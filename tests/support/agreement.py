"""Two engines asked the same: equal refusals, keys and bounds to the last digit, means as closely as floats allow."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query import Session
from hedgerow.query.answer import Result

__all__ = ["answered", "difference", "disagreement"]


def disagreement(ours: Session, theirs: Session, sql: str) -> str | None:
    """Say in what two engines differ; None if they agree. Both may refuse: then the reason must be the same."""
    return difference(answered(ours, sql), answered(theirs, sql))


def difference(*results: Result | str) -> str | None:
    """Say in what two results, or the reasons of refusals, differ."""
    if any(isinstance(result, str) for result in results):
        return None if results[0] == results[1] else f"{results[0]!s:.200} or {results[1]!s:.200}"
    flags = [_flags(result) for result in results]
    if flags[0] != flags[1]:
        return f"exact and reached: {flags[0]} or {flags[1]}"
    mine, other = (result.table() for result in results)
    if mine.schema != other.schema:
        return f"{mine.schema} or {other.schema}"
    return next((name for name in mine.column_names if not _equal(mine, other, name)), None)


def answered(session: Session, sql: str) -> Result | str:
    """The answers to a question, or why it is refused."""
    try:
        return session.answers(sql)
    except QueryError as error:
        return str(error)


def _flags(result: Any) -> dict[str, list[tuple[bool, bool]]]:
    return {
        name: [(answer.exact, answer.reached) for answer in found.answers] for name, found in result.estimates.items()
    }


def _equal(mine: pa.Table, other: pa.Table, name: str) -> bool:
    is_loose = name.endswith("_std") or f"{name}_lower" in mine.column_names
    scale = 1e-6 * max((abs(value) for value in _floats(mine, f"{name.removesuffix('_std')}_upper")), default=1.0)
    pairs = list(zip(mine.column(name).to_pylist(), other.column(name).to_pylist(), strict=False))
    same_rows = mine.num_rows == other.num_rows
    return same_rows and all(_close(a, b, scale) if is_loose else a == b for a, b in pairs)


def _close(mine: Any, other: Any, scale: float) -> bool:
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=1e-6, abs_tol=max(scale, 1e-6))
    if isinstance(mine, date) and isinstance(other, date):
        # The mean of dates is the nearest one, and halves may fall to either side.
        seconds = abs(mine - other).total_seconds()
        return seconds <= (1 if isinstance(mine, datetime) else 86_400)
    return bool(mine == other)


def _floats(table: pa.Table, name: str) -> list[float]:
    values = table.column(name).to_pylist() if name in table.column_names else []
    return [float(value) for value in values if isinstance(value, int | float)]
