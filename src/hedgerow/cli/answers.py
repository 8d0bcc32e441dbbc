"""Answers as a table for a person: the expected value with its bounds beside it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hedgerow.cli.show import number, table

__all__ = ["answers"]


def answers(result: pa.Table) -> Any:
    """Lay out what `query.sql` returned: one line per aggregate, or per group if there are groups."""
    names = set(result.column_names)
    aggregates = [name for name in result.column_names if f"{name}_lower" in names]
    belonging = {f"{name}_{part}" for name in aggregates for part in ("lower", "upper", "std")}
    keys = [name for name in result.column_names if name not in belonging and name not in aggregates]
    lines = [
        [*(number(row[key]) for key in keys), name, *_cells(row, name)]
        for row in result.to_pylist()
        for name in aggregates
    ]
    columns = (*keys, "answer", "lower", "expected", "upper", "std", "")
    return table("", columns, lines, right=("lower", "expected", "upper", "std"))


def _cells(row: dict[str, Any], name: str) -> list[str]:
    lower, upper = row[f"{name}_lower"], row[f"{name}_upper"]
    verdict = "exact" if lower == upper and lower is not None else ""
    return [number(lower), number(row[name]), number(upper), number(row[f"{name}_std"]), verdict]
