"""What a database hands back, turned into answers: the same for every database."""

from __future__ import annotations

import math
from collections.abc import Container
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.query.evidence.rows import numbers_of
from hedgerow.query.evidence.view import View
from hedgerow.query.result import Estimate, Result, Rounding
from hedgerow.query.sql.question import Aggregate, Bound, Column

__all__ = ["result_of"]

_PARTS = 5


def result_of(view: View, bound: Bound, rows: list[tuple[Any, ...]], codes: Container[str] = ()) -> Result:
    """Read the rows of `rewriter.parts_sql`: keys, then number, lower, upper, mean and variance of each aggregate.

    Columns in `codes` come as places among their sorted values.
    """
    keys = {
        key.alias: _key(view, key.column.name, [row[i] for row in rows], coded=key.column.name in codes)
        for i, key in enumerate(bound.keys)
        if isinstance(key.column, Column)
    }
    first = len(bound.keys)
    estimates = {
        item.alias: _estimate(view, bound, item, [row[first + _PARTS * n : first + _PARTS * (n + 1)] for row in rows])
        for n, item in enumerate(bound.aggregates)
    }
    return Result(keys, estimates, len(rows))


def _key(view: View, name: str, found: list[Any], *, coded: bool) -> pa.Array:
    if not coded:
        return pa.array(found, view.array(name).type)
    domain = view.codes(name).domain
    return domain.take(pa.array([None if place == len(domain) else place for place in found], pa.int64()))


def _estimate(view: View, bound: Bound, item: Aggregate, parts: list[tuple[Any, ...]]) -> Estimate:
    """Turn (number, lower, upper, mean, variance) per cell into an estimate; AVG divides by the number."""
    is_counted = item.function == "count" or not isinstance(item.column, Column)
    numbers = None if is_counted else numbers_of(view, item.column.name)  # type: ignore[union-attr]
    # Databases count and average in types of their own: whole numbers come as decimals from some.
    by = [int(part[0] or 1) if item.function == "avg" else 1 for part in parts]
    lower = [None if p[1] is None else Fraction(p[1]) / n for p, n in zip(parts, by, strict=True)]
    upper = [None if p[2] is None else Fraction(p[2]) / n for p, n in zip(parts, by, strict=True)]
    is_known = is_counted or not bound.hides(item)
    slack = None
    if numbers is not None and numbers.slack and item.function in ("sum", "avg"):
        slack = [numbers.slack * (int(p[0] or 0) if item.function == "sum" else 1) for p in parts]
    return Estimate(
        lower,
        upper,
        [math.nan if p[3] is None else float(p[3]) / n for p, n in zip(parts, by, strict=True)],
        [math.nan if p[4] is None else math.sqrt(max(p[4], 0)) / n for p, n in zip(parts, by, strict=True)],
        [low == high for low, high in zip(lower, upper, strict=True)],
        Rounding.WHOLE if numbers is None else numbers.rounding(item.function),
        slack,
        is_known,
    )
