"""Rows that belong together before values are disguised: parts of a table, and equal quasi-identifiers inside them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.table import Table

__all__ = ["PartGroups", "Parts", "equal_quasi", "group_rows", "parts_of"]


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of each row, and the keys by which targets are given: values of a column, or interval numbers."""

    codes: NDArray[np.int64]
    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class PartGroups:
    """Rows group after group, with the part of each group."""

    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]
    parts: NDArray[np.int64]


def parts_of(table: Table, parts: str | Mapping[str, Sequence[Any]] | None, open_columns: Sequence[str]) -> Parts:
    """Cut a table into parts: by a column's values, by cut points ({column: cuts}), or not at all."""
    if parts is None:
        return Parts(np.zeros(table.num_rows, np.int64), (None,))
    column, cuts = (parts, None) if isinstance(parts, str) else _one_column(parts)
    if column not in open_columns:
        raise SchemaError(f"'parts' must name a column that is published as it is; '{column}' is none of them.")
    encoded = table.encode(column)
    values = [*encoded.domain.to_pylist(), *([None] if encoded.has_missing else [])]
    if cuts is None:
        return Parts(encoded.codes.astype(np.int64), tuple(values))
    if encoded.has_missing:
        raise SchemaError(f"'{column}' has missing values, which lie in no interval; cut another column.")
    places = np.array([_interval(value, cuts, column) for value in values], np.int64)
    return Parts(places[encoded.codes], tuple(range(len(cuts) + 1)))


def _one_column(parts: Mapping[str, Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    if not isinstance(parts, Mapping) or len(parts) != 1:
        raise ParameterError("'parts' must be a column's name, or one column with its cut points: {'age': [30, 50]}.")
    ((column, cuts),) = parts.items()
    try:
        is_ascending = all(one < other for one, other in pairwise(cuts)) and all(cut == cut for cut in cuts)
    except TypeError:
        is_ascending = False
    if not is_ascending:
        raise ParameterError("the cut points of 'parts' must be a list of values that ascend and differ.")
    return column, cuts


def _interval(value: Any, cuts: Sequence[Any], column: str) -> int:
    try:
        return bisect_right(cuts, value)
    except TypeError:
        raise ParameterError(f"the cut points of 'parts' must be of the kind of '{column}'.") from None


def equal_quasi(table: Table, quasi: Sequence[str], parts: Parts) -> NDArray[np.int64]:
    """Number the rows so that two rows agree exactly if their parts and quasi-identifiers do."""
    cells, size = parts.codes, len(parts.keys)
    for name in quasi:
        encoded = table.encode(name)
        cells = cells * encoded.size + encoded.codes
        size *= encoded.size
        if size > 2**40:
            found, cells = np.unique(cells, return_inverse=True)
            size = len(found)
    return cells


def group_rows(cells: NDArray[np.int64], parts: Parts) -> PartGroups:
    """Put rows with equal numbers next to each other."""
    if not cells.any():
        rows = np.arange(len(cells), dtype=np.int32)
        return PartGroups(rows, np.array([0, len(cells)]), parts.codes[:1])
    order = np.argsort(cells, kind="stable")
    ascending = cells[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    return PartGroups(order.astype(np.int32), np.append(starts, len(cells)), parts.codes[order[starts]])
