"""Hierarchies made from a column's own values, as the lines of ARX's format: a value, then ever more general labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import SchemaError
from hedgerow.schema.hierarchy import Hierarchy

if TYPE_CHECKING:
    from hedgerow.table import Encoded

__all__ = ["LINES"]

Lines = list[tuple[str, ...]]
_ROOT = "*"
_OTHER = "other"
_DEEPEST = 64


def _intervals(column: str, encoded: Encoded, widths: Sequence[str]) -> Lines:
    """Half-open intervals of several widths, each a multiple of the one before."""
    kind = encoded.domain.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise SchemaError(f"'{column}' holds {kind}; intervals need numbers.")
    try:
        numbers = [float(width) for width in widths]
    except ValueError:
        raise SchemaError("The widths of intervals must be numbers, such as 5,10,20.") from None
    exact = [int(number) if number == int(number) else number for number in numbers]
    return Hierarchy.intervals(encoded.domain, width=exact).lines()


def _digits(column: str, encoded: Encoded, _: object) -> Lines:
    """One more sign at the end hidden on every level; values are filled up to one length with blanks in front."""
    texts = encoded.domain.cast(pa.string()).to_pylist()
    length = max(map(len, texts), default=0)
    if not 1 <= length <= _DEEPEST:
        raise SchemaError(f"The values of '{column}' must have 1 to {_DEEPEST} signs; the longest has {length}.")
    padded = [(text, text.rjust(length, "0" if text.isdecimal() else "_")) for text in texts]
    return [
        (text, *(filled[: length - hidden] + "*" * hidden for hidden in range(1, length)), _ROOT)
        for text, filled in padded
    ]


def _dates(column: str, encoded: Encoded, _: object) -> Lines:
    """Day, month, year, decade."""
    if not pa.types.is_date(encoded.domain.type):
        raise SchemaError(f"'{column}' holds {encoded.domain.type}; --dates needs dates, such as 2026-01-31.")
    days = [str(day) for day in encoded.domain.to_pylist()]
    return [(day, day[:7], day[:4], f"{day[:3]}0s", _ROOT) for day in days]


def _parents(column: str, encoded: Encoded, file: str) -> Lines:
    """A file of values and parents, followed upwards until a label has no parent."""
    from hedgerow.table import read_table

    table = read_table(file, types={})
    if len(table.names) != 2:
        raise SchemaError(f"The file of parents must have two columns, value and parent; it has {len(table.names)}.")
    values, above = (one.cast(pa.string()).to_pylist() for one in table.arrow.columns)
    parent = dict(zip(values, above, strict=True))
    if len(parent) < len(values):
        raise SchemaError(f"{len(values) - len(parent):,} values have two parents in the file; a tree has one each.")
    paths = []
    texts = encoded.domain.cast(pa.string()).to_pylist()
    unknown = tuple(text for text in texts if text not in parent)
    if unknown:
        raise SchemaError(
            f"{len(unknown):,} values of '{column}' have no parent in the file; add them.", values=unknown
        )
    for text in texts:
        path = [text]
        while (up := parent.get(path[-1])) is not None and up != _ROOT:
            if up in path or len(path) > _DEEPEST:
                raise SchemaError("The file of parents leads in a circle; correct it.")
            path.append(up)
        paths.append(path)
    # Paths are filled up below the root, so that every label stays on one level counted from the top.
    height = max(map(len, paths))
    return [(*path[:1], *path[:1] * (height - len(path)), *path[1:], _ROOT) for path in paths]


def _rare(column: str, encoded: Encoded, rows: int) -> Lines:
    """Values with fewer rows become one."""
    texts, counts = encoded.domain.cast(pa.string()).to_pylist(), encoded.counts()
    few = [text for text, count in zip(texts, counts.tolist(), strict=False) if count < rows]
    if len(few) < 2:
        raise SchemaError(f"'{column}' has {len(few)} values with fewer than {rows:,} rows; there is nothing to merge.")
    other = _OTHER
    while other in texts:
        other += " values"
    return [(text, other if text in set(few) else text, _ROOT) for text in texts]


LINES: dict[str, Callable[[str, Encoded, Any], Lines]] = {
    "intervals": _intervals,
    "digits": _digits,
    "dates": _dates,
    "parents": _parents,
    "rare": _rare,
}
"""Ways to build a hierarchy, by the name of their flag."""
