"""The DuckDB engine: the release and its help table in memory, and plain SQL over them.

The statements are printed from bound questions; no text of a user reaches the database. It is locked all the same.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.help import help_of
from hedgerow.query.numbers import numbers_of
from hedgerow.query.question import Aggregate, Bound, Column
from hedgerow.query.result import Estimate, Result, Rounding
from hedgerow.query.rewriter import parts_sql
from hedgerow.query.view import View, view_of

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["DuckDBEngine"]

# Group numbers are dense, so counting hits per group can index an array of up to 2^22 counters instead of hashing.
_SETTINGS = ("perfect_ht_threshold = 22", "enable_external_access = false", "lock_configuration = true")
_PARTS = 5


class DuckDBEngine:
    """Answers questions about one release by SQL."""

    def __init__(self, release: Release, help_table: pa.Table | None = None) -> None:
        """Load the release; its help table is built unless one comes along with a bundle."""
        self._view = view_of(release)
        self._group_column = release.group_column
        self.connection = duckdb.connect()
        self._load("release", release.tables["release"])
        # Few questions hit a whole group: sorted by hits, the rows that no group needs are skipped in blocks.
        self._load("help", help_table if help_table is not None else help_of(self._view), 'ORDER BY hits, "group"')
        for setting in _SETTINGS:
            self.connection.execute(f"SET {setting}")

    def _load(self, name: str, table: pa.Table, order: str = "") -> None:
        self.connection.register("arriving", table)
        self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arriving {order}")
        self.connection.unregister("arriving")

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        statement = parts_sql(self._view, bound, self._group_column)
        try:
            rows = self.connection.execute(statement).fetchall()
        except duckdb.Error:
            # The database's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None
        keys = {
            key.alias: pa.array([row[i] for row in rows], self._view.array(key.column.name).type)
            for i, key in enumerate(bound.keys)
            if isinstance(key.column, Column)
        }
        first = len(bound.keys)
        estimates = {
            item.alias: _estimate(
                self._view, bound, item, [row[first + _PARTS * n : first + _PARTS * (n + 1)] for row in rows]
            )
            for n, item in enumerate(bound.aggregates)
        }
        return Result(keys, estimates)


def _estimate(view: View, bound: Bound, item: Aggregate, parts: list[tuple[Any, ...]]) -> Estimate:
    """Turn (number, lower, upper, mean, variance) per cell into an estimate; AVG divides by the number."""
    is_counted = item.function == "count" or not isinstance(item.column, Column)
    numbers = None if is_counted else numbers_of(view, item.column.name)  # type: ignore[union-attr]
    by = [part[0] or 1 if item.function == "avg" else 1 for part in parts]
    lower = [None if p[1] is None else Fraction(p[1]) / n for p, n in zip(parts, by, strict=True)]
    upper = [None if p[2] is None else Fraction(p[2]) / n for p, n in zip(parts, by, strict=True)]
    is_known = is_counted or not bound.hides(item)
    slack = None
    if numbers is not None and numbers.slack and item.function in ("sum", "avg"):
        slack = [numbers.slack * (p[0] or 0 if item.function == "sum" else 1) for p in parts]
    return Estimate(
        lower,
        upper,
        [math.nan if p[3] is None else p[3] / n for p, n in zip(parts, by, strict=True)],
        [math.nan if p[4] is None else math.sqrt(p[4]) / n for p, n in zip(parts, by, strict=True)],
        [low == high for low, high in zip(lower, upper, strict=True)],
        Rounding.WHOLE if numbers is None else numbers.rounding(item.function),
        slack,
        is_known,
    )
