"""Published columns that determine a sensitive one row by row: copies of it, codes of it, finer values.

Source     own
Guarantee  reports a column exactly if each of its values comes with one sensitive value in all rows that have both,
           its values have two rows or more on average, and more than 20 bits speak against a coincidence
Cost       O(rows) for a pair of columns; the first rows clear nearly every pair
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Codes, one_array
from hedgerow.errors import counted
from hedgerow.table import Table

__all__ = ["Determining", "determining_columns"]

_CHANCE = 20.0
"""Bits beyond which agreement is no coincidence."""
_SOME = 5_000
"""Rows that are looked at first."""


@dataclass(frozen=True)
class Determining:
    """A published column each of whose `values` comes with one value of a sensitive column, in so many `rows`."""

    column: str
    sensitive: str
    values: int
    rows: int

    def __str__(self) -> str:
        each = "its value comes" if self.values == 1 else f"each of its {self.values:,} values comes"
        return (
            f"'{self.column}' determines '{self.sensitive}': {each} with one value of '{self.sensitive}' in all "
            f"{counted(self.rows, 'row')} that have both"
        )


def determining_columns(table: Table, published: Sequence[str], sensitive: Sequence[str]) -> list[Determining]:
    """The published columns that determine a sensitive one, with counts for the owner; no cell is named."""
    return list(_find(table.arrow, published, sensitive))


def _find(table: pa.Table, published: Sequence[str], sensitive: Sequence[str]) -> Iterator[Determining]:
    first = table.slice(0, _SOME)
    for target in sensitive:
        for name in published:
            if not _agree(_codes(first, name), _codes(first, target)):
                continue
            column, hidden = _codes(table, name), _codes(table, target)
            if _agree(column, hidden) and (values := _telling_values(column, hidden)):
                yield Determining(name, target, values, int(((column >= 0) & (hidden >= 0)).sum()))


def _codes(table: pa.Table, name: str) -> Codes:
    """A column as codes in the order in which its values come; -1 where it is missing."""
    indices = one_array(table.column(name)).dictionary_encode().indices
    return np.asarray(indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)


def _agree(column: Codes, hidden: Codes) -> bool:
    """Whether each value of a column comes with one value of the other, where both are there."""
    both = (column >= 0) & (hidden >= 0)
    column, hidden = column[both], hidden[both]
    partner = np.zeros(int(column.max(initial=-1)) + 1, np.int32)
    partner[column] = hidden
    return bool((partner[column] == hidden).all())


def _telling_values(column: Codes, hidden: Codes) -> int:
    """How many values a column has beside a hidden one that it determines; 0 where that is no wonder.

    It is none where nearly every row has a value of its own, or where one hidden value is so frequent that each
    repetition of a value would meet it.
    """
    both = (column >= 0) & (hidden >= 0)
    rows, values = int(both.sum()), int(np.count_nonzero(np.bincount(column[both])))
    if not rows or 2 * values > rows:
        return 0
    share = int(np.bincount(hidden[both]).max()) / rows
    return values if -(rows - values) * math.log2(share) > _CHANCE else 0
