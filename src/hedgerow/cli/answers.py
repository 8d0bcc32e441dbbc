"""Answers as a table for a person: the expected value with its bounds beside it, in digits and as a small bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hedgerow.cli.bars import BLOCKS, Span, Strokes, bars
from hedgerow.cli.show import EDGES, GAP, number, table

__all__ = ["answers"]

_WIDEST_BAR = 24
_NARROWEST_BAR = 6


def answers(result: pa.Table, *, width: int = 120, strokes: Strokes = BLOCKS) -> Any:
    """Lay out what `query.sql` returned on `width` columns: one line per aggregate, or per group if there are groups.

    Bars share one scale per aggregate. They take the room that the digits leave, and are left out where that is none.
    """
    names = set(result.column_names)
    aggregates = [name for name in result.column_names if f"{name}_lower" in names]
    belonging = {f"{name}_{part}" for name in aggregates for part in ("lower", "upper", "std")}
    keys = [name for name in result.column_names if name not in belonging and name not in aggregates]
    rows = result.to_pylist()
    lines = [[*(number(row[key]) for key in keys), name, *_cells(row, name)] for row in rows for name in aggregates]
    columns = [*keys, "answer", "lower", "expected", "upper", "std"]
    room = min(width - _natural(columns, lines) - GAP, _WIDEST_BAR)
    if room >= _NARROWEST_BAR and any(_is_wide(row, name) for row in rows for name in aggregates):
        drawn = {name: bars([_span(row, name) for row in rows], width=room, strokes=strokes) for name in aggregates}
        ordered = (drawn[name][place] for place in range(len(rows)) for name in aggregates)
        lines = [[*line, bar] for line, bar in zip(lines, ordered, strict=True)]
        columns.append("")
    return table("", columns, lines, right=("lower", "expected", "upper", "std"), width=width)


def _cells(row: dict[str, Any], name: str) -> list[str]:
    is_exact = not _is_open(row, name) and row[f"{name}_lower"] is not None
    spread = "exact" if is_exact else number(row[f"{name}_std"])
    return [number(row[f"{name}_lower"]), number(row[name]), number(row[f"{name}_upper"]), spread]


def _is_open(row: dict[str, Any], name: str) -> bool:
    return bool(row[f"{name}_lower"] != row[f"{name}_upper"])


def _is_wide(row: dict[str, Any], name: str) -> bool:
    """Tell whether the digits differ; that bounds were rounded outwards is nothing to draw."""
    return number(row[f"{name}_lower"]) != number(row[f"{name}_upper"])


def _span(row: dict[str, Any], name: str) -> Span:
    lower, expected, upper = (row[column] for column in (f"{name}_lower", name, f"{name}_upper"))
    lower, upper = (lower, upper) if _is_wide(row, name) else (expected, expected)
    return Span(*(None if end is None else float(end) for end in (lower, expected, upper)))


def _natural(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """The width of a table whose cells are all on one line."""
    widths = [max(len(cell) for cell in column) for column in zip(columns, *lines, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1) + EDGES
